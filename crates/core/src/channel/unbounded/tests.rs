use super::*;
use crate::channel::TryRecvError;
use crate::prim::{self, Arc};
use alloc::vec::Vec;

fn push(blocks: &Blocks<u32>, value: u32) -> Result<(), Refusal> {
    let claim = blocks.claim(&Guess::new())?;
    blocks.fill(&claim, value);
    Ok(())
}
/// Waits for a value in a way that a model checker understands.
fn pop(blocks: &Blocks<u32>) -> u32 {
    loop {
        match blocks.take(&Guess::new()) {
            Ok(value) => return value,
            Err(_) => prim::thread::yield_now(),
        }
    }
}

// A block has two slots in a model: every second value is the last of its block.

// mutation: blocks-next-is-shown-before-it-is-there
// - in crates/core/src/channel/unbounded.rs: `self.tail.block.store(to, Release);`
// + `self.tail.word.skip(1); self.tail.block.store(to, Release); self.tail.word.skip(LAP - 1);`
// mutation: blocks-tail-is-moved-without-exchange
// - in crates/core/src/channel/unbounded.rs: `match self.tail.word.exchange(tail, tail.advanced(1)) {`
// + `match { let _ = self.tail.word.exchange(tail, tail.advanced(1)); Ok::<(), Word>(()) } {`
#[test]
fn model_blocks_two_senders_over_blocks() {
    prim::model(|| {
        let blocks = Arc::new(Blocks::new());
        let other = blocks.clone();
        let thread = prim::thread::spawn(move || push(&other, 1).unwrap());
        push(&blocks, 2).unwrap();
        thread.join().unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!(pop(&blocks) + pop(&blocks), 3);
        assert_eq!(blocks.take(&Guess::new()), Err(TryRecvError::Empty));
    });
}

// mutation: blocks-value-is-not-published
// - in crates/core/src/channel/unbounded.rs: `slot.mark.store(FILLED, Release);`
// + `slot.mark.store(FILLED, Relaxed);`
// mutation: blocks-value-is-taken-before-it-is-there
// - in crates/core/src/channel/unbounded/receiving.rs: `while slot.mark.load(Acquire) != FILLED {`
// + `while false {`
#[test]
fn model_blocks_receiver_follows_sender_over_blocks() {
    prim::model(|| {
        let blocks = Arc::new(Blocks::new());
        let other = blocks.clone();
        let thread = prim::thread::spawn(move || (1..=3).for_each(|value| push(&other, value).unwrap()));
        assert_eq!((pop(&blocks), pop(&blocks), pop(&blocks)), (1, 2, 3));
        thread.join().unwrap();
    });
}

// mutation: blocks-are-used-again-while-they-are-read
// - in crates/core/src/channel/unbounded/yard.rs: `slot.mark.load(Acquire) == TAKEN`
// + `slot.mark.load(Acquire) == TAKEN || true`
// mutation: blocks-reader-does-not-release
// - in crates/core/src/channel/unbounded/receiving.rs: `slot.mark.store(TAKEN, Release);`
// + `slot.mark.store(TAKEN, Relaxed);`
// mutation: blocks-taken-before-read
// - in crates/core/src/channel/unbounded/receiving.rs: `let value = slot.value.with(|at| (*at).assume_init_read());`
// + `slot.mark.store(TAKEN, Release); let value = slot.value.with(|at| (*at).assume_init_read());`
#[test]
fn model_blocks_are_used_again_when_read() {
    prim::model(|| {
        let blocks = Arc::new(Blocks::new());
        (1..=2).for_each(|value| push(&blocks, value).unwrap());
        let other = blocks.clone();
        let thread = prim::thread::spawn(move || pop(&other));
        let here = pop(&blocks);
        // The last one goes into the third block: perhaps the first one again, which the other one is reading.
        (3..=5).for_each(|value| push(&blocks, value).unwrap());
        let there = thread.join().unwrap();
        assert_eq!(here + there, 3);
        assert_eq!((pop(&blocks), pop(&blocks), pop(&blocks)), (3, 4, 5));
    });
}

// mutation: blocks-head-is-moved-without-exchange
// - in crates/core/src/channel/unbounded/receiving.rs: `match self.head.word.exchange(head, head.advanced(count as u64)) {`
// + `match { let _ = self.head.word.exchange(head, head.advanced(count as u64)); Ok::<(), Word>(()) } {`
#[test]
fn model_blocks_give_each_value_to_one_receiver() {
    prim::model(|| {
        let blocks = Arc::new(Blocks::new());
        (1..=2).for_each(|value| push(&blocks, value).unwrap());
        let other = blocks.clone();
        let thread = prim::thread::spawn(move || other.take(&Guess::new()));
        let here = blocks.take(&Guess::new()).unwrap();
        assert_eq!(here + thread.join().unwrap().unwrap(), 3);
        assert_eq!(blocks.take(&Guess::new()), Err(TryRecvError::Empty));
    });
}

// mutation: blocks-many-move-the-head-by-one
// - in crates/core/src/channel/unbounded/receiving.rs: `match self.head.word.exchange(head, head.advanced(count as u64)) {`
// + `match self.head.word.exchange(head, head.advanced(1)) {`
// mutation: blocks-many-end-at-the-first
// - in crates/core/src/channel/unbounded/receiving.rs: `let moved = first + count == SLOTS;`
// + `let moved = first + 1 == SLOTS;`
#[test]
fn model_blocks_some_at_once_against_a_receiver_and_a_sender() {
    prim::model(|| {
        let blocks = Arc::new(Blocks::new());
        (1..=2).for_each(|value| push(&blocks, value).unwrap());
        let (sender, receiver) = (blocks.clone(), blocks.clone());
        let sends = prim::thread::spawn(move || push(&sender, 3).unwrap());
        let takes = prim::thread::spawn(move || receiver.take(&Guess::new()));
        let mut all = Vec::new();
        let taken = blocks.take_many(&Guess::new(), 2, |value| all.push(value));
        assert_eq!(taken.is_ok(), !all.is_empty());
        assert!(all.is_sorted(), "in order: {all:?}");
        sends.join().unwrap();
        all.extend(takes.join().unwrap());
        all.extend(core::iter::from_fn(|| blocks.take(&Guess::new()).ok()));
        all.sort();
        assert_eq!(all, [1, 2, 3], "each once");
    });
}

// mutation: blocks-close-is-not-seen
// - in crates/core/src/channel/unbounded.rs: `break Err(Refusal::Closed);`
// + `if offset(tail) > SLOTS { break Err(Refusal::Closed); }`
#[test]
fn model_blocks_close_against_send() {
    prim::model(|| {
        let blocks = Arc::new(Blocks::new());
        let other = blocks.clone();
        let thread = prim::thread::spawn(move || other.close());
        let sent = push(&blocks, 1);
        assert!(thread.join().unwrap());
        assert_eq!(blocks.take(&Guess::new()), if sent.is_ok() { Ok(1) } else { Err(TryRecvError::Closed) });
        assert_eq!(push(&blocks, 2), Err(Refusal::Closed));
        assert_eq!(blocks.take(&Guess::new()), Err(TryRecvError::Closed));
    });
}

// mutation: blocks-receiver-does-not-look-again
// - in crates/core/src/channel/unbounded/receiving.rs: `!tail.is_closed() && values_until(tail, head) == Some(0)`
// + `{ let _ = head; !tail.is_closed() }`
#[test]
fn model_blocks_send_against_a_receiver_that_falls_asleep() {
    prim::model(|| {
        let (sender, receiver) = crate::channel::unbounded();
        let thread = prim::thread::spawn(move || {
            sender.try_send(7).unwrap();
            sender
        });
        assert_eq!(crate::block_on_simple(receiver.recv()), Ok(7));
        drop(thread.join().unwrap());
    });
}

// mutation: blocks-count-backwards
// - in crates/core/src/channel/unbounded/receiving.rs: `(!passed).then(`
// + `(!passed || true).then(`
#[test]
fn model_blocks_another_receiver_passes_one_that_falls_asleep() {
    prim::model(|| {
        let blocks = Arc::new(Blocks::new());
        let other = blocks.clone();
        let thread = prim::thread::spawn(move || other.receiver_must_wait());
        push(&blocks, 1).unwrap();
        assert_eq!(blocks.take(&Guess::new()), Ok(1));
        let waits = thread.join().unwrap();
        assert!(waits || blocks.receiver_must_wait(), "it is empty");

        // The same, step by step: that a value comes and goes between the two looks is what loom does not try (shuttle does).
        let tail = blocks.tail.word.announce();
        push(&blocks, 2).unwrap();
        assert_eq!(blocks.take(&Guess::new()), Ok(2));
        assert_eq!(receiving::values_until(tail, blocks.head.word.load()), None);
    });
}

/// A burst leaves no more blocks than are kept.
#[cfg(not(any(loom, shuttle)))]
#[test]
fn blocks_are_kept_for_the_next_use_and_no_more() {
    let blocks = Blocks::new();
    for _ in 0..3 {
        (0..32 * 31).for_each(|value| push(&blocks, value).unwrap());
        (0..32 * 31).for_each(|value| assert_eq!(pop(&blocks), value));
        assert_eq!(blocks.yard.count(), (8, 0));
    }
    push(&blocks, 1).unwrap();
    (0..31).for_each(|value| push(&blocks, value).unwrap());
    assert_eq!(blocks.yard.count(), (7, 0), "taken from there");
    assert_eq!(blocks.len(), 32);
}
