//! A lock for many readers or one writer that blocks the thread. Not poisoned, as `lock.rs` says.

use super::about_to_block;
use super::held::Mark;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{self, PoisonError, TryLockError, TryLockResult};

/// Many readers or one writer; blocks the thread. As [`Mutex`](super::Mutex) it is never poisoned, and in debug builds a
/// [`wait`](crate::wait()) on a strand or in a task panics if a guard is held there.
///
/// ```
/// use ropewalk::thread::RwLock;
/// static NAMES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
/// NAMES.write().push("strand");
/// let (one, two) = (NAMES.read(), NAMES.read());
/// assert_eq!((one.len(), two[0]), (1, "strand"));
/// assert!(NAMES.try_write().is_none());
/// ```
#[derive(Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

/// Reads; unlocks when it is dropped. Not `Send`.
#[must_use = "a dropped guard unlocks at once"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    inner: sync::RwLockReadGuard<'a, T>,
    _mark: Mark,
}

/// Writes; unlocks when it is dropped. Not `Send`.
#[must_use = "a dropped guard unlocks at once"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    inner: sync::RwLockWriteGuard<'a, T>,
    _mark: Mark,
}

impl<T> RwLock<T> {
    /// An unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }

    /// The value, which nobody can have locked.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes. A thread that reads already may wait for ever, behind a writer that waits for it.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.try_read().unwrap_or_else(|| {
            about_to_block();
            let inner = self.0.read().unwrap_or_else(PoisonError::into_inner);
            RwLockReadGuard { inner, _mark: Mark::taken() }
        })
    }

    /// Reads if nobody writes or waits to.
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let inner = unpoisoned(self.0.try_read())?;
        Some(RwLockReadGuard { inner, _mark: Mark::taken() })
    }

    /// Waits until nobody reads or writes.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.try_write().unwrap_or_else(|| {
            about_to_block();
            let inner = self.0.write().unwrap_or_else(PoisonError::into_inner);
            RwLockWriteGuard { inner, _mark: Mark::taken() }
        })
    }

    /// Writes if nobody reads or writes.
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let inner = unpoisoned(self.0.try_write())?;
        Some(RwLockWriteGuard { inner, _mark: Mark::taken() })
    }

    /// The value without locking: `&mut` proves that nobody has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unpoisoned<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
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

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_read() {
            Some(value) => f.debug_tuple("RwLock").field(&&*value).finish(),
            None => f.write_str("RwLock(locked)"),
        }
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
