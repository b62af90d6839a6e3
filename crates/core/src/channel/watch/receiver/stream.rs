//! A receiver of a watch as a stream. It owns the receiver, and the place where it waits.

use super::super::super::tied::{Tied, poll_woken, stop_waiting};
use super::{Receiver, RecvError};
use crate::blocked::{self, Reason};
use crate::budget::poll_proceed;
use crate::prim::Ordering;
use crate::wait_queue::{Wait, WaitQueue};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

/// The value of a watch, and what it changes to. Made by [`Receiver::into_stream`].
///
/// It must be pinned to be polled: it waits in the channel's queue itself, without memory of its own.
pub struct IntoStream<T> {
    /// Pinned with the stream. It waits in the channel's queue.
    tied: Tied<Wait<'static>, Receiver<T>>,
}

impl<T> IntoStream<T> {
    pub(super) fn new(mut receiver: Receiver<T>) -> Self {
        receiver.mark_changed(); // the present value is the first item
        let queue: *const WaitQueue = &raw const receiver.shared.changed;
        // SAFETY: it is in the receiver's channel, which stays where it is as long as what borrows it (TD1, TD2).
        Self { tied: unsafe { Tied::new((*queue).wait(), receiver) } }
    }

    /// The receiver, for what a stream cannot do. What it has seen are the items.
    pub fn receiver(&self) -> &Receiver<T> {
        self.tied.receiver()
    }
}

impl<T: Clone> IntoStream<T> {
    /// A clone of the latest value, if it was no item yet; `None` when it was, and all senders are gone.
    ///
    /// The value is lent while it is cloned: see [`channel`](super::super::channel). A `clone` that changes the value of the
    /// same channel waits for ever.
    ///
    /// Cancel safety: a value counts as seen by the poll that returns it.
    ///
    /// # Panics
    ///
    /// If the value's `clone` does; it then counts as seen, and the stream can be polled again.
    pub fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        // SAFETY: `tied` is pinned with the stream (TD3); the receiver learns what it saw, but stays (TD1).
        let (mut wait, receiver) = unsafe { self.map_unchecked_mut(|this| &mut this.tied).parts() };
        if receiver.has_changed() == Ok(true) {
            ready!(poll_proceed(cx)); // it stays unseen meanwhile
        }
        let item = loop {
            match receiver.has_changed() {
                Ok(true) => break Some(receiver.borrow_and_update().clone()),
                Err(RecvError) => break None,
                Ok(false) => {
                    let (shared, seen) = (&*receiver.shared, receiver.seen);
                    let why = (Reason::Watch, blocked::address_of(shared));
                    let same = || shared.version.load(Ordering::Relaxed) == seen; // closing changes it too (WA3)
                    ready!(poll_woken(wait.as_mut(), cx, why, same));
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
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        IntoStream::poll_next(self, cx)
    }
}

#[cfg(test)]
mod tests;
