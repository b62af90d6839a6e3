//! Many readers or one writer: a reader takes one permit, a writer all of them. Who gets them is decided in `permits.rs`.
//!
//! # Invariants
//!
//! - **RW1** A read guard has one permit, a write guard has all. So a write guard is alone, and while there are read guards
//!   nobody writes.

mod guard;
#[cfg(feature = "alloc")]
mod owned;

pub use guard::{RwLockReadGuard, RwLockWriteGuard};
#[cfg(feature = "alloc")]
pub use owned::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};

use super::TryLockError;
use super::permits::{Claim, HasPermits, MAX_PERMITS, Permits, Place, Request, Snapshot};
use crate::blocked::Reason;
use crate::deadlock::Here;
use crate::prim::UnsafeCell;
#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;

/// What a reader and a writer take.
const TO_READ: usize = 1;
const TO_WRITE: usize = MAX_PERMITS;

/// A lock that many may hold to read, or one to write, also across `.await`.
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::RwLock};
///
/// let lock = RwLock::new(5);
/// block_on_simple(async {
///     {
///         let (one, other) = (lock.read().await, lock.read().await);
///         assert_eq!(*one + *other, 10);
///         assert!(lock.try_write().is_err());
///     }
///     *lock.write().await += 1;
///     assert_eq!(*lock.read().await, 6);
/// });
/// ```
///
/// # Fairness
///
/// Readers and writers wait in one line, first come, first served, as for a [`Mutex`](super::Mutex). A reader that comes
/// while a writer waits queues behind it, so writers do not starve; a writer lets those readers pass who came before it, so
/// readers do not starve either. Neighbouring readers in line get the lock together. Hence a task that reads must not ask to
/// read again while it holds a guard: a writer may have queued in between, and both would wait for ever.
///
/// # Panics of a holder
///
/// There is no poisoning: the next holder finds the value as it was left.
///
/// It allocates nothing and is `const`-constructible (except under a model checker). More than `usize::MAX >> 11` readers
/// wait for one another.
pub struct RwLock<T: ?Sized> {
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: the value travels with the lock.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: a write guard sends the value, read guards share it (RW1).
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// An unlocked lock.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(value: T) -> Self {
        Self { permits: Permits::new(MAX_PERMITS), value: UnsafeCell::new(value) }
    }
    /// An unlocked lock.
    #[cfg(any(loom, shuttle))]
    pub fn new(value: T) -> Self {
        Self { permits: Permits::new(MAX_PERMITS), value: UnsafeCell::new(value) }
    }

    /// The value; owning the lock proves that nobody holds it.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits to read.
    ///
    /// Cancel safety: dropping the future leaves the line; if it was its turn, the turn goes to the next.
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        let here = Here::caller();
        async move { held(Claim::at(Reading(self), here).await.map(|got| got.0), RwLockReadGuard::new) }
    }

    /// Waits to write.
    ///
    /// Cancel safety: dropping the future leaves the line; if it was its turn, the turn goes to the next.
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        let here = Here::caller();
        async move { held(Claim::at(Writing(self), here).await.map(|got| got.0), RwLockWriteGuard::new) }
    }

    /// Locks it to read now, or not at all.
    ///
    /// # Errors
    ///
    /// If it is held to write, or if somebody waits whose turn it is.
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.try_take(TO_READ).map(|()| RwLockReadGuard::new(self))
    }

    /// Locks it to write now, or not at all.
    ///
    /// # Errors
    ///
    /// If it is held, or if somebody waits whose turn it is.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_take(TO_WRITE).map(|()| RwLockWriteGuard::new(self))
    }

    /// As [`read`](Self::read), with a guard that keeps the lock alive and borrows nothing.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::RwLock};
    /// use std::sync::Arc;
    ///
    /// let lock = Arc::new(RwLock::new(5));
    /// let guard = block_on_simple(lock.clone().read_owned());
    /// assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    /// assert_eq!(std::thread::spawn(move || *guard).join().unwrap(), 5);
    /// assert!(lock.try_write().is_ok());
    /// ```
    ///
    /// Cancel safety: as for `read`. The future owns its `Arc`: that is dropped with it.
    #[cfg(feature = "alloc")]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn read_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockReadGuard<T>> {
        let here = Here::caller();
        async move { held(Claim::at(Reading(self), here).await.map(|got| got.0), OwnedRwLockReadGuard::new) }
    }

    /// As [`write`](Self::write), with a guard that keeps the lock alive and borrows nothing.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::RwLock};
    /// use std::sync::Arc;
    ///
    /// let lock = Arc::new(RwLock::new(5));
    /// let mut guard = block_on_simple(lock.clone().write_owned());
    /// std::thread::spawn(move || *guard += 1).join().unwrap();
    /// assert_eq!(*lock.try_read().unwrap(), 6);
    /// ```
    ///
    /// Cancel safety: as for `write`. The future owns its `Arc`: that is dropped with it.
    #[cfg(feature = "alloc")]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn write_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockWriteGuard<T>> {
        let here = Here::caller();
        async move { held(Claim::at(Writing(self), here).await.map(|got| got.0), OwnedRwLockWriteGuard::new) }
    }

    /// As [`try_read`](Self::try_read), with a guard that keeps the lock alive.
    ///
    /// # Errors
    ///
    /// As `try_read`.
    #[cfg(feature = "alloc")]
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_take(TO_READ).map(|()| OwnedRwLockReadGuard::new(self))
    }

    /// As [`try_write`](Self::try_write), with a guard that keeps the lock alive.
    ///
    /// # Errors
    ///
    /// As `try_write`.
    #[cfg(feature = "alloc")]
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        self.try_take(TO_WRITE).map(|()| OwnedRwLockWriteGuard::new(self))
    }

    /// The value without locking: `&mut` proves that nobody holds it.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: borrowed mutably, so no guard exists that borrows or owns it.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    fn try_take(&self, permits: usize) -> Result<(), TryLockError> {
        if self.permits.try_take(permits) == Ok(true) { Ok(()) } else { Err(TryLockError(())) }
    }

    /// The way to the value, for guards (RW1). One access each, so that a model checker sees them.
    #[inline(always)]
    fn value(&self) -> *const T {
        self.value.with(|value| value)
    }
    #[inline(always)]
    fn value_mut(&self) -> *mut T {
        self.value.with_mut(|value| value)
    }
}

/// The guard of who got its permits.
fn held<P, G>(got: Result<P, super::permits::Denied>, guard: impl FnOnce(P) -> G) -> G {
    match got {
        Ok(lock) => guard(lock),
        Err(denied) => denied.never(),
    }
}

// SAFETY: a field.
unsafe impl<T: ?Sized> HasPermits for RwLock<T> {
    #[inline(always)]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

/// A reference to a lock, of somebody who wants to read.
struct Reading<L>(L);

impl<L: Place> Request for Reading<L> {
    type Place = L;
    const REASON: Reason = Reason::RwLockRead;
    #[inline(always)]
    fn place(&self) -> &L {
        &self.0
    }
    #[inline(always)]
    fn want(&self) -> usize {
        TO_READ
    }
}

/// A reference to a lock, of somebody who wants to write.
struct Writing<L>(L);

impl<L: Place> Request for Writing<L> {
    type Place = L;
    const REASON: Reason = Reason::RwLockWrite;
    #[inline(always)]
    fn place(&self) -> &L {
        &self.0
    }
    #[inline(always)]
    fn want(&self) -> usize {
        TO_WRITE
    }
    #[inline(always)]
    fn likely(&self) -> Snapshot {
        Snapshot::free(TO_WRITE)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}
impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => out.field("value", &&*guard).finish(),
            Err(_) => out.field("value", &format_args!("<locked>")).finish(),
        }
    }
}

#[cfg(test)]
mod tests;
