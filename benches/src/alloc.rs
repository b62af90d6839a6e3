//! The global allocator of every peer: the system's malloc (or mimalloc, by feature), with counters that are off except in
//! memory measurements, where they are switched on before the first runtime exists.
//!
//! # Invariants
//!
//! 1. Every request is passed on unchanged, always to the same inner allocator, and its answer is returned unchanged.
//! 2. Counting reads sizes only; it neither allocates nor touches the memory handed out.

use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::alloc::{GlobalAlloc, Layout};

#[cfg(feature = "mimalloc")]
static INNER: mimalloc::MiMalloc = mimalloc::MiMalloc;
#[cfg(not(feature = "mimalloc"))]
static INNER: std::alloc::System = std::alloc::System;

/// The allocator's name, for the report.
pub const NAME: &str = if cfg!(feature = "mimalloc") { "mimalloc" } else { "system malloc" };

#[global_allocator]
static GLOBAL: Counting = Counting;

static ON: AtomicBool = AtomicBool::new(false);
static ALLOCATED: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

struct Counting;

/// What the counters say: bytes alive as requested by the program, and allocations made so far.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    pub live: i64,
    pub calls: u64,
}

/// Starts counting, for the rest of the process.
pub fn count() {
    ON.store(true, Relaxed);
}

/// The counters now.
pub fn heap() -> Heap {
    let (allocated, freed) = (ALLOCATED.load(Relaxed), FREED.load(Relaxed));
    Heap { live: allocated.wrapping_sub(freed) as i64, calls: CALLS.load(Relaxed) }
}

#[inline]
fn note(allocated: usize, freed: usize) {
    if ON.load(Relaxed) {
        ALLOCATED.fetch_add(allocated as u64, Relaxed);
        FREED.fetch_add(freed as u64, Relaxed);
        CALLS.fetch_add(u64::from(allocated > 0), Relaxed);
    }
}

// SAFETY: by invariants 1 and 2 this allocator is the inner one.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: invariant 1: the caller's promise about `layout` is passed on.
        unsafe { INNER.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: invariant 1: the caller's promise about `layout` is passed on.
        unsafe { INNER.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note(new_size, layout.size());
        // SAFETY: invariant 1: `ptr` came from the same inner allocator with `layout`.
        unsafe { INNER.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: invariant 1: `ptr` came from the same inner allocator with `layout`.
        unsafe { INNER.dealloc(ptr, layout) }
    }
}
