//! Waiting a little without suspending: one offer to whoever runs the current task.
//!
//! What a task waits for often comes within a microsecond, from another core; to suspend it, wake it and find it again
//! takes longer than that, for both sides. So an operation that is about to wait asks [`until`] first. A runtime installs
//! its answer once, and decides whether the thread has nothing better to do; without one, and on plain threads, nobody
//! lingers.

use crate::hook::Hook;

type Linger = fn(&mut dyn FnMut() -> bool) -> bool;

// SAFETY: a function pointer.
static LINGER: Hook<Linger> = unsafe { Hook::new() };

/// Installs the process's answer to [`until`].
pub fn install(linger: Linger) {
    LINGER.install(linger);
}

/// Looks at `ready` for a few microseconds, if there is nothing else to do. True: it is ready.
///
/// `ready` is called often, and does no more than look at atomics. The caller holds no lock.
#[cold]
pub fn until(mut ready: impl FnMut() -> bool) -> bool {
    LINGER.get().is_some_and(|linger| linger(&mut ready))
}
