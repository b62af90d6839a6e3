//! A receiver that waits for values.

use super::super::bounded::Unseen;
use super::super::calls::{Seat, stand_up};
use super::super::mpmc::{Kind, Shared};
use super::super::word::Guess;
use super::super::{RecvError, TryRecvError};
use crate::budget;
use crate::wait_queue::Wait;
use core::mem::{self, ManuallyDrop};
use core::pin::Pin;
use core::task::{Context, Poll, ready};

/// A receiver that waits, or may have to.
pub(super) struct Waiting<'a, T> {
    shared: &'a Shared<T>,
    /// It is counted as present at a channel without room.
    present: bool,
    /// Pinned with it. `Drop` empties it.
    pub(super) seat: ManuallyDrop<Option<Wait<'a>>>,
}

impl<'a, T> Waiting<'a, T> {
    #[inline(always)]
    pub(super) fn new(shared: &'a Shared<T>) -> Self {
        Self { shared, present: false, seat: ManuallyDrop::new(None) }
    }

    fn parts(self: Pin<&mut Self>) -> (&'a Shared<T>, &mut bool, Seat<'_, 'a>) {
        // SAFETY: `seat` is pinned with it and moved by nobody; the others are not.
        unsafe {
            let this = self.get_unchecked_mut();
            (this.shared, &mut this.present, Pin::new_unchecked(&mut *this.seat))
        }
    }

    /// Receives one value.
    #[inline(always)]
    pub(super) fn poll_one(
        mut self: Pin<&mut Self>,
        head: &Guess,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        ready!(budget::poll_proceed(cx));
        match self.shared.recv_at_sight(head) {
            Ok(value) => {
                if self.seat.is_some() {
                    let _turn_is_used = self.as_mut().stop();
                }
                Poll::Ready(Ok(value))
            }
            Err(unseen) => self.poll_one_with_care(unseen, head, cx),
        }
    }

    #[inline(never)]
    fn poll_one_with_care(
        mut self: Pin<&mut Self>,
        unseen: Unseen,
        head: &Guess,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        if unseen == Unseen::Nothing && !self.shared.linger_for_values() {
            ready!(self.as_mut().wait(cx));
        }
        self.poll_with(cx, |shared| shared.try_recv(head))
    }

    /// Tries until there is a value; waits in between. `Err`: there will be none.
    pub(super) fn poll_with<R>(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut attempt: impl FnMut(&Shared<T>) -> Result<R, TryRecvError>,
    ) -> Poll<Result<R, RecvError>> {
        let mut lingers = self.seat.is_none();
        loop {
            match attempt(self.shared) {
                Ok(received) => {
                    let _turn_is_used = self.as_mut().stop();
                    return Poll::Ready(Ok(received));
                }
                Err(TryRecvError::Closed) => return Poll::Ready(Err(RecvError)),
                Err(TryRecvError::Empty) if mem::take(&mut lingers) && self.shared.linger_for_values() => {}
                Err(TryRecvError::Empty) => ready!(self.as_mut().wait(cx)),
            }
        }
    }

    /// There was nothing a moment ago. Ready: look again.
    #[inline]
    fn wait(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let (shared, present, seat) = self.parts();
        if let Kind::Meeting(meeting) = &shared.kind
            && !*present
        {
            meeting.come();
            *present = true;
            shared.call_sender(); // somebody may wait for a receiver
        }
        shared.poll_wait_for_values(seat, cx)
    }

    /// It waits and is dropped.
    #[cold]
    #[inline(never)]
    fn give_up(self: Pin<&mut Self>) {
        let shared = self.shared;
        if self.stop() {
            shared.call_receiver(); // C3
        }
    }

    /// Stops waiting. Returns whether it was chosen and did not notice.
    #[inline(always)]
    fn stop(self: Pin<&mut Self>) -> bool {
        let (shared, present, seat) = self.parts();
        if *present && let Kind::Meeting(meeting) = &shared.kind {
            meeting.go();
            *present = false;
        }
        stand_up(seat)
    }
}

impl<T> Drop for Waiting<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.seat.is_some() || self.present {
            // SAFETY: it is being dropped, so it does not move any more if it was pinned.
            unsafe { Pin::new_unchecked(self) }.give_up();
        }
    }
}
