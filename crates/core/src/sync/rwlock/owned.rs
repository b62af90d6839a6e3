//! Guards that own a reference to the lock. The invariants are numbered in `rwlock.rs`.

use super::{RwLock, TO_READ, TO_WRITE};
use alloc::sync::Arc;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};

/// Shared access to the value of an [`RwLock`] that it keeps alive. Made by [`RwLock::read_owned`].
#[must_use = "the lock is given back at once if the guard is not kept"]
pub struct OwnedRwLockReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

/// Sole access to the value of an [`RwLock`] that it keeps alive. Made by [`RwLock::write_owned`].
#[must_use = "the lock is given back at once if the guard is not kept"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    /// The caller has one permit (RW1).
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        Self { lock }
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// The caller has all permits (RW1).
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        lock.permits.owned();
        Self { lock }
    }

    /// Goes on as a reader, without letting a writer in between. Readers at the front of the line come in as well.
    pub fn downgrade(this: Self) -> OwnedRwLockReadGuard<T> {
        let this = ManuallyDrop::new(this);
        // SAFETY: `this` is neither dropped nor used again, so this moves the field out.
        let guard = OwnedRwLockReadGuard::new(unsafe { core::ptr::read(&raw const this.lock) });
        guard.lock.permits.disowned();
        guard.lock.permits.release(TO_WRITE - TO_READ);
        guard
    }
}

impl<T: ?Sized> Deref for OwnedRwLockReadGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: RW1.
        unsafe { &*self.lock.value() }
    }
}
impl<T: ?Sized> Deref for OwnedRwLockWriteGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: RW1.
        unsafe { &*self.lock.value() }
    }
}
impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: RW1, and `&mut self` is unique.
        unsafe { &mut *self.lock.value_mut() }
    }
}
impl<T: ?Sized> Drop for OwnedRwLockReadGuard<T> {
    fn drop(&mut self) {
        self.lock.permits.release(TO_READ);
    }
}
impl<T: ?Sized> Drop for OwnedRwLockWriteGuard<T> {
    fn drop(&mut self) {
        self.lock.permits.disowned();
        self.lock.permits.release(TO_WRITE);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedRwLockWriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Display> fmt::Display for OwnedRwLockReadGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Display> fmt::Display for OwnedRwLockWriteGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
