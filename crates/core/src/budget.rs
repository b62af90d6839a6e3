//! The cooperative budget, as far as primitives need to know it: one question, answered by whoever runs the task.
//!
//! A task that always finds its resource ready would never suspend. So every operation asks [`poll_proceed`] first, and
//! now and then the answer is "not now": the task's waker has been called and the operation returns `Pending`. A runtime
//! installs its answer once; without one, and on plain threads, the answer is always "go on".
//!
//! Every operation pays for the question, so most are answered on the spot: a thread has some operations *free*
//! ([`grant`]), and whoever runs tasks is asked when they are used up. It grants a task's budget before each poll, and
//! takes back what is left when another one's turn comes. (Without `std` there is nothing of a thread: it is always asked.)
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
    /// Operations of this thread that nobody is asked for. (Under a model checker its threads share it: nothing there runs
    /// long enough to be refused.)
    static FREE: core::cell::Cell<u32> = const { core::cell::Cell::new(0) };
}

/// From now on the answer is "go on" for so many operations of this thread. Returns how many of the last grant are left.
/// For whoever runs tasks; a task that grants itself more keeps others waiting, no worse.
#[inline(always)]
pub fn grant(operations: u32) -> u32 {
    #[cfg(feature = "std")]
    return FREE.try_with(|free| free.replace(operations)).unwrap_or(0);
    #[cfg(not(feature = "std"))]
    {
        let _nothing_to_keep_it_in = operations;
        0
    }
}

/// How many operations of this thread are free.
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
    let free = left();
    if free > 0 {
        grant(free - 1);
        return Poll::Ready(());
    }
    ask(cx)
}

#[cold]
#[inline(never)]
fn ask(cx: &mut Context<'_>) -> Poll<()> {
    PROCEED.get().map_or(Poll::Ready(()), |proceed| proceed(cx))
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
