//! Where a runtime gets its time from.

use std::fmt;
use std::time::{Duration, Instant};

/// A monotonic clock. Give a runtime one of your own to decide what time it is.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Time since some fixed moment; never goes back.
    fn now(&self) -> Duration;
}

/// The system's monotonic clock, counted from when it was made.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
