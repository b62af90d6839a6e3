//! Permits that are held.

use super::Semaphore;
use crate::deadlock;
use crate::prim::Ordering;
#[cfg(feature = "alloc")]
use alloc::sync::Arc;
use core::mem;

/// Permits of a [`Semaphore`]; dropping it gives them back.
#[derive(Debug)]
#[must_use = "the permits are given back at once if this is not kept"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

impl<'a> SemaphorePermit<'a> {
    /// The caller has the permits.
    #[inline(always)]
    pub(super) fn new(semaphore: &'a Semaphore, permits: usize) -> Self {
        if deadlock::IS_ON && permits > 0 && semaphore.total.load(Ordering::Relaxed) == 1 {
            semaphore.permits.held(true);
        }
        Self { semaphore, permits }
    }

    /// How many they are.
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Takes them out of circulation: the semaphore has so many fewer from now on.
    pub fn forget(mut self) {
        self.semaphore.forgotten(mem::take(&mut self.permits));
    }

    /// Splits `n` permits off, to be given back by themselves. `None` if there are fewer.
    ///
    /// ```
    /// let semaphore = ropewalk_core::sync::Semaphore::new(3);
    /// let mut all = semaphore.try_acquire_many(3).unwrap();
    /// let one = all.split(1).unwrap();
    /// drop(all);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// drop(one);
    /// assert_eq!(semaphore.available_permits(), 3);
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        self.semaphore.permits.uncounted(); // whose permit is whose is not known any more
        Some(Self::new(self.semaphore, n))
    }

    /// Joins two lots of permits into one.
    ///
    /// # Errors
    ///
    /// `other` itself, if it is of another semaphore.
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        if !core::ptr::eq(self.semaphore, other.semaphore) {
            return Err(other);
        }
        self.permits += mem::take(&mut other.permits);
        Ok(())
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.permits > 0 {
            self.semaphore.permits.given_back();
        }
        give_back(self.semaphore, self.permits);
    }
}

/// Permits of a [`Semaphore`] that it keeps alive; dropping it gives them back. Made by [`Semaphore::acquire_owned`].
#[cfg(feature = "alloc")]
#[derive(Debug)]
#[must_use = "the permits are given back at once if this is not kept"]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

#[cfg(feature = "alloc")]
impl OwnedSemaphorePermit {
    /// The caller has the permits.
    pub(super) fn new(semaphore: Arc<Semaphore>, permits: usize) -> Self {
        Self { semaphore, permits }
    }

    /// How many they are.
    pub fn permits(&self) -> usize {
        self.permits
    }

    /// Their semaphore.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Takes them out of circulation; see [`SemaphorePermit::forget`].
    pub fn forget(mut self) {
        self.semaphore.forgotten(mem::take(&mut self.permits));
    }

    /// Splits `n` permits off; see [`SemaphorePermit::split`].
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self::new(self.semaphore.clone(), n))
    }

    /// Joins two lots of permits into one.
    ///
    /// # Errors
    ///
    /// `other` itself, if it is of another semaphore.
    pub fn merge(&mut self, mut other: Self) -> Result<(), Self> {
        if !Arc::ptr_eq(&self.semaphore, &other.semaphore) {
            return Err(other);
        }
        self.permits += mem::take(&mut other.permits);
        Ok(())
    }
}

#[cfg(feature = "alloc")]
impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        give_back(&self.semaphore, self.permits);
    }
}

/// None are left after `forget` and `merge`.
#[inline(always)]
fn give_back(semaphore: &Semaphore, permits: usize) {
    if permits > 0 {
        semaphore.permits.release(permits);
    }
}
