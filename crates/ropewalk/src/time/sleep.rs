//! Sleeping.

use super::Instant;
use crate::drive::time::Entry;
use ropewalk_core::blocked::{Reason, address_of, note};
use ropewalk_core::budget::poll_proceed;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Waits until `span` has passed, counted from this call. Never early; [`Duration::MAX`] is for ever.
///
/// ```
/// use std::time::{Duration, Instant};
/// ropewalk::block_on(async {
///     let from = Instant::now();
///     ropewalk::time::sleep(Duration::from_micros(300)).await;
///     assert!(from.elapsed() >= Duration::from_micros(300));
/// });
/// ```
///
/// Cancel safety: dropping it cancels the timer and loses nothing.
///
/// # Panics
/// Outside of any runtime, if the default one cannot start.
#[inline]
pub fn sleep(span: Duration) -> Sleep {
    Sleep { entry: Entry::after(span) }
}

/// Waits until `deadline`. If that has passed it is over at once.
///
/// Cancel safety and panics: as for [`sleep`].
#[inline]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { entry: Entry::at(deadline.0) }
}

/// The future of [`sleep`] and [`sleep_until`]: 64 bytes with all that the timer needs, and nothing beside it.
///
/// It may be polled again after it is over, and is over then as well, until it is [`reset`](Self::reset).
#[must_use = "a future does nothing unless it is polled"]
pub struct Sleep {
    entry: Entry,
}

impl Sleep {
    /// When it is over.
    pub fn deadline(&self) -> Instant {
        Instant(self.entry.deadline())
    }

    /// Whether it is over. Looks at no clock: it is when a timer has fired.
    pub fn is_elapsed(&self) -> bool {
        self.entry.has_fired()
    }

    /// Waits until another moment instead, earlier or later, also if it was over already. Whoever waits for it goes on
    /// waiting; a timer that is pending is moved, not made anew.
    ///
    /// ```
    /// use ropewalk::time::{Instant, sleep};
    /// use std::{pin::pin, time::Duration};
    ///
    /// ropewalk::block_on(async {
    ///     let mut idle = pin!(sleep(Duration::from_secs(60)));
    ///     idle.as_mut().reset(Instant::now() + Duration::from_millis(1));
    ///     idle.await;
    /// });
    /// ```
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.entry().reset(deadline.0);
    }

    /// Polls without spending budget.
    #[inline]
    pub(crate) fn poll_entry(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.entry().poll(cx)
    }

    fn entry(self: Pin<&mut Self>) -> Pin<&mut Entry> {
        // SAFETY: the only field is pinned with it.
        unsafe { self.map_unchecked_mut(|this| &mut this.entry) }
    }
}

impl Future for Sleep {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let address = address_of(&*self);
        match self.poll_entry(cx) {
            Poll::Ready(()) => poll_proceed(cx), // it stays over, if the answer is "not now"
            Poll::Pending => {
                note(Reason::Sleep, address);
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline())
            .field("elapsed", &self.is_elapsed())
            .finish()
    }
}
