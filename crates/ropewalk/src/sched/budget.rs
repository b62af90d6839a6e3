//! The cooperative budget: how many operations a task may complete before it must let others run.

use super::worker::Worker;
use crate::context;
use ropewalk_core::budget::{OPERATION, PLAIN, grant};
use std::task::{Context, Poll};

/// Of a poll: 128 operations. Enough that a busy task hardly notices, few enough that a poll stays in the microseconds.
pub(crate) const BUDGET: u32 = 128 * OPERATION;

/// Makes this runtime the one that answers the questions of `ropewalk_core::budget`.
pub(crate) fn install() {
    ropewalk_core::budget::install(proceed, refusals);
}

fn refusals() -> u32 {
    context::with_worker(|worker| worker.map_or(0, |worker| worker.frame.refusals.get()))
}

fn proceed(cx: &mut Context<'_>) -> Poll<()> {
    context::with_worker(|worker| match worker {
        Some(worker) if worker.frame.current.get().is_some() => refuse(worker, cx),
        _ => {
            grant(PLAIN);
            Poll::Ready(())
        }
    })
}

/// The task has used up what it was granted.
fn refuse(worker: &Worker, cx: &mut Context<'_>) -> Poll<()> {
    worker.station.counters.budget_yields.bump();
    let refusals = worker.frame.refusals.get().wrapping_add(1);
    worker.frame.refusals.set(refusals);
    // For the task itself it stays used up for the rest of this poll; it gets a new one with its next turn. Whoever polls
    // with a waker of its own (a wait, another executor inside the task) may poll again within this very poll.
    if worker.go_last(cx.waker()) {
        worker.note_refusal();
    } else {
        grant(BUDGET);
    }
    Poll::Pending
}
