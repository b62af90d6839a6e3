//! The one clock of all transactions, and whether one of them has the floor.
//!
//! ```text
//!   63                                       1  0
//!   | time, 63 bits                           | ALONE |
//! ```
//!
//! - **time** What a transaction that reads much takes for its beginning: whatever has a later version was written since. Commits look at it
//!   and do not move it, so they do not meet here; those who find that it is behind what they read do.
//! - **ALONE** Nobody but who set it may commit. A commit learns of it by the look that it takes at the time.
//!
//! # Invariants
//!
//! - **C1** A commit looks when it has all of its locks, and its version is later than what it saw. So who has seen the clock at that
//!   version, or later, sees these locks: the clock was moved there after that look. The lock, the look, moving the clock, reading it and
//!   reading words are all SeqCst, so they are in one order. (Loom takes none of them for more than AcqRel. For it there are fences: after the
//!   locks here, and before the reads where a transaction announces itself, or catches up. So the orderings themselves are not
//!   modelled.)
//! - **C2** The same goes for the floor: who has it sees the locks of all commits that did not see it.

use ropewalk_core::prim::{AtomicU64, Ordering::*, Padded, fence};

const ALONE: u64 = 1;

/// On a line of its own.
#[derive(Debug)]
pub(super) struct Clock(Padded<AtomicU64>);

impl Clock {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self(Padded(AtomicU64::new(0)))
    }
    #[cfg(any(loom, shuttle))]
    pub(super) fn new() -> Self {
        Self(Padded(AtomicU64::new(0)))
    }

    /// Who reads a time sees the locks of all commits up to it (C1).
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.0.load(SeqCst) >> 1
    }

    /// Moves it on to `version` at least: further, if it was far behind, so that who reads one late version after the other does not come
    /// here each time. Returns the time, as [`now`](Self::now).
    pub(super) fn reach(&self, version: u64) -> u64 {
        let mut word = self.0.load(SeqCst);
        while word >> 1 < version {
            let time = version + (version - (word >> 1) - 1);
            match self.0.compare_exchange(word, time << 1 | word & ALONE, SeqCst, SeqCst) {
                Ok(_) => return time,
                Err(now) => word = now,
            }
        }
        word >> 1
    }

    /// Whether somebody has the floor. A hint: the next tick knows.
    #[inline(always)]
    pub(super) fn is_taken(&self) -> bool {
        self.0.load(Relaxed) & ALONE != 0
    }

    /// The look of a commit that holds all of its locks (C1). `alone`: by who has the floor. `None`: another one has it.
    #[inline(always)]
    pub(super) fn look(&self, alone: bool) -> Option<u64> {
        if cfg!(loom) {
            fence(SeqCst); // to loom, a SeqCst exchange and load are no more than AcqRel ones
        }
        let word = self.0.load(SeqCst);
        if word & ALONE != 0 && !alone { None } else { Some(word >> 1) }
    }

    /// From now on no other commit goes on, until [`give_back`](Self::give_back); those that do hold their locks until they have published
    /// (C2). Returns the time. `None`: another one has it.
    pub(super) fn take(&self) -> Option<u64> {
        let before = self.0.fetch_or(ALONE, SeqCst);
        (before & ALONE == 0).then_some(before >> 1)
    }

    pub(super) fn give_back(&self) {
        self.0.fetch_and(!ALONE, Release);
    }
}
