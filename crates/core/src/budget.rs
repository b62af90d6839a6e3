//! The cooperative budget, as far as primitives need to know it: one question, answered by whoever runs the task.
//!
//! A task that always finds its resource ready would never suspend. So every operation asks [`poll_proceed`] first, and
//! now and then the answer is "not now": the task's waker has been called and the operation returns `Pending`. A runtime
//! installs its answer once; without one, and on plain threads, the answer is always "go on".

use crate::prim::real::{AtomicPtr, Ordering};
use core::task::{Context, Poll};

type Hook = fn(&mut Context<'_>) -> Poll<()>;

static HOOK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Installs the process's answer to [`poll_proceed`].
pub fn install(hook: Hook) {
    HOOK.store(hook as *mut (), Ordering::Release);
}

/// `Pending`: the budget of the current task is used up, its waker was called, return `Pending` now.
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<()> {
    let hook = HOOK.load(Ordering::Acquire);
    if hook.is_null() {
        return Poll::Ready(());
    }
    // SAFETY: only `install` writes it, and it writes a `Hook`.
    let hook: Hook = unsafe { core::mem::transmute::<*mut (), Hook>(hook) };
    hook(cx)
}
