//! A place to sleep that changes once: a word at first, which is quick to wake and costs nothing; a driver from when it is
//! first needed.
//!
//! ```text
//! maker: publish                 waker: unpark                       sleeper: park
//!   1. publish the driver          1. no driver: give the word         1. no driver: sleep on the word
//!   2. wake the word                  its wake-up                      2. a driver: SeqCst fence   <- barrier
//!                                  2. SeqCst fence   <- barrier        3. a wake-up on the word: do not sleep
//!                                  3. a driver: wake it                4. sleep in the driver
//! ```
//!
//! A sleeper on the word is woken by whoever gives it a wake-up, and by the maker. For one that goes to the driver, take a
//! waker that saw none in step 1, and the fences in their order. If the waker's is first, the sleeper sees the wake-up in step
//! 3. If it is second, the waker sees in step 3 the driver that the sleeper saw, and wakes it, which is sticky. A waker that
//! sees the driver in step 1 leaves the word alone: a sleeper that is still there was or will be woken by the maker.

use super::Driver;
use crate::sched::park::ThreadParker;
use core::time::Duration;
use ropewalk_core::prim::{AtomicBool, Ordering, fence};
use std::sync::OnceLock;

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Switch<D> {
    word: ThreadParker,
    driver: OnceLock<D>,
    /// The driver is published.
    there: AtomicBool,
}

impl<D: Driver> Switch<D> {
    pub(crate) fn new() -> Self {
        Self { word: ThreadParker::new(), driver: OnceLock::new(), there: AtomicBool::new(false) }
    }

    /// The driver, if it is needed already.
    #[inline]
    pub(crate) fn get(&self) -> Option<&D> {
        if self.there.load(Ordering::Acquire) { self.driver.get() } else { None }
    }

    /// From now on whoever sleeps does so in `driver`. The first one stays.
    pub(crate) fn publish(&self, driver: D) -> &D {
        let driver = self.driver.get_or_init(|| driver);
        self.there.store(true, Ordering::Release);
        self.word.unpark();
        driver
    }
}

impl<D: Driver> Driver for Switch<D> {
    fn park(&self, timeout: Option<Duration>) {
        let Some(driver) = self.get() else {
            let _ = self.word.park(timeout);
            return;
        };
        fence(Ordering::SeqCst); // barrier of the sleeper: it knows the driver, then it looks at the word
        let woken = self.word.take_unpark();
        driver.park(if woken { Some(Duration::ZERO) } else { timeout });
    }

    fn poll(&self) {
        if let Some(driver) = self.get() {
            driver.poll();
        }
    }

    fn unpark(&self) {
        if let Some(driver) = self.get() {
            return driver.unpark();
        }
        self.word.unpark();
        fence(Ordering::SeqCst); // barrier of the waker: the word has its wake-up, then it looks for a driver
        if let Some(driver) = self.get() {
            driver.unpark();
        }
    }

    fn has_events(&self) -> bool {
        self.get().is_some_and(D::has_events)
    }

    fn deliver(&self) -> usize {
        self.get().map_or(0, D::deliver)
    }

    fn is_watching(&self) -> bool {
        self.get().is_some_and(D::is_watching)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::futex::FutexDriver;
    use ropewalk_core::prim::{self, thread};
    use std::sync::Arc;

    /// A driver that takes a timeout of zero for what it is.
    #[derive(Debug, Default)]
    struct Later(FutexDriver);

    impl Driver for Later {
        fn park(&self, timeout: Option<Duration>) {
            if timeout != Some(Duration::ZERO) {
                self.0.park(timeout);
            }
        }
        fn poll(&self) {}
        fn unpark(&self) {
            self.0.unpark();
        }
    }

    /// A maker and a waker at work, and one who sleeps, after `first`, until it is told.
    fn race(first: impl Fn(&Switch<Later>) + Send + Sync + 'static) {
        prim::model(move || {
            let shared = Arc::new((Switch::<Later>::new(), AtomicBool::new(false)));
            let there = shared.clone();
            let maker = thread::spawn(move || {
                there.0.publish(Later::default());
            });
            let there = shared.clone();
            let waker = thread::spawn(move || {
                there.1.store(true, Ordering::Relaxed);
                there.0.unpark();
            });
            first(&shared.0);
            while !shared.1.load(Ordering::Relaxed) {
                shared.0.park(None); // a model that sleeps for ever has failed
            }
            maker.join().unwrap();
            waker.join().unwrap();
        });
    }

    /// The driver comes while somebody sleeps and somebody else wakes it: the wake-up arrives, wherever it sleeps.
    // mutation: maker-wakes-nobody
    // - in crates/ropewalk/src/drive/switch.rs: `self.there.store(true, Ordering::Release);`
    // + `self.there.store(true, Ordering::Release); return driver;`
    // mutation: the-word-is-not-looked-at
    // - in crates/ropewalk/src/drive/switch.rs: `let woken = self.word.take_unpark();`
    // + `let woken = false;`
    // mutation: waker-does-not-look-again
    // - in crates/ropewalk/src/drive/switch.rs: `fence(Ordering::SeqCst); // barrier of the waker: the word has its wake-up, then it looks for a driver`
    // + `return;`
    // mutation: waker-without-barrier
    // - in crates/ropewalk/src/drive/switch.rs: `fence(Ordering::SeqCst); // barrier of the waker: the word has its wake-up, then it looks for a driver`
    // + `fence(Ordering::Release);`
    #[test]
    fn model_a_wake_up_races_with_the_change_of_place() {
        race(|_| {});
    }

    /// The same for a sleeper that knows the driver already, while its maker has not got round to waking anybody.
    // mutation: sleeper-looks-without-barrier
    // - in crates/ropewalk/src/drive/switch.rs: `fence(Ordering::SeqCst); // barrier of the sleeper: it knows the driver, then it looks at the word`
    // + ``
    #[test]
    fn model_a_wake_up_races_with_one_who_knows_the_driver() {
        race(|switch| {
            while switch.get().is_none() {
                thread::yield_now();
            }
        });
    }
}
