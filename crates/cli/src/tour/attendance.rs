//! Who is there.

use ropewalk_core::prim::real::{AtomicU64, Ordering::*};

/// How many are there, and how many there were at most.
#[derive(Default)]
pub(super) struct Attendance {
    now: AtomicU64,
    most: AtomicU64,
}

impl Attendance {
    /// One more is there, until this is dropped.
    pub(super) fn enter(&self) -> Present<'_> {
        self.most.fetch_max(self.now.fetch_add(1, AcqRel) + 1, AcqRel);
        Present(self)
    }

    pub(super) fn now(&self) -> u64 {
        self.now.load(Acquire)
    }

    pub(super) fn most(&self) -> u64 {
        self.most.load(Acquire)
    }
}

/// See [`Attendance::enter`].
pub(super) struct Present<'a>(&'a Attendance);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, AcqRel);
    }
}
