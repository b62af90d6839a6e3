//! The driver of a runtime without I/O: there is nothing to poll, only a place to sleep until an `unpark` or a
//! deadline.

use super::Driver;
use crate::sched::park::ThreadParker;
use core::time::Duration;

/// Sleeps on one word and never sees an event. The sticky wake-up is that of [`ThreadParker`].
#[derive(Debug, Default)]
pub(crate) struct FutexDriver(ThreadParker);

impl Driver for FutexDriver {
    fn park(&self, timeout: Option<Duration>) {
        // Whether it was a wake-up or the deadline makes no difference: the caller looks again.
        let _ = self.0.park(timeout);
    }

    fn poll(&self) {}

    fn unpark(&self) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_core::prim::{self, thread};
    use std::sync::Arc;

    /// Two wake-ups, the second given after the first was consumed: neither `park` may sleep for ever.
    ///
    /// The word under it is tested in `sched/park.rs`; here it is that the driver passes every call on.
    // mutation: futex-driver-drops-unpark
    // - in crates/ropewalk/src/drive/futex.rs: `self.0.unpark();`
    // + `let _ = &self.0;`
    #[test]
    fn model_unpark_ends_the_park_under_way_or_the_next() {
        prim::model(|| {
            let driver = Arc::new(FutexDriver::default());
            let there = driver.clone();
            let poller = thread::spawn(move || there.park(None));
            driver.unpark();
            poller.join().unwrap();
            driver.unpark();
            driver.poll();
            driver.park(None);
        });
    }

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn the_deadline_ends_the_park() {
        FutexDriver::default().park(Some(Duration::from_millis(1)));
        FutexDriver::default().park(Some(Duration::ZERO));
    }
}
