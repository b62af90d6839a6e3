//! The door of a pool: how many tasks came in from outside, whether it is still open, and whether anybody is left inside.
//!
//! * **G1** Phase and count are one word. A guest comes before the closing in the order of that word, and then whoever
//!   sees that the pool closes sees the guest counted; or after it, and then the guest is turned away.
//! * **G2** [`live`](Gate::live) is never too low: what ended is read first, and whatever ended was counted before.
//! * **G3** Whoever lowers the number of a closing pool (ends a task, turns back at the door) asks for it afterwards. The
//!   counts have different owners, but each asks after a barrier: of those who lower it last, one sees all of it, and
//!   wakes those who wait for zero.

use super::counters::Counters;
use ropewalk_core::prim::Ordering::{AcqRel, Acquire, SeqCst};
use ropewalk_core::prim::{AtomicU64, fence};

#[cfg(test)]
mod tests;

/// How far a pool's life has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Everybody may come.
    Open,
    /// Nobody comes any more; those inside are cancelled.
    Closing,
    /// The last worker has left.
    Closed,
}

/// The two lowest bits are the phase.
const PHASE: u64 = 3;
/// The runtime waits for its tasks to end, to close then: only they may bring guests.
const DRAINING: u64 = 4;
/// One task from outside.
const GUEST: u64 = 8;

#[derive(Debug)]
pub(crate) struct Gate(AtomicU64);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(Phase::Open as u64))
    }

    pub(crate) fn phase(&self) -> Phase {
        phase_of(self.0.load(Acquire))
    }

    /// A task comes from outside, and is counted. False: the pool closes, and the task is not. While it drains, only those
    /// come in whose `host` is in the runtime already, and so is counted itself.
    #[must_use]
    pub(crate) fn enter(&self, host: impl FnOnce() -> bool) -> bool {
        let before = self.0.fetch_add(GUEST, AcqRel);
        if phase_of(before) == Phase::Open && (before & DRAINING == 0 || host()) {
            return true;
        }
        self.leave();
        false
    }

    /// One that was counted is not to be after all.
    pub(crate) fn leave(&self) {
        self.0.fetch_sub(GUEST, AcqRel);
    }

    /// Moves on to a later phase.
    pub(crate) fn advance(&self, phase: Phase) {
        self.0.fetch_or(phase as u64, AcqRel);
    }

    /// From now on nobody comes from outside the runtime.
    pub(crate) fn drain(&self) {
        self.0.fetch_or(DRAINING, AcqRel);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.0.load(Acquire) & DRAINING != 0
    }

    /// Tasks that are over.
    pub(crate) fn ended<'a>(&self, workers: impl Iterator<Item = &'a Counters>) -> u64 {
        workers.map(|worker| worker.finished.get()).sum()
    }

    /// Tasks that were accepted, ever. Several pools: first what ended in all of them, then this.
    pub(crate) fn accepted<'a>(&self, workers: impl Iterator<Item = &'a Counters>) -> u64 {
        let spawned: u64 = workers.map(|worker| worker.spawned.get()).sum();
        spawned + self.0.load(Acquire) / GUEST
    }

    /// Tasks that were accepted and are not over, if `workers` are all that ever were. To one who has seen that the pool
    /// closes, and has acknowledged it if he is a worker, zero means that nothing is left.
    pub(crate) fn live<'a>(&self, workers: impl Iterator<Item = &'a Counters> + Clone) -> u64 {
        fence(SeqCst); // barrier of one who has lowered the number (G3)
        let finished: u64 = workers.clone().map(|worker| worker.finished.get()).sum();
        let spawned: u64 = workers.map(|worker| worker.spawned.get()).sum();
        (spawned + self.0.load(Acquire) / GUEST).saturating_sub(finished)
    }
}

fn phase_of(word: u64) -> Phase {
    match word & PHASE {
        0 => Phase::Open,
        1 => Phase::Closing,
        _ => Phase::Closed,
    }
}
