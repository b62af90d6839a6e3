//! Spinning before sleeping: one thread of a group at a time, for a few microseconds, and only while it pays off. A wake-up
//! across cores costs more than such a spin; a spin that finds nothing is processor time burnt.

use ropewalk_core::prim::{AtomicBool, Ordering::Relaxed};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The longest spin.
const SPIN: Duration = Duration::from_micros(4);
/// The most that is remembered of good times.
const MOST_CREDIT: i32 = 8;
/// After so many chances let pass it is worth another try.
const PAUSE: i32 = -16;

/// The right to spin, of which a group of threads has one.
#[derive(Debug)]
pub(crate) struct SpinRight(AtomicBool);

/// Somebody spins while this lives.
#[must_use = "spinning is allowed while this lives"]
pub(crate) struct SpinGuard<'a>(&'a AtomicBool);

impl SpinRight {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Takes the right, unless somebody has it.
    pub(crate) fn try_take(&self) -> Option<SpinGuard<'_>> {
        let free = self.0.compare_exchange(false, true, Relaxed, Relaxed).is_ok();
        free.then(|| SpinGuard(&self.0))
    }
}

impl Drop for SpinGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

/// How well spinning paid off for one thread lately.
#[derive(Debug)]
pub(crate) struct SpinCredit(Cell<i32>);

impl SpinCredit {
    pub(crate) fn new() -> Self {
        Self(Cell::new(1))
    }

    /// Whether to try this time. A no counts as a chance let pass.
    pub(crate) fn allows(&self) -> bool {
        let credit = self.0.get();
        if credit <= 0 {
            self.0.set(if credit <= PAUSE { 1 } else { credit - 1 });
        }
        credit > 0
    }

    /// Spins until `found`, or for as long as a spin may last. True: it was found.
    pub(crate) fn spin(&self, found: impl Fn() -> bool) -> bool {
        let until = Instant::now() + SPIN;
        let hit = loop {
            if found() {
                break true;
            }
            if Instant::now() >= until {
                break false;
            }
            (0..8).for_each(|_| std::hint::spin_loop());
        };
        let credit = self.0.get();
        self.0.set(if hit { (credit + 1).min(MOST_CREDIT) } else { credit - 1 });
        hit
    }
}
