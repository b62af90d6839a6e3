//! A mutex and a condition variable that block the thread.
//!
//! **No poisoning**: a panic under the lock unlocks it and leaves the value as it was. The standard library's poisoning asks
//! `thread::panicking()`, which on a worker may speak of another stack than the one that holds the guard: a strand that waits
//! while it unwinds would poison what an innocent one locks on the same thread. Put what must not be seen half done behind
//! a type whose methods keep it whole.

use super::about_to_block;
use super::held::Mark;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{self, PoisonError, TryLockError};
use std::time::Duration;

/// A mutex that blocks the thread. On a worker, what the worker had queued is left to the others meanwhile; see
/// [`JoinHandle`](super::JoinHandle) and channels for waiting without that.
///
/// It is never poisoned: after a panic under the lock the value is as the panic left it. In debug builds a
/// [`wait`](crate::wait()) on a strand or in a task panics if a guard is held there.
///
/// ```
/// use ropewalk::thread::{self, Mutex};
/// static COUNT: Mutex<u32> = Mutex::new(0);
/// thread::scope(|s| {
///     for _ in 0..4 {
///         s.spawn(|| *COUNT.lock() += 1).unwrap();
///     }
/// });
/// assert_eq!(*COUNT.lock(), 4);
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

/// Unlocks its [`Mutex`] when it is dropped. Not `Send`: it belongs to the thread that locked.
#[must_use = "a dropped guard unlocks at once"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized> {
    inner: sync::MutexGuard<'a, T>,
    mark: Mark,
}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// The value, which nobody can have locked.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks it; blocks the thread until it can. Locking it twice on one thread does not end.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| {
            about_to_block();
            MutexGuard::new(self.0.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }

    /// Locks it if nobody has.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(MutexGuard::new(guard)),
            Err(TryLockError::Poisoned(poisoned)) => Some(MutexGuard::new(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value without locking: `&mut` proves that nobody has it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    fn new(inner: sync::MutexGuard<'a, T>) -> Self {
        Self { inner, mark: Mark::taken() }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(value) => f.debug_tuple("Mutex").field(&&*value).finish(),
            None => f.write_str("Mutex(locked)"),
        }
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

/// Waits for what a [`Mutex`] guards to change; blocks the thread. A wait may end early: look again.
///
/// ```
/// use ropewalk::thread::{self, Condvar, Mutex};
/// let (ready, changed) = (Mutex::new(false), Condvar::new());
/// thread::scope(|s| {
///     s.spawn(|| {
///         *ready.lock() = true;
///         changed.notify_one();
///     }).unwrap();
///     let ready = changed.wait_while(ready.lock(), |ready| !*ready);
///     assert!(*ready);
/// });
/// ```
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Nobody waits.
    pub const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    /// Unlocks, waits to be notified, locks again.
    ///
    /// # Panics
    /// If it was used with another mutex before, on systems that can tell.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        about_to_block();
        let MutexGuard { inner, mark } = guard;
        MutexGuard { inner: self.0.wait(inner).unwrap_or_else(PoisonError::into_inner), mark }
    }

    /// Waits while `condition` holds.
    ///
    /// # Panics
    /// As [`wait`](Self::wait), and with what `condition` panics with.
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        while condition(&mut guard) {
            guard = self.wait(guard);
        }
        guard
    }

    /// Waits at most for `timeout`. False: it ended because of that.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        about_to_block();
        let MutexGuard { inner, mark } = guard;
        let (inner, result) = self.0.wait_timeout(inner, timeout).unwrap_or_else(PoisonError::into_inner);
        (MutexGuard { inner, mark }, !result.timed_out())
    }

    /// Wakes one who waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
