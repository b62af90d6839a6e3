//! Sending one value, waiting for room if there is none.

use super::super::SendError;
use super::super::calls::{Seat, note_if_pending, stand_up};
use super::super::mpmc::{Kind, Shared};
use super::super::rendezvous::{Meeting, Number};
use super::{Sender, leave, poll_room};
use crate::blocked::Reason;
use crate::budget;
use crate::wait_queue::Wait;
use core::fmt;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

/// The future of [`Sender::send`].
///
/// # Panics
///
/// A poll after it is done, or after [`into_value`](Self::into_value), panics.
#[must_use = "a future does nothing unless it is polled"]
pub struct Send<'a, T> {
    sender: &'a Sender<T>,
    /// Not pinned with the future: it is moved out.
    value: Option<T>,
    /// The value is on the table of a channel without room.
    offer: Option<Number>,
    /// Pinned with the future. `Drop` empties it.
    seat: ManuallyDrop<Option<Wait<'a>>>,
}

impl<'a, T> Send<'a, T> {
    #[inline(always)]
    pub(super) fn new(sender: &'a Sender<T>, value: T) -> Self {
        Self { sender, value: Some(value), offer: None, seat: ManuallyDrop::new(None) }
    }

    /// Gives up sending, and returns the value. `None` if it was sent: the send is done, or, with `bounded(0)`, a receiver
    /// took the value and the future did not notice yet.
    ///
    /// ```
    /// use core::{future::Future, pin::pin, task::{Context, Waker}};
    /// use ropewalk_core::channel;
    ///
    /// let (sender, _receiver) = channel::bounded(1);
    /// sender.try_send(1).unwrap();
    /// let mut send = pin!(sender.send(2));
    /// assert!(send.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    /// assert_eq!(send.as_mut().into_value(), Some(2));
    /// ```
    #[allow(clippy::wrong_self_convention)] // the future is pinned, and an empty shell afterwards
    pub fn into_value(self: Pin<&mut Self>) -> Option<T> {
        let parts = self.parts();
        let offered = parts.offer.take().and_then(|offer| parts.sender.shared.withdraw_offer(offer));
        parts.value.take().or(offered)
    }

    /// It waits, or has an offer on the table, and is dropped.
    #[cold]
    #[inline(never)]
    fn give_up(mut self: Pin<&mut Self>) {
        let _dropped_last = self.as_mut().into_value();
        let parts = self.parts();
        leave(&parts.sender.shared, parts.seat);
    }

    #[inline(always)]
    fn parts(self: Pin<&mut Self>) -> Parts<'_, 'a, T> {
        // SAFETY: `seat` is pinned with the future and moved by nobody; the others are not.
        unsafe {
            let this = self.get_unchecked_mut();
            Parts {
                sender: this.sender,
                value: &mut this.value,
                offer: &mut this.offer,
                seat: Pin::new_unchecked(&mut *this.seat),
            }
        }
    }
}

struct Parts<'s, 'a, T> {
    sender: &'a Sender<T>,
    value: &'s mut Option<T>,
    offer: &'s mut Option<Number>,
    seat: Seat<'s, 'a>,
}

impl<T> Parts<'_, '_, T> {
    fn value(&mut self) -> T {
        self.value.take().expect("`Send` polled after it completed")
    }

    /// There is a table: lay the value on it, and wait until it is taken.
    fn poll_offer(mut self, meeting: &Meeting<T>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let Some(offer) = *self.offer else {
            let waker = cx.waker().clone();
            *self.offer = Some(meeting.offer(self.value(), waker)?);
            self.sender.shared.values.wake_one(); // somebody may wait for it
            return note_if_pending(&self.sender.shared, Reason::Send, Poll::Pending);
        };
        let taken = meeting.poll_taken(offer, cx.waker());
        let sent = ready!(note_if_pending(&self.sender.shared, Reason::Send, taken));
        *self.offer = None;
        Poll::Ready(sent)
    }
}

impl<T> Future for Send<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(budget::poll_proceed(cx));
        // SAFETY: `seat` is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        if this.seat.is_none() && this.sender.shared.send_at_sight(&mut this.value, &this.sender.tail) {
            return Poll::Ready(Ok(()));
        }
        // SAFETY: it is pinned, as above.
        unsafe { Pin::new_unchecked(this) }.poll_otherwise(cx)
    }
}

impl<T> Send<'_, T> {
    /// It takes more than one exchange.
    #[inline(never)]
    fn poll_otherwise(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.parts().poll_with_care(cx)
    }
}

impl<T> Parts<'_, '_, T> {
    /// There may be no room.
    #[inline(always)]
    fn poll_with_care(mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let shared: &Shared<T> = &self.sender.shared;
        let ring = match &shared.kind {
            Kind::Ring(ring) => ring,
            Kind::Blocks(blocks) => return Poll::Ready(shared.push(blocks, self.value(), &self.sender.tail)),
            Kind::Meeting(meeting) => return self.poll_offer(meeting, cx),
        };
        assert!(self.value.is_some(), "`Send` polled after it completed"); // now, and not with a claim in hand
        let claimed = ready!(poll_room(shared, self.seat.as_mut(), cx, || ring.claim()));
        let value = self.value();
        let Some(claim) = claimed else { return Poll::Ready(Err(SendError(value))) };
        ring.fill(&claim, value);
        shared.call_receiver_if(claim.owes);
        let _turn_is_used = stand_up(self.seat);
        Poll::Ready(Ok(()))
    }
}

impl<T> Drop for Send<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.seat.is_some() || self.offer.is_some() {
            // SAFETY: it is being dropped, so it does not move any more if it was pinned.
            unsafe { Pin::new_unchecked(self) }.give_up();
        }
    }
}
impl<T> fmt::Debug for Send<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Send").field("wait", &self.seat).finish_non_exhaustive()
    }
}
