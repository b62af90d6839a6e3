use super::super::entry::ledger::{Dropped, Ledger, Token};
use super::*;
use ropewalk_core::prim::thread::{self, JoinHandle};
use ropewalk_core::prim::{model, real};

/// As a worker does it.
fn put<T: Entry>(owner: &Owner<T>, entry: T) -> Option<T> {
    owner.fill(entry).map_or_else(|entry| owner.put(entry), |()| None)
}

/// A thief that has seen the slot as it is now and comes back for a second pass while the owner makes no progress.
fn second_pass(ledger: &std::sync::Arc<Ledger>, slot: Thief<Token>) -> JoinHandle<Vec<usize>> {
    let (ledger, mut seen) = (ledger.clone(), Sighting::default());
    assert_eq!(slot.steal_if_stale(&mut seen, 7), None, "a first pass only looks");
    thread::spawn(move || ledger.redeem_all(|| slot.steal_if_stale(&mut seen, 7)))
}

// mutation: owner-takes-in-two-steps
// - in crates/ropewalk/src/sched/lifo.rs: `old = slot.swap(ptr::null_mut(), Relaxed);`
// + `slot.store(ptr::null_mut(), Relaxed);`
// mutation: thief-takes-in-two-steps
// - in crates/ropewalk/src/sched/lifo.rs: `self.slot.line.raw.compare_exchange(raw, ptr::null_mut(), Acquire, Relaxed).ok()?;`
// + `{ self.slot.line.raw.store(ptr::null_mut(), Relaxed); raw };`
#[test]
fn model_owner_or_thief_takes_it() {
    model(|| {
        let ledger = Ledger::new(1);
        let (owner, slot) = slot();
        assert_eq!(put(&owner, ledger.issue(1)), None);
        let thief = second_pass(&ledger, slot);
        let mine = ledger.redeem_all(|| owner.take());
        assert_eq!(mine.len() + thief.join().expect("the thief is fine").len(), 1);
        ledger.settle();
    });
}

// mutation: thief-clears-what-it-has-not-seen
// - in crates/ropewalk/src/sched/lifo.rs: `self.slot.line.raw.compare_exchange(raw, ptr::null_mut(), Acquire, Relaxed).ok()?;`
// + `{ self.slot.line.raw.store(ptr::null_mut(), Relaxed); raw };`
// mutation: owner-displaces-in-two-steps
// - in crates/ropewalk/src/sched/lifo.rs: `slot.swap(new, Release)`
// + `{ let old = slot.load(Relaxed); slot.store(new, Release); old }`
// mutation: owner-stores-over-an-entry
// - in crates/ropewalk/src/sched/lifo.rs: `return Err(entry);`
// + `drop(());`
#[test]
fn model_put_into_a_slot_that_a_thief_empties() {
    model(|| {
        let ledger = Ledger::new(3);
        let (owner, slot) = slot();
        assert_eq!(put(&owner, ledger.issue(1)), None);
        let thief = second_pass(&ledger, slot);
        for number in 2..=3 {
            put(&owner, ledger.issue(number)).map(|displaced| ledger.redeem(displaced));
        }
        thief.join().expect("the thief is fine");
        assert_eq!(ledger.redeem_all(|| owner.take()), [3], "only what is stale is stolen");
        ledger.settle();
    });
}

// mutation: owner-displaces-relaxed
// - in crates/ropewalk/src/sched/lifo.rs: `slot.swap(new, Release)`
// + `slot.swap(new, Relaxed)`
// mutation: owner-fills-relaxed
// - in crates/ropewalk/src/sched/lifo.rs: `self.slot.line.raw.store(entry.into_raw().as_ptr(), Release);`
// + `self.slot.line.raw.store(entry.into_raw().as_ptr(), Relaxed);`
// mutation: thief-takes-relaxed
// - in crates/ropewalk/src/sched/lifo.rs: `self.slot.line.raw.compare_exchange(raw, ptr::null_mut(), Acquire, Relaxed).ok()?;`
// + `self.slot.line.raw.compare_exchange(raw, ptr::null_mut(), Relaxed, Relaxed).ok()?;`
#[test]
fn model_thief_sees_what_the_owner_wrote() {
    model(|| {
        let ledger = Ledger::new(2);
        let (owner, slot) = slot();
        let thief = {
            let ledger = ledger.clone();
            thread::spawn(move || {
                let mut seen = Sighting::default();
                for _ in 0..2 {
                    slot.steal_if_stale(&mut seen, 7).map(|stale| ledger.redeem(stale));
                }
            })
        };
        for number in 1..=2 {
            put(&owner, ledger.issue(number)).map(|displaced| ledger.redeem(displaced));
        }
        thief.join().expect("the thief is fine");
        ledger.redeem_all(|| owner.take());
        ledger.settle();
    });
}

#[test]
fn only_an_entry_without_progress_between_two_passes_is_stale() {
    let ledger = Ledger::new(3);
    let (owner, slot) = slot();
    let mut seen = Sighting::default();
    assert_eq!(slot.steal_if_stale(&mut seen, 0), None, "it is empty");
    assert_eq!(slot.steal_if_stale(&mut seen, 0), None, "it is still empty");
    assert_eq!(put(&owner, ledger.issue(1)), None);
    assert_eq!(slot.steal_if_stale(&mut seen, 0), None, "seen for the first time");
    assert_eq!(slot.steal_if_stale(&mut seen, 1), None, "the owner got on");
    assert_eq!(put(&owner, ledger.issue(2)).map(|old| ledger.redeem(old)), Some(1));
    assert_eq!(slot.steal_if_stale(&mut seen, 1), None, "another entry");
    assert_eq!(slot.clone().steal_if_stale(&mut Sighting::default(), 1), None, "another thief");
    assert_eq!(slot.steal_if_stale(&mut seen, 1).map(|stale| ledger.redeem(stale)), Some(2));
    assert!(owner.is_empty());
    assert_eq!(owner.take(), None);
}

#[test]
fn an_empty_slot_makes_a_thief_forget() {
    let ledger = Ledger::new(2);
    let (owner, slot) = slot();
    let mut seen = Sighting::default();
    assert_eq!(put(&owner, ledger.issue(1)), None);
    assert_eq!(slot.steal_if_stale(&mut seen, 3), None);
    let again = owner.take().expect("nobody took it");
    assert_eq!(slot.steal_if_stale(&mut seen, 3), None);
    assert_eq!(put(&owner, again), None);
    assert_eq!(slot.steal_if_stale(&mut seen, 3), None, "it was gone in between");
    assert_eq!(ledger.redeem_all(|| owner.take()), [1]);
}

#[test]
fn dropping_the_slot_drops_its_entry_once() {
    let count = std::sync::Arc::new(real::AtomicU32::new(0));
    let (owner, slot) = slot();
    assert!(put(&owner, Dropped::new(&count)).is_none());
    drop(owner);
    assert_eq!(count.load(Relaxed), 0);
    drop(slot);
    assert_eq!(count.load(Relaxed), 1);
}
