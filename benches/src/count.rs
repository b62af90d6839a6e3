//! How detached units say that they ran, at the price of two plain memory accesses: each thread counts in a cache line of
//! its own, so that the count is not what a multi-threaded row measures. And the unit of real work.
//!
//! Invariant: a stripe is written by one thread only (threads get distinct ones, and there are fewer threads than
//! stripes), so load + store loses nothing.

use ropewalk_core::prim::Padded;
use ropewalk_core::prim::real::{AtomicU64, AtomicUsize, Ordering};
use std::cell::Cell;
use std::hint::black_box;

const STRIPES: usize = 64;
static COUNTS: [Padded<AtomicU64>; STRIPES] = [const { Padded(AtomicU64::new(0)) }; STRIPES];
static TAKEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static MINE: Cell<Option<&'static AtomicU64>> = const { Cell::new(None) };
}

/// One more unit has run on this thread.
#[inline]
pub fn done() {
    let mine = MINE.get().unwrap_or_else(take_stripe);
    mine.store(mine.load(Ordering::Relaxed) + 1, Ordering::Release);
}

#[cold]
fn take_stripe() -> &'static AtomicU64 {
    let index = TAKEN.fetch_add(1, Ordering::AcqRel);
    assert!(index < STRIPES, "more threads than stripes");
    MINE.set(Some(&COUNTS[index]));
    &COUNTS[index]
}

/// How many units have run so far in this process.
pub fn total() -> u64 {
    let taken = TAKEN.load(Ordering::Acquire);
    COUNTS[..taken].iter().map(|count| count.load(Ordering::Acquire)).sum()
}

/// Steps of [`work`] that take about a microsecond at 3 GHz.
const WORK_STEPS: u32 = 600;

/// About 1 us of CPU time that touches no memory: each step multiplies, rotates and flips what the step before left, which
/// no compiler can shorten. The same number of steps everywhere; how long they take on this machine is reported beside
/// the rows that use it.
#[inline(never)]
pub fn work() {
    let mut x = black_box(1_u64);
    for _ in 0..WORK_STEPS {
        x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) ^ 0xA5A5;
    }
    black_box(x);
}
