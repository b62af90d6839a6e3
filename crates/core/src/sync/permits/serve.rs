//! Serving the line: batch by batch, and never waking under the lock. The invariants are numbered in `permits.rs`.

use super::{BriefGuard, Line, Permits, Waiter, state};
use crate::wake_batch::WakeBatch;
use core::task::Waker;

/// How many wakers are taken out per locking.
const BATCH: usize = if cfg!(loom) { 1 } else { 8 };

/// Somebody on the way to serve the line (A2), or to tell it that it is closed. It goes through to the end even if a waker
/// panics: nobody else would do it.
pub(super) struct Serve<'p> {
    permits: &'p Permits,
    closing: bool,
    unfinished: bool,
}

impl<'p> Serve<'p> {
    pub(super) fn waiting(permits: &'p Permits) -> Self {
        Self { permits, closing: false, unfinished: true }
    }

    pub(super) fn closing(permits: &'p Permits) -> Self {
        Self { permits, closing: true, unfinished: true }
    }

    /// Starts under the lock that the caller has taken.
    pub(super) fn run(mut self, line: BriefGuard<'p, Line>) {
        self.step(line);
        self.rest();
    }

    fn rest(&mut self) {
        while self.unfinished {
            self.step(self.permits.line.lock());
        }
    }

    /// Serves one batch, unlocks, and wakes it.
    fn step(&mut self, mut line: BriefGuard<'_, Line>) {
        let mut batch = WakeBatch::<BATCH>::new();
        while !batch.is_full() && self.unfinished {
            match self.next(&mut line) {
                Some(Some(waker)) => batch.push(waker),
                Some(None) => {}
                None => self.unfinished = false,
            }
        }
        drop(line);
        batch.wake();
    }

    fn next(&self, line: &mut Line) -> Option<Option<Waker>> {
        if !self.closing {
            return self.permits.serve_first(line);
        }
        let node = line.waiters.pop_front()?;
        // SAFETY: taken out under the lock, which is still held (A3, A4); the first may be the one that was called (A2).
        let waker = unsafe {
            let called = node.as_ref().seat(|seat| seat.called);
            self.permits.word.leave(called, line.waiters.is_empty());
            Waiter::settle(node, state::CLOSED)
        };
        Some(waker)
    }
}

/// Only a panicking waker leaves something to do here.
impl Drop for Serve<'_> {
    fn drop(&mut self) {
        self.rest();
    }
}
