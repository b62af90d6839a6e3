use super::super::entry::ledger::{Dropped, Ledger, Token};
use super::*;
use ropewalk_core::prim::Ordering::SeqCst;
use ropewalk_core::prim::real;
use ropewalk_core::prim::thread::{self, JoinHandle};
use ropewalk_core::prim::{AtomicBool, fence, model};

fn shared_ring(capacity: usize) -> (Producer<Token>, Stealer<Token>) {
    let (owner, stealer) = ring(capacity);
    owner.share();
    (owner, stealer)
}

fn push_all(owner: &Producer<Token>, ledger: &Ledger, numbers: std::ops::RangeInclusive<usize>) {
    for number in numbers {
        owner.push(ledger.issue(number)).expect("there is room");
    }
}

/// A thief that steals once into a ring of its own and redeems what it got: in order, which is checked.
fn thief(ledger: &std::sync::Arc<Ledger>, victim: &Stealer<Token>, room: usize) -> JoinHandle<Vec<usize>> {
    let (ledger, victim) = (ledger.clone(), victim.clone());
    thread::spawn(move || {
        let (home, _) = ring(room);
        let mut got: Vec<usize> =
            victim.steal_into(&home).map(|first| ledger.redeem(first)).into_iter().collect();
        got.extend(ledger.redeem_all(|| home.pop()));
        assert!(got.is_sorted(), "stolen out of order: {got:?}");
        got
    })
}

/// Ends a model: what is left in the ring comes out in order, and nothing is lost.
fn finish(
    owner: &Producer<Token>,
    ledger: &Ledger,
    thieves: impl IntoIterator<Item = JoinHandle<Vec<usize>>>,
) {
    for thief in thieves {
        thief.join().expect("the thief is fine");
    }
    let left = ledger.redeem_all(|| owner.pop());
    assert!(left.is_sorted(), "left out of order: {left:?}");
    assert!(owner.is_empty());
    ledger.settle();
}

// mutation: push-publishes-relaxed
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.tail.store(tail, Release);`
// + `self.ring.tail.store(tail, Relaxed);`
// mutation: thief-reads-tail-relaxed
// - in crates/ropewalk/src/sched/ring.rs: `let tail = self.ring.tail.load(Acquire);`
// + `let tail = self.ring.tail.load(Relaxed);`
// mutation: thief-reads-head-relaxed
// - in crates/ropewalk/src/sched/ring.rs: `let head = self.ring.head.load(Acquire);`
// + `let head = self.ring.head.load(Relaxed);`
// mutation: push-publishes-before-it-writes
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.slot(tail).store(entry.into_raw().as_ptr(), Relaxed);`
// + `self.ring.tail.store(tail + 1, Release); self.ring.slot(tail).store(entry.into_raw().as_ptr(), Relaxed);`
#[test]
fn model_push_and_pop_while_a_thief_takes_half() {
    model(|| {
        let ledger = Ledger::new(3);
        let (owner, stealer) = shared_ring(4);
        let thief = thief(&ledger, &stealer, 4);
        push_all(&owner, &ledger, 1..=2);
        owner.pop().map(|oldest| ledger.redeem(oldest));
        push_all(&owner, &ledger, 3..=3);
        finish(&owner, &ledger, [thief]);
    });
}

// mutation: owner-takes-by-store
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.head.compare_exchange(from, to, AcqRel, Acquire);`
// + `Ok::<u64, u64>(self.ring.head.swap(to, AcqRel)); let _ = from;`
// mutation: thief-takes-by-store
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.head.compare_exchange(head, end, Release, Relaxed)`
// + `Ok::<u64, u64>(self.ring.head.swap(end, Release))`
#[test]
fn model_last_entry_goes_to_the_owner_or_to_the_thief() {
    model(|| {
        let ledger = Ledger::new(1);
        let (owner, stealer) = shared_ring(2);
        push_all(&owner, &ledger, 1..=1);
        let thief = thief(&ledger, &stealer, 2);
        let mine = ledger.redeem_all(|| owner.pop());
        let stolen = thief.join().expect("the thief is fine");
        assert_eq!(mine.len() + stolen.len(), 1);
        finish(&owner, &ledger, []);
    });
}

// mutation: push-does-not-look-whether-it-is-full
// - in crates/ropewalk/src/sched/ring.rs: `&& self.room() == 0`
// + `&& self.room() == usize::MAX`
// mutation: thief-takes-without-looking-again
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.head.compare_exchange(head, end, Release, Relaxed)`
// + `Ok::<u64, u64>(self.ring.head.swap(end, Release))`
// mutation: thief-copies-after-the-exchange
// - in crates/ropewalk/src/sched/ring.rs: `return Some(unsafe { Self::settle(home, oldest, start - head, count) });`
// + `return Some(unsafe { Self::settle(home, self.ring.slot(start).load(Relaxed), start - head, count) });`
#[test]
fn model_wrap_around_under_a_stalled_thief() {
    model(|| {
        let ledger = Ledger::new(5);
        let (owner, stealer) = shared_ring(2);
        push_all(&owner, &ledger, 1..=2);
        let thief = thief(&ledger, &stealer, 2);
        for number in 3..=5 {
            // Each push overwrites the slot of an entry that this or the thief took before.
            if let Err(refused) = owner.push(ledger.issue(number)) {
                ledger.redeem(refused);
                owner.pop().map(|oldest| ledger.redeem(oldest));
            }
        }
        finish(&owner, &ledger, [thief]);
    });
}

// mutation: thief-forgets-what-it-lost
// - in crates/ropewalk/src/sched/ring.rs: `Self::settle(home, oldest, start - head, count)`
// + `Self::settle(home, oldest, 0 * start, count)`
// mutation: thief-keeps-the-wrong-end
// - in crates/ropewalk/src/sched/ring.rs: `copy(at).store(copy(lost + at).load(Relaxed), Relaxed);`
// + `copy(at).store(copy(at).load(Relaxed), Relaxed);`
#[test]
fn model_thief_keeps_the_rest_of_a_copy_that_the_owner_bit_into() {
    model(|| {
        let ledger = Ledger::new(8);
        let (owner, stealer) = shared_ring(8);
        push_all(&owner, &ledger, 1..=6);
        let thief = thief(&ledger, &stealer, 4);
        owner.pop().map(|oldest| ledger.redeem(oldest));
        push_all(&owner, &ledger, 7..=7);
        finish(&owner, &ledger, [thief]);
    });
}

// mutation: overflow-takes-by-store
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.head.compare_exchange(from, to, AcqRel, Acquire);`
// + `Ok::<u64, u64>(self.ring.head.swap(to, AcqRel)); let _ = from;`
// mutation: overflow-leaves-the-head-behind
// - in crates/ropewalk/src/sched/ring.rs: `match self.advance(head, head + count) {`
// + `match self.advance(head, head + count - 1) {`
#[test]
fn model_overflow_against_a_thief() {
    model(|| {
        let ledger = Ledger::new(5);
        let (owner, stealer) = shared_ring(4);
        push_all(&owner, &ledger, 1..=4);
        let thief = thief(&ledger, &stealer, 4);
        let mut half = Vec::with_capacity(2);
        owner.take_half(&mut half);
        assert!(half.is_sorted_by_key(Token::number));
        assert!(owner.push(ledger.issue(5)).is_ok(), "half of it was taken out");
        ledger.redeem_all(|| half.pop());
        finish(&owner, &ledger, [thief]);
    });
}

// mutation: thieves-take-by-store
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.head.compare_exchange(head, end, Release, Relaxed)`
// + `Ok::<u64, u64>(self.ring.head.swap(end, Release))`
// mutation: thief-takes-one-too-many
// - in crates/ropewalk/src/sched/ring.rs: `return Some(unsafe { Self::settle(home, oldest, start - head, count) });`
// + `return Some(unsafe { Self::settle(home, oldest, start - head, count + 1) });`
// mutation: thief-moves-the-head-relaxed
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.head.compare_exchange(head, end, Release, Relaxed)`
// + `self.ring.head.compare_exchange(head, end, Relaxed, Relaxed)`
#[test]
fn model_two_thieves() {
    model(|| {
        let ledger = Ledger::new(3);
        let (owner, stealer) = shared_ring(4);
        let thieves = [thief(&ledger, &stealer, 2), thief(&ledger, &stealer, 2)];
        push_all(&owner, &ledger, 1..=3);
        finish(&owner, &ledger, thieves);
    });
}

// mutation: loot-is-published-relaxed
// - in crates/ropewalk/src/sched/ring.rs: `self.ring.tail.store(tail, Release);`
// + `self.ring.tail.store(tail, Relaxed);`
#[test]
fn model_thief_of_a_thief() {
    model(|| {
        let ledger = Ledger::new(3);
        let (owner, stealer) = shared_ring(4);
        let (middle, middle_stealer) = shared_ring(2);
        push_all(&owner, &ledger, 1..=3);
        let last = thief(&ledger, &middle_stealer, 2);
        stealer.steal_into(&middle).map(|first| ledger.redeem(first));
        ledger.redeem_all(|| middle.pop());
        finish(&owner, &ledger, [last]);
        assert!(middle.is_empty());
    });
}

// mutation: thief-comes-in-unasked
// - in crates/ropewalk/src/sched/ring.rs: `if !self.ring.door.is_open() {`
// + `if false {`
// mutation: share-is-raised-relaxed
// - in crates/ropewalk/src/sched/door.rs: `self.open.store(true, Release); // what was done alone is seen`
// + `self.open.store(true, Relaxed);`
// mutation: share-is-read-relaxed
// - in crates/ropewalk/src/sched/door.rs: `self.open.load(Acquire)`
// + `self.open.load(Relaxed)`
// mutation: owner-goes-on-as-if-alone
// - in crates/ropewalk/src/sched/door.rs: `self.alone.store(false, Relaxed); // before anybody comes`
// + ``
#[test]
fn model_share_against_a_thief() {
    model(|| {
        let ledger = Ledger::new(3);
        let (owner, stealer) = ring(4);
        let thief = thief(&ledger, &stealer, 2);
        push_all(&owner, &ledger, 1..=2);
        ledger.redeem(owner.pop().expect("nobody can have stolen it"));
        owner.share();
        push_all(&owner, &ledger, 3..=3);
        owner.pop().map(|oldest| ledger.redeem(oldest));
        finish(&owner, &ledger, [thief]);
    });
}

// mutation: push-hides-the-tail
// - in crates/ropewalk/src/sched/ring.rs: `self.publish(1);`
// + `self.tail.set(tail + 1);`
// mutation: glance-reads-the-head-for-the-tail
// - in crates/ropewalk/src/sched/ring.rs: `(self.ring.head.load(Acquire), self.ring.tail.load(Acquire));`
// + `(self.ring.head.load(Acquire), self.ring.head.load(Acquire));`
#[test]
fn model_ring_push_is_seen_after_the_fence() {
    model(|| {
        let ledger = Ledger::new(1);
        let (owner, stealer) = shared_ring(2);
        let asleep = std::sync::Arc::new(AtomicBool::new(false));
        let sleeper = {
            let asleep = asleep.clone();
            thread::spawn(move || {
                asleep.store(true, Relaxed);
                fence(SeqCst);
                !stealer.is_empty()
            })
        };
        push_all(&owner, &ledger, 1..=1);
        fence(SeqCst);
        let saw_sleeper = asleep.load(Relaxed);
        let saw_entry = sleeper.join().expect("the sleeper is fine");
        assert!(saw_sleeper || saw_entry, "a wake-up was lost");
        finish(&owner, &ledger, []);
    });
}

#[test]
fn owner_takes_the_oldest_first() {
    let ledger = Ledger::new(100);
    let (owner, stealer) = ring(4);
    for base in (0..100).step_by(4) {
        push_all(&owner, &ledger, base + 1..=base + 4);
        assert_eq!((owner.len(), owner.room(), stealer.len()), (4, 0, 4));
        assert_eq!(ledger.redeem_all(|| owner.pop()), [base + 1, base + 2, base + 3, base + 4]);
    }
    assert_eq!((owner.head_position(), owner.tail_position()), (100, 100));
    assert!(owner.is_empty() && stealer.is_empty());
}

#[test]
fn full_ring_gives_the_entry_back() {
    let ledger = Ledger::new(3);
    let (owner, _stealer) = ring(0);
    assert_eq!(owner.capacity(), 2);
    push_all(&owner, &ledger, 1..=2);
    let refused = owner.push(ledger.issue(3)).expect_err("it is full");
    assert_eq!(ledger.redeem(refused), 3);
    assert_eq!(ledger.redeem_all(|| owner.pop()), [1, 2]);
}

#[test]
fn thief_takes_half_rounded_up_and_no_more_than_fits() {
    let cases = [(0, 8, 0), (1, 8, 1), (2, 8, 1), (3, 8, 2), (7, 8, 4), (8, 8, 4), (8, 2, 3)];
    for (present, room, taken) in cases {
        let ledger = Ledger::new(8);
        let (owner, stealer) = shared_ring(8);
        let (home, _) = ring(room);
        push_all(&owner, &ledger, 1..=present);
        let mut got = ledger.redeem_all({
            let mut first = stealer.steal_into(&home);
            move || first.take()
        });
        got.extend(ledger.redeem_all(|| home.pop()));
        assert_eq!(got, (1..=taken).collect::<Vec<_>>(), "of {present} with room {room}");
        finish(&owner, &ledger, []);
    }
}

#[test]
fn full_thief_still_gets_one_to_run() {
    let ledger = Ledger::new(6);
    let (owner, stealer) = shared_ring(4);
    let (home, _) = shared_ring(2);
    push_all(&home, &ledger, 1..=2);
    push_all(&owner, &ledger, 3..=6);
    assert_eq!(stealer.steal_into(&home).map(|first| ledger.redeem(first)), Some(3));
    assert_eq!(ledger.redeem_all(|| home.pop()), [1, 2]);
    finish(&owner, &ledger, []);
}

#[test]
fn unshared_ring_gives_nothing_and_may_be_shared_and_unshared() {
    let ledger = Ledger::new(6);
    let (owner, stealer) = ring(8);
    let (home, _) = ring(8);
    push_all(&owner, &ledger, 1..=6);
    assert!(stealer.steal_into(&home).is_none());
    owner.share();
    assert_eq!(stealer.steal_into(&home).map(|first| ledger.redeem(first)), Some(1));
    // SAFETY: the thief was this thread.
    unsafe { owner.unshare() };
    assert!(stealer.steal_into(&home).is_none());
    assert_eq!(ledger.redeem_all(|| owner.pop()), [4, 5, 6]);
    assert_eq!(ledger.redeem_all(|| home.pop()), [2, 3]);
    ledger.settle();
}

#[test]
fn overflow_takes_no_more_than_the_buffer_holds() {
    let ledger = Ledger::new(8);
    let (owner, _stealer) = ring(8);
    push_all(&owner, &ledger, 1..=8);
    let mut buffer = Vec::with_capacity(3);
    let bounds = buffer.as_ptr_range();
    assert_eq!(owner.take_half(&mut buffer), 3);
    assert_eq!(owner.take_half(&mut buffer), 0);
    assert_eq!(buffer.as_ptr(), bounds.start, "the buffer was not moved");
    let mut taken = buffer.drain(..);
    assert_eq!(ledger.redeem_all(|| taken.next()), [1, 2, 3]);
    finish(&owner, &ledger, []);
}

#[test]
fn fill_stops_at_the_room() {
    let ledger = Ledger::new(8);
    let (owner, _stealer) = ring(4);
    push_all(&owner, &ledger, 1..=1);
    let mut more = (2..=8).map(|number| ledger.issue(number));
    assert_eq!(owner.fill(&mut more), 3);
    assert_eq!(more.next().map(|token| ledger.redeem(token)), Some(5));
    assert_eq!(ledger.redeem_all(|| owner.pop()), [1, 2, 3, 4]);
}

#[test]
fn dropping_the_ring_drops_what_it_holds_once() {
    let count = std::sync::Arc::new(real::AtomicU32::new(0));
    let (owner, stealer) = ring(4);
    for _ in 0..6 {
        drop(owner.push(Dropped::new(&count)));
        drop(owner.pop());
    }
    for _ in 0..3 {
        assert!(owner.push(Dropped::new(&count)).is_ok());
    }
    drop(owner);
    assert_eq!(count.load(Relaxed), 6);
    drop(stealer);
    assert_eq!(count.load(Relaxed), 9);
}
