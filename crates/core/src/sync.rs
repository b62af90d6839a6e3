//! Synchronisation: one implementation each, for tasks (`.await`) and for threads and strands (`.wait()`, or
//! [`block_on_simple`](crate::block_on_simple)). They contend with each other: a waiter is always a `Waker`.
//!
//! Everything here can be cancelled anywhere: a waiter that is dropped leaves nothing behind, and a turn that it was given
//! and did not use goes to the next.

#[cfg(feature = "alloc")]
mod cancel;
mod notify;
mod once;

#[cfg(feature = "alloc")]
pub use cancel::{CancellationToken, Cancelled, DropGuard};
pub use notify::{Notified, Notify};
#[cfg(feature = "alloc")]
pub use once::LazyInit;
pub use once::{Lazy, OnceCell, SetError};

mod barrier;
mod condvar;
mod mutex;
mod permits;
mod rwlock;
mod semaphore;

pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::Condvar;
pub use mutex::{Lock, MappedMutexGuard, Mutex, MutexGuard};
#[cfg(feature = "alloc")]
pub use mutex::{OwnedMappedMutexGuard, OwnedMutexGuard};
#[cfg(feature = "alloc")]
pub use rwlock::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(feature = "alloc")]
pub use semaphore::OwnedSemaphorePermit;
pub use semaphore::{Acquire, AcquireError, AddPermitsError, Semaphore, SemaphorePermit, TryAcquireError};

use core::fmt;

/// The lock is held, or it is the turn of somebody who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryLockError(());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lock is held or promised to somebody: try later, or wait for it with `lock`")
    }
}
impl core::error::Error for TryLockError {}
