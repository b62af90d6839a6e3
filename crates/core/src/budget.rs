//! The cooperative budget, as far as primitives need to know it: one question, answered by whoever runs the task.
//!
//! A task that always finds its resource ready would never suspend. So every operation asks [`poll_proceed`] first, and
//! now and then the answer is "not now": the task's waker has been called and the operation returns `Pending`. A runtime
//! installs its answer once; without one, and on plain threads, the answer is always "go on".
//!
//! Every operation pays for the question, so most are answered on the spot: a thread has something to spend ([`grant`]), an
//! operation takes [`OPERATION`] of it, and whoever runs tasks is asked when it is used up. That one grants a task's budget
//! before each poll, and takes back what is left when another one's turn comes. (Without `std` there is nothing of a thread:
//! it is always asked.)
//!
//! Such a `Pending` does not mean that there is nothing. Whoever must know the difference asks for [`refusals`] before
//! and after.

use crate::hook::Hook;
use core::task::{Context, Poll};

// SAFETY: a function pointer.
static PROCEED: Hook<fn(&mut Context<'_>) -> Poll<()>> = unsafe { Hook::new() };
// SAFETY: as above.
static REFUSALS: Hook<fn() -> u32> = unsafe { Hook::new() };

/// Installs the process's answers to [`poll_proceed`] and [`refusals`].
pub fn install(proceed: fn(&mut Context<'_>) -> Poll<()>, count: fn() -> u32) {
    REFUSALS.install(count);
    PROCEED.install(proceed);
}

#[cfg(feature = "std")]
std::thread_local! {
    /// What this thread may spend before somebody is asked. (Under a model checker its threads share it: nothing there runs
    /// long enough to be refused.)
    static FREE: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

/// What an operation costs; one that is much cheaper than most, a lock that is free, costs 1.
pub const OPERATION: u32 = 8;
/// What a plain thread, which has nobody to let run, may spend between two questions.
pub const PLAIN: u32 = 4096 * OPERATION;

/// From now on the answer is "go on" until this thread has spent so much. Returns what is left of the last grant.
/// For whoever runs tasks; a task that grants itself more keeps others waiting, no worse.
#[inline(always)]
pub fn grant(budget: u32) -> u32 {
    #[cfg(feature = "std")]
    return FREE.try_with(|free| free.replace(budget)).unwrap_or(0);
    #[cfg(not(feature = "std"))]
    {
        let _nothing_to_keep_it_in = budget;
        0
    }
}

/// What this thread may still spend.
#[inline(always)]
pub fn left() -> u32 {
    #[cfg(feature = "std")]
    return FREE.try_with(core::cell::Cell::get).unwrap_or(0);
    #[cfg(not(feature = "std"))]
    0
}

/// `Pending`: the budget of the current task is used up, its waker was called, return `Pending` now.
#[inline(always)]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    poll_spend(OPERATION, cx)
}

/// The same for an operation that costs next to nothing. (If a free lock cost as much as others do, a poll would end after 128,
/// some microseconds: with 8 tasks on 2 workers a contended lock took half as long again.)
#[inline(always)]
pub(crate) fn poll_proceed_cheaply(cx: &mut Context<'_>) -> Poll<()> {
    poll_spend(1, cx)
}

#[cfg_attr(feature = "roaming", inline(never))] // what is polled on a stack may wait in between, and go on on another thread
#[cfg_attr(not(feature = "roaming"), inline(always))]
fn poll_spend(cost: u32, cx: &mut Context<'_>) -> Poll<()> {
    let free = left();
    if free < cost {
        return ask(cx);
    }
    grant(free - cost);
    Poll::Ready(())
}

#[cold]
#[inline(never)]
fn ask(cx: &mut Context<'_>) -> Poll<()> {
    match PROCEED.get() {
        Some(proceed) => proceed(cx),
        None => {
            grant(PLAIN); // a runtime that comes later grants its own before it runs anything
            Poll::Ready(())
        }
    }
}

/// How many operations of what runs here were told to wait for a new budget. If two answers within one poll differ, a
/// `Pending` that came in between may be one that had something.
///
/// ```
/// use ropewalk_core::budget::refusals;
/// let before = refusals();
/// // ... poll something ...
/// let nothing_is_ready = refusals() == before;
/// # assert!(nothing_is_ready);
/// ```
pub fn refusals() -> u32 {
    REFUSALS.get().map_or(0, |count| count())
}
