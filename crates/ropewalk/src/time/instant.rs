//! A moment on the runtime's clock.

use crate::drive::time::Here;
use crate::runtime::nanos_of;
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

/// A moment on the clock of the runtime; moments of different clocks cannot be compared in a meaningful way.
///
/// Arithmetic saturates: there is no overflow. The latest moment, [`FAR_FUTURE`](Self::FAR_FUTURE), never comes.
///
/// ```
/// use ropewalk::time::Instant;
/// use std::time::Duration;
///
/// let now = Instant::now();
/// assert!(now + Duration::from_secs(1) > now);
/// assert_eq!(now + Duration::MAX, Instant::FAR_FUTURE);
/// assert_eq!(now - (now + Duration::from_secs(1)), Duration::ZERO);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub(super) u64);

impl Instant {
    /// Never.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// What the clock of the current runtime shows, or of the default one.
    pub fn now() -> Self {
        Here::with(|here| Self(here.clock().nanos()))
    }

    #[cfg(unix)]
    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Since the clock's own beginning.
    #[cfg(unix)]
    pub(crate) const fn nanos(self) -> u64 {
        self.0
    }

    /// How long it is from `earlier` to here; zero if it is not earlier.
    pub fn duration_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// How long ago it was; zero if it is yet to come.
    pub fn elapsed(self) -> Duration {
        Self::now().duration_since(self)
    }

    /// `None`: it would never come.
    pub fn checked_add(self, span: Duration) -> Option<Self> {
        Some(self + span).filter(|sum| *sum != Self::FAR_FUTURE)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanos_of(span)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(nanos_of(span)))
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, span: Duration) {
        *self = *self - span;
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FAR_FUTURE => f.write_str("Instant(never)"),
            Self(nanos) => f.debug_tuple("Instant").field(&Duration::from_nanos(nanos)).finish(),
        }
    }
}
