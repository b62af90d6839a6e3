use super::*;
use crate::channel::TryRecvError;
use crate::prim::{self, Arc};
use alloc::vec::Vec;

/// Sends as `send` does, without waiting for room.
fn push(ring: &Ring<u32>, value: u32) -> Result<(), Refusal> {
    let claim = ring.claim()?;
    ring.fill(&claim, value);
    Ok(())
}
/// Waits for a value in a way that a model checker understands.
fn pop(ring: &Ring<u32>) -> u32 {
    loop {
        match ring.take() {
            Ok((value, _)) => return value,
            Err(_) => prim::thread::yield_now(),
        }
    }
}

// mutation: ring-room-is-not-looked-for
// - in crates/core/src/channel/bounded.rs: `self.slot(last).stamp.load(Acquire) == free(last)`
// + `self.slot(last).stamp.load(Acquire) == free(last) || true`
// mutation: ring-tail-is-moved-without-exchange
// - in crates/core/src/channel/bounded.rs: `match self.tail.exchange(tail, change(tail).ok_or(Refusal::Full)?) {`
// + `match { let _ = self.tail.exchange(tail, change(tail).ok_or(Refusal::Full)?); Ok::<(), Word>(()) } {`
#[test]
fn model_ring_last_slot_goes_to_one_sender() {
    prim::model(|| {
        let ring = Arc::new(Ring::new(1));
        let other = ring.clone();
        let thread = prim::thread::spawn(move || push(&other, 1));
        let here = push(&ring, 2);
        let there = thread.join().unwrap();
        let won = if here.is_ok() { 2 } else { 1 };
        assert_eq!((here.is_ok(), there.is_ok()), (won == 2, won == 1), "one place, one sender");
        assert_eq!(ring.take().unwrap().0, won);
        assert_eq!(ring.take().unwrap_err(), TryRecvError::Empty);
    });
}

// mutation: ring-value-is-not-published
// - in crates/core/src/channel/bounded.rs: `slot.stamp.store(filled(claim.index), Release);`
// + `slot.stamp.store(filled(claim.index), Relaxed);`
// mutation: ring-place-is-not-published
// - in crates/core/src/channel/bounded/receiving.rs: `self.stamp.store(next, Release);`
// + `self.stamp.store(next, Relaxed);`
// mutation: ring-stamps-before-it-fills
// - in crates/core/src/channel/bounded.rs: `slot.value.with_mut(|at| unsafe { (*at).write(value) });`
// + `slot.stamp.store(filled(claim.index), Release); slot.value.with_mut(|at| unsafe { (*at).write(value) });`
// mutation: ring-forgets-to-wrap
// - in crates/core/src/channel/bounded.rs: `(wrapped(index) << 1) as usize`
// + `(index << 1) as usize`
#[test]
fn model_ring_wraps_around() {
    prim::model(|| {
        // The second value is the first of the next round, and of the next 2^40.
        let ring = Arc::new(Ring::starting_at(wrapped(u64::MAX), 1));
        let other = ring.clone();
        let thread = prim::thread::spawn(move || {
            push(&other, 1).unwrap();
            while push(&other, 2).is_err() {
                prim::thread::yield_now();
            }
        });
        assert_eq!((pop(&ring), pop(&ring)), (1, 2));
        thread.join().unwrap();
        assert_eq!(ring.len(), 0);
    });
}

// mutation: ring-head-is-moved-without-exchange
// - in crates/core/src/channel/bounded/receiving.rs: `match self.head.exchange(head, head.advanced(count)) {`
// + `match { let _ = self.head.exchange(head, head.advanced(count)); Ok::<(), Word>(()) } {`
#[test]
fn model_ring_gives_each_value_to_one_receiver() {
    prim::model(|| {
        let ring = Arc::new(Ring::new(2));
        push(&ring, 1).unwrap();
        push(&ring, 2).unwrap();
        let other = ring.clone();
        let thread = prim::thread::spawn(move || pop(&other));
        let here = pop(&ring);
        assert_eq!(here + thread.join().unwrap(), 3);
    });
}

// mutation: ring-many-are-taken-without-a-look
// - in crates/core/src/channel/bounded/receiving.rs: `while count < max && self.is_filled(index + count) {`
// + `while count < max && (count > 0 || self.is_filled(index)) {`
// mutation: ring-many-move-the-head-by-one
// - in crates/core/src/channel/bounded/receiving.rs: `match self.head.exchange(head, head.advanced(count)) {`
// + `match self.head.exchange(head, head.advanced(1)) {`
// mutation: ring-many-do-not-see-the-values
// - in crates/core/src/channel/bounded/receiving.rs: `self.slot(index).stamp.load(Acquire) == filled(index)`
// + `self.slot(index).stamp.load(Relaxed) == filled(index)`
#[test]
fn model_ring_some_at_once_against_a_receiver_and_a_sender() {
    prim::model(|| {
        let ring = Arc::new(Ring::new(3));
        (1..=2).for_each(|value| push(&ring, value).unwrap());
        let (sender, receiver) = (ring.clone(), ring.clone());
        let sends = prim::thread::spawn(move || push(&sender, 3).unwrap());
        let takes = prim::thread::spawn(move || receiver.take().map(|(value, _)| value));
        let mut all = Vec::new();
        let taken = ring.take_many(2, |value| all.push(value));
        assert_eq!(taken.is_ok(), !all.is_empty());
        assert!(all.is_sorted(), "in order: {all:?}");
        sends.join().unwrap();
        all.extend(takes.join().unwrap());
        all.extend(core::iter::from_fn(|| ring.take().ok()).map(|(value, _)| value));
        all.sort();
        assert_eq!(all, [1, 2, 3], "each once");
    });
}

// mutation: ring-promise-is-not-counted
// - in crates/core/src/channel/bounded.rs: `let last = tail.index() + tail.reserved() + self.slack;`
// + `let last = tail.index() + self.slack;`
// mutation: ring-does-not-wait-for-a-slow-receiver
// - in crates/core/src/channel/bounded.rs: `self.slot(last).stamp.load(Acquire) == free(last)`
// + `self.slot(last).stamp.load(Acquire) == free(last) || self.room(self.head.load(), tail) > 0`
#[test]
fn model_ring_reserved_place_against_slow_receivers() {
    prim::model(|| {
        // Two places, both filled, and two receivers, of which the second may be done before the first.
        let ring = Arc::new(Ring::new(2));
        push(&ring, 1).unwrap();
        push(&ring, 2).unwrap();
        let other = ring.clone();
        let thread = prim::thread::spawn(move || pop(&other));
        let here = pop(&ring);
        ring.reserve().unwrap();
        let sent = push(&ring, 3); // there is room if the other one is done
        let claim = ring.redeem().unwrap();
        ring.fill(&claim, 4);
        assert_eq!(here + thread.join().unwrap(), 3);
        assert_eq!(pop(&ring), if sent.is_ok() { 3 } else { 4 });
        assert_eq!(ring.len(), usize::from(sent.is_ok()));
    });
}

/// The head may have passed the tail that a sender remembers: that is no reason to say that the ring is full.
#[cfg(not(any(loom, shuttle)))]
#[test]
fn full_is_not_said_by_an_old_tail() {
    let ring = Ring::new(2);
    let old = ring.tail.load();
    for value in 0..3 {
        push(&ring, value).unwrap();
        pop(&ring);
        let (now, looked) = (ring.tail.load(), ring.look_for_room(old, &mut 0));
        assert_eq!(looked, Ok(now));
    }
    assert_eq!((push(&ring, 3), push(&ring, 4)), (Ok(()), Ok(())));
    let tail = ring.tail.load();
    assert_eq!(ring.look_for_room(tail, &mut 0), Err(Refusal::Full));
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn more_promises_than_the_word_can_count_are_refused() {
    let ring = Ring::<()>::new(1 << 21);
    for _ in 0..(1 << 20) - 1 {
        ring.reserve().unwrap();
    }
    assert_eq!(ring.reserve(), Err(Refusal::Full));
    assert!(ring.claim().map(|claim| ring.fill(&claim, ())).is_ok(), "who does not reserve has room");
    assert!(ring.sender_must_wait(), "for a promise");
}
