//! Room that is kept for a value, and waiting for it.

use super::super::bounded::Refusal;
use super::super::calls::{Seat, stand_up};
use super::super::mpmc::Kind;
use super::super::{SendError, TrySendError};
use super::{Sender, leave, poll_room};
use crate::budget;
use crate::wait_queue::Wait;
use core::fmt;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

/// The future of [`Sender::reserve`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Reserve<'a, T> {
    sender: &'a Sender<T>,
    /// Pinned with the future.
    seat: Option<Wait<'a>>,
}

impl<'a, T> Reserve<'a, T> {
    pub(super) fn new(sender: &'a Sender<T>) -> Self {
        Self { sender, seat: None }
    }

    fn parts(self: Pin<&mut Self>) -> (&'a Sender<T>, Seat<'_, 'a>) {
        // SAFETY: `seat` is pinned with the future and moved by nobody.
        unsafe {
            let this = self.get_unchecked_mut();
            (this.sender, Pin::new_unchecked(&mut this.seat))
        }
    }
}

impl<'a, T> Future for Reserve<'a, T> {
    type Output = Result<Permit<'a, T>, SendError<()>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(budget::poll_proceed(cx));
        let (sender, mut seat) = self.parts();
        let attempt = || sender.try_reserve().map_err(Refusal::from);
        let permit = ready!(poll_room(&sender.shared, seat.as_mut(), cx, attempt));
        let _turn_is_used = stand_up(seat);
        Poll::Ready(permit.ok_or(SendError(())))
    }
}
impl<T> Drop for Reserve<'_, T> {
    fn drop(&mut self) {
        // SAFETY: it is being dropped, so it does not move any more if it was pinned.
        let (sender, seat) = unsafe { Pin::new_unchecked(self) }.parts();
        leave(&sender.shared, seat);
    }
}
impl<T> fmt::Debug for Reserve<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserve").field("wait", &self.seat).finish_non_exhaustive()
    }
}
impl From<TrySendError<()>> for Refusal {
    fn from(error: TrySendError<()>) -> Self {
        match error {
            TrySendError::Full(()) => Self::Full,
            TrySendError::Closed(()) => Self::Closed,
        }
    }
}

/// A place in a channel, kept for one value. Dropping it gives the place back.
///
/// Made by [`Sender::reserve`] and [`Sender::try_reserve`].
#[must_use = "dropping a permit gives the place back"]
pub struct Permit<'a, T> {
    sender: &'a Sender<T>,
}

impl<'a, T> Permit<'a, T> {
    /// There is room, which was promised.
    pub(super) fn new(sender: &'a Sender<T>) -> Self {
        Self { sender }
    }

    /// Sends without waiting: there is room.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the value, if the channel was closed meanwhile or its last receiver is gone.
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        let sender = ManuallyDrop::new(self).sender; // the place is used, not given back
        let shared = &sender.shared;
        match &shared.kind {
            Kind::Ring(ring) => {
                let Ok(claim) = ring.redeem() else { return Err(SendError(value)) };
                ring.fill(&claim, value);
                shared.call_receiver_if(claim.owes);
                Ok(())
            }
            Kind::Blocks(blocks) => shared.push(blocks, value, &sender.tail),
            Kind::Meeting(meeting) => {
                meeting.redeem(value)?;
                shared.call_receiver(); // the one we spoke for
                Ok(())
            }
        }
    }
}
impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        let owes = match &self.sender.shared.kind {
            Kind::Ring(ring) => ring.give_back(),
            Kind::Blocks(_) => false,
            Kind::Meeting(meeting) => {
                meeting.give_back();
                true
            }
        };
        self.sender.shared.call_sender_if(owes);
    }
}
impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sender.shared.describe(f, "Permit")
    }
}
