//! A worker's run queue: a bounded FIFO ring with one owner and many thieves.
//!
//! The owner pushes at the tail and takes the oldest entry at the head; a thief takes half of the oldest at once. Head
//! and tail are positions, counted from the first push on; position `p` lives in slot `p mod capacity`.
//!
//! # Invariants
//!
//! 1. Positions are 64 bits wide, only grow and never repeat (2^64 pushes, one each nanosecond, take 584 years).
//!    `head <= tail <= head + capacity`, and the capacity is a power of two.
//! 2. The slot of each position in `head..tail` holds the raw pointer of the entry pushed there, and the ring owns that
//!    entry. It passes to whoever moves `head` past its position, which exactly one does: by compare-and-exchange, or, as
//!    long as no thief is admitted, by the owner's plain store.
//! 3. Only the owner, the one [`Producer`], writes slots and `tail`. It writes the slot of `p` only while `p >= tail`
//!    and after it has read, with Acquire, a `head > p - capacity`: a slot outside `head..tail` is the owner's to use.
//! 4. Who reads `head` first and then `tail`, both with Acquire, reads `tail >= head`: each move of `head` is a Release
//!    by somebody who had seen such a tail before (the plain stores of an unshared ring, by the opening of its door).
//! 5. While the door (`door.rs`) is closed, no thief touches `head`.
//!
//! # Why a thief may copy slots that are overwritten under its eyes
//!
//! A thief reads `head = h` and `tail = t`, copies the slots of `h..e` (with `e <= t`), and then moves `head` from `s` to
//! `e` in one compare-and-exchange, where `h <= s < e`. Let `p` be a position in `s..e`. The slot's write for `p` happens
//! before the copy, because `t > p` was read with Acquire. So the copy saw that write or a later one, which is for
//! `p + capacity` or beyond. Before a later one the owner had read a head above `p` (3). Heads never repeat (1), so this
//! head stands behind the thief's exchange in the order of modification, and, all moves since then being
//! read-modify-writes (2) or ordered by the contract of [`Producer::unshare`], the owner's Acquire synchronised with the
//! exchange, a Release. Hence the copy happened before the later write and cannot have seen it. In words: an overwritten
//! slot means that `head` has passed it, and then the exchange fails. ∎
//!
//! The same argument lets a thief that lost a race keep the rest of its copy: `s` need not be `h`, only what `head` was
//! at the exchange. So the window in which an owner that takes entries quickly can foil a thief is one exchange long,
//! however many slots were copied.
//!
//! # Rejected
//!
//! A head packed with the position of a running steal, as in Tokio: a thief that is preempted between its two steps
//! locks out all others and makes the ring look full. Slots as plain memory, as in crossbeam's deque: the racy read is
//! undefined behaviour, which no checker can be made to like.

use super::door::Door;
use super::entry::Entry;
use ropewalk_core::prefetch;
use ropewalk_core::prim::Ordering::{AcqRel, Acquire, Relaxed, Release};
use ropewalk_core::prim::{Arc, AtomicPtr, AtomicU64, Padded};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

#[cfg(test)]
mod tests;

/// How far ahead of its turn an entry is asked for: it may have come from another core.
const AHEAD: u64 = 4;

/// Makes a ring with room for `capacity` entries (rounded up to a power of two, at least 2): the owner's end of it, and
/// the end that is shown to others. The ring starts unshared.
pub(crate) fn ring<T: Entry>(capacity: usize) -> (Producer<T>, Stealer<T>) {
    let capacity = capacity.max(2).next_power_of_two();
    let ring = Arc::new(Ring {
        slots: (0..capacity).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
        door: Door::new(false),
        head: Padded(AtomicU64::new(0)),
        tail: Padded(AtomicU64::new(0)),
        entries: PhantomData,
    });
    let stealer = Stealer { ring: ring.clone() };
    (Producer { ring, tail: Cell::new(0), head_seen: Cell::new(0) }, stealer)
}

/// What owner and thieves share. `slots` itself never changes and the door hardly ever does, so they are on one line.
struct Ring<T: Entry> {
    slots: Box<[AtomicPtr<()>]>,
    door: Door,
    /// The position of the oldest entry.
    head: Padded<AtomicU64>,
    /// The position of the next push.
    tail: Padded<AtomicU64>,
    entries: PhantomData<T>,
}

// SAFETY: the ring hands each entry to one thread (2), never a reference to it: `Send` is all that takes.
unsafe impl<T: Entry + Send> Sync for Ring<T> {}

impl<T: Entry> Ring<T> {
    #[inline(always)]
    fn slot(&self, position: u64) -> &AtomicPtr<()> {
        let at = position as usize & (self.slots.len() - 1);
        // SAFETY: the length is a power of two (1), so what its mask leaves is below it.
        unsafe { self.slots.get_unchecked(at) }
    }

    /// The entry whose raw pointer a slot held.
    ///
    /// # Safety
    ///
    /// `raw` was in the slot of a position in `head..tail`, and the caller moved `head` past that position.
    #[inline(always)]
    unsafe fn entry(raw: *mut ()) -> T {
        // SAFETY: by (2) the pointer is that of an entry which is now the caller's, given back this once; it is not null,
        // and a thief's Acquire of `tail` put its push before this.
        unsafe { T::from_raw(NonNull::new_unchecked(raw)) }
    }
}

impl<T: Entry> Drop for Ring<T> {
    fn drop(&mut self) {
        for position in self.head.load(Relaxed)..self.tail.load(Relaxed) {
            // SAFETY: the last handle is gone, so everything in `head..tail` passes to this loop, each once.
            drop(unsafe { Self::entry(self.slot(position).load(Relaxed)) });
        }
    }
}

/// The right to push and to take the oldest: there is one for each ring. It may be sent to another thread, but only one
/// at a time has it, so what only the owner writes is kept here in plain cells as well.
pub(crate) struct Producer<T: Entry> {
    ring: Arc<Ring<T>>,
    /// Always equal to the ring's `tail`.
    tail: Cell<u64>,
    /// A value of `head` that the owner has read with Acquire: never above `head`, and exact while unshared.
    head_seen: Cell<u64>,
}

impl<T: Entry> Producer<T> {
    /// Adds an entry behind all others. A full ring gives it back.
    #[inline]
    pub(crate) fn push(&self, entry: T) -> Result<(), T> {
        let tail = self.tail.get();
        if tail - self.head_seen.get() == self.capacity() as u64 && self.room() == 0 {
            return Err(entry);
        }
        self.ring.slot(tail).store(entry.into_raw().as_ptr(), Relaxed);
        self.publish(1);
        Ok(())
    }

    /// The same, unless there are as many as `most` already.
    #[inline]
    pub(crate) fn push_below(&self, most: u64, entry: T) -> Result<(), T> {
        if self.tail.get() - self.head_seen.get() >= most && self.len() as u64 >= most {
            return Err(entry);
        }
        self.push(entry)
    }

    /// Adds entries for as long as there is room and says how many. They become visible together.
    pub(crate) fn fill(&self, entries: &mut impl Iterator<Item = T>) -> usize {
        let room = self.room();
        let mut count = 0;
        for entry in entries.take(room) {
            self.ring.slot(self.tail.get() + count).store(entry.into_raw().as_ptr(), Relaxed);
            count += 1;
        }
        self.publish(count);
        count as usize
    }

    /// Makes the entries in the next `count` slots part of the ring.
    #[inline(always)]
    fn publish(&self, count: u64) {
        let tail = self.tail.get() + count;
        self.tail.set(tail);
        self.ring.tail.store(tail, Release);
    }

    /// Takes the oldest entry.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        let mut head = self.head_seen.get();
        while head != self.tail.get() {
            let raw = self.ring.slot(head).load(Relaxed);
            if head + AHEAD < self.tail.get() {
                prefetch::task(self.ring.slot(head + AHEAD).load(Relaxed));
            }
            match self.advance(head, head + 1) {
                // SAFETY: `head` was moved past that slot; in between it was not written, as only this thread could.
                Ok(()) => return Some(unsafe { Ring::entry(raw) }),
                Err(now) => head = now,
            }
        }
        None
    }

    /// Takes the oldest half out (rounded up, and no more than the spare capacity of `into` holds), oldest first, and
    /// says how many. It does not allocate.
    pub(crate) fn take_half(&self, into: &mut Vec<T>) -> usize {
        let mut head = self.head_seen.get();
        loop {
            let spare = into.capacity() - into.len();
            let count = (self.tail.get() - head).div_ceil(2).min(spare as u64);
            if count == 0 {
                return 0;
            }
            match self.advance(head, head + count) {
                Ok(()) => {
                    let raw = (head..head + count).map(|position| self.ring.slot(position).load(Relaxed));
                    // SAFETY: `head` was moved past these slots, and only this thread could write them again.
                    into.extend(raw.map(|raw| unsafe { Ring::<T>::entry(raw) }));
                    return count as usize;
                }
                Err(now) => head = now,
            }
        }
    }

    /// Moves `head`, or says where it is instead.
    #[inline(always)]
    fn advance(&self, from: u64, to: u64) -> Result<(), u64> {
        if self.ring.door.is_alone() {
            self.ring.head.store(to, Relaxed);
            self.head_seen.set(to);
            return Ok(());
        }
        let moved = self.ring.head.compare_exchange(from, to, AcqRel, Acquire);
        self.head_seen.set(if let Err(now) = moved { now } else { to });
        moved.map(drop)
    }

    pub(crate) fn door(&self) -> &Door {
        &self.ring.door
    }

    /// Admits thieves, or does nothing if they are admitted already. From now on taking an entry costs an exchange.
    pub(crate) fn share(&self) {
        self.ring.door.open();
    }

    /// Turns thieves away: taking an entry becomes a plain store.
    ///
    /// # Safety
    ///
    /// No thief is inside: each call of [`Stealer::steal_into`] for this ring happens before this call or after it, and
    /// never at the same time.
    pub(crate) unsafe fn unshare(&self) {
        self.ring.door.close();
        self.head_seen.set(self.ring.head.load(Acquire));
    }

    /// How many entries fit now; thieves may make it more at any time, and nobody makes it less.
    pub(crate) fn room(&self) -> usize {
        self.head_seen.set(self.ring.head.load(Acquire));
        self.capacity() - (self.tail.get() - self.head_seen.get()) as usize
    }

    /// How many entries there are at most; thieves may make it less at any time.
    pub(crate) fn len(&self) -> usize {
        (self.tail.get() - self.head_position()) as usize
    }

    /// There is nothing to take. A thief may make this true at any time, and nobody makes it false.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head_position() == self.tail.get()
    }

    /// The number of entries the ring can hold, a power of two.
    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.ring.slots.len()
    }

    /// The position of the oldest entry, which is how many were ever taken. Thieves may move it on at any time.
    #[inline]
    pub(crate) fn head_position(&self) -> u64 {
        self.ring.head.load(Relaxed)
    }

    /// The position the next push will have, which is how many entries were ever pushed.
    #[inline]
    pub(crate) fn tail_position(&self) -> u64 {
        self.tail.get()
    }
}

/// The right to look and to steal. Everybody may have one.
pub(crate) struct Stealer<T: Entry> {
    ring: Arc<Ring<T>>,
}

impl<T: Entry> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Stealer { ring: self.ring.clone() }
    }
}

impl<T: Entry> Stealer<T> {
    pub(crate) fn door(&self) -> &Door {
        &self.ring.door
    }

    /// Takes the older half of what is there (rounded up): the oldest entry is returned, the others are appended to
    /// `home`, the thief's own ring, as far as it has room. An unshared ring gives nothing.
    ///
    /// Each repetition of the loop means that others took all that was copied, so somebody always gets on.
    pub(crate) fn steal_into(&self, home: &Producer<T>) -> Option<T> {
        if !self.ring.door.is_open() {
            return None;
        }
        let most = home.room() as u64 + 1;
        loop {
            let head = self.ring.head.load(Acquire);
            let tail = self.ring.tail.load(Acquire);
            let count = (tail - head).div_ceil(2).min(most);
            if count == 0 {
                return None;
            }
            let oldest = self.ring.slot(head).load(Relaxed);
            for at in 1..count {
                home.ring
                    .slot(home.tail.get() + at - 1)
                    .store(self.ring.slot(head + at).load(Relaxed), Relaxed);
            }
            if let Some(start) = self.claim(head, head + count) {
                // SAFETY: just claimed.
                return Some(unsafe { Self::settle(home, oldest, start - head, count) });
            }
        }
    }

    /// Moves `head` to `end` from wherever between `head` and `end` it is: from there on the entries are the caller's.
    fn claim(&self, mut head: u64, end: u64) -> Option<u64> {
        while head < end {
            match self.ring.head.compare_exchange(head, end, Release, Relaxed) {
                Ok(_) => return Some(head),
                Err(now) => head = now,
            }
        }
        None
    }

    /// Of `count` copies, the first in `oldest` and the others behind the tail of `home`, those from `lost` on were
    /// claimed: returns the first of these and makes the others part of `home`.
    ///
    /// # Safety
    ///
    /// The copies are there, in slots that `home` has room for, and `lost < count` of them are not the caller's.
    unsafe fn settle(home: &Producer<T>, oldest: *mut (), lost: u64, count: u64) -> T {
        let copy = |at: u64| home.ring.slot(home.tail.get() + at - 1);
        let mut first = oldest;
        if lost > 0 {
            first = copy(lost).load(Relaxed);
            for at in 1..count - lost {
                copy(at).store(copy(lost + at).load(Relaxed), Relaxed);
            }
        }
        home.publish(count - lost - 1);
        // SAFETY: the contract; a copy from a claimed position is the entry of that position (see the module).
        unsafe { Ring::entry(first) }
    }

    /// How many entries there are, about: others push and take at the same time.
    ///
    /// What was pushed before this call, in the sense of happens-before, and is not counted, has been taken. So a zero
    /// that is read after a `SeqCst` fence means that each push before an earlier such fence has found its taker.
    pub(crate) fn len(&self) -> usize {
        let (head, tail) = (self.ring.head.load(Acquire), self.ring.tail.load(Acquire));
        tail.saturating_sub(head).min(self.ring.slots.len() as u64) as usize
    }

    /// The position of the oldest entry.
    pub(crate) fn head_position(&self) -> u64 {
        self.ring.head.load(Relaxed)
    }

    /// Whether a thief that came now might find something: a sleeper asks this before it sleeps.
    pub(crate) fn has_loot(&self) -> bool {
        self.ring.door.is_open() && !self.is_empty()
    }

    /// The same as `len() == 0`.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
