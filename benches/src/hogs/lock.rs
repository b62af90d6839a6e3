//! A lock of the standard library that a suspended strand holds.

use crate::stalls::{HOLD, held, is_over, pause};
use crate::timed::{Ropewalk, Timed};
use ropewalk::{Pool, strand};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

/// Holds workers until it is over.
pub fn hold(runtime: Ropewalk, pool: &Pool) {
    let lock = Arc::new(Mutex::new(()));
    for times in 0.. {
        if is_over() {
            return;
        }
        let (tell, told) = channel();
        let holds = lock.clone();
        let holder = strand::Builder::new().pool(pool).spawn(move || {
            let guard = holds.lock().expect("nobody panics");
            tell.send(thread::current().id()).expect("it is waited for");
            strand::sleep(HOLD);
            drop(guard);
        });
        let home = told.recv().expect("it tells");
        // Where the holder is at home it would block for ever: another one tries.
        while !holder.is_finished() && !runtime.run(wait_for(lock.clone(), home)) {}
        holder.join();
        thread::sleep(pause(0, times));
    }
}

/// Blocks a worker, but not that of thread `home`. True: it did.
async fn wait_for(lock: Arc<Mutex<()>>, home: ThreadId) -> bool {
    if thread::current().id() == home || lock.try_lock().is_ok() {
        return false;
    }
    drop(lock.lock().expect("nobody panics"));
    held();
    true
}
