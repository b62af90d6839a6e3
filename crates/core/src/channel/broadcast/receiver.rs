//! The receiving end of a broadcast. The invariants are numbered in `../broadcast.rs`.

use super::ring::Found;
use super::{Sender, Shared};
use crate::blocked::{self, Reason};
use crate::budget::poll_proceed;
use crate::prim::{Arc, Ordering};
use core::fmt;
use core::future::poll_fn;

mod stream;
pub use stream::IntoStream;

/// The receiving end: sees all values that are sent while it is there.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The position that it sees next.
    next: u64,
}

impl<T> Receiver<T> {
    /// The caller has counted it.
    pub(super) fn new(shared: Arc<Shared<T>>, next: u64) -> Self {
        Self { shared, next }
    }

    /// Another receiver, for the values that are sent from now on: not for those that this one has yet to see.
    pub fn resubscribe(&self) -> Self {
        let next = self.shared.ring.lock().join();
        Self { shared: self.shared.clone(), next }
    }

    /// How many values were sent that this receiver has not seen. More than the capacity: it will miss some.
    pub fn len(&self) -> usize {
        (self.shared.ring.lock().tail() - self.next) as usize
    }

    /// Whether it has seen everything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all senders are gone. What they sent can still be received.
    pub fn is_closed(&self) -> bool {
        self.shared.queue.is_closed()
    }

    /// How many senders there are.
    pub fn sender_count(&self) -> usize {
        self.shared.senders.load(Ordering::Acquire)
    }

    /// Whether both receive from the same senders.
    pub fn same_channel(&self, other: &Self) -> bool {
        core::ptr::eq(&*self.shared, &*other.shared)
    }

    /// Whether it receives from this sender.
    pub fn is_of(&self, sender: &Sender<T>) -> bool {
        core::ptr::eq(&*self.shared, &*sender.shared)
    }
}

impl<T: Clone> Receiver<T> {
    /// The next value, if there is one.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`]: nothing new has been sent. [`TryRecvError::Lagged`]: that many were overwritten; the next call
    /// goes on with the oldest that is left. [`TryRecvError::Closed`]: everything was seen, and all senders are gone.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let closed = self.is_closed(); // before the look: what was sent before closing is seen first
        let found = self.shared.ring.lock().see(&mut self.next);
        match found {
            Found::Value(value) => Ok(Arc::try_unwrap(value).unwrap_or_else(|shared| (*shared).clone())),
            Found::Missed(count) => Err(TryRecvError::Lagged(count)),
            Found::Nothing if closed => Err(TryRecvError::Closed),
            Found::Nothing => Err(TryRecvError::Empty),
        }
    }

    /// Waits for the next value.
    ///
    /// Cancel safety: nothing is lost; a value is taken by the call that returns it.
    ///
    /// # Errors
    ///
    /// [`RecvError::Lagged`]: that many values were overwritten before this receiver came to see them; the next call goes on
    /// with the oldest that is left. [`RecvError::Closed`]: everything was seen, and all senders are gone.
    ///
    /// # Panics
    ///
    /// If the value's `clone` does; it then counts as seen.
    pub async fn recv(&mut self) -> Result<T, RecvError> {
        if !self.seems_empty() {
            poll_fn(poll_proceed).await; // nothing has been taken yet
        }
        loop {
            match self.try_recv() {
                Ok(value) => return Ok(value),
                Err(TryRecvError::Lagged(count)) => return Err(RecvError::Lagged(count)),
                Err(TryRecvError::Closed) => return Err(RecvError::Closed),
                Err(TryRecvError::Empty) => self.until_sent().await,
            }
        }
    }

    /// The values as a stream, which ends where [`recv`](Self::recv) says that the channel is closed. If it was too slow, an item
    /// tells how many it missed: [`RecvError::Lagged`]. A `Stream` with the feature `stream`.
    ///
    /// ```
    /// use core::{future::poll_fn, pin::pin};
    /// use ropewalk_core::{block_on_simple, channel::broadcast};
    ///
    /// let (sender, receiver) = broadcast::channel(2);
    /// (1..=3).for_each(|n| assert_eq!(sender.send(n), Ok(1))); // 3 overwrites 1
    /// drop(sender);
    /// let mut stream = pin!(receiver.into_stream());
    /// block_on_simple(async {
    ///     let mut items = Vec::new();
    ///     while let Some(item) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
    ///         items.push(item);
    ///     }
    ///     assert_eq!(items, [Err(broadcast::RecvError::Lagged(1)), Ok(2), Ok(3)]);
    /// });
    /// ```
    ///
    /// Cancel safety and panics: as for [`recv`](Self::recv); see [`IntoStream::poll_next`].
    pub fn into_stream(self) -> IntoStream<T> {
        IntoStream::new(self)
    }

    /// Waits until something was sent after `next`, or the channel was closed.
    async fn until_sent(&self) {
        let shared = &*self.shared;
        let what = blocked::address_of(shared);
        let _woken = shared.queue.wait_because(Reason::Broadcast, what, || self.seems_empty()).await;
    }

    /// Whether nothing was sent after what it saw; without the lock (BC3).
    fn seems_empty(&self) -> bool {
        self.shared.tail.load(Ordering::Relaxed) == self.next as usize
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let end = self.shared.ring.lock().leave();
        let mut leaving = Leaving { shared: &self.shared, next: self.next, end };
        while let Some(value) = leaving.pass() {
            drop(value);
        }
    }
}

/// A receiver that has left and lets go of what it has not seen, each value outside of the lock; to the end, even if the
/// `drop` of a value panics.
struct Leaving<'a, T> {
    shared: &'a Shared<T>,
    next: u64,
    end: u64,
}

impl<T> Leaving<'_, T> {
    fn pass(&mut self) -> Option<Arc<T>> {
        self.shared.ring.lock().pass(&mut self.next, self.end)
    }
}

impl<T> Drop for Leaving<'_, T> {
    fn drop(&mut self) {
        while let Some(value) = self.pass() {
            drop(value);
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("len", &self.len()).field("closed", &self.is_closed()).finish()
    }
}

/// Why [`Receiver::recv`] gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// Everything was seen, and all senders are gone.
    Closed,
    /// This receiver was too slow: that many values were overwritten before it saw them.
    Lagged(u64),
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => {
                f.write_str("the broadcast is closed: all senders are gone, and everything was seen")
            }
            Self::Lagged(count) => write!(
                f,
                "too slow: {count} values were overwritten (go on receiving, or give the channel more capacity)"
            ),
        }
    }
}
impl core::error::Error for RecvError {}

/// Why [`Receiver::try_recv`] gave no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing new has been sent.
    Empty,
    /// Everything was seen, and all senders are gone.
    Closed,
    /// This receiver was too slow: that many values were overwritten before it saw them.
    Lagged(u64),
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Empty => f.write_str("nothing new has been sent"),
            Self::Closed => RecvError::Closed.fmt(f),
            Self::Lagged(count) => RecvError::Lagged(count).fmt(f),
        }
    }
}
impl core::error::Error for TryRecvError {}
