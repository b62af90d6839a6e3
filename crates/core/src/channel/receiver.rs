//! The receiving side: handles, and the futures that wait for values.

use super::mpmc::{Shared, count_down, count_up};
use super::queries::queries;
use super::word::Guess;
use super::{RecvError, TryRecvError};
use crate::budget;
use crate::prim::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

mod stream;
mod waiting;
pub use stream::IntoStream;
use waiting::Waiting;

/// Receives from a channel. Clones receive from the same one, and each value goes to one of them; when the last is
/// dropped, what is in the channel is dropped, and senders get their values back.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// Where the head is.
    head: Guess,
}

impl<T> Receiver<T> {
    /// The count of receivers stands at one for it.
    pub(super) fn first(shared: Arc<Shared<T>>) -> Self {
        Self { shared, head: Guess::new() }
    }

    /// Receives the oldest value; waits while there is none.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, channel::{self, RecvError}};
    ///
    /// let (sender, receiver) = channel::bounded(1);
    /// std::thread::scope(|s| {
    ///     s.spawn(move || block_on_simple(sender.send("over there")));
    ///     assert_eq!(block_on_simple(receiver.recv()), Ok("over there"));
    ///     assert_eq!(block_on_simple(receiver.recv()), Err(RecvError));
    /// });
    /// ```
    ///
    /// Cancel safety: a value is taken by the poll that returns it. Dropping the future before that loses none.
    ///
    /// # Errors
    ///
    /// [`RecvError`] when everything was received and nothing can be sent any more.
    #[inline(always)]
    pub fn recv(&self) -> Recv<'_, T> {
        Recv { waiting: Waiting::new(&self.shared), head: &self.head }
    }

    /// Receives the oldest value if there is one at once; with `bounded(0)`, if a sender waits.
    ///
    /// # Errors
    ///
    /// [`TryRecvError`]
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.shared.recv_at_sight(&self.head).or_else(|_| self.shared.try_recv(&self.head))
    }

    /// Receives up to `max` values at the end of `into`; waits while there is none, but not for more than one. Returns how
    /// many there were: at least one, unless `max` is 0.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, channel};
    ///
    /// let (sender, receiver) = channel::bounded(8);
    /// (0..5).for_each(|n| sender.try_send(n).unwrap());
    /// let mut some = Vec::new();
    /// assert_eq!(block_on_simple(receiver.recv_many(&mut some, 3)), Ok(3));
    /// assert_eq!(block_on_simple(receiver.recv_many(&mut some, 3)), Ok(2));
    /// assert_eq!(some, [0, 1, 2, 3, 4]);
    /// ```
    ///
    /// Cancel safety: as for [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// [`RecvError`] when everything was received and nothing can be sent any more.
    pub fn recv_many<'a>(&'a self, into: &'a mut Vec<T>, max: usize) -> RecvMany<'a, T> {
        RecvMany { waiting: Waiting::new(&self.shared), head: &self.head, into, max }
    }

    /// Receives the oldest value; `None` where [`recv`](Self::recv) gives an error: for `while let`.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, channel};
    ///
    /// let (sender, receiver) = channel::unbounded();
    /// (1..=3).for_each(|n| sender.try_send(n).unwrap());
    /// drop(sender);
    /// block_on_simple(async {
    ///     let mut sum = 0;
    ///     while let Some(n) = receiver.next().await {
    ///         sum += n;
    ///     }
    ///     assert_eq!(sum, 6);
    /// });
    /// ```
    ///
    /// Cancel safety: as for [`recv`](Self::recv).
    pub async fn next(&self) -> Option<T> {
        self.recv().await.ok()
    }

    /// The values as a stream, which ends where [`recv`](Self::recv) gives an error. A `Stream` with the feature `stream`.
    pub fn into_stream(self) -> IntoStream<T>
    where
        T: 'static,
    {
        IntoStream::new(self)
    }
}

queries!(Receiver);

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        count_up(&self.shared.receivers);
        Self { shared: self.shared.clone(), head: Guess::new() }
    }
}
impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if count_down(&self.shared.receivers) {
            self.shared.abandon();
        }
    }
}
impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.describe(f, "Receiver")
    }
}

/// The future of [`Receiver::recv`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Recv<'a, T> {
    /// Pinned with the future.
    waiting: Waiting<'a, T>,
    head: &'a Guess,
}

impl<T> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let head = self.head;
        // SAFETY: `waiting` is pinned with the future.
        unsafe { self.map_unchecked_mut(|this| &mut this.waiting) }.poll_one(head, cx)
    }
}
impl<T> fmt::Debug for Recv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recv").field("wait", &self.waiting.seat).finish_non_exhaustive()
    }
}

/// The future of [`Receiver::recv_many`].
#[must_use = "a future does nothing unless it is polled"]
pub struct RecvMany<'a, T> {
    /// Pinned with the future.
    waiting: Waiting<'a, T>,
    head: &'a Guess,
    into: &'a mut Vec<T>,
    max: usize,
}

impl<T> Future for RecvMany<'_, T> {
    type Output = Result<usize, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `waiting` is pinned with the future and moved by nobody; the others are not.
        let (waiting, head, into, max) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.waiting), this.head, &mut *this.into, this.max)
        };
        if max == 0 {
            return Poll::Ready(Ok(0));
        }
        ready!(budget::poll_proceed(cx));
        waiting.poll_with(cx, |shared| {
            let before = into.len();
            // Memory is asked for before anything is taken.
            into.reserve(shared.len().clamp(1, max));
            let end = before + max.min(into.capacity() - before);
            shared.try_recv_some(into, end - before, head)?;
            while into.len() < end && shared.try_recv_some(into, end - into.len(), head).is_ok() {}
            Ok(into.len() - before)
        })
    }
}
impl<T> fmt::Debug for RecvMany<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecvMany").field("max", &self.max).finish_non_exhaustive()
    }
}
