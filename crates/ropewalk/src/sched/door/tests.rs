//! Resize against steal: a worker's real ring and slot, a thief that arrives and leaves while the owner uses them, and a
//! census that both change and read under one lock, as `Pool::reassign`, `Pool::vacate` and `Worker::meet_peers` do.

use super::super::entry::ledger::{Ledger, Token};
use super::super::lifo::{self, Sighting, Thief};
use super::super::ring::{Stealer, ring};
use super::*;
use ropewalk_core::prim::thread::{self, JoinHandle};
use ropewalk_core::prim::{Lock, model};
use std::sync::Arc;

struct Owner {
    ring: Producer<Token>,
    next: lifo::Owner<Token>,
    ledger: Arc<Ledger>,
    /// How many others are manned.
    census: Arc<Lock<usize>>,
}

/// What others have of the owner.
#[derive(Clone)]
struct Station {
    ring: Stealer<Token>,
    slot: Thief<Token>,
    ledger: Arc<Ledger>,
    census: Arc<Lock<usize>>,
}

fn worker(tokens: usize) -> (Owner, Station) {
    let (producer, stealer) = ring(4);
    let (slot, thief) = lifo::slot();
    let (ledger, census) = (Ledger::new(tokens), Arc::new(Lock::new(0)));
    let station = Station { ring: stealer, slot: thief, ledger: ledger.clone(), census: census.clone() };
    (Owner { ring: producer, next: slot, ledger, census }, station)
}

impl Owner {
    fn meet_peers(&self) {
        let census = self.census.lock();
        // SAFETY: as in `Worker::meet_peers`: thieves are counted under this lock.
        unsafe { keep_company([&self.ring], &self.next, *census == 0) };
    }

    fn push(&self, number: usize) {
        self.ring.push(self.ledger.issue(number)).expect("there is room");
    }

    fn pop(&self) {
        self.ring.pop().map(|oldest| self.ledger.redeem(oldest));
    }

    fn put(&self, number: usize) {
        self.next.put(self.ledger.issue(number)).map(|older| self.ledger.redeem(older));
    }

    /// Everybody has left: what is left is here.
    fn finish(self, thief: JoinHandle<()>) {
        thief.join().expect("the thief is fine");
        self.meet_peers();
        self.ledger.redeem_all(|| self.ring.pop());
        self.ledger.redeem_all(|| self.next.take());
        self.ledger.settle();
    }
}

impl Station {
    /// A worker is hired, steals what it can, and leaves.
    fn visit(&self) {
        *self.census.lock() += 1;
        let (home, _) = ring(4);
        self.ring.steal_into(&home).map(|first| self.ledger.redeem(first));
        self.ledger.redeem_all(|| home.pop());
        let mut sighting = Sighting::default();
        let stale = (0..2).find_map(|_| self.slot.steal_if_stale(&mut sighting, 0));
        stale.map(|entry| self.ledger.redeem(entry));
        *self.census.lock() -= 1;
    }
}

/// A thief comes while the owner is alone: until the owner has met it, it gets nothing.
// mutation: queues-closed-while-others-are-there
// - in crates/ropewalk/src/sched/door.rs: `if alone {`
// + `if !alone {`
// mutation: opened-to-others-and-used-as-if-alone
// - in crates/ropewalk/src/sched/door.rs: `self.alone.store(false, Relaxed); // before anybody comes`
// + ``
#[test]
fn model_a_thief_arrives_and_leaves() {
    model(|| {
        let (owner, station) = worker(4);
        owner.meet_peers();
        owner.push(1);
        owner.push(2);
        owner.put(3);
        let thief = thread::spawn(move || station.visit());
        owner.pop();
        owner.meet_peers();
        owner.pop();
        owner.push(4);
        owner.pop();
        owner.finish(thief);
    });
}

/// The thief leaves, the owner is alone again, and another one comes.
// mutation: ring-not-closed-to-the-next-thief
// - in crates/ropewalk/src/sched/door.rs: `self.open.store(false, Relaxed);`
// + ``
// mutation: owner-alone-again-does-not-look-where-the-head-is
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.door.close();`
// + `self.ring.door.close(); if self.capacity() > 0 { return; }`
#[test]
fn model_the_last_thief_leaves_and_another_comes() {
    model(|| {
        let (owner, station) = worker(4);
        (1..=3).for_each(|number| owner.push(number));
        *station.census.lock() += 1;
        owner.meet_peers();
        *station.census.lock() -= 1; // visits count themselves
        let thief = thread::spawn(move || {
            station.visit();
            station.visit();
        });
        owner.meet_peers();
        owner.pop();
        owner.push(4);
        owner.meet_peers();
        owner.pop();
        owner.finish(thief);
    });
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn what_is_next_moves_with_the_company() {
    let (owner, station) = worker(2);
    let mut sighting = Sighting::default();
    owner.put(1);
    owner.meet_peers();
    assert!(!owner.next.is_empty());
    assert!((0..3).all(|_| station.slot.steal_if_stale(&mut sighting, 0).is_none()), "it is out of reach");
    *station.census.lock() = 1;
    owner.meet_peers();
    let stolen = (0..2).find_map(|_| station.slot.steal_if_stale(&mut sighting, 0));
    assert_eq!(stolen.map(|entry| owner.ledger.redeem(entry)), Some(1));
    owner.put(2);
    *station.census.lock() = 0;
    owner.meet_peers();
    assert_eq!(owner.next.take().map(|entry| owner.ledger.redeem(entry)), Some(2));
    assert!(owner.next.is_empty());
}
