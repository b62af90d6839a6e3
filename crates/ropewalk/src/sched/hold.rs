//! Which task holds a worker, and how others get at what is queued behind it.
//!
//! A worker that is alone takes from its queues by plain stores, and nobody else may (`door.rs`). If a task then holds it for long, somebody comes
//! who would take what waits, and the worker cannot be asked.
//!
//! ```text
//! worker                                     who comes for it: seize
//!   1. current = none, after a poll            1. knocks: the worker is not alone
//!   2. light barrier                           2. heavy barrier
//!   3. takes: by plain stores if it is alone   3. current is a task: the doors may be opened
//!   4. current = the next one
//! ```
//!
//! * **HO1** While there is a current task, nothing is taken from the worker's queues by plain stores: who has to in the middle of a poll
//!   says that there is none meanwhile (`Worker::unheld`).
//!
//! If the worker's barrier is second, it hears the knock in 3, and takes by exchanges. If it is first, the other sees in 3 that there is no
//! current task, and leaves it at that; or it sees one of a later poll: then the worker comes to its 2 once more before it takes anything (HO1),
//! and that is after the heavy barrier. What it has taken before is seen, because `current` is set with Release, and read with Acquire. ∎

use super::barrier;
use super::door::Door;
use ropewalk_core::prim::Ordering::{Acquire, Relaxed, Release};
use ropewalk_core::prim::{AtomicBool, AtomicPtr, AtomicU64};
use ropewalk_core::task::Header;
use std::ptr::null_mut;

/// Nobody looks how long polls take here, until the watchdog is called.
const UNWATCHED: u64 = u64::MAX;

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Hold {
    /// The task that runs here now: it is compared, never followed.
    current: AtomicPtr<Header>,
    /// The poll, by its number, that is asked to end; 0: none; or [`UNWATCHED`].
    asked: AtomicU64,
    /// The poll, by its number, that was asked, cannot, and wants somebody to come for those behind it.
    asks: AtomicU64,
    /// A task holds the worker for so long that somebody was sent for those behind it: nothing more is sent here.
    stuck: AtomicBool,
}

impl Hold {
    pub(crate) fn new() -> Self {
        let (current, stuck) = (AtomicPtr::new(null_mut()), AtomicBool::new(false));
        Self { current, asked: AtomicU64::new(UNWATCHED), asks: AtomicU64::new(0), stuck }
    }

    /// What runs here now; null: nothing does.
    pub(crate) fn current(&self) -> *mut Header {
        self.current.load(Acquire)
    }

    /// Worker: a task runs here from now on, or none (null).
    #[inline(always)]
    pub(crate) fn set(&self, task: *mut Header) {
        self.current.store(task, Release);
        if task.is_null() {
            barrier::light();
        }
    }

    /// Somebody else: opens the doors of the worker's queues, if a task holds it.
    pub(crate) fn seize(&self, doors: &[&Door]) {
        doors.iter().for_each(|door| door.knock());
        if barrier::heavy() && !self.current().is_null() {
            // SAFETY: HO1: a task holds the worker, so it passes its barrier before it next takes anything, and hears the knock.
            doors.iter().for_each(|door| unsafe { door.admit() });
        }
    }

    /// The watchdog: it is stuck, or not any more.
    pub(crate) fn set_stuck(&self, stuck: bool) {
        self.stuck.store(stuck, Relaxed);
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.stuck.load(Relaxed)
    }

    /// The poll with this number takes too long.
    pub(crate) fn ask_to_yield(&self, poll: u64) {
        self.asked.store(poll, Relaxed);
    }

    /// Worker: it got up while the watchdog sleeps.
    pub(crate) fn is_unwatched(&self) {
        self.asked.store(UNWATCHED, Relaxed);
    }

    /// Worker: whether there is anything to ask about.
    #[inline(always)]
    pub(crate) fn may_be_asked(&self) -> bool {
        self.asked.load(Relaxed) != 0
    }

    /// Worker: whether this poll is asked to end. `None`: nobody watches, but somebody will from now on.
    pub(crate) fn is_asked_to_yield(&self, poll: u64) -> Option<bool> {
        let asked = self.asked.load(Relaxed);
        if asked != poll {
            self.asked.store(0, Relaxed); // who asks meanwhile asks again
        }
        (asked != UNWATCHED).then_some(asked == poll)
    }

    /// Worker: the poll that was asked to end cannot. False: it has said so before.
    pub(crate) fn ask_for_rescue(&self) -> bool {
        let poll = self.asked.swap(0, Relaxed); // it is asked again, once for each look
        self.asks.swap(poll, Relaxed) != poll
    }

    /// Whether the poll with this number wants somebody to come now.
    pub(crate) fn asks_for_rescue(&self, poll: u64) -> bool {
        self.asks.load(Relaxed) == poll
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::ledger::Ledger;
    use super::super::lifo::{self, Sighting};
    use super::super::ring::ring;
    use super::*;
    use ropewalk_core::prim::{self, thread};
    use std::sync::Arc;

    /// A worker that is alone goes from poll to poll, and queues entries in them and takes some in between; somebody comes for it at any
    /// time. Each entry is taken once.
    // mutation: the-worker-goes-on-without-barrier
    // - in crates/ropewalk/src/sched/barrier.rs: `fence(SeqCst); // light`
    // + ``
    // mutation: who-comes-looks-without-barrier
    // - in crates/ropewalk/src/sched/barrier.rs: `fence(SeqCst); // heavy`
    // + ``
    // mutation: who-comes-does-not-look-whether-a-task-runs
    // - in crates/ropewalk/src/sched/hold.rs: `barrier::heavy() && !self.current().is_null()`
    // + `barrier::heavy()`
    // mutation: what-was-taken-is-not-seen
    // - in crates/ropewalk/src/sched/hold.rs: `self.current.store(task, Release);`
    // + `self.current.store(task, Relaxed);`
    // mutation: who-comes-does-not-knock
    // - in crates/ropewalk/src/sched/hold.rs: `doors.iter().for_each(|door| door.knock());`
    // + ``
    #[test]
    fn model_somebody_comes_for_a_worker_that_is_alone() {
        prim::model(|| {
            let (ledger, hold) = (Ledger::new(5), Arc::new(Hold::new()));
            let (owner, stealer) = ring(4);
            owner.push(ledger.issue(1)).expect("there is room");
            let task = std::ptr::without_provenance_mut(1);
            hold.set(task);
            let (held, account) = (hold.clone(), ledger.clone());
            let comes = thread::spawn(move || {
                held.seize(&[stealer.door()]);
                let (home, _) = ring(4);
                stealer.steal_into(&home).map(|first| account.redeem(first));
                account.redeem_all(|| home.pop());
            });
            for number in [2, 4] {
                hold.set(null_mut());
                owner.push(ledger.issue(number)).expect("there is room");
                for entry in (0..2).filter_map(|_| owner.pop()) {
                    ledger.redeem(entry);
                }
                hold.set(task);
                owner.push(ledger.issue(number + 1)).expect("there is room");
            }
            comes.join().unwrap();
            hold.set(null_mut());
            ledger.redeem_all(|| owner.pop());
            ledger.settle();
        });
    }

    /// The same for the slot.
    // mutation: who-comes-takes-from-the-slot-unasked
    // - in crates/ropewalk/src/sched/lifo.rs: `if !self.slot.line.door.is_open() {`
    // + `if false {`
    #[test]
    fn model_somebody_comes_for_what_is_in_the_slot() {
        prim::model(|| {
            let (ledger, hold) = (Ledger::new(3), Arc::new(Hold::new()));
            let (owner, slot) = lifo::slot();
            owner.door().close();
            let task = std::ptr::without_provenance_mut(1);
            hold.set(task);
            owner.fill(ledger.issue(1)).expect("it is empty");
            let (held, account) = (hold.clone(), ledger.clone());
            let comes = thread::spawn(move || {
                held.seize(&[slot.door()]);
                let mut seen = Sighting::default();
                let stale = (0..2).find_map(|_| slot.steal_if_stale(&mut seen, 0));
                stale.map(|entry| account.redeem(entry));
            });
            for number in [2, 3] {
                hold.set(null_mut());
                owner.put(ledger.issue(number)).map(|older| ledger.redeem(older));
                hold.set(task);
            }
            comes.join().unwrap();
            hold.set(null_mut());
            ledger.redeem_all(|| owner.take());
            ledger.settle();
        });
    }
}
