//! Mutual exclusion: one permit. Who gets it, and when, is decided in `permits.rs`.
//!
//! # Invariants
//!
//! - **MX1** A guard has the permit, from `Claim` or `try_take` until its drop. There is one permit, so there is one
//!   guard, and it alone may touch the value.
//! - **MX2** A mapped guard's pointer was made from the value through the guard it replaced, and the value neither moves nor
//!   goes while the mutex is borrowed or owned by the guard.

mod guard;
#[cfg(feature = "alloc")]
mod owned;

pub use guard::{MappedMutexGuard, MutexGuard};
#[cfg(feature = "alloc")]
pub use owned::{OwnedMappedMutexGuard, OwnedMutexGuard};

use super::TryLockError;
use super::permits::{Claim, HasPermits, Permits, Place, Request, Snapshot};
use crate::blocked::Reason;
use crate::deadlock::Here;
use crate::prim::UnsafeCell;
#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A mutual exclusion lock whose guard may be held across `.await`.
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::Mutex};
///
/// static COUNT: Mutex<u32> = Mutex::new(0);
///
/// let threads: Vec<_> = (0..4)
///     .map(|_| std::thread::spawn(|| block_on_simple(async { *COUNT.lock().await += 1 })))
///     .collect();
/// threads.into_iter().for_each(|thread| thread.join().unwrap());
/// assert_eq!(*COUNT.try_lock().unwrap(), 4);
/// ```
///
/// # Fairness
///
/// Who finds it held looks again for a moment and then waits in line, first come, first served. When the lock becomes
/// free, the first in line is woken, and until it runs newcomers may still take the lock: so a contended lock is not handed
/// around at the speed of task switches. This overtaking is bounded: a waiter that wakes up and finds the lock taken is
/// given it by the next unlock; and newcomers stop after 255 of them have overtaken one waiter (about 100 us, if they hold the
/// lock for 400 ns each), whether it woke up or not.
///
/// # Panics of a holder
///
/// There is no poisoning. A guard that is dropped while its task unwinds unlocks as always, and the next holder finds the
/// value as it was left. Keep what must not be seen half done out of reach until it is done, or record it in the value.
///
/// # Where it lives
///
/// It allocates nothing and is `const`-constructible (except under a model checker). `T` may be unsized.
pub struct Mutex<T: ?Sized> {
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: the value travels with the mutex.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: one guard at a time reaches the value (MX1), on whichever thread: so it is sent, never shared.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// An unlocked mutex.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(value: T) -> Self {
        Self { permits: Permits::new(1), value: UnsafeCell::new(value) }
    }
    /// An unlocked mutex.
    #[cfg(any(loom, shuttle))]
    pub fn new(value: T) -> Self {
        Self { permits: Permits::new(1), value: UnsafeCell::new(value) }
    }

    /// The value; owning the mutex proves that nobody holds it.
    ///
    /// ```
    /// assert_eq!(ropewalk_core::sync::Mutex::new(7).into_inner(), 7);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock. The place in line is taken by the first poll that finds it held, not by this call.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::Mutex};
    ///
    /// let names = Mutex::new(vec!["a"]);
    /// block_on_simple(async {
    ///     names.lock().await.push("b");
    ///     assert_eq!(names.lock().await.len(), 2);
    /// });
    /// ```
    ///
    /// Cancel safety: dropping the future leaves the line; if the lock had been given to it, the next one gets it.
    #[inline(always)]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn lock(&self) -> Lock<'_, T> {
        Lock(Claim::new(Locking(self)))
    }

    /// The same, asked for elsewhere.
    #[inline(always)]
    pub(super) fn lock_at(&self, here: Here) -> Lock<'_, T> {
        Lock(Claim::at(Locking(self), here))
    }

    /// Locks it now, or not at all.
    ///
    /// # Errors
    ///
    /// If it is held, or free but kept for somebody who was overtaken too often.
    #[inline]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        if self.permits.try_take_only() { Ok(MutexGuard::new(self)) } else { Err(TryLockError(())) }
    }

    /// As [`lock`](Self::lock), with a guard that keeps the mutex alive and borrows nothing.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::Mutex};
    /// use std::sync::Arc;
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut guard = block_on_simple(mutex.clone().lock_owned());
    /// std::thread::spawn(move || *guard += 1).join().unwrap();
    /// assert_eq!(*mutex.try_lock().unwrap(), 2);
    /// ```
    ///
    /// Cancel safety: as for `lock`.
    #[cfg(feature = "alloc")]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> {
        let here = Here::caller();
        async move {
            match Claim::at(Locking(self), here).await {
                Ok(Locking(mutex)) => OwnedMutexGuard::new(mutex),
                Err(denied) => denied.never(),
            }
        }
    }

    /// As [`try_lock`](Self::try_lock), with a guard that keeps the mutex alive.
    ///
    /// # Errors
    ///
    /// As `try_lock`.
    #[cfg(feature = "alloc")]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        if self.permits.try_take_only() { Ok(OwnedMutexGuard::new(self)) } else { Err(TryLockError(())) }
    }

    /// The value without locking: `&mut` proves that nobody holds it.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: borrowed mutably, so no guard exists that borrows or owns it.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    /// The way to the value, for the guard (MX1). One access each, so that a model checker sees them.
    #[inline(always)]
    fn read(&self) -> *const T {
        self.value.with(|value| value)
    }
    #[inline(always)]
    fn write(&self) -> *mut T {
        self.value.with_mut(|value| value)
    }
}

// SAFETY: a field.
unsafe impl<T: ?Sized> HasPermits for Mutex<T> {
    #[inline(always)]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

/// A reference to a mutex, of somebody who wants to lock it.
struct Locking<M>(M);

impl<M: Place> Request for Locking<M> {
    type Place = M;
    const REASON: Reason = Reason::Mutex;
    #[inline(always)]
    fn place(&self) -> &M {
        &self.0
    }
    #[inline(always)]
    fn want(&self) -> usize {
        1
    }
    #[inline(always)]
    fn likely(&self) -> Snapshot {
        Snapshot::free(1)
    }
}

/// Waits for a [`Mutex`]; made by [`Mutex::lock`]. The output is the guard.
///
/// # Panics
///
/// A poll after it completed panics.
#[must_use = "a future does nothing unless it is polled"]
pub struct Lock<'a, T: ?Sized>(Claim<Locking<&'a Mutex<T>>>);

impl<'a, T: ?Sized> Future for Lock<'a, T> {
    type Output = MutexGuard<'a, T>;
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the only field is pinned with it, and never moved out.
        let acquire = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        acquire.poll(cx).map(|got| match got {
            Ok(Locking(mutex)) => MutexGuard::new(mutex),
            Err(denied) => denied.never(),
        })
    }
}

impl<T: ?Sized> fmt::Debug for Lock<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("stage", &self.0.stage()).finish_non_exhaustive()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}
impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}
impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => out.field("value", &&*guard).finish(),
            Err(_) => out.field("value", &format_args!("<locked>")).finish(),
        }
    }
}

#[cfg(test)]
mod tests;
