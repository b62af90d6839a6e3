//! A receiver as a stream. It owns the receiver, and the place where it waits.

use super::super::tied::Tied;
use super::{Receiver, Waiting};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

/// The values of a channel, one after the other. Made by [`Receiver::into_stream`].
///
/// It must be pinned to be polled: it waits in the channel's queue itself, without memory of its own.
pub struct IntoStream<T: 'static> {
    /// Pinned with the stream.
    tied: Tied<Waiting<'static, T>, Receiver<T>>,
}

impl<T: 'static> IntoStream<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        let shared = core::ptr::from_ref(&*receiver.shared);
        // SAFETY: it is the receiver's channel, which stays where it is as long as what borrows it (TD1, TD2).
        Self { tied: unsafe { Tied::new(Waiting::new(&*shared), receiver) } }
    }

    /// The receiver, for what a stream cannot do.
    pub fn receiver(&self) -> &Receiver<T> {
        self.tied.receiver()
    }

    /// The next value; `None` when everything was received and nothing can be sent any more.
    ///
    /// Cancel safety: a value is taken by the poll that returns it.
    pub fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        // SAFETY: `tied` is pinned with the stream (TD3); the receiver is looked at only (TD1).
        let (waiting, receiver) = unsafe { self.map_unchecked_mut(|this| &mut this.tied).parts() };
        waiting.poll_one(&receiver.head, cx).map(Result::ok)
    }
}

impl<T: 'static> fmt::Debug for IntoStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoStream").field("receiver", self.receiver()).finish_non_exhaustive()
    }
}

#[cfg(feature = "stream")]
impl<T: 'static> futures_core::Stream for IntoStream<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        IntoStream::poll_next(self, cx)
    }
}
