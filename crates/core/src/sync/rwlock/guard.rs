//! Guards that borrow the lock. The invariants are numbered in `rwlock.rs`.

use super::{RwLock, TO_READ, TO_WRITE};
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};

/// Shared access to the value of an [`RwLock`]; dropping it unlocks.
///
/// It may be held across `.await` and sent to another thread if the value may be shared:
///
/// ```compile_fail
/// fn send<T: Send>(_: T) {}
/// let lock = ropewalk_core::sync::RwLock::new(std::cell::Cell::new(1)); // Send, but not Sync
/// send(lock.try_read().unwrap());
/// ```
#[must_use = "the lock is given back at once if the guard is not kept"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

/// Sole access to the value of an [`RwLock`]; dropping it unlocks.
#[must_use = "the lock is given back at once if the guard is not kept"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// The caller has one permit (RW1).
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        lock.permits.held(false);
        Self { lock }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// The caller has all permits (RW1).
    pub(super) fn new(lock: &'a RwLock<T>) -> Self {
        lock.permits.held(true);
        lock.permits.owned();
        Self { lock }
    }

    /// Goes on as a reader, without letting a writer in between. Readers at the front of the line come in as well.
    ///
    /// ```
    /// use ropewalk_core::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// let mut guard = lock.try_write().unwrap();
    /// *guard = 2;
    /// let guard = RwLockWriteGuard::downgrade(guard);
    /// assert_eq!((*guard, *lock.try_read().unwrap()), (2, 2));
    /// ```
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let lock = ManuallyDrop::new(this).lock;
        lock.permits.given_back();
        lock.permits.disowned();
        let guard = RwLockReadGuard::new(lock); // before others are woken: a waker that panics must not lose the permit
        lock.permits.release(TO_WRITE - TO_READ);
        guard
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: RW1.
        unsafe { &*self.lock.value() }
    }
}
impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: RW1.
        unsafe { &*self.lock.value() }
    }
}
impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: RW1, and `&mut self` is unique.
        unsafe { &mut *self.lock.value_mut() }
    }
}
impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permits.given_back();
        self.lock.permits.release(TO_READ);
    }
}
impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permits.given_back();
        self.lock.permits.disowned();
        self.lock.permits.release(TO_WRITE);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
