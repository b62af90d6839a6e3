//! Guards that borrow the mutex. The invariants are numbered in `mutex.rs`.

use super::{Mutex, Permits};
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// Access to the value of a locked [`Mutex`]; dropping it unlocks.
///
/// It may be held across `.await` and sent to another thread, if the value may be sent; it may be shared, if the value may
/// be shared.
///
/// ```compile_fail
/// fn sync<T: Sync>(_: T) {}
/// let mutex = ropewalk_core::sync::Mutex::new(std::cell::Cell::new(1)); // Send, but not Sync
/// sync(mutex.try_lock().unwrap());
/// ```
///
/// ```compile_fail
/// fn send<T: Send>(_: T) {}
/// let mutex = ropewalk_core::sync::Mutex::new(std::rc::Rc::new(1)); // not Send
/// send(mutex.try_lock().unwrap());
/// ```
#[must_use = "the mutex is unlocked at once if the guard is not kept"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Sent and shared as the value would be.
    _value: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The caller has the permit (MX1).
    #[inline(always)]
    pub(super) fn new(mutex: &'a Mutex<T>) -> Self {
        mutex.permits.held(true);
        mutex.permits.owned();
        Self { mutex, _value: PhantomData }
    }

    /// The mutex that is locked.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.mutex
    }

    /// Narrows the guard to a part of the value. The mutex stays locked until the new guard is dropped; a panic of `part`
    /// unlocks it.
    ///
    /// ```
    /// use ropewalk_core::sync::{Mutex, MutexGuard};
    ///
    /// let pair = Mutex::new((1, "one"));
    /// let mut number = MutexGuard::map(pair.try_lock().unwrap(), |pair| &mut pair.0);
    /// *number = 2;
    /// assert!(pair.try_lock().is_err());
    /// drop(number);
    /// assert_eq!(*pair.try_lock().unwrap(), (2, "one"));
    /// ```
    pub fn map<U: ?Sized>(mut this: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedMutexGuard<'a, U> {
        let part = NonNull::from(part(&mut *this));
        MappedMutexGuard::new(&ManuallyDrop::new(this).mutex.permits, part)
    }

    /// Narrows the guard to a part that may not be there.
    ///
    /// # Errors
    ///
    /// The guard itself, if it is not.
    pub fn try_map<U: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        match part(&mut *this).map(NonNull::from) {
            Some(part) => Ok(MappedMutexGuard::new(&ManuallyDrop::new(this).mutex.permits, part)),
            None => Err(this),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: MX1.
        unsafe { &*self.mutex.read() }
    }
}
impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: MX1, and `&mut self` is unique.
        unsafe { &mut *self.mutex.write() }
    }
}
impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.mutex.permits.given_back();
        self.mutex.permits.disowned();
        self.mutex.permits.release(1);
    }
}

/// Access to a part of the value of a locked [`Mutex`]; dropping it unlocks. Made by [`MutexGuard::map`].
#[must_use = "the mutex is unlocked at once if the guard is not kept"]
pub struct MappedMutexGuard<'a, U: ?Sized> {
    permits: &'a Permits,
    /// A pointer, because the reference ends before the unlocking does (MX2).
    part: NonNull<U>,
    _part: PhantomData<&'a mut U>,
}

// SAFETY: it is a `&mut U` (MX1, MX2) and the right to unlock, which any thread may do.
unsafe impl<U: ?Sized + Send> Send for MappedMutexGuard<'_, U> {}
// SAFETY: as above; shared, it gives `&U`.
unsafe impl<U: ?Sized + Sync> Sync for MappedMutexGuard<'_, U> {}

impl<'a, U: ?Sized> MappedMutexGuard<'a, U> {
    /// The caller has the permit (MX1), and `part` is of the value that it guards (MX2).
    fn new(permits: &'a Permits, part: NonNull<U>) -> Self {
        Self { permits, part, _part: PhantomData }
    }

    /// Narrows it further; see [`MutexGuard::map`].
    pub fn map<V: ?Sized>(mut this: Self, part: impl FnOnce(&mut U) -> &mut V) -> MappedMutexGuard<'a, V> {
        let part = NonNull::from(part(&mut *this));
        MappedMutexGuard::new(ManuallyDrop::new(this).permits, part)
    }

    /// Narrows it to a part that may not be there; see [`MutexGuard::try_map`].
    ///
    /// # Errors
    ///
    /// The guard itself, if it is not.
    pub fn try_map<V: ?Sized>(
        mut this: Self,
        part: impl FnOnce(&mut U) -> Option<&mut V>,
    ) -> Result<MappedMutexGuard<'a, V>, Self> {
        match part(&mut *this).map(NonNull::from) {
            Some(part) => Ok(MappedMutexGuard::new(ManuallyDrop::new(this).permits, part)),
            None => Err(this),
        }
    }
}

impl<U: ?Sized> Deref for MappedMutexGuard<'_, U> {
    type Target = U;
    fn deref(&self) -> &U {
        // SAFETY: MX1, MX2.
        unsafe { self.part.as_ref() }
    }
}
impl<U: ?Sized> DerefMut for MappedMutexGuard<'_, U> {
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: MX1, MX2, and `&mut self` is unique.
        unsafe { self.part.as_mut() }
    }
}
impl<U: ?Sized> Drop for MappedMutexGuard<'_, U> {
    fn drop(&mut self) {
        self.permits.given_back();
        self.permits.disowned();
        self.permits.release(1);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<U: ?Sized + fmt::Debug> fmt::Debug for MappedMutexGuard<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<U: ?Sized + fmt::Display> fmt::Display for MappedMutexGuard<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
