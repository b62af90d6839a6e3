//! The counterparts of the tests beside this one: they do compile, so these fail for the reason they state.

use std::rc::Rc;
use std::sync::{Arc, Mutex};

fn main() {
    let runtime = ropewalk::Runtime::builder().worker_threads(1).build().unwrap();
    let task = runtime.spawn(async {
        // A local task may capture an `Rc`.
        let shared = Rc::new(5);
        let local = ropewalk::spawn_local(async move { *shared }).unwrap();
        // A handle whose output is `Send` goes to another thread.
        let there = std::thread::spawn(move || local);
        let local = there.join().unwrap();
        // A guard that is gone before the await.
        let mutex = Arc::new(Mutex::new(0));
        *mutex.lock().unwrap() += local.await.unwrap();
        ropewalk::yield_now().await;
        let value = *mutex.lock().unwrap();
        value
    });
    assert_eq!(runtime.block_on(task).unwrap(), 5);
}
