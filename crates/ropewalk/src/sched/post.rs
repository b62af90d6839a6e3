//! Who is at a station, and how many strands are on their way to it.
//!
//! ```text
//!   Vacant ----> Active <----> Retiring ----> Vacant
//!                expect        may_leave
//!                arrived       arrived
//! ```
//!
//! * **PL1** Status and count are one word. What is sent is counted in the step that finds the station active, and who retires
//!   leaves (under the census lock, so that the status stays as it is) when it finds itself retiring with nobody on the way: one
//!   comes before the other. So nothing is sent to where nobody is.

use ropewalk_core::prim::AtomicUsize;
use ropewalk_core::prim::Ordering::{AcqRel, Acquire, Relaxed};

#[cfg(test)]
mod tests;

/// Who is at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nobody.
    Vacant,
    /// A worker that takes work.
    Active,
    /// A worker that only serves its pinned tasks, until they end.
    Retiring,
}

/// The two lowest bits are the status.
const STATUS: usize = 3;
/// One strand on its way.
const COMING: usize = 4;

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Post(AtomicUsize);

impl Post {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(Status::Vacant as usize))
    }

    pub(crate) fn status(&self) -> Status {
        status_of(self.0.load(Acquire))
    }

    /// How many strands are on their way. For those who compare.
    pub(crate) fn coming(&self) -> usize {
        self.0.load(Relaxed) / COMING
    }

    /// Changed under the pool's census lock only.
    pub(crate) fn set(&self, status: Status) {
        let _always = self.change(|word| Some(word & !STATUS | status as usize));
    }

    /// One is about to be sent here, and is counted. False: nobody is here who would take it.
    #[must_use]
    pub(crate) fn expect(&self) -> bool {
        self.change(|word| (status_of(word) == Status::Active).then_some(word + COMING))
    }

    /// One that was sent was taken from the inbox.
    pub(crate) fn arrived(&self) {
        self.0.fetch_sub(COMING, AcqRel);
    }

    /// Whether it retires and nobody comes. That stays so while the status does.
    pub(crate) fn may_leave(&self) -> bool {
        self.0.load(Acquire) == Status::Retiring as usize
    }

    fn change(&self, to: impl Fn(usize) -> Option<usize>) -> bool {
        let mut word = self.0.load(Acquire);
        while let Some(changed) = to(word) {
            match self.0.compare_exchange_weak(word, changed, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }
}

fn status_of(word: usize) -> Status {
    match word & STATUS {
        0 => Status::Vacant,
        1 => Status::Active,
        _ => Status::Retiring,
    }
}
