//! The LIFO slot of a worker: the one entry its owner woke last and runs next, while its data are warm.
//!
//! Only entries that may run on any worker go in here: what is pinned to its worker is never put into the slot, so a
//! thief need not ask.
//!
//! # Invariants
//!
//! 1. The slot is null or the raw pointer of an entry that the slot owns. Whoever changes a pointer to something else in
//!    one atomic step takes the entry.
//! 2. Only the owner, the one [`Owner`], writes anything but null. So what the owner finds empty stays empty until it
//!    fills it, and a plain store loses nothing.
//! 3. A thief writes only by exchanging the pointer it read for null. If the entry was taken and put back meanwhile, the
//!    exchange succeeds and takes an entry that is not so stale after all, but which the slot does own (1): that costs
//!    some warmth and nothing else.
//!
//! A thief takes the entry only if neither it nor the owner's count of progress has changed since this thief's last
//! pass: then the owner is stuck in a long poll, and the entry waits for nothing. No clock is read.

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
    let slot = Arc::new(Slot { raw: Padded(AtomicPtr::new(ptr::null_mut())), entry: PhantomData });
    (Owner { slot: slot.clone(), one_thread: PhantomData }, Thief { slot })
}

struct Slot<T: Entry> {
    raw: Padded<AtomicPtr<()>>,
    entry: PhantomData<T>,
}

// SAFETY: the slot hands its entry to one thread (1), never a reference to it: `Send` is all that takes.
unsafe impl<T: Entry + Send> Sync for Slot<T> {}

impl<T: Entry> Slot<T> {
    /// The entry for a pointer that was in the slot, if there was one.
    ///
    /// # Safety
    ///
    /// The caller changed `raw` to something else in one atomic step, and is ordered after its `put`.
    #[inline(always)]
    unsafe fn entry(raw: *mut ()) -> Option<T> {
        // SAFETY: by (1) the entry is now the caller's, and given back this once.
        NonNull::new(raw).map(|raw| unsafe { T::from_raw(raw) })
    }
}

impl<T: Entry> Drop for Slot<T> {
    fn drop(&mut self) {
        // SAFETY: the last handle is gone.
        drop(unsafe { Self::entry(self.raw.load(Relaxed)) });
    }
}

/// The right to fill the slot. There is one for each slot, and only one thread at a time has it.
pub(crate) struct Owner<T: Entry> {
    slot: Arc<Slot<T>>,
    one_thread: PhantomData<Cell<()>>,
}

impl<T: Entry> Owner<T> {
    /// Puts `entry`, which may run on any worker, into the slot and returns the one it displaces.
    #[inline]
    pub(crate) fn put(&self, entry: T) -> Option<T> {
        let (slot, new) = (&self.slot.raw, entry.into_raw().as_ptr());
        if self.is_empty() {
            // Nobody else fills an empty slot (2).
            slot.store(new, Release);
            return None;
        }
        let old = slot.swap(new, Release);
        // SAFETY: swapped out; the owner itself had put it in.
        unsafe { Slot::entry(old) }
    }

    /// Takes the entry out.
    #[inline]
    pub(crate) fn take(&self) -> Option<T> {
        let slot = &self.slot.raw;
        if slot.load(Relaxed).is_null() {
            return None;
        }
        let old = slot.swap(ptr::null_mut(), Relaxed);
        // SAFETY: swapped out; the owner itself had put it in.
        unsafe { Slot::entry(old) }
    }

    /// The same, if it is the one at `raw`: only the owner can put another there (2).
    #[inline]
    pub(crate) fn take_if(&self, raw: NonNull<()>) -> Option<T> {
        if self.slot.raw.load(Relaxed) == raw.as_ptr() { self.take() } else { None }
    }

    /// There is nothing in it. A thief may make this true at any time.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.slot.raw.load(Relaxed).is_null()
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
    /// There is nothing in it now.
    pub(crate) fn is_empty(&self) -> bool {
        self.slot.raw.load(Relaxed).is_null()
    }

    /// Takes the entry if it is the one in `seen` and the owner's `progress` is as it was then. Otherwise `seen` becomes
    /// what there is now, for the next pass.
    pub(crate) fn steal_if_stale(&self, seen: &mut Sighting, progress: u64) -> Option<T> {
        let raw = self.slot.raw.load(Relaxed);
        let now = Sighting { entry: raw.addr(), progress };
        let before = std::mem::replace(seen, now);
        if raw.is_null() || before != now {
            return None;
        }
        let stale = self.slot.raw.compare_exchange(raw, ptr::null_mut(), Acquire, Relaxed).ok()?;
        // SAFETY: exchanged; the Acquire is ordered after the put, a Release.
        unsafe { Slot::entry(stale) }
    }
}
