//! Threads and may's coroutines behind one trait: both block where a task awaits, so one source serves both.

use crate::peers;
use may::coroutine;
use std::thread;

/// Something that runs a closure and may block in it.
pub trait Units: Copy + Send + 'static {
    /// Starts one. What comes back waits for its end.
    fn spawn<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T;

    fn yield_now();
}

/// So many at once, numbered; returns when all have ended.
pub fn all<U: Units, W: FnOnce() + Send + 'static>(units: U, count: u64, work: impl Fn(u64) -> W) {
    let started: Vec<_> = (0..count).map(|number| units.spawn(work(number))).collect();
    for join in started {
        join();
    }
}

#[derive(Clone, Copy)]
pub struct Threads;

impl Units for Threads {
    fn spawn<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T {
        let thread = thread::spawn(work);
        || thread.join().expect("it ends")
    }

    fn yield_now() {
        thread::yield_now();
    }
}

#[derive(Clone, Copy)]
pub struct Coroutines(());

impl Coroutines {
    pub fn new(workers: usize) -> Self {
        peers::may(workers);
        Self(())
    }
}

impl Units for Coroutines {
    fn spawn<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> impl FnOnce() -> T {
        let coroutine = may::go!(work);
        || coroutine.join().expect("it ends")
    }

    fn yield_now() {
        coroutine::yield_now();
    }
}
