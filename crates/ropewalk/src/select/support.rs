//! What the macros expand to. No part of the public interface: it may change at any time.

use crate::context;
use crate::runtime::{RANDOM_STEP, mixed};
use crate::time::{Sleep, sleep};
pub use crate::wait::wait;
pub use ropewalk_core::blocked::forget;
use ropewalk_core::budget;
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use std::cell::Cell;
use std::future::Future;
pub use std::future::{IntoFuture, poll_fn};
pub use std::pin::{Pin, pin};
pub use std::task::{Context, Poll};
use std::time::Duration;

/// The number of a `default` or `timeout` that won; branches are numbered from 0.
pub const LIMIT: u32 = u32::MAX - 1;
/// The number of the `else`.
pub const ELSE: u32 = u32::MAX;

/// What was selected is not needed any more, nor what it could have borrowed.
#[inline(always)]
pub fn done<T>(_selected: T) {}

/// Polls a branch unless it is closed. One that is over is closed, and its future dropped.
#[inline]
pub fn poll_branch<F: Future>(mut branch: Pin<&mut Option<F>>, cx: &mut Context<'_>) -> Poll<F::Output> {
    let Some(future) = branch.as_mut().as_pin_mut() else { return Poll::Pending };
    let polled = future.poll(cx);
    if polled.is_ready() {
        branch.set(None);
    }
    polled
}

/// One look at every branch: gives their numbers, each once.
#[derive(Debug)]
pub struct Round {
    next: u32,
    left: u32,
    count: u32,
    open: bool,
    refusals: u32,
}

impl Round {
    /// Starts anywhere, then goes on in the order of writing.
    #[inline]
    pub fn fair(count: u32) -> Self {
        Self::from(if count > 1 { below(count) } else { 0 }, count)
    }

    /// Starts at the first.
    #[inline]
    pub fn biased(count: u32) -> Self {
        Self::from(0, count)
    }

    fn from(start: u32, count: u32) -> Self {
        Self { next: start, left: count, count, open: false, refusals: budget::refusals() }
    }

    /// Whether this branch may still become ready.
    #[inline]
    pub fn saw(&mut self, open: bool) {
        self.open |= open;
    }

    /// Whether any branch may.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Whether a branch may have something and was only refused for want of budget: then the task is woken, to look again.
    fn was_refused(&self, cx: &Context<'_>) -> bool {
        let refused = budget::refusals() != self.refusals;
        if refused {
            // The branch called the waker it was polled with; that need not be this one.
            cx.waker().wake_by_ref();
        }
        refused
    }
}

impl Iterator for Round {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let at = self.next;
        self.next = if at + 1 == self.count { 0 } else { at + 1 };
        Some(at)
    }
}

/// What happens if a round found nothing.
pub trait Limit {
    /// Ready: no further round.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, round: &Round) -> Poll<()>;
}

/// There is another round, always.
#[derive(Debug)]
pub struct Never;

impl Limit for Never {
    #[inline]
    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>, _round: &Round) -> Poll<()> {
        Poll::Pending
    }
}

/// One round, and that is it; unless a branch was refused, because then it was not a whole one.
#[derive(Debug)]
pub struct AtOnce;

impl Limit for AtOnce {
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, round: &Round) -> Poll<()> {
        if round.was_refused(cx) { Poll::Pending } else { Poll::Ready(()) }
    }
}

/// Rounds until the time is over.
#[derive(Debug)]
pub struct After {
    sleep: Sleep,
    /// The time was over when a branch was refused: that one gets another round, with a new budget. But not two, or one
    /// that uses up every budget would never be given up.
    one_more: bool,
}

impl After {
    /// Counted from now.
    pub fn new(span: Duration) -> Self {
        Self { sleep: sleep(span), one_more: true }
    }
}

impl Limit for After {
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, round: &Round) -> Poll<()> {
        // SAFETY: `sleep` is pinned with it, `one_more` is not; there is no `Drop`, and `Sleep` is not `Unpin`.
        let (sleep, one_more) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.sleep), &mut this.one_more)
        };
        std::task::ready!(sleep.poll_entry(cx));
        if std::mem::take(one_more) && round.was_refused(cx) { Poll::Pending } else { Poll::Ready(()) }
    }
}

/// A number below `count`, from the generator of the worker, or of the runtime that this thread has entered: the runtime's
/// seed determines it. A thread outside has one of its own.
fn below(count: u32) -> u32 {
    let random = context::with_worker(|worker| worker.map(|worker| worker.next_random()))
        .or_else(|| context::with_entered(|runtime| runtime.shared.next_random()))
        .unwrap_or_else(of_thread);
    (((random >> 32) * u64::from(count)) >> 32) as u32
}

/// splitmix64, started elsewhere in each thread.
#[cfg_attr(feature = "roaming", inline(never))] // TL1
fn of_thread() -> u64 {
    static STARTS: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static STATE: Cell<u64> = Cell::new(STARTS.fetch_add(1, Relaxed).wrapping_mul(RANDOM_STEP).rotate_left(17));
    }
    let next = |state: &Cell<u64>| state.replace(state.get().wrapping_add(RANDOM_STEP));
    mixed(STATE.try_with(next).unwrap_or(RANDOM_STEP))
}
