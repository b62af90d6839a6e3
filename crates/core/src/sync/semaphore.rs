//! Counting permits. Who gets them, and when, is decided in `permits.rs`.
//!
//! # Invariants
//!
//! - **SM1** Permits that are free or held are at most `total`, and `total` is at most [`Semaphore::MAX_PERMITS`]: it grows before
//!   permits are added and shrinks after they were taken away. So giving back what was taken cannot overflow.

mod error;
mod permit;

pub use error::{AcquireError, AddPermitsError, TryAcquireError};
#[cfg(feature = "alloc")]
pub use permit::OwnedSemaphorePermit;
pub use permit::SemaphorePermit;

use super::permits::{Claim, Denied, HasPermits, MAX_PERMITS, Permits, Place, Request};
use crate::blocked::Reason;
#[cfg(feature = "alloc")]
use crate::deadlock::Here;
use crate::prim::{AtomicUsize, Ordering};
#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Lets a limited number of holders in at a time.
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::Semaphore};
///
/// static TABLES: Semaphore = Semaphore::new(2);
///
/// block_on_simple(async {
///     let one = TABLES.acquire().await.unwrap();
///     let _other = TABLES.acquire().await.unwrap();
///     assert!(TABLES.try_acquire().is_err());
///     drop(one); // gives its permit back
///     assert!(TABLES.try_acquire().is_ok());
/// });
/// ```
///
/// # Fairness
///
/// First come, first served, as for a [`Mutex`](super::Mutex), with the same bounded overtaking. A request for many permits
/// is not starved by small ones: while it is first in line and there are too few, nobody else gets any.
///
/// It allocates nothing and is `const`-constructible (except under a model checker).
pub struct Semaphore {
    permits: Permits,
    /// How many there are, free or held (SM1).
    total: AtomicUsize,
}

impl Semaphore {
    /// The most permits a semaphore can have: `usize::MAX >> 11`.
    pub const MAX_PERMITS: usize = MAX_PERMITS;

    /// A semaphore with so many free permits.
    ///
    /// # Panics
    ///
    /// If that is more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(permits: usize) -> Self {
        assert!(permits <= MAX_PERMITS, "Semaphore::new: `permits` is more than Semaphore::MAX_PERMITS");
        Self { permits: Permits::new(permits), total: AtomicUsize::new(permits) }
    }
    /// A semaphore with so many free permits.
    #[cfg(any(loom, shuttle))]
    pub fn new(permits: usize) -> Self {
        Self { permits: Permits::new(permits), total: AtomicUsize::new(permits) }
    }

    /// Waits for a permit. The place in line is taken by the first poll that finds none, not by this call.
    ///
    /// Cancel safety: dropping the future leaves the line; a permit that it had been given goes to the next.
    ///
    /// # Errors
    ///
    /// [`AcquireError::Closed`] if the semaphore is or gets closed.
    #[inline]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn acquire(&self) -> Acquire<'_> {
        self.acquire_many(1)
    }

    /// Waits for `n` permits together. None of them is held before all are there.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::{AcquireError, Semaphore}};
    ///
    /// let semaphore = Semaphore::new(5);
    /// let three = block_on_simple(semaphore.acquire_many(3)).unwrap();
    /// assert_eq!((three.permits(), semaphore.available_permits()), (3, 2));
    /// let refused = block_on_simple(semaphore.acquire_many(usize::MAX)).unwrap_err();
    /// assert_eq!(refused, AcquireError::TooMany { asked: usize::MAX });
    /// ```
    ///
    /// Cancel safety: as for [`acquire`](Self::acquire). No permits are had at once, also if others wait.
    ///
    /// # Errors
    ///
    /// [`AcquireError::Closed`] as for `acquire`; [`AcquireError::TooMany`] if there can never be so many. More than there
    /// are now is no error: some may be [added](Self::add_permits).
    #[inline]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn acquire_many(&self, n: usize) -> Acquire<'_> {
        Acquire(Claim::new(Asking { semaphore: self, n }))
    }

    /// Takes a permit now, or not at all.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::NoPermits`] if none is free for newcomers; or as for [`acquire`](Self::acquire).
    #[inline]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits now, or none.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire) and [`acquire_many`](Self::acquire_many).
    #[inline]
    pub fn try_acquire_many(&self, n: usize) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_take(n).map(|()| SemaphorePermit::new(self, n))
    }

    /// As [`acquire`](Self::acquire), with a permit that keeps the semaphore alive and borrows nothing.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::Semaphore};
    /// use std::sync::Arc;
    ///
    /// let tables = Arc::new(Semaphore::new(1));
    /// let permit = block_on_simple(tables.clone().acquire_owned()).unwrap();
    /// assert!(tables.try_acquire().is_err());
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert!(tables.try_acquire().is_ok());
    /// ```
    ///
    /// Cancel safety: as for `acquire`. The future owns its `Arc`: that is dropped with it.
    ///
    /// # Errors
    ///
    /// As `acquire`.
    #[cfg(feature = "alloc")]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn acquire_owned(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        self.acquire_many_owned(1)
    }

    /// As [`acquire_many`](Self::acquire_many), with permits that keep the semaphore alive and borrow nothing.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::Semaphore};
    /// use std::sync::Arc;
    ///
    /// let semaphore = Arc::new(Semaphore::new(5));
    /// let three = block_on_simple(semaphore.clone().acquire_many_owned(3)).unwrap();
    /// assert_eq!((three.permits(), semaphore.available_permits()), (3, 2));
    /// drop(three);
    /// assert_eq!(semaphore.available_permits(), 5);
    /// ```
    ///
    /// Cancel safety: as for `acquire_many`. The future owns its `Arc`: that is dropped with it.
    ///
    /// # Errors
    ///
    /// As `acquire_many`.
    #[cfg(feature = "alloc")]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: usize,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        let here = Here::caller();
        async move {
            let got = Claim::at(Asking { semaphore: self, n }, here).await?;
            Ok(OwnedSemaphorePermit::new(got.semaphore, n))
        }
    }

    /// As [`try_acquire`](Self::try_acquire), with a permit that keeps the semaphore alive.
    ///
    /// # Errors
    ///
    /// As `try_acquire`.
    #[cfg(feature = "alloc")]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// As [`try_acquire_many`](Self::try_acquire_many), with permits that keep the semaphore alive.
    ///
    /// # Errors
    ///
    /// As `try_acquire_many`.
    #[cfg(feature = "alloc")]
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: usize,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_take(n).map(|()| OwnedSemaphorePermit::new(self, n))
    }

    /// Adds `n` permits. Those who wait are served.
    ///
    /// ```
    /// use ropewalk_core::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(0);
    /// semaphore.add_permits(2).unwrap();
    /// assert_eq!(semaphore.available_permits(), 2);
    /// assert!(semaphore.add_permits(Semaphore::MAX_PERMITS).is_err());
    /// assert_eq!(semaphore.available_permits(), 2);
    /// ```
    ///
    /// # Errors
    ///
    /// If there would be more than [`MAX_PERMITS`](Self::MAX_PERMITS), free or held. Nothing is added then.
    pub fn add_permits(&self, n: usize) -> Result<(), AddPermitsError> {
        let mut total = self.total.load(Ordering::Acquire);
        loop {
            if n > MAX_PERMITS - total {
                return Err(AddPermitsError { asked: n, total });
            }
            match self.total.compare_exchange_weak(total, total + n, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(seen) => total = seen,
            }
        }
        self.permits.uncounted();
        self.permits.release(n);
        Ok(())
    }

    /// Takes at most `n` free permits away for good, also those that somebody was just woken for. Returns how many.
    pub fn forget_permits(&self, n: usize) -> usize {
        let forgotten = self.permits.reduce(n);
        self.forgotten(forgotten);
        forgotten
    }

    /// How many permits are free now.
    pub fn available_permits(&self) -> usize {
        self.permits.available()
    }

    /// Lets nobody in any more: those who wait, and all who ask later, get an error. Permits that are held, or were given
    /// to a waiter before, stay valid and may be given back. Returns `false` if it was closed already.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::{AcquireError, Semaphore}};
    ///
    /// let semaphore = Semaphore::new(1);
    /// assert!(semaphore.close());
    /// assert_eq!(block_on_simple(semaphore.acquire()).unwrap_err(), AcquireError::Closed);
    /// ```
    pub fn close(&self) -> bool {
        self.permits.close()
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    #[inline]
    fn try_take(&self, n: usize) -> Result<(), TryAcquireError> {
        match self.permits.try_take(n) {
            Ok(true) => Ok(()),
            Ok(false) => Err(TryAcquireError::NoPermits),
            Err(denied) => Err(AcquireError::from(denied).into()),
        }
    }

    /// So many permits are gone for good (SM1).
    fn forgotten(&self, n: usize) {
        self.permits.uncounted();
        self.total.fetch_sub(n, Ordering::AcqRel);
    }
}

// SAFETY: a field.
unsafe impl HasPermits for Semaphore {
    #[inline(always)]
    fn permits(&self) -> &Permits {
        &self.permits
    }
}

/// A reference to a semaphore, and what is wanted of it.
struct Asking<S> {
    semaphore: S,
    n: usize,
}

impl<S: Place> Request for Asking<S> {
    type Place = S;
    const REASON: Reason = Reason::Semaphore;
    #[inline(always)]
    fn place(&self) -> &S {
        &self.semaphore
    }
    #[inline(always)]
    fn want(&self) -> usize {
        self.n
    }
}

/// Waits for permits; made by [`Semaphore::acquire`] and [`Semaphore::acquire_many`].
///
/// # Panics
///
/// A poll after it completed panics.
#[must_use = "a future does nothing unless it is polled"]
pub struct Acquire<'a>(Claim<Asking<&'a Semaphore>>);

impl<'a> Future for Acquire<'a> {
    type Output = Result<SemaphorePermit<'a>, AcquireError>;
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the only field is pinned with it, and never moved out.
        let claim = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        claim.poll(cx).map(|got| match got {
            Ok(Asking { semaphore, n }) => Ok(SemaphorePermit::new(semaphore, n)),
            Err(denied) => Err(denied.into()),
        })
    }
}

impl fmt::Debug for Acquire<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("stage", &self.0.stage()).finish_non_exhaustive()
    }
}
impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("available", &self.available_permits())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
