//! A receiver as a stream. It owns the receiver, and the place where it waits.

use super::{Receiver, Waiting};
use core::fmt;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll};

/// The values of a channel, one after the other. Made by [`Receiver::into_stream`].
///
/// It must be pinned to be polled: it waits in the channel's queue itself, without memory of its own.
pub struct IntoStream<T: 'static> {
    /// Pinned with the stream. It borrows from the channel, which `receiver` keeps where it is: so it goes first.
    waiting: ManuallyDrop<Waiting<'static, T>>,
    receiver: Receiver<T>,
}

impl<T: 'static> IntoStream<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        // SAFETY: the channel does not move, and lives as long as the receiver, which lives longer than what borrows it.
        let shared = unsafe { &*core::ptr::from_ref(&*receiver.shared) };
        Self { waiting: ManuallyDrop::new(Waiting::new(shared)), receiver }
    }

    /// The receiver, for what a stream cannot do.
    pub fn receiver(&self) -> &Receiver<T> {
        &self.receiver
    }

    /// The next value; `None` when everything was received and nothing can be sent any more.
    ///
    /// Cancel safety: a value is taken by the poll that returns it.
    pub fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        // SAFETY: `waiting` is pinned with the stream; it is dropped where it is.
        let (waiting, receiver) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut *this.waiting), &this.receiver)
        };
        waiting.poll_one(&receiver.head, cx).map(Result::ok)
    }
}

impl<T: 'static> Drop for IntoStream<T> {
    fn drop(&mut self) {
        // SAFETY: once, here, and before the receiver.
        unsafe { ManuallyDrop::drop(&mut self.waiting) }
    }
}
impl<T: 'static> fmt::Debug for IntoStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoStream").field("receiver", &self.receiver).finish_non_exhaustive()
    }
}

#[cfg(feature = "stream")]
impl<T: 'static> futures_core::Stream for IntoStream<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        IntoStream::poll_next(self, cx)
    }
}
