//! A rate limiter: at most so many per second, in the order of asking, by the runtime's clock.
//!
//! It keeps one number, the moment `full` at which the bucket will be full again (the virtual scheduling of GCRA). Taking
//! `n` permits moves it on by `n` intervals, from the present if it has passed; it may be at most `burst` intervals ahead
//! of the present. So nothing ticks, and an idle limiter costs nothing.
//!
//! # Invariants
//!
//! - **RL1** Only who takes permits moves `full`, by one exchange, and never further than `burst` intervals ahead.
//! - **RL2** Who has to wait stands in line at `turn`, a [`Notify`] whose one permit is the right to be the first in line. Only
//!   the first sleeps. It takes what it wants when the time has come, and passes the right on; if it goes away instead, it
//!   passes the right on too, and has taken nothing.
//! - **RL3** `in_line` counts those who stand in line, the first included. While it is not zero nobody overtakes them.

use crate::drive::time::{Entry, Here};
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::budget::poll_proceed;
use ropewalk_core::prim::real::{AtomicU64, AtomicUsize, Ordering};
use ropewalk_core::sync::Notify;
use std::fmt;
use std::future::poll_fn;
use std::num::NonZeroU32;
use std::pin::pin;
use std::time::Duration;

/// Lets through so many per period, and makes the others wait in line.
///
/// A bucket holds up to [`burst`](Self::burst) permits and is full at first; permits come back one by one, evenly. So over
/// any span of time no more than `burst` and what comes back in that span are let through.
///
/// ```
/// use ropewalk::{sync::RateLimiter, time::Instant};
/// use std::time::Duration;
///
/// let runtime = ropewalk::Runtime::builder().paused(true).build()?;
/// runtime.block_on(async {
///     let requests = RateLimiter::new(10, Duration::from_secs(1)).unwrap().with_burst(2).unwrap();
///     let from = Instant::now();
///     for _ in 0..5 {
///         requests.acquire().await; // two at once, then one every 100 ms
///     }
///     assert_eq!(from.elapsed(), Duration::from_millis(300));
/// });
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
///
/// It goes by the clock of the runtime in which it is asked; ask it in runtimes with the same clock.
pub struct RateLimiter {
    /// Nanoseconds until a permit comes back.
    interval: u64,
    burst: u32,
    /// When the bucket will be full, in nanoseconds of the clock (RL1).
    full: AtomicU64,
    turn: Notify,
    in_line: AtomicUsize,
}

impl RateLimiter {
    /// `permits` per `period`, and at most `permits` at once. Permits come back every `period / permits`, rounded up to a
    /// nanosecond: never more than asked for.
    ///
    /// # Errors
    ///
    /// [`RateError`] if `permits` is 0, or if there would be more than one per nanosecond, or if filling the bucket would take
    /// centuries.
    pub fn new(permits: u32, period: Duration) -> Result<Self, RateError> {
        let Some(per) = NonZeroU32::new(permits) else { return Err(RateError::Permits) };
        let nanos = u64::try_from(period.as_nanos()).ok().filter(|nanos| *nanos >= u64::from(permits));
        let interval = nanos.ok_or(RateError::Period { permits })?.div_ceil(u64::from(per.get()));
        let turn = Notify::new();
        turn.notify_one(); // nobody is in line (RL2)
        let full = AtomicU64::new(0);
        Self { interval, burst: permits, full, turn, in_line: AtomicUsize::new(0) }.with_burst(permits)
    }

    /// The same rate, with at most `burst` at once. With 1 they are spaced evenly.
    ///
    /// # Errors
    ///
    /// [`RateError`] if `burst` is 0, or if filling the bucket would take centuries.
    pub fn with_burst(self, burst: u32) -> Result<Self, RateError> {
        let span = u64::from(burst).checked_mul(self.interval).filter(|span| *span <= u64::MAX / 4);
        match span {
            Some(1..) => Ok(Self { burst, ..self }),
            _ => Err(RateError::Burst {
                burst,
                most: u32::try_from(u64::MAX / 4 / self.interval).unwrap_or(u32::MAX),
            }),
        }
    }

    /// Waits for a permit, in line.
    ///
    /// Cancel safety: dropping the future gives up the place in line and takes no permit. Keep polling it (or drop it): those
    /// behind wait for a first in line that is set aside.
    pub async fn acquire(&self) {
        self.enter(1).await;
    }

    /// Waits for `permits` permits at once, in line. Those behind wait until the whole lot was let through.
    ///
    /// Cancel safety: as for [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// [`TooMany`] if `permits` is more than [`burst`](Self::burst): they would never be there at once.
    pub async fn acquire_many(&self, permits: u32) -> Result<(), TooMany> {
        self.check(permits)?;
        self.enter(permits).await;
        Ok(())
    }

    /// Takes a permit if there is one and nobody stands in line.
    ///
    /// # Errors
    ///
    /// [`RateLimited::NotYet`].
    pub fn try_acquire(&self) -> Result<(), RateLimited> {
        self.try_acquire_many(1)
    }

    /// Takes `permits` permits at once, if they are there and nobody stands in line.
    ///
    /// # Errors
    ///
    /// [`RateLimited::NotYet`], or [`RateLimited::Never`] if they never would be.
    pub fn try_acquire_many(&self, permits: u32) -> Result<(), RateLimited> {
        self.check(permits).map_err(RateLimited::Never)?;
        if self.has_line() {
            return Err(RateLimited::NotYet);
        }
        self.take(permits).map_err(|_| RateLimited::NotYet)
    }

    /// How many permits are there now.
    pub fn available(&self) -> u32 {
        let missing = self.full.load(Ordering::Relaxed).saturating_sub(now()).div_ceil(self.interval);
        u32::try_from(u64::from(self.burst).saturating_sub(missing)).unwrap_or(self.burst)
    }

    /// How many permits the bucket holds.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// How long it takes until a permit comes back.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.interval)
    }

    fn check(&self, permits: u32) -> Result<(), TooMany> {
        if permits > self.burst { Err(TooMany { permits, burst: self.burst }) } else { Ok(()) }
    }

    fn has_line(&self) -> bool {
        self.in_line.load(Ordering::Acquire) != 0
    }

    /// Takes `permits` permits now (RL1), or tells when they will be there.
    fn take(&self, permits: u32) -> Result<(), u64> {
        let now = now(); // the clock may be the user's: it is read once, outside of any loop
        let (cost, room) = (u64::from(permits) * self.interval, u64::from(self.burst) * self.interval);
        let mut full = self.full.load(Ordering::Relaxed);
        loop {
            let next = full.max(now).saturating_add(cost);
            let earliest = next.saturating_sub(room);
            if earliest > now {
                return Err(earliest);
            }
            match self.full.compare_exchange_weak(full, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(seen) => full = seen,
            }
        }
    }

    async fn enter(&self, permits: u32) {
        poll_fn(poll_proceed).await; // nothing has been taken yet
        if self.has_line() || self.take(permits).is_err() {
            Line::join(self).pass(permits).await;
        }
    }
}

/// What the clock shows.
fn now() -> u64 {
    Here::with(|here| here.clock().nanos())
}

/// A place in line (RL3).
struct Line<'a>(&'a RateLimiter);

impl<'a> Line<'a> {
    fn join(limiter: &'a RateLimiter) -> Self {
        limiter.in_line.fetch_add(1, Ordering::AcqRel);
        Self(limiter)
    }

    /// Waits to be the first, then for the time to come (RL2).
    async fn pass(self, permits: u32) {
        let (limiter, what) = (self.0, blocked::address_of(self.0));
        let mut turn = pin!(limiter.turn.notified());
        poll_fn(|cx| turn.as_mut().poll_because(cx, Reason::RateLimit, what)).await;
        let _first = First(limiter);
        while let Err(when) = limiter.take(permits) {
            let mut timer = pin!(Entry::at(when));
            poll_fn(|cx| {
                let over = timer.as_mut().poll(cx);
                if over.is_pending() {
                    blocked::note(Reason::RateLimit, what);
                }
                over
            })
            .await;
        }
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.0.in_line.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The right to be the first in line (RL2).
struct First<'a>(&'a RateLimiter);

impl Drop for First<'_> {
    fn drop(&mut self) {
        self.0.turn.notify_one();
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter")
            .field("interval", &self.interval())
            .field("burst", &self.burst)
            .field("in_line", &self.in_line.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

/// A [`RateLimiter`] that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateError {
    /// No permits at all.
    Permits,
    /// The period is too short for so many permits, or longer than the clock can say.
    Period {
        /// How many there should be in it.
        permits: u32,
    },
    /// No burst, or one that would take centuries to come back.
    Burst {
        /// What was asked for.
        burst: u32,
        /// What would be accepted.
        most: u32,
    },
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permits => write!(f, "RateLimiter: `permits` is 0, but must be from 1 to {}", u32::MAX),
            Self::Period { permits } => {
                let most = Duration::from_nanos(u64::MAX);
                write!(f, "RateLimiter: `period` for {permits} permits must be from {permits} ns to {most:?}")
            }
            Self::Burst { burst, most } => {
                write!(f, "RateLimiter: `burst` is {burst}, but must be from 1 to {most} at this rate")
            }
        }
    }
}
impl std::error::Error for RateError {}

/// More permits than the bucket holds: they will never be there at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    permits: u32,
    burst: u32,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { permits, burst } = self;
        write!(f, "{permits} permits at once will never be there: the rate limiter's `burst` is {burst}")
    }
}
impl std::error::Error for TooMany {}

/// Why [`RateLimiter::try_acquire`] gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimited {
    /// Not now: they are not there yet, or others stand in line.
    NotYet,
    /// Never.
    Never(TooMany),
}

impl fmt::Display for RateLimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet => f.write_str("the rate limiter has no permit now, or others stand in line"),
            Self::Never(why) => why.fmt(f),
        }
    }
}
impl std::error::Error for RateLimited {}
