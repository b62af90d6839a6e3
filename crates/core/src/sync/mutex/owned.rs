//! Guards that own a reference to the mutex. The invariants are numbered in `mutex.rs`.

use super::Mutex;
use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// Access to the value of a locked [`Mutex`] that it keeps alive; dropping it unlocks. Made by [`Mutex::lock_owned`].
///
/// It is sent and shared as the value may be:
///
/// ```compile_fail
/// fn sync<T: Sync>(_: T) {}
/// let mutex = std::sync::Arc::new(ropewalk_core::sync::Mutex::new(std::cell::Cell::new(1))); // Send, but not Sync
/// sync(mutex.try_lock_owned().unwrap());
/// ```
#[must_use = "the mutex is unlocked at once if the guard is not kept"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
    /// Shared as the value would be: an `Arc<Mutex<T>>` is shared more freely.
    _value: PhantomData<T>,
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// The caller has the permit (MX1).
    pub(super) fn new(mutex: Arc<Mutex<T>>) -> Self {
        mutex.permits.owned();
        Self { mutex, _value: PhantomData }
    }

    /// The mutex that is locked.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.mutex
    }

    /// Narrows the guard to a part of the value. The mutex stays locked until the new guard is dropped; a panic of `part`
    /// unlocks it.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::{Mutex, OwnedMutexGuard}};
    /// use std::sync::Arc;
    ///
    /// let pair = Arc::new(Mutex::new((1, "one")));
    /// let guard = block_on_simple(pair.clone().lock_owned());
    /// let mut number = OwnedMutexGuard::map(guard, |pair| &mut pair.0);
    /// *number = 2;
    /// drop(number);
    /// assert_eq!(*pair.try_lock().unwrap(), (2, "one"));
    /// ```
    pub fn map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> OwnedMappedMutexGuard<T, U> {
        let part = NonNull::from(part(&mut *this));
        OwnedMappedMutexGuard { mutex: this.into_mutex(), part, _part: PhantomData }
    }

    /// Narrows the guard to a part that may not be there.
    ///
    /// # Errors
    ///
    /// The guard itself, if it is not.
    pub fn try_map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<OwnedMappedMutexGuard<T, U>, Self> {
        match part(&mut *this).map(NonNull::from) {
            Some(part) => Ok(OwnedMappedMutexGuard { mutex: this.into_mutex(), part, _part: PhantomData }),
            None => Err(this),
        }
    }

    /// The mutex, still locked.
    fn into_mutex(self) -> Arc<Mutex<T>> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither dropped nor used again, so this moves the field out.
        unsafe { core::ptr::read(&raw const this.mutex) }
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: MX1.
        unsafe { &*self.mutex.read() }
    }
}
impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: MX1, and `&mut self` is unique.
        unsafe { &mut *self.mutex.write() }
    }
}
impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    fn drop(&mut self) {
        self.mutex.permits.disowned();
        self.mutex.permits.release(1);
    }
}

/// Access to a part of the value of a locked [`Mutex`] that it keeps alive. Made by [`OwnedMutexGuard::map`].
#[must_use = "the mutex is unlocked at once if the guard is not kept"]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized> {
    mutex: Arc<Mutex<T>>,
    part: NonNull<U>,
    /// As a `&mut U`, it must not pass for one to a longer-lived `U`.
    _part: PhantomData<*mut U>,
}

// SAFETY: it is a `&mut U` (MX1, MX2) and an `Arc<Mutex<T>>`, which is sent if `T` is.
unsafe impl<T: ?Sized + Send, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> {}
// SAFETY: as above; shared, it gives `&U`.
unsafe impl<T: ?Sized + Send, U: ?Sized + Sync> Sync for OwnedMappedMutexGuard<T, U> {}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// Narrows it further; see [`OwnedMutexGuard::map`].
    pub fn map<V: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut U) -> &mut V,
    ) -> OwnedMappedMutexGuard<T, V> {
        let part = NonNull::from(part(&mut *this));
        let this = ManuallyDrop::new(this);
        // SAFETY: `this` is neither dropped nor used again, so this moves the field out.
        let mutex = unsafe { core::ptr::read(&raw const this.mutex) };
        OwnedMappedMutexGuard { mutex, part, _part: PhantomData }
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedMutexGuard<T, U> {
    type Target = U;
    fn deref(&self) -> &U {
        // SAFETY: MX1, MX2.
        unsafe { self.part.as_ref() }
    }
}
impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedMutexGuard<T, U> {
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: MX1, MX2, and `&mut self` is unique.
        unsafe { self.part.as_mut() }
    }
}
impl<T: ?Sized, U: ?Sized> Drop for OwnedMappedMutexGuard<T, U> {
    fn drop(&mut self) {
        self.mutex.permits.disowned();
        self.mutex.permits.release(1);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Display> fmt::Display for OwnedMutexGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized, U: ?Sized + fmt::Debug> fmt::Debug for OwnedMappedMutexGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized, U: ?Sized + fmt::Display> fmt::Display for OwnedMappedMutexGuard<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
