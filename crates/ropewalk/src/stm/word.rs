//! The word of a variable: which commit wrote its value, and what is going on with it.
//!
//! ```text
//!   63                                    2  1         0
//!   | version, 62 bits                     | WATCHED | LOCKED |
//! ```
//!
//! - **version** Later than the one before, and than the [clock](super::clock) was when the commit that wrote the value looked at it.
//! - **LOCKED** A commit is about to replace the value. The word is that commit's until it unlocks it.
//! - **WATCHED** Somebody waits for the value to change. A commit that locks the word finds the mark, and owes them a call. Who sets
//!   the mark and finds the word locked, or of another version than it read, must not rely on it: the value has changed, or may.
//!
//! ```text
//!          lock                      publish(new version)
//!   free --------> locked, same version ------------------> free, new version, not watched
//!     ^                  | restore
//!     +------------------+
//! ```
//!
//! Watching and locking change one word, so one of them comes first and the other one sees it: no fence, and no call is lost.

use ropewalk_core::prim::{AtomicU64, Ordering::*};
use std::fmt;

const LOCKED: u64 = 1;
const WATCHED: u64 = 2;
const VERSION_SHIFT: u32 = 2;

/// What a word was when it was read.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Word(u64);

impl Word {
    #[inline(always)]
    pub(super) fn version(self) -> u64 {
        self.0 >> VERSION_SHIFT
    }
    #[inline(always)]
    pub(super) fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }
    #[inline(always)]
    pub(super) fn is_watched(self) -> bool {
        self.0 & WATCHED != 0
    }
    /// Free, and its value is the one of that version.
    #[inline(always)]
    pub(super) fn is_free_at(self, version: u64) -> bool {
        self.0 & !WATCHED == version << VERSION_SHIFT
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("version", &self.version())
            .field("watched", &self.is_watched())
            .field("locked", &self.is_locked())
            .finish()
    }
}

/// The word itself.
#[derive(Debug)]
pub(super) struct WordCell(AtomicU64);

impl WordCell {
    /// The first version: it is older than every transaction.
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// SeqCst, as the lock: of two commits that each look at what the other one locks, one sees the lock.
    #[inline(always)]
    pub(super) fn load(&self) -> Word {
        Word(self.0.load(SeqCst))
    }

    /// Locks it, if it still is `seen`, which is free.
    #[inline(always)]
    pub(super) fn lock(&self, seen: Word) -> bool {
        debug_assert!(!seen.is_locked());
        self.0.compare_exchange(seen.0, seen.0 | LOCKED, SeqCst, Relaxed).is_ok()
    }

    /// Who locked it has replaced the value.
    #[inline(always)]
    pub(super) fn publish(&self, version: u64) {
        self.unlock(version << VERSION_SHIFT);
    }

    /// Who locked it has not, and gives it back as it was.
    #[inline(always)]
    pub(super) fn restore(&self, seen: Word) {
        self.unlock(seen.0);
    }

    /// By who has locked it. (To loom, a mark that was set before may come after a store; so it sees an exchange.)
    #[inline(always)]
    fn unlock(&self, word: u64) {
        if cfg!(loom) {
            self.0.swap(word, Release);
        } else {
            self.0.store(word, Release);
        }
    }

    /// Somebody waits for a change; returns what the word was before.
    pub(super) fn watch(&self) -> Word {
        Word(self.0.fetch_or(WATCHED, AcqRel))
    }
}
