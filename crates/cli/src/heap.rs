//! The program's allocator: the system's, with counters that are off except where a stop measures memory.
//!
//! # Invariants
//!
//! 1. Every request is passed on unchanged to the system's allocator, and its answer is returned unchanged.
//! 2. Counting reads sizes only: it neither allocates nor touches the memory handed out.

use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::alloc::{GlobalAlloc, Layout, System};

#[global_allocator]
static GLOBAL: Counting = Counting;

static ON: AtomicBool = AtomicBool::new(false);
/// It wraps below zero when memory is freed that was allocated before the counters ran.
static LIVE: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

struct Counting;

/// What was allocated since the counters were switched on and is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heap {
    /// Bytes as the program asked for them.
    pub(crate) live: i64,
    /// Allocations made.
    pub(crate) calls: u64,
}

impl Heap {
    /// The counters now.
    pub(crate) fn now() -> Self {
        Self { live: LIVE.load(Relaxed) as i64, calls: CALLS.load(Relaxed) }
    }

    /// What came on top of `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self { live: self.live - before.live, calls: self.calls - before.calls }
    }
}

/// The counters run while this lives.
pub(crate) struct CountAllocations(());

impl CountAllocations {
    pub(crate) fn start() -> Self {
        ON.store(true, Relaxed);
        Self(())
    }
}

impl Drop for CountAllocations {
    fn drop(&mut self) {
        ON.store(false, Relaxed);
    }
}

#[inline]
fn note(allocated: usize, freed: usize) {
    if ON.load(Relaxed) {
        LIVE.fetch_add((allocated as u64).wrapping_sub(freed as u64), Relaxed);
        CALLS.fetch_add(u64::from(allocated > 0), Relaxed);
    }
}

// SAFETY: by invariants 1 and 2 this allocator is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: invariant 1: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: invariant 1: the caller's promise about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size, layout.size());
        // SAFETY: invariant 1: `ptr` came from the system's allocator with `layout`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: invariant 1: `ptr` came from the system's allocator with `layout`.
        unsafe { System.dealloc(ptr, layout) }
    }
}
