//! The receiving end of a watch. The invariants are numbered in `../watch.rs`.

use super::{CLOSED, Ref, Shared};
use crate::blocked::{self, Reason};
use crate::budget::poll_proceed;
use crate::prim::{Arc, Ordering};
use core::fmt;
use core::future::poll_fn;

mod stream;
pub use stream::IntoStream;

/// The receiving end. A clone has seen what the original has seen.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that it saw last.
    seen: usize,
}

impl<T> Receiver<T> {
    /// The caller has counted it.
    pub(super) fn new(shared: Arc<Shared<T>>, seen: usize) -> Self {
        Self { shared, seen }
    }

    /// The value, lent: see [`channel`](super::channel). It does not count as seen.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.shared.borrow(self.seen).0
    }

    /// The value, lent, and from now on seen: [`changed`](Self::changed) waits for a later one.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let (value, version) = self.shared.borrow(self.seen);
        self.seen = version;
        value
    }

    /// Whether there is a value that was not seen.
    ///
    /// # Errors
    ///
    /// There is none, and there will be none: all senders are gone.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.shared.has_unseen(self.seen)
    }

    /// Makes [`changed`](Self::changed) return at once, although the value may have been seen.
    pub fn mark_changed(&mut self) {
        self.seen = self.seen.wrapping_sub(super::STEP);
    }

    /// Counts the present value as seen, without a look.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.version.load(Ordering::Acquire) & !CLOSED;
    }

    /// Waits for a value that was not seen, and counts it as seen.
    ///
    /// Cancel safety: nothing is lost; a change is seen by the call that returns.
    ///
    /// # Errors
    ///
    /// All senders are gone, and their last value was seen.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        if self.has_changed()? {
            poll_fn(poll_proceed).await; // it stays unseen meanwhile
        }
        self.shared.until_unseen(self.seen).await?;
        self.mark_unchanged();
        Ok(())
    }

    /// Waits until the value pleases `condition`, which is asked at once, and after each change; lends that value, which then
    /// is seen.
    ///
    /// `condition` looks at a value that is lent: it should be quick.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, channel::watch};
    ///
    /// let (count, mut watched) = watch::channel(0);
    /// let thread = std::thread::spawn(move || (1..=5).for_each(|n| count.send(n).unwrap()));
    /// block_on_simple(async {
    ///     assert_eq!(*watched.wait_for(|n| *n >= 5).await.unwrap(), 5);
    /// });
    /// # thread.join().unwrap();
    /// ```
    ///
    /// Cancel safety: nothing is lost.
    ///
    /// # Errors
    ///
    /// All senders are gone, and their last value does not please.
    pub async fn wait_for(&mut self, mut condition: impl FnMut(&T) -> bool) -> Result<Ref<'_, T>, RecvError> {
        let Self { shared, seen } = self;
        let shared: &Shared<T> = shared;
        loop {
            poll_fn(poll_proceed).await;
            {
                let (value, version) = shared.borrow(*seen);
                *seen = version;
                if condition(&value) {
                    return Ok(value);
                }
            }
            shared.until_unseen(*seen).await?;
        }
    }

    /// Clones of the value as a stream: the present one first, whether or not it was seen, then each that is found to be new.
    /// Values in between may be skipped. It ends when all senders are gone and their last value was an item. A `Stream`
    /// with the feature `stream`.
    ///
    /// ```
    /// use core::{future::poll_fn, pin::pin};
    /// use ropewalk_core::{block_on_simple, channel::watch};
    ///
    /// let (level, seen) = watch::channel(1);
    /// let mut levels = pin!(seen.into_stream());
    /// block_on_simple(async {
    ///     let mut next = async || poll_fn(|cx| levels.as_mut().poll_next(cx)).await;
    ///     assert_eq!(next().await, Some(1));
    ///     level.send(2).unwrap();
    ///     level.send(3).unwrap();
    ///     drop(level);
    ///     assert_eq!(next().await, Some(3), "only the latest counts");
    ///     assert_eq!(next().await, None);
    /// });
    /// ```
    ///
    /// Cancel safety: as for [`changed`](Self::changed); panics: if the value's `clone` does. See [`IntoStream::poll_next`].
    pub fn into_stream(self) -> IntoStream<T>
    where
        T: Clone,
    {
        IntoStream::new(self)
    }

    /// Whether both watch the same value.
    pub fn same_channel(&self, other: &Self) -> bool {
        core::ptr::eq(&*self.shared, &*other.shared)
    }
}

impl<T> Shared<T> {
    /// Whether there is a version other than `seen`. An error: there is none, and there will be none.
    fn has_unseen(&self, seen: usize) -> Result<bool, RecvError> {
        match self.version.load(Ordering::Acquire) {
            version if version & !CLOSED != seen => Ok(true),
            version if version & CLOSED != 0 => Err(RecvError),
            _ => Ok(false),
        }
    }

    async fn until_unseen(&self, seen: usize) -> Result<(), RecvError> {
        while !self.has_unseen(seen)? {
            let same = || self.version.load(Ordering::Relaxed) == seen; // closing changes it too
            let _woken = self.changed.wait_because(Reason::Watch, blocked::address_of(self), same).await;
        }
        Ok(())
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.receivers.fetch_add(1, Ordering::Relaxed);
        Self { shared: self.shared.clone(), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.shared.receivers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.left.wake_all(); // WA3
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("has_changed", &self.has_changed()).finish_non_exhaustive()
    }
}

/// All senders of the watch are gone, and their last value was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the watch is closed: all senders are gone, and the last value was seen")
    }
}
impl core::error::Error for RecvError {}
