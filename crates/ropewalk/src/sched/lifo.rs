//! The LIFO slot of a worker: the one entry its owner woke last and runs next, while its data are warm.
//!
//! Only entries that may run on any worker go in here: what is pinned to its worker is never put into the slot, so a
//! thief need not ask.
//!
//! # Invariants
//!
//! 1. The slot is null or the raw pointer of an entry that the slot owns. Whoever changes a pointer to something else in
//!    one atomic step takes the entry; as long as no thief is admitted (`door.rs`), the owner may do so by a plain store.
//! 2. Only the owner, the one [`Owner`], writes anything but null. So what the owner finds empty stays empty until it
//!    fills it, and a plain store loses nothing.
//! 3. A thief writes only by exchanging the pointer it read for null. If the entry was taken and put back meanwhile, the
//!    exchange succeeds and takes an entry that is not so stale after all, but which the slot does own (1): that costs
//!    some warmth and nothing else.
//!
//! A thief takes the entry only if neither it nor the owner's count of progress has changed since this thief's last
//! pass: then the owner is stuck in a long poll, and the entry waits for nothing. No clock is read.

use super::door::Door;
use super::entry::Entry;
use ropewalk_core::prim::Ordering::{Acquire, Relaxed, Release};
use ropewalk_core::prim::{Arc, AtomicPtr, Padded};
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

#[cfg(test)]
mod tests;

/// Makes an empty slot: the owner's end of it, and the one that is shown to others.
pub(crate) fn slot<T: Entry>() -> (Owner<T>, Thief<T>) {
    let slot = Arc::new(Slot {
        line: Padded(Line { raw: AtomicPtr::new(ptr::null_mut()), door: Door::new(true) }),
        entry: PhantomData,
    });
    (Owner { slot: slot.clone(), one_thread: PhantomData }, Thief { slot })
}

struct Slot<T: Entry> {
    line: Padded<Line>,
    entry: PhantomData<T>,
}

/// Who asks the door goes on to the slot: they are on one line.
struct Line {
    raw: AtomicPtr<()>,
    door: Door,
}

// SAFETY: the slot hands its entry to one thread (1), never a reference to it: `Send` is all that takes.
unsafe impl<T: Entry + Send> Sync for Slot<T> {}

impl<T: Entry> Slot<T> {
    /// The entry for a pointer that was in the slot, if there was one.
    ///
    /// # Safety
    ///
    /// The caller changed `raw` to something else in one atomic step (or nobody else could change it), and is ordered after its `fill`.
    #[inline(always)]
    unsafe fn entry(raw: *mut ()) -> Option<T> {
        // SAFETY: by (1) the entry is now the caller's, and given back this once.
        NonNull::new(raw).map(|raw| unsafe { T::from_raw(raw) })
    }
}

impl<T: Entry> Drop for Slot<T> {
    fn drop(&mut self) {
        // SAFETY: the last handle is gone.
        drop(unsafe { Self::entry(self.line.raw.load(Relaxed)) });
    }
}

/// The right to fill the slot. There is one for each slot, and only one thread at a time has it.
pub(crate) struct Owner<T: Entry> {
    slot: Arc<Slot<T>>,
    one_thread: PhantomData<Cell<()>>,
}

impl<T: Entry> Owner<T> {
    /// Puts `entry`, which may run on any worker, into the slot if that is empty.
    #[inline]
    pub(crate) fn fill(&self, entry: T) -> Result<(), T> {
        if !self.is_empty() {
            return Err(entry);
        }
        // Nobody else fills an empty slot (2).
        self.slot.line.raw.store(entry.into_raw().as_ptr(), Release);
        Ok(())
    }

    /// Puts `entry` there in any case; the one it displaces is returned. In one step: thieves look at that line.
    #[inline]
    pub(crate) fn put(&self, entry: T) -> Option<T> {
        let (slot, new) = (&self.slot.line.raw, entry.into_raw().as_ptr());
        let old = if self.slot.line.door.is_alone() {
            let old = slot.load(Relaxed);
            slot.store(new, Release);
            old
        } else {
            slot.swap(new, Release)
        };
        // SAFETY: as in `take`.
        unsafe { Slot::entry(old) }
    }

    /// Takes the entry out.
    #[inline]
    pub(crate) fn take(&self) -> Option<T> {
        let slot = &self.slot.line.raw;
        let mut old = slot.load(Relaxed);
        if old.is_null() {
            return None;
        }
        if self.slot.line.door.is_alone() {
            slot.store(ptr::null_mut(), Relaxed);
        } else {
            old = slot.swap(ptr::null_mut(), Relaxed);
        }
        // SAFETY: taken out by one step, or nobody else could (DO1); the owner itself had put it in.
        unsafe { Slot::entry(old) }
    }

    pub(crate) fn door(&self) -> &Door {
        &self.slot.line.door
    }

    /// Whether it is the one at `raw`: then it stays so, or a thief takes it; only the owner can put another there (2).
    #[inline]
    pub(crate) fn is(&self, raw: NonNull<()>) -> bool {
        self.slot.line.raw.load(Relaxed) == raw.as_ptr()
    }

    /// There is nothing in it. A thief may make this true at any time.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.slot.line.raw.load(Relaxed).is_null()
    }
}

/// What a thief remembers of one slot from one pass to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// The address in the slot, zero for none. It is only ever compared.
    entry: usize,
    /// How far the owner had come.
    progress: u64,
}

/// The right to look and to take what is stale. Everybody may have one.
pub(crate) struct Thief<T: Entry> {
    slot: Arc<Slot<T>>,
}

impl<T: Entry> Clone for Thief<T> {
    fn clone(&self) -> Self {
        Thief { slot: self.slot.clone() }
    }
}

impl<T: Entry> Thief<T> {
    pub(crate) fn door(&self) -> &Door {
        &self.slot.line.door
    }

    /// There is nothing in it now.
    pub(crate) fn is_empty(&self) -> bool {
        self.address() == 0
    }

    /// Where the entry is, to be compared; zero: there is none.
    pub(crate) fn address(&self) -> usize {
        self.slot.line.raw.load(Relaxed).addr()
    }

    /// Whether a thief that came now might find something.
    pub(crate) fn has_loot(&self) -> bool {
        self.slot.line.door.is_open() && !self.is_empty()
    }

    /// Takes the entry if it is the one in `seen` and the owner's `progress` is as it was then. Otherwise `seen` becomes
    /// what there is now, for the next pass.
    pub(crate) fn steal_if_stale(&self, seen: &mut Sighting, progress: u64) -> Option<T> {
        if !self.slot.line.door.is_open() {
            return None;
        }
        let raw = self.slot.line.raw.load(Relaxed);
        let now = Sighting { entry: raw.addr(), progress };
        let before = std::mem::replace(seen, now);
        if raw.is_null() || before != now {
            return None;
        }
        let stale = self.slot.line.raw.compare_exchange(raw, ptr::null_mut(), Acquire, Relaxed).ok()?;
        // SAFETY: exchanged; the Acquire is ordered after the fill, a Release.
        unsafe { Slot::entry(stale) }
    }
}
