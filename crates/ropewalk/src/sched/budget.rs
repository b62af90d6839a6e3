//! The cooperative budget: how many operations a task may complete before it must let others run.

use super::worker::Worker;
use crate::context;
use std::task::{Context, Poll};

/// Operations per poll. Enough that a busy task hardly notices, few enough that a poll stays in the microseconds.
pub(crate) const BUDGET: u8 = 128;

/// Makes this runtime the one that answers `ropewalk_core::budget::poll_proceed`.
pub(crate) fn install() {
    ropewalk_core::budget::install(proceed);
}

fn proceed(cx: &mut Context<'_>) -> Poll<()> {
    context::with_worker(|worker| match worker {
        Some(worker) if worker.frame.current.get().is_some() => spend(worker, cx),
        _ => Poll::Ready(()),
    })
}

fn spend(worker: &Worker, cx: &mut Context<'_>) -> Poll<()> {
    let left = worker.frame.budget.get();
    if left > 0 {
        worker.frame.budget.set(left - 1);
        return Poll::Ready(());
    }
    worker.station.counters.budget_yields.bump();
    // For the task itself it stays used up for the rest of this poll; it gets a new one with its next turn. Whoever polls
    // with a waker of its own (a wait, another executor inside the task) may poll again within this very poll.
    if !worker.go_last(cx.waker()) {
        worker.frame.budget.set(BUDGET);
    }
    Poll::Pending
}
