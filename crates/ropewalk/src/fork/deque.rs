//! The deque of a forking strand: its owner works at one end, thieves take what is oldest at the other.
//!
//! ```text
//!            top              split              bottom
//!   taken     |     public      |     private      |     free
//!             thieves take      owner shows        owner pushes, takes back
//!             the oldest        more, or less      the newest
//! ```
//!
//! `top`, `split` and `bottom` are positions; position `p` lives in slot `p mod capacity`. Private entries are nobody's business but
//! the owner's: pushing and taking back there are plain stores, without a fence or an exchange. What is public costs a fence to take
//! back. So the owner shows entries only if somebody wants them: a thief that finds nothing public *asks*, and the owner looks at
//! that flag, one relaxed load, whenever it pushes.
//!
//! # Invariants
//!
//! * **D1** `top <= split <= bottom <= top + capacity`. Positions are 64 bits wide; `top` only grows, so it never has a value twice.
//! * **D2** The slot of each position in `top..bottom` holds the raw pointer of the entry that was pushed there, and the deque owns
//!   that entry.
//! * **D3** Only the owner writes `split`, `bottom`, slots, and the pointer to them. It writes the slot of `p` only while `p >= bottom`
//!   and after it has read, with Acquire, a `top > p - capacity`.
//! * **D4** An entry at a position in `split..bottom` passes to the owner by lowering `bottom`. The one at `top` passes to whoever
//!   moves `top` past it by an exchange. An entry in between passes to the owner by lowering `split` below it, passing a barrier, and
//!   then finding `top` below it still.
//! * **D5** Slots that became too few are frozen, not freed, until owner and thieves are gone: a thief may still read them. (Each
//!   is half as long as the next, so all of them together are shorter than the last.)
//!
//! # Why an entry is taken once
//!
//! Owner, taking back what is public: 1. lower `split` to `p` 2. **barrier** 3. read `top`. Thief: 1. read `top` 2. **barrier** 3. read
//! `split` 4. exchange `top`, if that is below `split`.
//!
//! Let the owner read `top < p` in its 3, and take `p` without an exchange. A thief that took `p` as well read `top = p` in its 1, which the
//! owner did not see, so the owner's barrier comes before the thief's; then the thief reads `split <= p` in its 3, and leaves `p` alone.
//! (Or it reads what the owner wrote later, when `p` was pushed anew.) If the owner reads `top = p`, both need the exchange, and
//! one of them gets it.
//!
//! A thief's exchange means that `top` was `t` from its 1 to its 4 (D1). All that time `t` was in `top..bottom`: the owner gets what is at
//! `top` by an exchange only (D4), so the slot of `t` was not written, in this array or in the one that followed it (D3, D5), and what the
//! thief has read from it is the entry of `t`. The entry was written before `split` was raised above it, a Release; each later `split` is
//! one too, so that a thief sees the entry whichever of them it reads.
//!
//! # Rejected
//!
//! *A Chase-Lev deque without a private part*: a fence per fork, 9 ns. *Entries linked through the frames they are in*: no slots and no
//! growing, but a thief would read links that the owner changes. *Showing half of what is private*: what is oldest is the
//! largest, and one or a few of them are enough to begin with.

use crate::sched::entry::Entry;
use ropewalk_core::prim::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use ropewalk_core::prim::{Arc, AtomicBool, AtomicPtr, AtomicU64, Lock, Padded, fence};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

#[cfg(test)]
mod tests;

/// Makes an empty deque with room for `capacity` entries (rounded up to a power of two, at least 2) before it grows: the owner's end
/// of it, and the one that is shown to others. It begins with a request.
pub(crate) fn deque<T: Entry>(capacity: usize) -> (Owner<T>, Thief<T>) {
    let slots = Slots::new(capacity.max(2).next_power_of_two());
    let first = NonNull::from(&*slots);
    let deque = Arc::new(Deque {
        top: Padded(AtomicU64::new(0)),
        shown: Padded(Shown { split: AtomicU64::new(0), slots: AtomicPtr::new(first.as_ptr()) }),
        asked: Padded(AtomicBool::new(true)),
        all_slots: Lock::new(vec![slots]),
        entries: PhantomData,
    });
    let thief = Thief { deque: deque.clone() };
    // SAFETY: they are there as long as the deque is (D5).
    let (base, mask) = unsafe { (first.as_ref().0.as_ptr(), first.as_ref().mask()) };
    let owner = Owner {
        bottom: Cell::new(0),
        split: Cell::new(0),
        limit: Cell::new(mask + 1),
        base: Cell::new(base),
        mask: Cell::new(mask),
        deque,
    };
    (owner, thief)
}

/// An array of slots, a power of two long.
struct Slots(Box<[AtomicPtr<()>]>);

impl Slots {
    fn new(capacity: usize) -> Box<Self> {
        Box::new(Self((0..capacity).map(|_| AtomicPtr::new(ptr::null_mut())).collect()))
    }

    fn mask(&self) -> u64 {
        self.0.len() as u64 - 1
    }

    fn slot(&self, position: u64) -> &AtomicPtr<()> {
        &self.0[(position & self.mask()) as usize]
    }
}

/// What owner and thieves share: a line that thieves write, one that the owner writes, and one that the owner reads at every push.
struct Deque<T: Entry> {
    top: Padded<AtomicU64>,
    shown: Padded<Shown>,
    /// Somebody wants something to be shown.
    asked: Padded<AtomicBool>,
    /// Those in use, last, and those before (D5).
    #[expect(clippy::vec_box, reason = "thieves point to them")]
    all_slots: Lock<Vec<Box<Slots>>>,
    entries: PhantomData<T>,
}

struct Shown {
    split: AtomicU64,
    slots: AtomicPtr<Slots>,
}

// SAFETY: the deque hands each entry to one thread (D4), never a reference to it: `Send` is all that takes.
unsafe impl<T: Entry + Send> Sync for Deque<T> {}
// SAFETY: as above.
unsafe impl<T: Entry + Send> Send for Deque<T> {}

/// The right to push and to take back the newest: there is one for each deque, and one thread at a time has it. What only the owner
/// changes is kept here in plain cells; of that, `split` is what others see.
pub(crate) struct Owner<T: Entry> {
    bottom: Cell<u64>,
    split: Cell<u64>,
    /// The position that is not to be pushed at before `top` was looked at.
    limit: Cell<u64>,
    base: Cell<*const AtomicPtr<()>>,
    mask: Cell<u64>,
    deque: Arc<Deque<T>>,
}

// SAFETY: the slots belong to the deque, which is `Send` and `Sync`; the rest is plain data.
unsafe impl<T: Entry + Send> Send for Owner<T> {}

impl<T: Entry> Owner<T> {
    /// Adds an entry. True: somebody has asked ([`answer`](Self::answer)).
    #[inline(always)]
    #[must_use]
    pub(crate) fn push(&self, entry: T) -> bool {
        let at = self.bottom.get();
        if at == self.limit.get() {
            self.make_room();
        }
        self.slot(at).store(entry.into_raw().as_ptr(), Relaxed);
        self.bottom.set(at + 1);
        self.deque.asked.load(Relaxed)
    }

    /// Takes the newest entry out, for somebody who knows which it is: the caller has it from now on. False: there is none.
    #[inline(always)]
    #[must_use]
    pub(crate) fn withdraw(&self) -> bool {
        let bottom = self.bottom.get();
        if bottom == self.split.get() {
            return self.take_back();
        }
        self.bottom.set(bottom - 1);
        true
    }

    /// Takes the newest entry.
    pub(crate) fn pop(&self) -> Option<T> {
        let newest = self.bottom.get().wrapping_sub(1);
        if !self.withdraw() {
            return None;
        }
        // SAFETY: D2, D4: it was at `newest`, whose slot nobody has written since, and is given back this once.
        Some(unsafe { T::from_raw(NonNull::new_unchecked(self.slot(newest).load(Relaxed))) })
    }

    /// The same for what is public, if nothing is private.
    #[cold]
    fn take_back(&self) -> bool {
        let (deque, split) = (&*self.deque, self.split.get());
        if deque.top.load(Relaxed) == split {
            return false;
        }
        let at = split - 1;
        self.show(at);
        fence(SeqCst); // barrier of the owner
        let top = deque.top.load(Relaxed);
        if top < at {
            self.bottom.set(at);
            return true;
        }
        let mine = top == at && deque.top.compare_exchange(at, split, Relaxed, Relaxed).is_ok();
        self.show(split);
        deque.asked.store(true, Relaxed); // the next one is the oldest: it should be public
        mine
    }

    /// Whether somebody has asked since the last time.
    pub(crate) fn answer(&self) -> bool {
        self.deque.asked.swap(false, AcqRel)
    }

    /// There is less to be had than is wanted: the next push is told, as if somebody had asked.
    pub(crate) fn ask_again(&self) {
        self.deque.asked.store(true, Relaxed);
    }

    /// How many entries thieves may take, at most.
    pub(crate) fn public(&self) -> usize {
        (self.split.get() - self.deque.top.load(Acquire)) as usize
    }

    /// How many they may not.
    pub(crate) fn private(&self) -> usize {
        (self.bottom.get() - self.split.get()) as usize
    }

    /// Shows the `count` oldest of those that are private, after `prepare` was called for each of them.
    pub(crate) fn publish(&self, count: usize, mut prepare: impl FnMut(NonNull<()>)) {
        let split = self.split.get();
        let to = self.bottom.get().min(split + count as u64);
        for position in split..to {
            let raw = self.slot(position).load(Relaxed);
            // SAFETY: it is the pointer of an entry (D2).
            prepare(unsafe { NonNull::new_unchecked(raw) });
        }
        self.show(to);
    }

    fn show(&self, split: u64) {
        self.split.set(split);
        self.deque.shown.split.store(split, Release);
    }

    #[inline(always)]
    fn slot(&self, position: u64) -> &AtomicPtr<()> {
        // SAFETY: the mask is one less than the length of the array, which is there as long as the deque is (D5).
        unsafe { &*self.base.get().add((position & self.mask.get()) as usize) }
    }

    #[cold]
    fn make_room(&self) {
        let top = self.deque.top.load(Acquire);
        if self.bottom.get() - top > self.mask.get() {
            self.grow(top);
        }
        self.limit.set(top + self.mask.get() + 1);
    }

    /// Goes on in an array that is twice as long; the one before stays as it is (D5).
    fn grow(&self, top: u64) {
        let slots = Slots::new(2 * (self.mask.get() as usize + 1));
        for position in top..self.bottom.get() {
            slots.slot(position).store(self.slot(position).load(Relaxed), Relaxed);
        }
        self.base.set(slots.0.as_ptr());
        self.mask.set(slots.mask());
        self.deque.shown.slots.store(ptr::from_ref(&*slots).cast_mut(), Release);
        self.deque.all_slots.lock().push(slots);
    }
}

impl<T: Entry> Drop for Owner<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

/// The right to take the oldest of what is public, and to ask for more. Everybody may have one.
pub(crate) struct Thief<T: Entry> {
    deque: Arc<Deque<T>>,
}

impl<T: Entry> Clone for Thief<T> {
    fn clone(&self) -> Self {
        Self { deque: self.deque.clone() }
    }
}

impl<T: Entry> Thief<T> {
    /// Takes the oldest entry that is public. With that, the owner is asked for another.
    ///
    /// Each repetition of the loop means that somebody else took one.
    pub(crate) fn steal(&self) -> Option<T> {
        let deque = &*self.deque;
        loop {
            let top = deque.top.load(Acquire);
            fence(SeqCst); // barrier of the thief
            if top >= deque.shown.split.load(Acquire) {
                return None;
            }
            // SAFETY: D5.
            let slots = unsafe { &*deque.shown.slots.load(Acquire) };
            let raw = slots.slot(top).load(Relaxed);
            if deque.top.compare_exchange(top, top + 1, Release, Relaxed).is_ok() {
                deque.asked.store(true, Release);
                // SAFETY: D4: `top` was moved past it; what was read is its pointer (see the head of this file), which is not null.
                return Some(unsafe { T::from_raw(NonNull::new_unchecked(raw)) });
            }
        }
    }

    /// Whether something is public.
    ///
    /// What was published before this call, in the sense of happens-before, and is not seen, has been taken.
    pub(crate) fn has_loot(&self) -> bool {
        let top = self.deque.top.load(Acquire);
        top < self.deque.shown.split.load(Acquire)
    }

    /// The owner learns at its next push that something is wanted.
    pub(crate) fn ask(&self) {
        // It is the owner's to read at every push: nobody takes the line away without need.
        if !self.deque.asked.load(Relaxed) {
            self.deque.asked.store(true, Relaxed);
        }
    }
}
