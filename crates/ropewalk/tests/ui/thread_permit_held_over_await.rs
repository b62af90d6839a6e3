//! A guard of a thread's lock belongs to the thread that took it: a task that holds one over an await is refused.

use ropewalk::thread::Semaphore;
use std::sync::Arc;

fn main() {
    let lock = Arc::new(Semaphore::new(1));
    let _task = ropewalk::spawn(async move {
        let guard = lock.acquire();
        ropewalk::yield_now().await;
        drop(guard);
    });
}
