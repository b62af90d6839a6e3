//! The queue of an unbounded channel: linked blocks of slots, any number of senders and receivers.
//!
//! A value's place in the order is its *position*. A lap of [`LAP`] positions belongs to one block: all but the last have
//! a slot in it. Being at the last one means "somebody is moving this end to the next block":
//!
//! ```text
//!   lap:        0  1  2 ... 30 | 31          32 33 ...
//!               slots of block | moving on   slots of the next block
//! ```
//!
//! A sender moves the tail by one exchange, then fills the slot and marks it. A receiver moves the head by one exchange,
//! waits for the mark if it must, and takes the value. To know that there is something, it compares with a copy of
//! the tail beside the head, and looks at the tail itself only when the copy does not suffice: once for many values.
//!
//! A block whose slots have all been taken goes to the [`Yard`], from which senders get their next one.
//!
//! # Invariants
//!
//! - **U1** Who moves the tail over a position may write its slot, once, until it marks it FILLED. Who moves the head over
//!   it may read it, once, after that, until it marks it TAKEN. Positions never repeat (`word.rs`).
//! - **U2** `tail_block` is the block of the tail's lap, and `head_block` that of the head's, except while the word is at the
//!   last position of a lap: then who moved it there sets the block and moves the word on. A pointer read after the
//!   word is good if an exchange of that very word succeeds.
//! - **U3** No block is dereferenced by who does not own one of its slots, or the move to the next block, or the yard. So
//!   a block in which every slot is TAKEN, and from which both ends have moved on, is the yard's alone.
//! - **U4** `known` is a tail that once was: all positions before it are given out. Who sees it sees that tail.
//! - **U5** Between a move and the mark there are only some instructions and no code of the user; memory is asked for
//!   before the move. Whoever needs the mark waits for it.
//! - **U6** CLOSED is in the tail: no position is given out after it.
//!
//! # Rejected
//!
//! - An exchange per slot to find out who is the last reader of a block, and frees it: a second read-modify-write per value.
//!   Here the marks are plain stores, and a block that is not yet read to the end waits in the yard.
//! - Looking at the slot's mark before moving the head: the block may be gone by then.

use super::bounded::Refusal;
use super::word::{Guess, Word, WordCell, distance};
use crate::prim::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*, Padded, UnsafeCell, pause};
use core::mem::MaybeUninit;
use core::ptr;
use yard::Yard;

mod receiving;
mod yard;

/// Positions per block; one of them has no slot. Small in a model, so that it moves on.
const LAP: u64 = if cfg!(any(loom, shuttle)) { 3 } else { 32 };
const SLOTS: usize = LAP as usize - 1;

pub(super) struct Blocks<T> {
    tail: End<T>,
    head: End<T>,
    /// A position that the tail has reached (U4).
    known: Padded<AtomicU64>,
    yard: Padded<Yard<T>>,
}

/// Two lines: the word changes with each value, the block seldom.
struct End<T> {
    word: Padded<WordCell>,
    block: Padded<AtomicPtr<Block<T>>>,
}

struct Block<T> {
    next: AtomicPtr<Block<T>>,
    slots: [Slot<T>; SLOTS],
}

struct Slot<T> {
    mark: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

const FREE: u32 = 0;
const FILLED: u32 = 1;
const TAKEN: u32 = 2;

// SAFETY: values move through it from thread to thread, and each is owned by one at a time (U1).
unsafe impl<T: core::marker::Send> core::marker::Send for Blocks<T> {}
// SAFETY: as above.
unsafe impl<T: core::marker::Send> Sync for Blocks<T> {}

/// The right, and the duty, to fill a slot (U5).
#[must_use]
pub(super) struct Claim<T> {
    slot: *const Slot<T>,
    /// Receivers wait and must be called afterwards.
    pub(super) owes: bool,
}

/// How many values come before a position.
fn values_before(position: u64) -> u64 {
    position - position / LAP
}

fn offset(word: Word) -> usize {
    (word.index() % LAP) as usize
}

impl<T> Blocks<T> {
    pub(super) fn new() -> Self {
        let yard = Yard::new();
        let first = yard.block();
        Self {
            tail: End::new(first),
            head: End::new(first),
            known: Padded(AtomicU64::new(0)),
            yard: Padded(yard),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.tail.word.load().is_closed()
    }

    /// Closes; `false` if it was closed.
    pub(super) fn close(&self) -> bool {
        !self.tail.word.close().is_closed()
    }

    /// How many values are in it. The head is read first: so it is no later than the tail.
    pub(super) fn len(&self) -> usize {
        let head = self.head.word.load();
        values_between(head.index(), self.tail.word.load().index()) as usize
    }

    /// A place for a value, which the caller must fill at once, if there is one at first sight.
    #[inline(always)]
    pub(super) fn claim_at_sight(&self, guess: &Guess) -> Option<Claim<T>> {
        let tail = guess.at(&self.tail.word);
        let at = offset(tail);
        if tail.is_closed() || at + 1 >= SLOTS {
            return None;
        }
        let block = self.tail.block.load(Acquire);
        if !guess.exchange(&self.tail.word, tail, tail.advanced(1)) {
            return None;
        }
        // SAFETY: as in `claim`.
        Some(Claim { slot: unsafe { &raw const (*block).slots[at] }, owes: tail.is_waiting() })
    }

    /// A place for a value, which the caller must fill at once.
    pub(super) fn claim(&self, guess: &Guess) -> Result<Claim<T>, Refusal> {
        let (mut tail, mut looks) = (self.tail.word.load(), 0);
        let mut next: *mut Block<T> = ptr::null_mut();
        let claimed = loop {
            if tail.is_closed() {
                break Err(Refusal::Closed);
            }
            let at = offset(tail);
            if at == SLOTS {
                looks += 1;
                pause(looks); // another sender is moving on (U5)
                tail = self.tail.word.load();
                continue;
            }
            if at + 1 == SLOTS && next.is_null() {
                next = self.yard.block();
            }
            let block = self.tail.block.load(Acquire);
            match self.tail.word.exchange(tail, tail.advanced(1)) {
                Ok(()) => break Ok((block, at, tail.is_waiting())),
                Err(now) => tail = now,
            }
        };
        let (block, at, owes) = claimed.inspect_err(|_| self.yard.take_back(next))?;
        if at + 1 == SLOTS {
            guess.set(self.move_tail_on(block, next));
        } else if !next.is_null() {
            self.yard.take_back(next);
        }
        // SAFETY: the exchange succeeded, so the block is the position's (U2), and has a slot that we own (U3).
        Ok(Claim { slot: unsafe { &raw const (*block).slots[at] }, owes })
    }

    /// We moved the tail to the last position of its lap, so this is our task (U2). Returns the tail.
    #[inline]
    fn move_tail_on(&self, from: *mut Block<T>, to: *mut Block<T>) -> Word {
        self.tail.block.store(to, Release);
        let tail = self.tail.word.skip(1);
        // SAFETY: we own a slot of it that is not filled yet (U3).
        unsafe { (*from).next.store(to, Release) };
        tail
    }

    /// Puts the value into the place.
    #[inline(always)]
    pub(super) fn fill(&self, claim: &Claim<T>, value: T) {
        // SAFETY: the claim makes the slot ours until it is marked (U1, U3).
        unsafe {
            let slot = &*claim.slot;
            slot.value.with_mut(|at| (*at).write(value));
            slot.mark.store(FILLED, Release);
        }
    }
}

/// How many values are from one position to a later one. (2^40 is a multiple of the lap.)
fn values_between(from: u64, to: u64) -> u64 {
    let laps_from = from / LAP * LAP;
    values_before(distance(laps_from, to)) - values_before(from - laps_from)
}

impl<T> End<T> {
    fn new(first: *mut Block<T>) -> Self {
        Self { word: Padded(WordCell::new(0)), block: Padded(AtomicPtr::new(first)) }
    }
}

impl<T> Block<T> {
    fn new() -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            slots: core::array::from_fn(|_| Slot {
                mark: AtomicU32::new(FREE),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            }),
        }
    }
}

/// Frees the blocks. What is in them was taken before: the last receiver empties the channel.
impl<T> Drop for Blocks<T> {
    fn drop(&mut self) {
        let mut block = self.head.block.load(Acquire);
        while !block.is_null() {
            // SAFETY: nobody else is there any more; the chain from the head on is not in the yard (U3).
            block = unsafe {
                let next = (*block).next.load(Acquire);
                drop(alloc::boxed::Box::from_raw(block));
                next
            };
        }
    }
}

#[cfg(test)]
mod tests;
