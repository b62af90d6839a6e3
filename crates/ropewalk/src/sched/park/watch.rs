//! Events while the poller is away.
//!
//! The one in the driver leaves it with something to run, and may be held there for long; events that come meanwhile are
//! seen by whoever else is awake, but there may be nobody. So as long as files are watched, the one standing by gets up every
//! [`NAP`] and looks. It need not if the poller stays in the driver: then it *dozes*, and the poller wakes it on its way out.
//!
//! ```text
//! poller: left                                     the one standing by: may_doze
//!   1. trips + 1                                     1. as many trips as when it last lay down? else nap
//!   2. SeqCst fence        <- barrier                2. dozing = true
//!   3. dozing: wake the one standing by              3. SeqCst fence        <- barrier
//!                                                    4. still as many trips, and the poller sleeps? else nap
//! ```
//!
//! The fences are in some order. If the poller's is first, step 4 sees its trip. If it is second, step 3 sees that somebody
//! dozes. So after a trip of the poller the one standing by naps: it is up within [`NAP`], and a runtime in which nothing
//! happens makes no context switch.

use core::time::Duration;
use ropewalk_core::prim::{AtomicBool, AtomicU32, Ordering, fence};

/// How long an event may wait for a poller that is held by a task.
pub(super) const NAP: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Watch {
    /// How often the poller came out of the driver.
    trips: AtomicU32,
    /// What it was when somebody stood by last.
    seen: AtomicU32,
    dozing: AtomicBool,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { trips: AtomicU32::new(0), seen: AtomicU32::new(u32::MAX), dozing: AtomicBool::new(false) }
    }

    /// The poller is out. True: the one standing by is to be woken.
    #[must_use]
    pub(super) fn left(&self) -> bool {
        self.trips.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst); // barrier of the poller: its trip is out, then the other is looked at
        self.dozing.load(Ordering::Relaxed)
    }

    /// The one standing by lies down, for `timeout` or a nap.
    pub(super) fn lie_down(
        &self,
        timeout: Option<Duration>,
        poller_sleeps: impl Fn() -> bool,
    ) -> Option<Duration> {
        if self.may_doze(poller_sleeps) { timeout } else { Some(timeout.map_or(NAP, |some| some.min(NAP))) }
    }

    fn may_doze(&self, poller_sleeps: impl Fn() -> bool) -> bool {
        let trips = self.trips.load(Ordering::Relaxed);
        if self.seen.swap(trips, Ordering::Relaxed) != trips {
            return false;
        }
        self.dozing.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst); // barrier of the one standing by: it dozes, then the poller is looked at
        self.trips.load(Ordering::Relaxed) == trips && poller_sleeps()
    }

    /// The one standing by is up.
    pub(super) fn get_up(&self) {
        self.dozing.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::park::ThreadParker;
    use ropewalk_core::prim::{self, thread};
    use std::sync::Arc;

    /// The poller leaves while the other lies down without a limit: that one does not sleep through it.
    // mutation: poller-leaves-without-barrier
    // - in crates/ropewalk/src/sched/park/watch.rs: `fence(Ordering::SeqCst); // barrier of the poller: its trip is out, then the other is looked at`
    // + `fence(Ordering::Release);`
    // mutation: dozing-without-barrier
    // - in crates/ropewalk/src/sched/park/watch.rs: `fence(Ordering::SeqCst); // barrier of the one standing by: it dozes, then the poller is looked at`
    // + `fence(Ordering::Acquire);`
    // mutation: no-second-look-at-the-trips
    // - in crates/ropewalk/src/sched/park/watch.rs: `self.trips.load(Ordering::Relaxed) == trips && poller_sleeps()`
    // + `poller_sleeps()`
    #[test]
    fn model_the_poller_leaves_while_the_other_lies_down() {
        prim::model(|| {
            let shared = Arc::new((Watch::new(), ThreadParker::new()));
            shared.0.seen.store(0, Ordering::Relaxed); // it stood by before
            let there = shared.clone();
            let poller = thread::spawn(move || {
                if there.0.left() {
                    there.1.unpark();
                }
            });
            let (watch, parker) = &*shared;
            if watch.lie_down(None, || true).is_none() {
                parker.park(None); // a model that sleeps for ever has failed
            }
            watch.get_up();
            poller.join().unwrap();
            assert!(!watch.left(), "nobody dozes");
            assert_eq!(watch.lie_down(None, || true), Some(NAP), "after a trip it naps");
            assert_eq!(watch.lie_down(None, || true), None, "and after a quiet nap it dozes");
            assert_eq!(watch.lie_down(None, || false), Some(NAP), "but not if nobody polls");
        });
    }
}
