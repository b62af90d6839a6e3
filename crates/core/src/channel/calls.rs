//! Who waits at a channel is called, and how it waits. The protocol, with C1 to C4, is in `mpmc.rs`.

use super::mpmc::{Kind, Shared};
use crate::blocked::{self, Reason};
use crate::linger;
use crate::wait_queue::{Wait, WaitQueue};
use core::pin::Pin;
use core::task::{Context, Poll, ready};

impl<T> Shared<T> {
    /// Calls a receiver, if one waited when the tail was moved.
    #[inline(always)]
    pub(super) fn call_receiver_if(&self, owes: bool) {
        if owes {
            self.call_receiver();
        }
    }

    /// Somebody waits for values, and there is one.
    #[inline(never)]
    pub(super) fn call_receiver(&self) {
        match &self.kind {
            Kind::Ring(ring) => self.values.wake_while(|called| ring.more_values_than(called)),
            Kind::Blocks(blocks) => self.values.wake_while(|called| blocks.more_values_than(called)),
            Kind::Meeting(_) => usize::from(self.values.wake_one()),
        };
    }

    /// Calls a sender, if one waited when the head was moved.
    #[inline(always)]
    pub(super) fn call_sender_if(&self, owes: bool) {
        if owes {
            self.call_sender();
        }
    }

    /// Somebody waits for room, and there is some.
    #[inline(never)]
    pub(super) fn call_sender(&self) {
        match &self.kind {
            Kind::Ring(ring) => self.room.wake_while(|called| ring.more_room_than(called)),
            Kind::Blocks(_) => 0,
            Kind::Meeting(_) => usize::from(self.room.wake_one()),
        };
    }

    /// A value comes while the worker has nothing else to do.
    pub(super) fn linger_for_values(&self) -> bool {
        match &self.kind {
            Kind::Ring(ring) => linger::until(ring.watch_for_value()),
            Kind::Blocks(blocks) => linger::until(|| blocks.len() > 0),
            Kind::Meeting(_) => false,
        }
    }

    /// Waits for values, unless there are some. Ready: look again.
    pub(super) fn poll_wait_for_values<'a>(
        &'a self,
        mut seat: Seat<'_, 'a>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let wait = sit_down(&mut seat, &self.values);
        let _woken_or_closed = ready!(note_if_pending(
            self,
            Reason::Recv,
            match &self.kind {
                Kind::Ring(ring) => wait.poll_announced(cx, || ring.receiver_must_wait()),
                Kind::Blocks(blocks) => wait.poll_announced(cx, || blocks.receiver_must_wait()),
                Kind::Meeting(meeting) => wait.poll_wait_with(cx, || meeting.is_empty()),
            }
        ));
        seat.set(None);
        Poll::Ready(())
    }

    /// Waits for room, unless there is some. Ready: look again.
    pub(super) fn poll_wait_for_room<'a>(&'a self, mut seat: Seat<'_, 'a>, cx: &mut Context<'_>) -> Poll<()> {
        let wait = sit_down(&mut seat, &self.room);
        let _woken_or_closed = ready!(note_if_pending(
            self,
            Reason::Send,
            match &self.kind {
                Kind::Ring(ring) => wait.poll_announced(cx, || ring.sender_must_wait()),
                Kind::Blocks(_) => Poll::Ready(Ok(())),
                Kind::Meeting(meeting) => wait.poll_wait_with(cx, || !meeting.has_taker()),
            }
        ));
        seat.set(None);
        Poll::Ready(())
    }
}

/// Where a future waits, if it has to: most never do.
pub(super) type Seat<'s, 'a> = Pin<&'s mut Option<Wait<'a>>>;

fn sit_down<'s, 'a>(seat: &'s mut Seat<'_, 'a>, queue: &'a WaitQueue) -> Pin<&'s mut Wait<'a>> {
    if seat.is_none() {
        seat.set(Some(queue.wait()));
    }
    seat.as_mut().as_pin_mut().expect("just taken")
}

/// Stops waiting. Returns whether this waiter was chosen and did not notice.
#[inline(always)]
pub(super) fn stand_up(seat: Seat<'_, '_>) -> bool {
    Wait::cancel_in(seat)
}

/// Passes on the answer of a poll; if it is "wait", that is noted.
#[inline(always)]
pub(super) fn note_if_pending<T, R>(shared: &Shared<T>, reason: Reason, answer: Poll<R>) -> Poll<R> {
    if answer.is_pending() {
        blocked::note(reason, blocked::address_of(shared));
    }
    answer
}
