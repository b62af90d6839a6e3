//! The protocol with the real [`Idle`], [`Parker`] and [`Seam`]; only the queues are toys: counters of items.
//!
//! A worker of these models leaves with the first item it finds, which is to say it runs it for ever. So an item that
//! others were meant to see and did not shows as a worker asleep with nobody left to wake it: a deadlock.

use super::*;
use crate::drive::{Driver, futex::FutexDriver};
use crate::sched::park::{Limit, Parker, Seam};
use ropewalk_core::prim::{self, thread};
use std::sync::Arc;
use std::time::Duration;

/// A driver whose events the test makes.
#[derive(Debug)]
struct Events(Arc<FutexDriver>);

impl Driver for Events {
    fn park(&self, timeout: Option<Duration>) {
        self.0.park(timeout);
    }
    fn poll(&self) {}
    fn unpark(&self) {
        self.0.unpark();
    }
}

struct Pool {
    idle: Idle,
    seam: Seam,
    events: Arc<FutexDriver>,
    parkers: [Parker; 3],
    /// Besides each worker.
    others: usize,
    /// The injection queue.
    items: AtomicUsize,
    /// What worker 0 moved into its own ring.
    ring: AtomicUsize,
}

impl Pool {
    fn new() -> Arc<Self> {
        Self::of(2)
    }

    fn of(workers: usize) -> Arc<Self> {
        let events = Arc::new(FutexDriver::default());
        Arc::new(Self {
            idle: Idle::new(),
            seam: Seam::new(Box::new(Events(events.clone()))),
            events,
            parkers: [Parker::new(), Parker::new(), Parker::new()],
            others: workers - 1,
            items: AtomicUsize::new(0),
            ring: AtomicUsize::new(0),
        })
    }

    fn submit(&self) {
        self.items.fetch_add(1, Ordering::Release);
        self.wake_one();
    }

    fn wake_one(&self) {
        if let Some(worker) = self.idle.worker_to_wake() {
            self.parkers[worker].unpark(&self.seam);
        }
    }

    fn any_work(&self) -> bool {
        self.items.load(Ordering::Acquire) > 0 || self.ring.load(Ordering::Acquire) > 0
    }

    fn take(&self) -> bool {
        let one = |queue: &AtomicUsize| {
            queue.fetch_update(Ordering::Acquire, Ordering::Relaxed, |items| items.checked_sub(1)).is_ok()
        };
        one(&self.items) || one(&self.ring)
    }

    /// The worker has something to run: a search ends, and the last one hands on if there is more.
    fn found(&self, me: usize, searching: Option<Searching>) {
        let Some(searching) = searching else { return };
        let any = |queue: &AtomicUsize| queue.load(Ordering::Acquire) > 0;
        let more = match self.idle.found_work(searching, self.others) {
            Owed::Nothing => false,
            Owed::OutsideAndOwn => any(&self.items) || me == 0 && any(&self.ring),
            Owed::EveryQueue => self.any_work(),
        };
        if more {
            self.wake_one();
        }
    }

    /// Sleeps once, if nothing speaks against it. What comes back is the search the worker is in afterwards.
    fn sleep(&self, me: usize, searching: Option<Searching>) -> Option<Searching> {
        match self.idle.sleep(me, searching, || self.any_work()) {
            Err(awake) => awake.searching(),
            Ok(sleeping) => {
                self.parkers[me].park(&self.seam, || Limit::NONE);
                self.idle.leave_sleep(sleeping).searching()
            }
        }
    }

    /// Runs until the first item.
    fn worker(&self, me: usize, mut searching: Option<Searching>) {
        while !self.take() {
            searching = self.sleep(me, searching);
        }
        self.found(me, searching);
    }

    fn spawn_worker(self: &Arc<Self>, me: usize, searching: Option<Searching>) -> thread::JoinHandle<()> {
        let pool = self.clone();
        thread::spawn(move || pool.worker(me, searching))
    }

    /// Everybody has left: nothing is counted any more.
    fn assert_quiet(&self) {
        assert_eq!(self.idle.counters(), Counters(0));
        assert!(self.idle.roll.sleepers.lock().is_empty());
        assert!(!self.any_work());
    }
}

/// A worker that is no searcher goes to sleep while an item is submitted.
// mutation: submitter-without-barrier
// - in crates/ropewalk/src/sched/idle.rs: `fence(Ordering::SeqCst); // barrier of the submitter`
// + `fence(Ordering::AcqRel);`
// mutation: sleeper-without-barrier
// - in crates/ropewalk/src/sched/idle.rs: `fence(Ordering::SeqCst); // barrier of the sleeper`
// + `fence(Ordering::AcqRel);`
// mutation: sleeper-does-not-look-again
// - in crates/ropewalk/src/sched/idle.rs: `if any_work() {`
// + `if false && any_work() {`
// mutation: nobody-is-chosen
// - in crates/ropewalk/src/sched/idle.rs: `let chosen = sleepers.pop(rather)?;`
// + `let chosen = sleepers.pop(rather).filter(|_| false)?;`
#[test]
fn model_submit_races_with_sleep() {
    prim::model(|| {
        let pool = Pool::new();
        let worker = pool.spawn_worker(0, None);
        pool.submit();
        worker.join().unwrap();
        pool.assert_quiet();
    });
}

/// The same with a searcher: the submitter may see it counted and leave the item to it.
// mutation: searcher-without-barrier
// - in crates/ropewalk/src/sched/idle.rs: `fence(Ordering::SeqCst); // barrier of the sleeper`
// + `fence(Ordering::AcqRel);`
// mutation: searcher-does-not-look-again
// - in crates/ropewalk/src/sched/idle.rs: `if any_work() {`
// + `if false && any_work() {`
// mutation: search-goes-on-in-sleep
// - in crates/ropewalk/src/sched/idle.rs: `self.change(SLEEPER - searchers);`
// + `self.change(SLEEPER - 0 * searchers);`
#[test]
fn model_submit_races_with_the_end_of_a_search() {
    prim::model(|| {
        let pool = Pool::new();
        let searching = pool.idle.try_search(1);
        let worker = pool.spawn_worker(0, searching);
        pool.submit();
        worker.join().unwrap();
        pool.assert_quiet();
    });
}

/// Each item wakes somebody, though each submitter may see the other's choice as a searcher to rely on.
// mutation: either-submitter-without-barrier
// - in crates/ropewalk/src/sched/idle.rs: `fence(Ordering::SeqCst); // barrier of the submitter`
// + `fence(Ordering::AcqRel);`
// mutation: chosen-worker-not-told
// - in crates/ropewalk/src/sched/idle.rs: `return Woken::Chosen(Searching(()));`
// + `return Woken::Itself(None);`
#[test]
fn model_two_submitters_and_two_workers() {
    prim::model(|| {
        let pool = Pool::new();
        let workers = [0, 1].map(|me| pool.spawn_worker(me, None));
        let there = pool.clone();
        let submitter = thread::spawn(move || there.submit());
        pool.submit();
        submitter.join().unwrap();
        for worker in workers {
            worker.join().unwrap();
        }
        pool.assert_quiet();
    });
}

/// Two items rest on one searcher, and the other worker sleeps: whoever takes the first item sees to the second.
// mutation: last-searcher-does-not-hand-on
// - in crates/ropewalk/src/sched/idle.rs: `if before.searching() > 1 {`
// + `if before.searching() > 0 {`
// mutation: last-searcher-without-barrier
// - in crates/ropewalk/src/sched/idle.rs: `fence(Ordering::SeqCst); // barrier of the last searcher`
// + `fence(Ordering::AcqRel);`
// mutation: search-lost-by-a-sleep-called-off
// - in crates/ropewalk/src/sched/idle.rs: `Err(self.get_up(sleeping, true))`
// + `Err(self.get_up(sleeping, false))`
#[test]
fn model_the_last_searcher_hands_on() {
    prim::model(|| {
        let pool = Pool::new();
        let searching = pool.idle.try_search(2);
        let asleep = pool.idle.sleep(1, None, || false).expect("nobody has chosen it yet");
        let searcher = pool.spawn_worker(0, searching);
        let there = pool.clone();
        let sleeper = thread::spawn(move || {
            there.parkers[1].park(&there.seam, || Limit::NONE);
            let searching = there.idle.leave_sleep(asleep).searching();
            there.worker(1, searching);
        });
        pool.submit();
        pool.submit();
        searcher.join().unwrap();
        sleeper.join().unwrap();
        pool.assert_quiet();
    });
}

/// A busy worker leaves an item in its ring to a searcher, which finds another one; the third worker sleeps.
// mutation: those-awake-are-not-looked-at
// - in crates/ropewalk/src/sched/idle.rs: `if before.sleeping() < others {`
// + `if before.sleeping() > others {`
#[test]
fn model_the_last_searcher_looks_at_those_awake() {
    prim::model(|| {
        let pool = Pool::of(3);
        let searching = pool.idle.try_search(2);
        let asleep = pool.idle.sleep(2, None, || false).expect("nobody has chosen it yet");
        let there = pool.clone();
        let searcher = thread::spawn(move || there.found(1, searching));
        let there = pool.clone();
        let sleeper = thread::spawn(move || {
            there.parkers[2].park(&there.seam, || Limit::NONE);
            let searching = there.idle.leave_sleep(asleep).searching();
            there.worker(2, searching);
        });
        pool.ring.store(1, Ordering::Release);
        pool.wake_one();
        searcher.join().unwrap();
        sleeper.join().unwrap();
        pool.assert_quiet();
    });
}

/// A searcher moves a batch into its own ring while another one goes to sleep. No submitter is left to wake anybody.
// mutation: moved-items-not-released
// - in crates/ropewalk/src/sched/idle.rs: `Counters(self.roll.counters.fetch_add(by, Ordering::Release))`
// + `Counters(self.roll.counters.fetch_add(by, Ordering::Relaxed))`
// mutation: batch-not-handed-on
// - in crates/ropewalk/src/sched/idle.rs: `if before.searching() > 1 {`
// + `if before.searching() > 0 {`
#[test]
fn model_a_batch_moved_by_a_searcher_is_seen() {
    prim::model(|| {
        let pool = Pool::new();
        let (mine, theirs) = (pool.idle.try_search(4), pool.idle.try_search(4));
        assert!(mine.is_some() && theirs.is_some());
        let worker = pool.spawn_worker(1, theirs);
        // Two items, out of the one queue and not yet in the other: the worker can see neither.
        pool.ring.store(1, Ordering::Release);
        pool.found(0, mine);
        worker.join().unwrap();
        pool.assert_quiet();
    });
}

/// A sleep is called off while a submitter chooses: the count, the choice and the outcome agree.
// mutation: choice-overlooked
// - in crates/ropewalk/src/sched/idle.rs: `return Woken::Chosen(Searching(()));`
// + `return Woken::Itself(searching.then(|| Searching(())));`
// mutation: still-in-the-list
// - in crates/ropewalk/src/sched/idle.rs: `self.last = None;`
// + ``
#[test]
fn model_calling_off_a_sleep_races_with_being_chosen() {
    prim::model(|| {
        let pool = Pool::new();
        let there = pool.clone();
        let worker = thread::spawn(move || {
            let awake = there.idle.sleep(0, None, || true).expect_err("there is work");
            let chosen = matches!(awake, Woken::Chosen(_));
            there.found(0, awake.searching());
            chosen
        });
        let chosen = pool.idle.worker_to_wake();
        assert_eq!(worker.join().unwrap(), chosen.is_some());
        pool.assert_quiet();
    });
}

/// Two submitters find two sleepers: one is woken, and the second submitter leaves its item to it.
// mutation: choice-not-looked-at-again
// - in crates/ropewalk/src/sched/idle.rs: `if !still {`
// + `if false && !still {`
// mutation: chosen-worker-not-counted
// - in crates/ropewalk/src/sched/idle.rs: `self.change(SEARCHER.wrapping_sub(SLEEPER));`
// + `self.change(0usize.wrapping_sub(SLEEPER));`
#[test]
fn model_two_submitters_wake_one() {
    prim::model(|| {
        let pool = Pool::new();
        let _asleep = [0, 1].map(|me| pool.idle.sleep(me, None, || false).expect("nobody else is here"));
        let there = pool.clone();
        let submitter = thread::spawn(move || there.idle.worker_to_wake());
        let chosen = [pool.idle.worker_to_wake(), submitter.join().unwrap()];
        assert!(chosen == [Some(1), None] || chosen == [None, Some(1)], "the warmest, once: {chosen:?}");
        assert_eq!(pool.idle.counters(), Counters(SLEEPER + SEARCHER));
    });
}

/// The worker in the driver retires while another goes to sleep, and then comes an event: the one that is left sees it,
/// because the one that leaves wakes one more.
// mutation: retiring-poller-without-barrier
// - in crates/ropewalk/src/sched/idle.rs: `fence(Ordering::SeqCst); // barrier of the submitter`
// + `fence(Ordering::AcqRel);`
// (The sleeper's barrier is needed here as well, but the one with which it announces itself in a berth hides that.)
#[test]
fn model_a_retiring_poller_leaves_the_driver_to_a_sleeper() {
    prim::model(|| {
        let pool = Pool::new();
        let retiring = pool.clone();
        let poller = thread::spawn(move || {
            retiring.parkers[0].park(&retiring.seam, || Limit::NONE);
            retiring.wake_one();
        });
        let worker = pool.spawn_worker(1, None);
        pool.parkers[0].unpark(&pool.seam);
        poller.join().unwrap();
        // An event that makes an item runnable: whoever sleeps in the driver comes out. A sleeper elsewhere would not.
        pool.items.store(1, Ordering::Release);
        pool.events.unpark();
        worker.join().unwrap();
    });
}

#[cfg(not(any(loom, shuttle)))]
mod on_this_machine;
