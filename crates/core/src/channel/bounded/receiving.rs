//! The receivers' end of the ring. The invariants are in `bounded.rs`.

use super::super::TryRecvError;
use super::super::word::{Guess, Word, distance};
use super::{Ring, Slot, filled, free};
use crate::prim::{Ordering::*, pause};

/// What was seen instead of a value at first sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Unseen {
    /// There is nothing, as it seems: wait, which looks again.
    Nothing,
    /// Look with care.
    Unclear,
}

/// The right, and the duty, to take values out (G4).
#[must_use]
struct Filled {
    index: u64,
    count: u64,
    /// Senders wait and must be called afterwards.
    owes: bool,
}

impl<T> Ring<T> {
    /// Takes the oldest value, if there is one at first sight, and says whether senders wait and must be called.
    #[inline(always)]
    pub(in super::super) fn take_at_sight(&self, guess: &Guess) -> Result<(T, bool), Unseen> {
        let head = guess.at(&self.head);
        // All before the exchange: behind it, each would be loaded again.
        let (slot, next) = (self.slot(head.index()), free(head.index() + self.mask + 1));
        if slot.stamp.load(Acquire) != filled(head.index()) {
            guess.distrust();
            return Err(Unseen::Nothing);
        }
        if !guess.exchange(&self.head, head, head.advanced(1)) {
            return Err(Unseen::Unclear);
        }
        // SAFETY: the stamp said that it is filled, and we moved the head over it, so it is ours (G1).
        Ok((unsafe { slot.take_out(next) }, head.is_waiting()))
    }

    /// Takes the oldest value, and says whether senders wait and must be called.
    pub(in super::super) fn take(&self) -> Result<(T, bool), TryRecvError> {
        let claimed = self.claim_filled(1)?;
        Ok((self.take_out(claimed.index), claimed.owes))
    }

    /// Takes up to `max` of the oldest values (not 0) by one exchange, and says whether senders wait and must be called.
    pub(in super::super) fn take_many(
        &self,
        max: usize,
        mut into: impl FnMut(T),
    ) -> Result<bool, TryRecvError> {
        let claimed = self.claim_filled(max as u64)?;
        (0..claimed.count).for_each(|at| into(self.take_out(claimed.index + at)));
        Ok(claimed.owes)
    }

    #[inline(always)]
    fn is_filled(&self, index: u64) -> bool {
        self.slot(index).stamp.load(Acquire) == filled(index)
    }

    /// Moves the head over up to `max` filled slots.
    fn claim_filled(&self, max: u64) -> Result<Filled, TryRecvError> {
        let (mut head, mut looks) = (self.head.load(), 0);
        loop {
            let index = head.index();
            let mut count = 0;
            while count < max && self.is_filled(index + count) {
                count += 1;
            }
            if count == 0 {
                head = self.look_for_value(head, &mut looks)?;
                continue;
            }
            match self.head.exchange(head, head.advanced(count)) {
                Ok(()) => return Ok(Filled { index, count, owes: head.is_waiting() }),
                Err(now) => head = now,
            }
        }
    }

    /// The slot is not filled; the tail knows why. Returns the head to try again with.
    #[cold]
    fn look_for_value(&self, head: Word, looks: &mut u32) -> Result<Word, TryRecvError> {
        let tail = self.tail.load();
        if tail.index() == head.index() {
            // The head is still there, for it does not pass the tail (G3).
            return Err(if tail.is_closed() { TryRecvError::Closed } else { TryRecvError::Empty });
        }
        let now = self.head.load();
        if now.index() == head.index() {
            *looks += 1;
            pause(*looks); // a sender is about to stamp (G4)
        }
        Ok(now)
    }

    fn take_out(&self, index: u64) -> T {
        // SAFETY: the caller moved the head over it, which only passes filled slots (G1, G3).
        unsafe { self.slot(index).take_out(free(index + self.mask + 1)) }
    }

    /// Whether there is a value, to be asked again and again: it looks at nothing but the slot that a sender stamps.
    pub(in super::super) fn watch_for_value(&self) -> impl Fn() -> bool + '_ {
        let index = self.head.load().index();
        move || self.is_filled(index)
    }

    /// Announces a receiver that is about to wait, and says whether it must.
    pub(in super::super) fn receiver_must_wait(&self) -> bool {
        let tail = self.tail.announce(); // a receiver
        !tail.is_closed() && self.head.load().index() == tail.index()
    }

    /// Receivers wait, beside the `called` ones. Announces them again; says whether there is a value for one more of them.
    pub(in super::super) fn more_values_than(&self, called: usize) -> bool {
        let tail = self.tail.announce(); // receivers again
        let values = distance(self.head.load().index(), tail.index());
        values > called as u64 && values <= self.places // more than that: the head was ahead, they were received
    }
}

impl<T> Slot<T> {
    /// Takes the value, and stamps the slot.
    ///
    /// # Safety
    ///
    /// It is filled, the caller moved the head over it and takes it once: it is ours until it is stamped (G1).
    #[inline(always)]
    unsafe fn take_out(&self, next: usize) -> T {
        // SAFETY: passed on to the caller.
        let value = self.value.with(|at| unsafe { (*at).assume_init_read() });
        self.stamp.store(next, Release);
        value
    }
}
