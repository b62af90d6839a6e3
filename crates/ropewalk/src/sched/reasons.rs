//! What observed tasks wait for.
//!
//! A note goes straight into the [`Observation`] of the task that is current: whoever runs a poll is the only one to
//! write there, so a task that is woken and polled elsewhere at once finds no late entry of its last poll. Notes are taken
//! for what the task waits for if its poll then ends without being over, or its stack is parked.
//!
//! The hook is installed with the first observation. Without one, nothing here is ever called, and lean tasks never pay.

use super::host::{Observation, observation_of};
use crate::{context, runtime};
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::prim::BriefLock;
use std::time::Duration;

/// The notes of one task.
#[derive(Debug)]
pub(crate) struct Reasons(BriefLock<Notes>);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    /// Polls that have begun.
    pub(crate) turn: u64,
    /// What was noted last, and when, in nanoseconds of the runtime's clock. At first: when the poll began.
    pub(crate) reason: Reason,
    pub(crate) what: usize,
    pub(crate) since: u64,
    /// How many other notes of this poll hold as well.
    pub(crate) others: u32,
    /// The stack of the task waits in the middle of its poll.
    pub(crate) parked: bool,
    /// The poll began only because somebody asked where the task is: if it goes on waiting for the same, it has done so since then.
    kept: Option<(Reason, usize, u64)>,
}

impl Reasons {
    pub(crate) fn new() -> Self {
        blocked::install(note);
        blocked::install_holds(super::owners::hear);
        let (turn, since, kept) = (0, 0, None);
        let nothing = Notes { turn, reason: Reason::Other, what: 0, since, others: 0, parked: false, kept };
        Self(BriefLock::new(nothing))
    }

    /// A poll begins; `asked`: somebody wants to know where the task is.
    pub(crate) fn begin(&self, now: Duration, asked: bool) {
        let mut notes = self.0.lock();
        let turn = notes.turn + 1;
        let kept = asked.then_some((notes.reason, notes.what, notes.since));
        let since = match kept {
            Some((Reason::Other, 0, since)) => since, // it says nothing this time either
            _ => now.as_nanos() as u64,
        };
        *notes = Notes { turn, reason: Reason::Other, what: 0, since, others: 0, parked: false, kept };
    }

    fn note(&self, reason: Reason, what: usize, now: Duration) {
        let mut notes = self.0.lock();
        let first = notes.reason == Reason::Other && notes.what == 0;
        let taken_back = reason == Reason::Other && what == 0;
        notes.others = if first || taken_back { 0 } else { notes.others + 1 };
        let same = notes.kept.take().filter(|kept| (kept.0, kept.1) == (reason, what));
        let since = same.map_or_else(|| now.as_nanos() as u64, |kept| kept.2);
        (notes.reason, notes.what, notes.since) = (reason, what, since);
    }

    pub(crate) fn read(&self) -> Notes {
        *self.0.lock()
    }
}

/// Runs `f` on the observation of what runs here, if it has one.
fn with_current(f: impl FnOnce(&Observation, Duration)) {
    context::with_worker(|worker| match worker {
        Some(worker) => {
            // SAFETY: the current task is alive while it runs.
            let seen = worker.frame.current.get().and_then(|task| unsafe { observation_of(task) });
            if let Some(seen) = seen {
                f(seen, worker.pool.config.clock.now());
            }
        }
        None => {
            // SAFETY: as above.
            let seen = super::blocking::current_job().and_then(|job| unsafe { observation_of(job) });
            if let Some(seen) = seen {
                f(seen, runtime::Handle::current().shared.config.clock.now());
            }
        }
    });
}

fn note(reason: Reason, what: usize) {
    with_current(|seen, now| seen.reasons.note(reason, what, now));
}

/// The stack of what runs here is parked, in the middle of a poll, or goes on.
#[inline]
pub(crate) fn park(parked: bool) {
    if blocked::is_heard() {
        with_current(|seen, now| {
            let mut notes = seen.reasons.0.lock();
            notes.parked = parked;
            if !parked {
                (notes.reason, notes.what, notes.others) = (Reason::Other, 0, 0);
                notes.since = now.as_nanos() as u64;
            }
        });
    }
}
