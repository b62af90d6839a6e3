//! What the lock of a broadcast guards: positions, slots and counts. No value is cloned or dropped here; what is to be
//! dropped is handed out. The invariants are numbered in `../broadcast.rs`.

use crate::prim::Arc;
use alloc::boxed::Box;
use core::mem;

pub(super) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    /// The position of the next value. It does not wrap: 64 bits outlast any machine.
    tail: u64,
    receivers: usize,
    /// How many slots have a value.
    kept: usize,
}

struct Slot<T> {
    value: Option<Arc<T>>,
    /// Who has yet to see it (BC2).
    unseen: usize,
}

/// What a receiver finds at its position.
pub(super) enum Found<T> {
    /// The value; the last who sees it has the only reference, as soon as the others have cloned.
    Value(Arc<T>),
    /// Nothing has been sent there yet.
    Nothing,
    /// That many were overwritten; the position was moved to the oldest that is left.
    Missed(u64),
}

impl<T> Ring<T> {
    /// For one receiver, at position 0.
    pub(super) fn new(capacity: usize) -> Self {
        let slots = (0..capacity).map(|_| Slot { value: None, unseen: 0 }).collect();
        Self { slots, tail: 0, receivers: 1, kept: 0 }
    }

    pub(super) fn tail(&self) -> u64 {
        self.tail
    }
    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }
    pub(super) fn receivers(&self) -> usize {
        self.receivers
    }
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// The oldest position that was not overwritten.
    fn oldest(&self) -> u64 {
        self.tail.saturating_sub(self.slots.len() as u64)
    }

    fn slot(&mut self, position: u64) -> &mut Slot<T> {
        let index = position % self.slots.len() as u64;
        &mut self.slots[index as usize]
    }

    /// Puts the value at the tail, for all receivers there are (at least one). Returns what it overwrites.
    #[must_use = "to be dropped after unlocking"]
    pub(super) fn push(&mut self, value: &mut Option<Arc<T>>) -> Option<Arc<T>> {
        let (tail, unseen) = (self.tail, self.receivers);
        self.tail += 1;
        let old = mem::replace(self.slot(tail), Slot { value: value.take(), unseen }).value;
        self.kept += usize::from(old.is_none());
        old
    }

    /// Counts one more receiver, whose position is the tail.
    pub(super) fn join(&mut self) -> u64 {
        self.receivers += 1;
        self.tail
    }

    /// A receiver looks at `next`, and goes on to the one after it if there is a value.
    pub(super) fn see(&mut self, next: &mut u64) -> Found<T> {
        if *next == self.tail {
            return Found::Nothing;
        }
        let oldest = self.oldest();
        if *next < oldest {
            let missed = oldest - *next;
            *next = oldest;
            return Found::Missed(missed);
        }
        let slot = self.slot(*next);
        *next += 1;
        slot.unseen -= 1;
        let last = slot.unseen == 0;
        let value = if last { slot.value.take() } else { slot.value.clone() };
        self.kept -= usize::from(last);
        Found::Value(value.expect("a value that somebody has yet to see (BC2)"))
    }

    /// Counts one receiver less. Returns the tail: it still has to [`pass`](Self::pass) what is before that.
    pub(super) fn leave(&mut self) -> u64 {
        self.receivers -= 1;
        self.tail
    }

    /// A receiver that has left passes one more value, so that it is not kept for it. `None`: there is none before `end`.
    #[must_use = "to be dropped after unlocking"]
    pub(super) fn pass(&mut self, next: &mut u64, end: u64) -> Option<Arc<T>> {
        while *next < end {
            if let Found::Value(value) = self.see(next) {
                return Some(value);
            }
        }
        None
    }
}
