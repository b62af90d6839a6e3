//! Where tasks live: pages of equal slots, a cache of free slots per worker, a depot per pool.
//!
//! ```text
//!  worker: Cache ── magazines of free slots ──┐        ┌ page (4 KiB, aligned) ───────────────┐
//!  worker: Cache ─────────────────────────────┼─ Depot │ pool │ … │ slot │ slot │ slot │ …     │
//!  other threads (under the depot's lock) ────┘        └──────────────────────────────────────┘
//! ```
//!
//! Invariants:
//!
//! * **M1** A slot is in one place: a task lives in it, or it is in one magazine. Slots move freely between the workers
//!   of a pool, never to another pool; a page knows its pool, so a task need not.
//! * **M2** The state word of a slot is always an atomic: `vacate`d before the slot is first shown, left COMPLETE by the
//!   task that lived there. So walkers may read it at any time (`TaskRef::find`). Free slots are linked behind it.
//! * **M3** Pages are freed with the pool, and the pool outlives every task in it: when it is sealed with tasks (wakers,
//!   handles) outstanding, it keeps itself alive until the last of them is freed.
//!
//! A task too big for a slot (or aligned more than one) is allocated by itself behind a [`Prefix`] and registered.

mod depot;

pub(crate) use depot::Depot;

use super::pool::Pool;
use ropewalk_core::prefetch;
use ropewalk_core::prim::AtomicU32;
use ropewalk_core::task::Header;
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

const PAGE: usize = 4096;
/// Slots come in multiples of this; it is also what they are aligned to.
const STEP: usize = 16;
/// The biggest slot: seven fit a page.
const LARGEST: usize = 512;
const CLASSES: usize = LARGEST / STEP + 1;
/// Slots move between cache and depot in lots of this many.
const MAGAZINE: u32 = 32;

#[repr(C, align(64))]
struct Page {
    pool: *const Pool,
    class: usize,
    /// How many slots were ever shown (M2).
    carved: AtomicU32,
}

/// A free slot: the first word is left to the state word of the task that lived there.
#[repr(C)]
struct Free {
    state: usize,
    next: *mut Free,
    /// Two and three further on. Who takes slots that another core gave back asks for them in time.
    second: *mut Free,
    third: *mut Free,
}

const _: () = assert!(size_of::<Free>() <= size_of::<Header>(), "every slot holds a header");

/// What stands before a task that has memory of its own.
#[repr(C)]
struct Prefix {
    pool: *const Pool,
    /// Its place in the registry; changed under the shard's lock.
    index: Cell<usize>,
}

/// Whether a task of this layout gets memory of its own.
pub(crate) const fn is_big(layout: Layout) -> bool {
    layout.size() > LARGEST || layout.align() > STEP
}

const fn class_of(layout: Layout) -> usize {
    layout.size().div_ceil(STEP)
}

const fn slots_per_page(class: usize) -> usize {
    (PAGE - size_of::<Page>()) / (class * STEP)
}

/// The pool of a task, from its address alone.
///
/// # Safety
/// `task` lives in a slot, or with `BIG` behind a prefix.
#[inline(always)]
pub(crate) unsafe fn pool_of<const BIG: bool>(task: NonNull<Header>) -> *const Pool {
    // SAFETY: M1: the page's head, or the prefix, stands where `alloc` put it.
    unsafe {
        if BIG {
            (*task.as_ptr().byte_sub(size_of::<Prefix>()).cast::<Prefix>()).pool
        } else {
            (*task.as_ptr().map_addr(|at| at & !(PAGE - 1)).cast::<Page>()).pool
        }
    }
}

/// A chain of free slots of one class.
struct Magazine {
    head: *mut Free,
    len: u32,
}

impl Magazine {
    const EMPTY: Magazine = Magazine { head: null_mut(), len: 0 };

    #[inline]
    fn pop(&mut self) -> Option<NonNull<u8>> {
        let slot = NonNull::new(self.head)?;
        // SAFETY: M1: the slot is free and ours.
        let free = unsafe { slot.as_ref() };
        prefetch::task(free.third);
        self.head = free.next;
        self.len -= 1;
        Some(slot.cast())
    }

    /// # Safety
    /// No task lives in the slot any more, and its state word is COMPLETE (M2).
    #[inline]
    unsafe fn push(&mut self, slot: NonNull<u8>) {
        let slot = slot.cast::<Free>().as_ptr();
        // SAFETY: M1: slot and head are ours; M2: the state word is left alone.
        unsafe {
            let (second, third) = if self.head.is_null() {
                (null_mut(), null_mut())
            } else {
                ((*self.head).next, (*self.head).second)
            };
            (&raw mut (*slot).next).write(self.head);
            (&raw mut (*slot).second).write(second);
            (&raw mut (*slot).third).write(third);
        }
        self.head = slot;
        self.len += 1;
    }
}

/// The free slots of one worker: two magazines per class, so that going back and forth over a boundary does not reach
/// the depot.
pub(crate) struct Cache {
    shelves: [(Magazine, Magazine); CLASSES],
}

// SAFETY: it owns its slots (M1); the pointers are not tied to a thread.
unsafe impl Send for Cache {}

impl Cache {
    pub(crate) fn new() -> Self {
        Self { shelves: [const { (Magazine::EMPTY, Magazine::EMPTY) }; CLASSES] }
    }

    /// Memory for a task of a small layout.
    #[inline]
    pub(crate) fn alloc(&mut self, pool: &Arc<Pool>, layout: Layout) -> NonNull<u8> {
        let class = class_of(layout);
        match self.shelves[class].0.pop() {
            Some(slot) => slot,
            None => self.refill(pool, class),
        }
    }

    #[cold]
    fn refill(&mut self, pool: &Arc<Pool>, class: usize) -> NonNull<u8> {
        let (current, spare) = &mut self.shelves[class];
        core::mem::swap(current, spare);
        if current.len == 0 {
            *current = pool.depot.take(pool, class);
        }
        current.pop().expect("the depot gives at least one")
    }

    /// Takes a slot back.
    ///
    /// # Safety
    /// The task in it is over, and its pool is the one this cache gets its slots from.
    #[inline]
    pub(crate) unsafe fn free(&mut self, depot: &Depot, task: NonNull<Header>, layout: Layout) {
        let class = class_of(layout);
        let (current, spare) = &mut self.shelves[class];
        if current.len == MAGAZINE {
            core::mem::swap(current, spare);
            if current.len == MAGAZINE {
                depot.put(class, core::mem::replace(current, Magazine::EMPTY));
            }
        }
        // SAFETY: passed on to the caller.
        unsafe { current.push(task.cast()) }
    }

    /// Gives everything back: the worker leaves.
    pub(crate) fn return_all(&mut self, depot: &Depot) {
        for (class, (current, spare)) in self.shelves.iter_mut().enumerate() {
            for magazine in [current, spare] {
                if magazine.len > 0 {
                    depot.put(class, core::mem::replace(magazine, Magazine::EMPTY));
                }
            }
        }
    }
}
