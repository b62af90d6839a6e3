//! The receivers' end of the blocks. The invariants are in `unbounded.rs`.

use super::super::TryRecvError;
use super::super::bounded::Unseen;
use super::super::word::{Guess, Word, distance, wrapped};
use super::{Block, Blocks, FILLED, SLOTS, TAKEN, offset, values_between};
use crate::prim::{Ordering::*, pause};

/// The right, and the duty, to take the values of some slots of one block (U5).
struct Filled<T> {
    block: *mut Block<T>,
    first: usize,
    count: usize,
}

impl<T> Blocks<T> {
    /// Takes the oldest value, if there is one at first sight.
    #[inline(always)]
    pub(in super::super) fn take_at_sight(&self, guess: &Guess) -> Result<T, Unseen> {
        let head = guess.at(&self.head.word);
        let first = offset(head);
        if first + 1 >= SLOTS || self.known_from(head) == 0 {
            return Err(Unseen::Unclear);
        }
        let block = self.head.block.load(Acquire);
        if !guess.exchange(&self.head.word, head, head.advanced(1)) {
            return Err(Unseen::Unclear);
        }
        // SAFETY: claimed, and taken once (U1).
        Ok(unsafe { self.take_out(&Filled { block, first, count: 1 }, 0) })
    }

    /// Takes the oldest value.
    pub(in super::super) fn take(&self, guess: &Guess) -> Result<T, TryRecvError> {
        let filled = self.claim_filled(guess, 1)?;
        // SAFETY: claimed, and taken once (U1).
        let value = unsafe { self.take_out(&filled, 0) };
        self.leave(&filled);
        Ok(value)
    }

    /// Takes up to `max` of the oldest values (not 0) by one exchange.
    pub(in super::super) fn take_many(
        &self,
        guess: &Guess,
        max: usize,
        mut into: impl FnMut(T),
    ) -> Result<(), TryRecvError> {
        let filled = self.claim_filled(guess, max)?;
        // SAFETY: claimed, and each is taken once (U1).
        (0..filled.count).for_each(|at| into(unsafe { self.take_out(&filled, at) }));
        self.leave(&filled);
        Ok(())
    }

    /// Moves the head over up to `max` positions of one block.
    fn claim_filled(&self, guess: &Guess, max: usize) -> Result<Filled<T>, TryRecvError> {
        let (mut head, mut looks) = (self.head.word.load(), 0);
        loop {
            let first = offset(head);
            if first == SLOTS {
                looks += 1;
                pause(looks); // another receiver is moving on (U5)
                head = self.head.word.load();
                continue;
            }
            let ready = match self.known_from(head) {
                0 => self.learn(head)?,
                known => known,
            };
            let count = max.min(SLOTS - first).min(ready as usize);
            let block = self.head.block.load(Acquire);
            match self.head.word.exchange(head, head.advanced(count as u64)) {
                Ok(()) => {
                    let moved = first + count == SLOTS;
                    guess.set(if moved { self.move_head_on(block) } else { head.advanced(count as u64) });
                    return Ok(Filled { block, first, count });
                }
                Err(now) => head = now,
            }
        }
    }

    /// How many positions from the head on are known to be given out. It may count those without a slot.
    #[inline(always)]
    fn known_from(&self, head: Word) -> u64 {
        let known = distance(head.index(), self.known.load(Acquire));
        // More than half of all: the head has passed it.
        if known <= wrapped(u64::MAX) / 2 { known } else { 0 }
    }

    /// As [`known_from`](Self::known_from), after a look at the tail itself: at least one. The head may be old: then the exchange that follows fails.
    fn learn(&self, head: Word) -> Result<u64, TryRecvError> {
        let tail = self.tail.word.load();
        let ready = distance(head.index(), tail.index());
        if ready == 0 {
            return Err(if tail.is_closed() { TryRecvError::Closed } else { TryRecvError::Empty });
        }
        self.known.store(tail.index(), Release);
        Ok(ready)
    }

    /// We moved the head to the last position of its lap, so this is our task (U2). Returns the head.
    #[inline]
    fn move_head_on(&self, from: *mut Block<T>) -> Word {
        let mut looks = 0;
        let next = loop {
            // SAFETY: we own a slot of it that is not taken yet (U3).
            let next = unsafe { (*from).next.load(Acquire) };
            if !next.is_null() {
                break next;
            }
            looks += 1;
            pause(looks); // the sender of the last slot is about to set it (U5)
        };
        self.head.block.store(next, Release);
        self.head.word.skip(1)
    }

    /// # Safety
    /// Once for each of the slots that were claimed.
    #[inline(always)]
    unsafe fn take_out(&self, filled: &Filled<T>, at: usize) -> T {
        // SAFETY: the claim makes the slot ours once it is marked (U1, U3).
        unsafe {
            let slot = &(*filled.block).slots[filled.first + at];
            let mut looks = 0;
            while slot.mark.load(Acquire) != FILLED {
                looks += 1;
                pause(looks); // a sender is about to mark it (U5)
            }
            let value = slot.value.with(|at| (*at).assume_init_read());
            slot.mark.store(TAKEN, Release);
            value
        }
    }

    /// Done with the claimed slots. Who had the last one of a block brings it away.
    #[inline(always)]
    fn leave(&self, filled: &Filled<T>) {
        if filled.first + filled.count == SLOTS {
            self.yard.bring(filled.block);
        }
    }

    /// Announces a receiver that is about to wait, and says whether it must.
    pub(in super::super) fn receiver_must_wait(&self) -> bool {
        let tail = self.tail.word.announce();
        let head = self.head.word.load();
        !tail.is_closed() && values_until(tail, head) == Some(0)
    }

    /// Receivers wait, beside the `called` ones. Announces them again; says whether there is a value for one more of them.
    pub(in super::super) fn more_values_than(&self, called: usize) -> bool {
        let tail = self.tail.word.announce();
        let head = self.head.word.load();
        values_until(tail, head).is_some_and(|values| values > called as u64)
    }
}

/// How many values were left for the head when the tail was this one. None if it has passed it: it was read later.
pub(super) fn values_until(tail: Word, head: Word) -> Option<u64> {
    let passed = distance(head.index(), tail.index()) > wrapped(u64::MAX) / 2;
    (!passed).then(|| values_between(head.index(), tail.index()))
}
