//! Wake-ups that go through the ring: one at a time, since one is enough.
//!
//! ```text
//! waker                                          the one who polls
//!   1. exchange: rung                              1. waits for a completion
//!   2. it was not: put a no-op through the ring    2. finds the no-op: exchange, not rung; returns
//! ```
//!
//! * **B1** While it is rung, a no-op is on its way or its finder has not yet done step 2. So whoever finds it rung needs none
//!   of its own: that finder is about to return.
//! * **B2** Both are exchanges, so what a waker wrote before is visible to who returns from step 2, also what one wrote that
//!   found it rung.

use ropewalk_core::prim::{AtomicBool, Ordering};

#[derive(Debug)]
pub(super) struct Bell(AtomicBool);

impl Bell {
    pub(super) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Somebody is to be woken. True: the caller puts a no-op through the ring.
    #[must_use]
    pub(super) fn ring(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// The no-op was found, by somebody who returns now.
    pub(super) fn heard(&self) {
        self.0.swap(false, Ordering::AcqRel); // B2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::park::ThreadParker;
    use ropewalk_core::prim::{self, thread};
    use std::sync::Arc;

    /// One wakes; whoever polls does not sleep through it.
    // mutation: nobody-knocks
    // - in crates/ropewalk/src/drive/io/uring/bell.rs: `!self.0.swap(true, Ordering::AcqRel)`
    // + `self.0.swap(true, Ordering::AcqRel)`
    #[test]
    fn model_one_wakes_up_one_who_polls() {
        prim::model(|| {
            let shared = Arc::new((Bell::new(), ThreadParker::new()));
            let there = shared.clone();
            let waker = thread::spawn(move || {
                if there.0.ring() {
                    there.1.unpark();
                }
            });
            shared.1.park(None); // a model that sleeps for ever has failed
            shared.0.heard();
            waker.join().unwrap();
        });
    }

    /// Two wake at once, with something to tell each; the ring is a word here. Whoever polls learns of both.
    // mutation: heard-does-not-acquire
    // - in crates/ropewalk/src/drive/io/uring/bell.rs: `self.0.swap(false, Ordering::AcqRel); // B2`
    // + `self.0.store(false, Ordering::Relaxed);`
    // mutation: nobody-knocks-the-second-time
    // - in crates/ropewalk/src/drive/io/uring/bell.rs: `self.0.swap(false, Ordering::AcqRel); // B2`
    // + `let _ = &self.0;`
    // mutation: ringing-does-not-release
    // - in crates/ropewalk/src/drive/io/uring/bell.rs: `!self.0.swap(true, Ordering::AcqRel)`
    // + `!self.0.swap(true, Ordering::Acquire)`
    #[test]
    fn model_two_wake_up_one_who_polls() {
        prim::model(|| {
            let shared = Arc::new((
                Bell::new(),
                ThreadParker::new(),
                [AtomicBool::new(false), AtomicBool::new(false)],
            ));
            let wakers = [0, 1].map(|number| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (bell, ring, news) = &*shared;
                    news[number].store(true, Ordering::Relaxed);
                    if bell.ring() {
                        ring.unpark();
                    }
                })
            });
            let (bell, ring, news) = &*shared;
            while !news.iter().all(|news| news.load(Ordering::Relaxed)) {
                ring.park(None); // a model that sleeps for ever has failed
                bell.heard();
            }
            wakers.into_iter().for_each(|waker| waker.join().unwrap());
        });
    }
}
