//! What a semaphore refuses.

use super::{Denied, Semaphore};
use core::fmt;

/// Why waiting for permits ended without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// The semaphore was closed.
    Closed,
    /// There can never be so many.
    TooMany {
        /// What was asked for.
        asked: usize,
    },
}

/// Why there were no permits at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TryAcquireError {
    /// The semaphore was closed.
    Closed,
    /// Too few are free, or it is the turn of somebody who waits.
    NoPermits,
    /// There can never be so many.
    TooMany {
        /// What was asked for.
        asked: usize,
    },
}

/// The permits do not fit: nothing was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddPermitsError {
    pub(super) asked: usize,
    pub(super) total: usize,
}

impl From<Denied> for AcquireError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Closed => Self::Closed,
            Denied::TooMany(asked) => Self::TooMany { asked },
        }
    }
}
impl From<AcquireError> for TryAcquireError {
    fn from(error: AcquireError) -> Self {
        match error {
            AcquireError::Closed => Self::Closed,
            AcquireError::TooMany { asked } => Self::TooMany { asked },
        }
    }
}

const CLOSED: &str = "the semaphore is closed: no permit will come";

fn too_many(f: &mut fmt::Formatter<'_>, asked: usize) -> fmt::Result {
    write!(f, "acquire_many: {asked} permits asked for, a semaphore has at most {}", Semaphore::MAX_PERMITS)
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Closed => f.write_str(CLOSED),
            Self::TooMany { asked } => too_many(f, asked),
        }
    }
}
impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Closed => f.write_str(CLOSED),
            Self::NoPermits => {
                f.write_str("no permit is free now: try later, or wait for one with `acquire`")
            }
            Self::TooMany { asked } => too_many(f, asked),
        }
    }
}
impl fmt::Display for AddPermitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, Self { asked, total }) = (Semaphore::MAX_PERMITS, self);
        write!(f, "add_permits: {asked} more than the present {total} are more than {most}; none was added")
    }
}
impl core::error::Error for AcquireError {}
impl core::error::Error for TryAcquireError {}
impl core::error::Error for AddPermitsError {}
