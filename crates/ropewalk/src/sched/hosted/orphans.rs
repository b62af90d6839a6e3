//! Whether there may be orphans: strands in a runtime without threads that borrow from calls outside. To look for them takes a walk
//! over all of its tasks, and hardly any runtime has them.
//!
//! * **OR1** A strand can be found before its mark is set, and a look takes the mark away before it begins. So each look finds the
//!   strand, or leaves the mark for the next one; and a look that finds any sets it again.

use ropewalk_core::prim::AtomicBool;
use ropewalk_core::prim::Ordering::{AcqRel, Relaxed, Release};

#[cfg(test)]
mod tests;

/// See the head of this file.
pub(crate) struct Orphans(AtomicBool);

impl Orphans {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// There is one more, and a look would find it.
    pub(crate) fn one_more(&self) {
        self.0.swap(true, Release);
    }

    /// Whether there may be any.
    pub(crate) fn may_be(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Looks for them by `find`, which says whether there are any.
    pub(crate) fn look(&self, find: impl FnOnce() -> bool) {
        self.0.swap(false, AcqRel);
        if find() {
            self.0.swap(true, AcqRel); // not a store: the next look reads what was marked meanwhile, too
        }
    }
}
