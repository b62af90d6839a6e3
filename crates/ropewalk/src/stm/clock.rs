//! The one clock of all transactions: it counts commits, and says whether one transaction has the floor.
//!
//! ```text
//!   63                                       1  0
//!   | time, 63 bits                           | ALONE |
//! ```
//!
//! - **time** The last commit that began to publish. A transaction starts from a time that its thread has seen; whatever has a later version
//!   was written since.
//! - **ALONE** Nobody but who set it may commit. A commit learns of it by the very instruction that gives it its time.

use ropewalk_core::prim::{AtomicU64, Ordering::*, Padded};

const ALONE: u64 = 1;
const TICK: u64 = 2;

/// On a line of its own.
#[derive(Debug)]
pub(super) struct Clock(Padded<AtomicU64>);

/// The time of a commit, if it may go on.
pub(super) enum Tick {
    At(u64),
    /// Another one has the floor; the time given is lost.
    Refused,
}

impl Clock {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self(Padded(AtomicU64::new(0)))
    }
    #[cfg(any(loom, shuttle))]
    pub(super) fn new() -> Self {
        Self(Padded(AtomicU64::new(0)))
    }

    /// Who reads a time sees the locks of all commits up to it.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.0.load(Acquire) >> 1
    }

    /// Whether somebody has the floor. A hint: the next tick knows.
    #[inline(always)]
    pub(super) fn is_taken(&self) -> bool {
        self.0.load(Relaxed) & ALONE != 0
    }

    /// A time of its own for a commit that holds all of its locks. `alone`: by who has the floor.
    #[inline(always)]
    pub(super) fn tick(&self, alone: bool) -> Tick {
        let before = self.0.fetch_add(TICK, AcqRel);
        if before & ALONE != 0 && !alone { Tick::Refused } else { Tick::At((before >> 1) + 1) }
    }

    /// A time for what is no commit.
    pub(super) fn pass(&self) -> u64 {
        (self.0.fetch_add(TICK, AcqRel) >> 1) + 1
    }

    /// From now on no other commit gets a time, until [`give_back`](Self::give_back). Returns the time: those that got one before
    /// are no later, and hold their locks until they have published. `None`: another one has it.
    pub(super) fn take(&self) -> Option<u64> {
        let before = self.0.fetch_or(ALONE, AcqRel);
        (before & ALONE == 0).then_some(before >> 1)
    }

    pub(super) fn give_back(&self) {
        self.0.fetch_and(!ALONE, Release);
    }
}
