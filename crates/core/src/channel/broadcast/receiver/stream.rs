//! A receiver of a broadcast as a stream. It owns the receiver, and the place where it waits.

use super::super::super::tied::{Tied, poll_woken, stop_waiting};
use super::{Receiver, RecvError, TryRecvError};
use crate::blocked::{self, Reason};
use crate::budget::poll_proceed;
use crate::wait_queue::{Wait, WaitQueue};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

/// The values of a broadcast, one after the other. Made by [`Receiver::into_stream`].
///
/// It must be pinned to be polled: it waits in the channel's queue itself, without memory of its own.
pub struct IntoStream<T> {
    /// Pinned with the stream. It waits in the channel's queue.
    tied: Tied<Wait<'static>, Receiver<T>>,
}

impl<T> IntoStream<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        let queue: *const WaitQueue = &raw const receiver.shared.queue;
        // SAFETY: it is in the receiver's channel, which stays where it is as long as what borrows it (TD1, TD2).
        Self { tied: unsafe { Tied::new((*queue).wait(), receiver) } }
    }

    /// The receiver, for what a stream cannot do.
    pub fn receiver(&self) -> &Receiver<T> {
        self.tied.receiver()
    }
}

impl<T: Clone> IntoStream<T> {
    /// The next value, or how many were missed; `None` when everything was seen and all senders are gone. The only error is
    /// [`RecvError::Lagged`]: the stream goes on after it, with the oldest value that is left.
    ///
    /// Cancel safety: a value is taken by the poll that returns it, and so is the number of those that were missed.
    ///
    /// # Panics
    ///
    /// If the value's `clone` does; it then counts as seen, and the stream can be polled again.
    pub fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<T, RecvError>>> {
        // SAFETY: `tied` is pinned with the stream (TD3); the receiver moves on, but stays (TD1).
        let (mut wait, receiver) = unsafe { self.map_unchecked_mut(|this| &mut this.tied).parts() };
        if !receiver.seems_empty() {
            ready!(poll_proceed(cx)); // nothing has been taken yet
        }
        let item = loop {
            match receiver.try_recv() {
                Ok(value) => break Some(Ok(value)),
                Err(TryRecvError::Lagged(count)) => break Some(Err(RecvError::Lagged(count))),
                Err(TryRecvError::Closed) => break None,
                Err(TryRecvError::Empty) => {
                    let why = (Reason::Broadcast, blocked::address_of(&*receiver.shared));
                    ready!(poll_woken(wait.as_mut(), cx, why, || receiver.seems_empty())); // BC3
                }
            }
        };
        stop_waiting(wait);
        Poll::Ready(item)
    }
}

impl<T> fmt::Debug for IntoStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoStream").field("receiver", self.receiver()).finish_non_exhaustive()
    }
}

#[cfg(feature = "stream")]
impl<T: Clone> futures_core::Stream for IntoStream<T> {
    type Item = Result<T, RecvError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        IntoStream::poll_next(self, cx)
    }
}

#[cfg(test)]
mod tests;
