//! The real gate and counters; queue and workers are toys that follow the steps of `Pool` and `Worker`.

use super::super::entry::ledger::{Ledger, Token};
use super::super::injector::Injector;
use super::super::park::ThreadParker;
use super::*;
use ropewalk_core::prim::{model, thread};
use std::sync::Arc;

struct Pool {
    gate: Gate,
    workers: [Counters; 2],
    parkers: [ThreadParker; 2],
    queue: Injector<Token>,
    ledger: Arc<Ledger>,
}

impl Pool {
    fn new(tokens: usize) -> Arc<Self> {
        Arc::new(Pool {
            gate: Gate::new(),
            workers: Default::default(),
            parkers: Default::default(),
            queue: Injector::new(),
            ledger: Ledger::new(tokens),
        })
    }

    fn live(&self) -> u64 {
        self.gate.live(self.workers.iter())
    }

    fn unpark_all(&self) {
        self.parkers.iter().for_each(ThreadParker::unpark);
    }

    /// As `Pool::admit` and `Pool::inject`.
    fn spawn(&self, number: usize) -> bool {
        let admitted = self.gate.enter(|| false);
        if admitted {
            self.queue.push(self.ledger.issue(number));
            self.unpark_all();
        } else if self.live() == 0 {
            self.unpark_all();
        }
        admitted
    }

    /// As `Pool::close`.
    fn close(&self) {
        self.gate.advance(Phase::Closing);
        self.unpark_all();
    }

    /// As `Worker::work`: runs what there is, and leaves a closing pool in which nothing is left.
    fn work(&self, me: usize) {
        let mut closing = false;
        loop {
            while let Some(task) = self.queue.pop() {
                self.ledger.redeem(task);
                self.workers[me].finished.bump();
                if closing && self.live() == 0 {
                    self.unpark_all();
                }
            }
            closing |= self.gate.phase() != Phase::Open;
            if closing && self.live() == 0 {
                return self.unpark_all(); // as `Pool::vacate`
            }
            self.parkers[me].park(None);
        }
    }
}

/// What was accepted is run, whatever the closing does meanwhile; and the worker does leave.
// mutation: guest-counted-after-the-look
// - in crates/ropewalk/src/sched/gate.rs: `let before = self.0.fetch_add(GUEST, AcqRel);`
// + `let before = self.0.load(Acquire); self.0.fetch_add(GUEST, AcqRel);`
// mutation: guest-turned-away-stays-counted
// - in crates/ropewalk/src/sched/gate.rs: `self.0.fetch_sub(GUEST, AcqRel);`
// + `let _ = &self.0;`
// mutation: closing-is-not-seen-with-the-guests
// - in crates/ropewalk/src/sched/gate.rs: `self.0.fetch_or(phase as u64, AcqRel);`
// + `self.0.store(phase as u64, ropewalk_core::prim::Ordering::Release);`
#[test]
fn model_an_accepted_task_is_never_left_behind() {
    model(|| {
        let pool = Pool::new(1);
        let (guest, closer) = (pool.clone(), pool.clone());
        let guest = thread::spawn(move || guest.spawn(1));
        let closer = thread::spawn(move || closer.close());
        pool.work(0);
        let admitted = guest.join().expect("the guest is fine");
        closer.join().expect("the closer is fine");
        assert!(pool.queue.is_empty(), "the worker left before an accepted task");
        pool.ledger.settle();
        assert_eq!(pool.live(), 0);
        assert!(!pool.gate.enter(|| false) || !admitted, "a closed gate lets nobody in");
    });
}

/// Two workers end the last two tasks of a closing pool, each on its own counter: one of them sees that nothing is left
/// and wakes the other.
// mutation: last-to-finish-without-barrier
// - in crates/ropewalk/src/sched/gate.rs: `fence(SeqCst); // barrier of one who has lowered the number (G3)`
// + `fence(AcqRel);`
#[test]
fn model_the_last_two_to_finish_do_not_miss_each_other() {
    model(|| {
        let pool = Pool::new(2);
        assert!(pool.spawn(1) && pool.spawn(2));
        pool.close();
        let other = pool.clone();
        let other = thread::spawn(move || other.work(1));
        pool.work(0);
        other.join().expect("the other is fine");
        pool.ledger.settle();
    });
}

/// The number is not lower than the tasks that are there, whatever a worker spawns and ends meanwhile.
// mutation: counted-relaxed
// - in crates/ropewalk/src/sched/counters.rs: `self.0.store(self.0.load(Relaxed).wrapping_add(by), Release);`
// + `self.0.store(self.0.load(Relaxed).wrapping_add(by), Relaxed);`
// mutation: end-read-after-the-beginning
// - in crates/ropewalk/src/sched/gate.rs: `let finished: u64 = workers.clone().map(|worker| worker.finished.get()).sum();`
// + `let early: u64 = workers.clone().map(|worker| worker.spawned.get()).sum(); let finished: u64 = workers.clone().map(|worker| worker.finished.get()).sum(); if early < u64::MAX { return early.saturating_sub(finished); }`
#[test]
fn model_live_is_never_too_low() {
    model(|| {
        let pool = Pool::new(0);
        pool.workers[0].spawned.bump(); // one that does not end
        let there = pool.clone();
        // The one who looks is the spawned thread: loom overlooks a load that comes before another thread's load and store.
        let looking = thread::spawn(move || assert!(there.live() > 0));
        for _ in 0..2 {
            pool.workers[0].spawned.bump();
            pool.workers[0].finished.bump();
        }
        looking.join().expect("there was one");
        assert_eq!(pool.live(), 1);
    });
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn the_gate_counts_and_closes() {
    let gate = Gate::new();
    assert!(gate.enter(|| false) && gate.enter(|| false));
    assert_eq!((gate.phase(), gate.live([].iter())), (Phase::Open, 2));
    gate.leave();
    gate.advance(Phase::Closing);
    assert!(!gate.enter(|| false));
    assert_eq!((gate.phase(), gate.live([].iter())), (Phase::Closing, 1));
    gate.advance(Phase::Closed);
    assert!(!gate.enter(|| false));
    assert_eq!((gate.phase(), gate.live([].iter())), (Phase::Closed, 1));
}

/// A runtime that waits for its tasks lets in only what they bring.
#[cfg(not(any(loom, shuttle)))]
#[test]
fn a_draining_gate_knows_its_own() {
    let gate = Gate::new();
    assert!(!gate.is_draining() && gate.enter(|| unreachable!("an open gate asks nobody")));
    gate.drain();
    assert!(gate.is_draining() && !gate.enter(|| false) && gate.enter(|| true));
    assert_eq!((gate.phase(), gate.live([].iter())), (Phase::Open, 2));
    gate.advance(Phase::Closing);
    assert!(!gate.enter(|| true));
    assert_eq!((gate.phase(), gate.live([].iter())), (Phase::Closing, 2));
}
