//! Ticks at a steady pace.

use super::{Instant, Sleep, sleep_until};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Ticks every `period`; the first tick is at once.
///
/// ```
/// use ropewalk::time::interval;
/// use std::time::Duration;
///
/// ropewalk::block_on(async {
///     let mut ticks = interval(Duration::from_millis(1));
///     let first = ticks.tick().await;
///     assert_eq!(ticks.tick().await - first, Duration::from_millis(1)); // when it was due, not when it was seen
/// });
/// ```
///
/// # Panics
/// If `period` is zero.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Ticks every `period`, for the first time at `first`.
///
/// # Panics
/// If `period` is zero.
#[track_caller]
pub fn interval_at(first: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), "ropewalk: an interval needs a period above zero");
    Interval { next: Box::pin(sleep_until(first)), period, missed: MissedTick::Burst }
}

/// What an [`Interval`] does when a tick was seen later than the next one was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTick {
    /// The ticks that were missed follow at once, until it has caught up: their number is right.
    #[default]
    Burst,
    /// The next tick is one period after the late one: the distance is right.
    Delay,
    /// What was missed is left out; the next tick is at the next multiple of the period: the beat is right.
    Skip,
}

/// Ticks at a steady pace. Made by [`interval`] and [`interval_at`].
pub struct Interval {
    /// In a box, so that an interval can be moved about.
    next: Pin<Box<Sleep>>,
    period: Duration,
    missed: MissedTick,
}

impl Interval {
    /// The same with another policy for ticks that were missed.
    pub fn with_missed_tick(mut self, policy: MissedTick) -> Self {
        self.missed = policy;
        self
    }

    /// Waits for the next tick; answers when it was due.
    ///
    /// Cancel safety: a tick that was not returned is not lost; the next call returns it.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// [`tick`](Self::tick) for futures written by hand.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(self.next.as_mut().poll(cx));
        let due = self.next.deadline();
        let next = self.after(due);
        self.next.as_mut().reset(next);
        Poll::Ready(due)
    }

    /// The next tick is one period from now.
    pub fn reset(&mut self) {
        self.next.as_mut().reset(Instant::now() + self.period);
    }

    /// The time from tick to tick.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// What happens when a tick was missed.
    pub fn missed_tick(&self) -> MissedTick {
        self.missed
    }

    /// The tick after the one that was due at `due` and is seen now.
    fn after(&self, due: Instant) -> Instant {
        let next = due + self.period;
        if self.missed == MissedTick::Burst {
            return next;
        }
        let now = Instant::now();
        match self.missed {
            _ if now < next => next,
            MissedTick::Delay => now + self.period,
            MissedTick::Skip | MissedTick::Burst => {
                let period = self.period.as_nanos();
                let into = (now - due).as_nanos() % period;
                now + Duration::from_nanos((period - into).try_into().unwrap_or(u64::MAX))
            }
        }
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interval")
            .field("next", &self.next.deadline())
            .field("period", &self.period)
            .field("missed", &self.missed)
            .finish()
    }
}
