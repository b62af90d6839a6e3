//! The guard of a std mutex must be dropped by the thread that locked it: a task that holds one over an await, and may go
//! on on another worker, is refused.

use std::sync::{Arc, Mutex};

fn main() {
    let mutex = Arc::new(Mutex::new(0));
    let _task = ropewalk::spawn(async move {
        let mut guard = mutex.lock().unwrap();
        ropewalk::yield_now().await;
        *guard += 1;
    });
}
