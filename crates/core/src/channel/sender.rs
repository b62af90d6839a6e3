//! The sending side: handles, and the futures that wait for room.

use super::TrySendError;
use super::bounded::Refusal;
use super::calls::{Seat, stand_up};
use super::mpmc::{Kind, Shared, count_down, count_up};
use super::queries::queries;
use super::word::Guess;
use crate::prim::{Arc, Ordering::*};
use core::fmt;
use core::task::{Context, Poll, ready};

mod permit;
mod send;
pub use permit::{Permit, Reserve};
pub use send::Send;

/// Sends into a channel. Clones send into the same one; when the last is dropped, receivers get what is still in the
/// channel, and then [`RecvError`](super::RecvError).
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
    /// Where the tail is.
    tail: Guess,
}

impl<T> Sender<T> {
    /// The count of senders stands at one for it.
    pub(super) fn first(shared: Arc<Shared<T>>) -> Self {
        Self { shared, tail: Guess::new() }
    }

    /// Sends a value; waits while there is no room.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, channel};
    ///
    /// let (sender, receiver) = channel::bounded(1);
    /// assert_eq!(block_on_simple(sender.send(1)), Ok(()));
    /// drop(receiver);
    /// let error = block_on_simple(sender.send(2)).unwrap_err();
    /// assert_eq!(error.0, 2, "the value comes back");
    /// ```
    ///
    /// Cancel safety: a [`Send`] that is dropped before it is done has not sent its value, and drops it. To get it
    /// back instead, call [`Send::into_value`], or wait with [`reserve`](Self::reserve) and send afterwards.
    ///
    /// # Errors
    ///
    /// [`SendError`](super::SendError) with the value, if the channel is closed or its last receiver is gone.
    #[inline(always)]
    pub fn send(&self, value: T) -> Send<'_, T> {
        Send::new(self, value)
    }

    /// Sends a value if there is room at once; with `bounded(0)`, if a receiver waits.
    ///
    /// ```
    /// use ropewalk_core::channel::{self, TrySendError};
    ///
    /// let (sender, _receiver) = channel::bounded(1);
    /// assert_eq!(sender.try_send(1), Ok(()));
    /// assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    /// ```
    ///
    /// # Errors
    ///
    /// [`TrySendError`] with the value.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let mut value = Some(value);
        if self.shared.send_at_sight(&mut value, &self.tail) {
            return Ok(());
        }
        self.shared.try_send(value.expect("it was not sent"), &self.tail)
    }

    /// Waits for room and keeps it, for a value that need not exist yet. The place counts as taken until the permit is
    /// used or dropped; values that are sent meanwhile do not stand behind it.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, channel};
    ///
    /// let (sender, receiver) = channel::bounded(1);
    /// let permit = block_on_simple(sender.reserve()).unwrap();
    /// assert!(sender.try_send(1).is_err(), "the only place is reserved");
    /// permit.send(2).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(2));
    /// ```
    ///
    /// In an unbounded channel there is always room. In one without room (`bounded(0)`) it waits for a receiver that waits;
    /// if that one leaves before the permit is used, the value lies there for the next one.
    ///
    /// Cancel safety: a [`Reserve`] that is dropped keeps no place.
    ///
    /// # Errors
    ///
    /// [`SendError`](super::SendError) without a value, if the channel is closed or its last receiver is gone.
    pub fn reserve(&self) -> Reserve<'_, T> {
        Reserve::new(self)
    }

    /// Keeps a place if there is one at once; otherwise as [`reserve`](Self::reserve).
    ///
    /// # Errors
    ///
    /// [`TrySendError`] without a value.
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        match &self.shared.kind {
            Kind::Ring(ring) => ring.reserve().map_err(|refusal| match refusal {
                Refusal::Full => TrySendError::Full(()),
                Refusal::Closed => TrySendError::Closed(()),
            })?,
            Kind::Blocks(blocks) if blocks.is_closed() => return Err(TrySendError::Closed(())),
            Kind::Blocks(_) => {}
            Kind::Meeting(meeting) => meeting.reserve()?,
        }
        Ok(Permit::new(self))
    }

    /// A sender that does not keep the channel open.
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender { shared: self.shared.clone() }
    }
}

queries!(Sender);

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        count_up(&self.shared.senders);
        Self { shared: self.shared.clone(), tail: Guess::new() }
    }
}
impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if count_down(&self.shared.senders) {
            self.shared.close();
        }
    }
}
impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.describe(f, "Sender")
    }
}

/// A sender that does not keep the channel open: it must be made a [`Sender`] before it can send.
///
/// ```
/// use ropewalk_core::channel;
///
/// let (sender, _receiver) = channel::bounded::<u32>(1);
/// let weak = sender.downgrade();
/// assert!(weak.upgrade().is_some());
/// drop(sender);
/// assert!(weak.upgrade().is_none(), "the last sender is gone, and the channel closed");
/// ```
pub struct WeakSender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> WeakSender<T> {
    /// A sender, if there still is one.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let more = |senders| (senders > 0).then_some(senders + 1);
        self.shared.senders.fetch_update(AcqRel, Acquire, more).ok()?;
        Some(Sender { shared: self.shared.clone(), tail: Guess::new() })
    }
}
impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}
impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.describe(f, "WeakSender")
    }
}

/// Tries until there is room; waits in between. `None`: the channel is closed.
fn poll_room<'a, R, T>(
    shared: &'a Shared<T>,
    mut seat: Seat<'_, 'a>,
    cx: &mut Context<'_>,
    mut attempt: impl FnMut() -> Result<R, Refusal>,
) -> Poll<Option<R>> {
    loop {
        match attempt() {
            Ok(room) => return Poll::Ready(Some(room)),
            Err(Refusal::Closed) => return Poll::Ready(None),
            Err(Refusal::Full) => ready!(shared.poll_wait_for_room(seat.as_mut(), cx)),
        }
    }
}

/// A sender stops waiting. If it was chosen and did not notice, another one is called (C3).
#[inline]
fn leave<T>(shared: &Shared<T>, seat: Seat<'_, '_>) {
    if stand_up(seat) {
        shared.call_sender();
    }
}
