//! Threads that borrow from the stack that started them.

use super::cell::report;
use super::latch::Latch;
use super::{Builder, JoinHandle};
use ropewalk_core::prim::Lock;
use ropewalk_core::task::PanicInfo;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// Threads that borrow what lives outside of the call: all of them have ended when [`scope`] returns.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    pub(super) members: Arc<Members>,
    /// Invariant in both, as threads may write through what they borrow.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// The threads of a scope that have not ended, and the first panic that nobody took.
pub(super) struct Members {
    latch: Latch,
    panic: Lock<Kept>,
}

enum Kept {
    Nothing,
    First(PanicInfo),
    /// The scope is over: there is nobody left to re-throw it.
    Over,
}

impl Members {
    /// Keeps the first panic for the end of the scope; later ones are given back.
    pub(super) fn keep(&self, panic: PanicInfo) -> Option<PanicInfo> {
        let mut kept = self.panic.lock();
        if !matches!(*kept, Kept::Nothing) {
            return Some(panic);
        }
        *kept = Kept::First(panic);
        None
    }

    /// No more panics are kept.
    fn close(&self) -> Option<PanicInfo> {
        match std::mem::replace(&mut *self.panic.lock(), Kept::Over) {
            Kept::First(panic) => Some(panic),
            Kept::Nothing | Kept::Over => None,
        }
    }
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members").finish_non_exhaustive()
    }
}

/// One thread of a scope; dropped when the thread no longer touches what it borrowed.
pub(super) struct Member(Arc<Members>);

impl Member {
    pub(super) fn of(members: &Arc<Members>) -> Self {
        members.latch.add();
        Self(members.clone())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.0.latch.done();
    }
}

/// Calls `f` with a scope in which threads may be started that borrow from here, and waits for all of them: as
/// [`wait`](crate::wait()) does, but to the end, also on a cancelled strand.
///
/// ```
/// use ropewalk::thread;
/// let numbers = vec![1u64, 2, 3, 4];
/// let (left, right) = numbers.split_at(2);
/// let total = thread::scope(|s| -> std::io::Result<u64> {
///     let left = s.spawn(|| left.iter().sum::<u64>())?;
///     let right = s.spawn(|| right.iter().sum::<u64>())?;
///     Ok(left.join().unwrap() + right.join().unwrap())
/// })?;
/// assert_eq!(total, 10);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Panics
/// With what `f` panics with. Otherwise with the first panic of a thread whose handle was dropped; further ones, and all
/// of them if `f` panicked, are reported as those of detached threads are.
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    crate::wait::refuse_in_transaction_here("a scope of threads inside a transaction");
    let members = Arc::new(Members { latch: Latch::new(0), panic: Lock::new(Kept::Nothing) });
    let scope = Scope { members: members.clone(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    members.latch.wait();
    match (result, members.close()) {
        (Ok(value), None) => value,
        (Ok(value), Some(panic)) => {
            drop(value);
            resume_unwind(panic.into_payload())
        }
        (Err(payload), panic) => {
            if let Some(panic) = panic {
                report(crate::context::runtime().as_ref(), panic);
            }
            resume_unwind(payload)
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread of this scope; see [`thread::spawn`](super::spawn).
    ///
    /// # Errors
    /// As for [`thread::spawn`](super::spawn).
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f)
    }
}
