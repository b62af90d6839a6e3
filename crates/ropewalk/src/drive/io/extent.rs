//! How much an operation is to move, and what it means if it moves less.
//!
//! A read that could have filled more of its buffer has emptied the stream; a write that could have given more has filled it.
//! Then the next one waits without trying, which saves a system call per message. "Could have" is less than the caller asked
//! for if that is more than the system takes in one call.

use std::io::{IoSlice, IoSliceMut};

/// What an operation was to move.
pub(super) trait Extent<R>: Copy {
    /// It is nothing: no need to wait.
    fn is_nothing(self) -> Option<R> {
        None
    }

    /// Something was moved, and less than it could have been.
    fn is_short(self, moved: &R) -> bool;
}

/// All or nothing.
#[derive(Clone, Copy)]
pub(super) struct Whole;

impl<R> Extent<R> for Whole {
    fn is_short(self, _: &R) -> bool {
        false
    }
}

/// How many buffers the system takes in one call. The others are left out, by `std` and by `rustix`.
const MOST_BUFFERS: usize = 1024;
/// What one call may move in any case; the system's own limit, which depends on the size of its pages, is close to twice that.
const MOST_BYTES: usize = 1 << 30;

/// Up to so many bytes of a stream.
#[derive(Clone, Copy)]
pub(crate) struct UpTo(usize);

impl UpTo {
    /// One buffer of this size.
    #[inline]
    pub(crate) fn bytes(most: usize) -> Self {
        Self(most.min(MOST_BYTES))
    }

    /// The room in these buffers.
    pub(crate) fn room(buffers: &[IoSliceMut<'_>]) -> Self {
        Self::buffers(buffers.iter().map(|buffer| buffer.len()))
    }

    /// What is in these buffers.
    pub(crate) fn all(buffers: &[IoSlice<'_>]) -> Self {
        Self::buffers(buffers.iter().map(|buffer| buffer.len()))
    }

    fn buffers(sizes: impl Iterator<Item = usize>) -> Self {
        Self::bytes(sizes.take(MOST_BUFFERS).fold(0, usize::saturating_add))
    }
}

impl Extent<usize> for UpTo {
    fn is_nothing(self) -> Option<usize> {
        (self.0 == 0).then_some(0)
    }

    fn is_short(self, moved: &usize) -> bool {
        (1..self.0).contains(moved)
    }
}
