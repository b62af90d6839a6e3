//! Counts down to nothing, and wakes the one who waits for that.
//!
//! Invariants:
//!
//! 1. Count and waker change under the lock. Whoever takes the count to nothing takes the waker in the same step, and
//!    calls it after unlocking.
//! 2. The waiter leaves its waker and looks at the count in one step. So either it sees nothing left, or its waker is there
//!    when the count gets there.

use crate::wait;
use ropewalk_core::prim::Lock;
use std::task::{Context, Poll, Waker};

pub(super) struct Latch(Lock<State>);

struct State {
    left: usize,
    waiter: Option<Waker>,
}

impl Latch {
    pub(super) fn new(left: usize) -> Self {
        Self(Lock::new(State { left, waiter: None }))
    }

    /// One more to wait for.
    pub(super) fn add(&self) {
        self.0.lock().left += 1;
    }

    /// One less.
    pub(super) fn done(&self) {
        let mut state = self.0.lock();
        state.left -= 1;
        let waiter = if state.left == 0 { state.waiter.take() } else { None };
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    /// Ready when nothing is left. One waits at a time.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone(); // before the lock: it may be the user's code
        let mut state = self.0.lock();
        if state.left == 0 {
            return Poll::Ready(());
        }
        let before = state.waiter.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }

    /// Waits until nothing is left, wherever this is, to the end: what is counted may borrow from this stack.
    pub(super) fn wait(&self) {
        wait::wait_to_the_end(|cx| self.poll(cx));
    }
}

#[cfg(test)]
mod tests;
