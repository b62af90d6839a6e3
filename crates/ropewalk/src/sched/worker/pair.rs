//! Two tasks that talk to each other stay on one worker when the one's budget is used up.
//!
//! A task that sends, and the one it woke to receive, are a pair: the first runs, the second is in the LIFO slot, and there
//! is nothing else. When the sender's budget is used up, both are runnable. In general that is a task for somebody else, and
//! one is woken. But a budget that was used up within [`BRISK`] was spent on operations that cost less than a line's way
//! from core to core. Then the two are faster in turns here than side by side, and neither waits longer than it takes to wake
//! a worker: so the one from the slot runs at once, the other one takes its place in the slot, and nobody is told.
//!
//! From there a thief takes it if the poll that runs turns out to be a long one (`lifo.rs`); and the next budget that is
//! used up less briskly ends this.

use super::Worker;
use ropewalk_core::task::Runnable;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// How soon after the last one a budget is used up by operations that do nothing but pass things on: 160 ns for each.
const BRISK: Duration = Duration::from_micros(20);

/// How fast budgets were used up lately.
#[derive(Debug, Default)]
pub(crate) struct Tempo {
    last: Cell<Option<Instant>>,
    /// The task that runs now used its budget up, and briskly.
    brisk: Cell<bool>,
}

impl Worker {
    /// The budget of the current task is used up.
    pub(in super::super) fn note_refusal(&self) {
        if self.threaded && !self.alone.get() {
            let now = Instant::now();
            let last = self.tempo.last.replace(Some(now));
            self.tempo.brisk.set(last.is_some_and(|last| now - last < BRISK));
        }
    }

    /// A task ran, and wants to run again. If it is one of a pair, the other one is next; otherwise it is given back.
    pub(super) fn keep_pair(&self, task: Runnable) -> Result<(), Runnable> {
        if !self.tempo.brisk.take() || !self.is_otherwise_empty() {
            return Err(task);
        }
        let Some(partner) = self.next.take() else { return Err(task) };
        self.again.set(Some(partner));
        let displaced = self.next.put(task);
        debug_assert!(displaced.is_none(), "it was taken just now");
        Ok(())
    }
}
