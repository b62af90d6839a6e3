//! The ring of a bounded channel: any number of senders and receivers, no lock.
//!
//! A value's place in the order is its *index*. The ring has a power of two of slots, at least as many as the channel
//! has places; index `i` uses slot `i % slots`. Each slot has a stamp:
//!
//! ```text
//!             fill(i)              take(i)
//!   free(i) ----------> filled(i) ----------> free(i + slots)
//! ```
//!
//! A sender moves the tail from `i` to `i + 1`, fills slot `i`, then stamps it. A receiver looks at the stamp of slot
//! `i`, moves the head from `i` to `i + 1`, takes the value, then stamps the slot. So in the normal case each side touches
//! its own word and the slot: one exchange a value, and neither reads the other's word.
//!
//! # Invariants
//!
//! - **G1** Who moves the tail over `i` owns slot `i` until it stamps it filled(i). Who moves the head over `i` owns it from
//!   then until it stamps it free(i + slots). Moves are exchanges of a word whose index never repeats (`word.rs`), so each
//!   index has one owner on each side.
//! - **G2** The tail is at most as far ahead of the head as the channel has places, less those reserved: whoever makes
//!   `index + reserved` grow by one, by sending or by reserving, has seen the stamp of the slot that was used so many places
//!   ago. So of every index that is given out, the slot was seen to be free, by this sender or by one before it.
//! - **G3** The head does not pass the tail: a receiver moves it only over filled slots.
//! - **G4** Between a move and the stamp there are only some instructions and no code of the user. Whoever finds the word
//!   moved and the stamp not yet set waits for that.
//! - **G5** CLOSED is in the tail: no index is given out after it, and head = tail after it means that all was received.
//!
//! # Rejected
//!
//! - A reserved place as a slot that is claimed and filled later: receivers would stand before it while values behind it
//!   are ready.
//! - Waking waiting senders only when half of the ring is free: a receiver may stop before that, and wait for something
//!   that the sender does after its send.

use super::word::{Guess, Word, WordCell, distance, wrapped};
use crate::prim::{AtomicUsize, Ordering::*, Padded, UnsafeCell, pause};
use alloc::boxed::Box;
use core::mem::MaybeUninit;

mod receiving;
pub(super) use receiving::Unseen;

pub(super) struct Ring<T> {
    tail: Padded<WordCell>,
    head: Padded<WordCell>,
    slots: Box<[Slot<T>]>,
    /// The number of slots less one.
    mask: u64,
    /// How many values there may be: no more than slots.
    places: u64,
    /// How many slots there are beyond that.
    slack: u64,
}

struct Slot<T> {
    stamp: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: values move through it from thread to thread, and each is owned by one at a time (G1).
unsafe impl<T: core::marker::Send> core::marker::Send for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: core::marker::Send> Sync for Ring<T> {}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Full,
    Closed,
}

/// The right, and the duty, to fill a slot (G4).
#[must_use]
pub(super) struct Claim<'r, T> {
    slot: &'r Slot<T>,
    index: u64,
    /// Receivers wait and must be called afterwards.
    pub(super) owes: bool,
}

/// The index's slot may be filled.
#[inline(always)]
fn free(index: u64) -> usize {
    (wrapped(index) << 1) as usize
}
/// The index's value is there.
#[inline(always)]
fn filled(index: u64) -> usize {
    (wrapped(index) << 1 | 1) as usize
}

impl<T> Ring<T> {
    /// A ring with that many places, at least one.
    pub(super) fn new(places: usize) -> Self {
        Self::starting_at(0, places)
    }

    /// `first` is a multiple of the number of slots.
    fn starting_at(first: u64, places: usize) -> Self {
        let slots = places.next_power_of_two();
        let slot = |at| Slot {
            stamp: AtomicUsize::new(free(first + at as u64)),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Self {
            tail: Padded(WordCell::new(first)),
            head: Padded(WordCell::new(first)),
            slots: (0..slots).map(slot).collect(),
            mask: slots as u64 - 1,
            places: places as u64,
            slack: (slots - places) as u64,
        }
    }

    #[inline(always)]
    fn slot(&self, index: u64) -> &Slot<T> {
        // SAFETY: the mask is the number of slots less one.
        unsafe { self.slots.get_unchecked((index & self.mask) as usize) }
    }

    pub(super) fn places(&self) -> usize {
        self.places as usize
    }

    pub(super) fn is_closed(&self) -> bool {
        self.tail.load().is_closed()
    }

    /// Closes; `false` if it was closed.
    pub(super) fn close(&self) -> bool {
        !self.tail.close().is_closed()
    }

    /// How many values are in it. The head is read first: so it is no later than the tail.
    pub(super) fn len(&self) -> usize {
        let head = self.head.load().index();
        distance(head, self.tail.load().index()).min(self.places) as usize
    }

    /// A place for a value, which the caller must fill at once, if there is one at first sight.
    #[inline(always)]
    pub(super) fn claim_at_sight(&self, guess: &Guess) -> Option<Claim<'_, T>> {
        let tail = guess.at(&self.tail);
        if tail.is_closed() || !self.has_room(tail) {
            guess.distrust();
            return None;
        }
        let claim = self.claim_of(tail); // before the exchange: behind it, the slot would be looked up again
        guess.exchange(&self.tail, tail, tail.advanced(1)).then_some(claim)
    }

    /// What moving the tail from there gives.
    #[inline(always)]
    fn claim_of(&self, tail: Word) -> Claim<'_, T> {
        Claim { slot: self.slot(tail.index()), index: tail.index(), owes: tail.is_waiting() }
    }

    /// A place for a value, which the caller must fill at once.
    pub(super) fn claim(&self) -> Result<Claim<'_, T>, Refusal> {
        self.move_tail(|tail| Some(tail.advanced(1))).map(|tail| self.claim_of(tail))
    }

    /// Promises a place.
    pub(super) fn reserve(&self) -> Result<(), Refusal> {
        self.move_tail(Word::promised).map(drop)
    }

    /// The place that was promised. Only `Closed` keeps it back; the promise is over then, too.
    pub(super) fn redeem(&self) -> Result<Claim<'_, T>, Refusal> {
        let mut tail = self.tail.load();
        loop {
            let next = if tail.is_closed() { tail.redeemed() } else { tail.redeemed().advanced(1) };
            match self.tail.exchange(tail, next) {
                Ok(()) if tail.is_closed() => return Err(Refusal::Closed),
                Ok(()) => return Ok(self.claim_of(tail)),
                Err(now) => tail = now,
            }
        }
    }

    /// Gives a promise back. Returns whether senders wait and must be called.
    pub(super) fn give_back(&self) -> bool {
        let mut tail = self.tail.load();
        while let Err(now) = self.tail.exchange(tail, tail.redeemed()) {
            tail = now;
        }
        // A sender that goes to sleep marks the head and then looks at the tail. We touch both, in the other order.
        let mut head = self.head.load();
        while let Err(now) = self.head.exchange(head, head.advanced(0)) {
            head = now;
        }
        head.is_waiting()
    }

    /// Changes the tail, if it is open and there is room. Returns what it was.
    fn move_tail(&self, change: impl Fn(Word) -> Option<Word>) -> Result<Word, Refusal> {
        let (mut tail, mut looks) = (self.tail.load(), 0);
        loop {
            if tail.is_closed() {
                return Err(Refusal::Closed);
            }
            if !self.has_room(tail) {
                tail = self.look_for_room(tail, &mut looks)?;
                continue;
            }
            match self.tail.exchange(tail, change(tail).ok_or(Refusal::Full)?) {
                Ok(()) => return Ok(tail),
                Err(now) => tail = now,
            }
        }
    }

    /// The slot that was used last, of all that must be free, has been stamped so (G2).
    #[inline(always)]
    fn has_room(&self, tail: Word) -> bool {
        let last = tail.index() + tail.reserved() + self.slack;
        self.slot(last).stamp.load(Acquire) == free(last)
    }

    /// The stamp says no; the head knows better. Returns the tail to try again with.
    #[cold]
    fn look_for_room(&self, tail: Word, looks: &mut u32) -> Result<Word, Refusal> {
        let used = distance(self.head.load().index(), tail.index()) + tail.reserved();
        let now = self.tail.load();
        if now != tail {
            return Ok(now); // the head may have been ahead of what we compared it with
        }
        if used >= self.places {
            return Err(Refusal::Full);
        }
        *looks += 1;
        pause(*looks); // a receiver is about to stamp (G4)
        Ok(self.tail.load())
    }

    /// Puts the value into the place.
    #[inline(always)]
    pub(super) fn fill(&self, claim: &Claim<'_, T>, value: T) {
        let slot = claim.slot;
        debug_assert_eq!(slot.stamp.load(Relaxed), free(claim.index));
        // SAFETY: the claim makes the slot ours until we stamp it (G1), and it is free (G2).
        slot.value.with_mut(|at| unsafe { (*at).write(value) });
        slot.stamp.store(filled(claim.index), Release);
    }

    /// Announces a sender that is about to wait, and says whether it must.
    pub(super) fn sender_must_wait(&self) -> bool {
        let head = self.head.announce(); // a sender
        let tail = self.tail.load();
        !tail.is_closed() && self.room(head, tail) == 0
    }

    /// Senders wait, beside the `called` ones. Announces them again; says whether there is room for one more of them.
    pub(super) fn more_room_than(&self, called: usize) -> bool {
        let head = self.head.announce(); // senders again
        self.room(head, self.tail.load()) > called as u64
    }

    /// The head is no later than the tail: what the head passed was filled, so who sees the head sees that tail (G3).
    fn room(&self, head: Word, tail: Word) -> u64 {
        if tail.promised().is_none() {
            return 0; // for promises; who sends at once does not ask
        }
        self.places.saturating_sub(distance(head.index(), tail.index()) + tail.reserved())
    }
}

#[cfg(test)]
mod tests;
