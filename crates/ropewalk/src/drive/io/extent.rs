//! How much an operation is to move, and what it means if it moves less.
//!
//! A write that could have given more has filled the stream; a read that could have taken more has emptied it, if it is a
//! [plain](Stream::IS_PLAIN) one. Then the next one waits without trying, which saves a system call per message. "Could have"
//! is less than the caller asked for if that is more than the system takes in one call.
//!
//! Streams with bounds in them are not plain, for a read stops there. Those of Unix have one at each descriptor, where the
//! sender's credentials change, and at a byte sent out of band; pipes have one after each packet (`O_DIRECT`, which the child may
//! set). TCP has one in front of an urgent byte, and says so: while something urgent is there, a read that is short means
//! nothing; one that would block is past it.

use super::contract::Interest;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::AsFd;

/// A kind of stream.
pub(crate) trait Stream: AsFd + 'static {
    /// What it is registered for.
    const INTEREST: Interest;

    /// Whether a read that could have taken more has emptied it, if nothing urgent is there, of which it is told.
    const IS_PLAIN: bool;

    /// What a read of this stream is to move.
    #[inline]
    fn reads(most: UpTo) -> UpTo {
        if Self::IS_PLAIN { most } else { most.to_a_bound() }
    }
}

/// What an operation was to move.
pub(super) trait Extent<R>: Copy {
    /// It is nothing: no need to wait.
    fn is_nothing(self) -> Option<R> {
        None
    }

    /// Something was moved, and less than it could have been.
    fn is_short(self, moved: &R) -> bool;

    /// What is over if it would block, of somebody with this interest.
    fn over(self, interest: Interest) -> Interest {
        interest
    }
}

/// All or nothing.
#[derive(Clone, Copy)]
pub(super) struct Whole;

impl<R> Extent<R> for Whole {
    fn is_short(self, _: &R) -> bool {
        false
    }
}

/// All of something, a part at a time.
#[derive(Clone, Copy)]
pub(super) struct InParts {
    pub(super) is_nothing: bool,
}

/// What was moved of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All there was.
    Last,
    /// All that one call may move.
    Full,
    /// Less than that.
    Short,
}

impl Extent<Part> for InParts {
    fn is_nothing(self) -> Option<Part> {
        self.is_nothing.then_some(Part::Last)
    }

    fn is_short(self, moved: &Part) -> bool {
        *moved == Part::Short
    }
}

/// How many buffers the system takes in one call. The others are left out, here, by `std` or by `rustix`.
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

    /// As much of a buffer as one call may move.
    #[inline]
    pub(crate) fn at_once(bytes: &[u8]) -> &[u8] {
        &bytes[..bytes.len().min(MOST_BYTES)]
    }

    /// As many of these buffers as one call may move.
    #[cfg(all(target_os = "linux", not(tsan)))]
    #[inline]
    pub(crate) fn buffers_at_once<'a, 'b>(buffers: &'a [IoSlice<'b>]) -> &'a [IoSlice<'b>] {
        &buffers[..buffers.len().min(MOST_BUFFERS)]
    }

    /// The room in these buffers.
    pub(crate) fn room(buffers: &[IoSliceMut<'_>]) -> Self {
        Self::buffers(buffers.iter().map(|buffer| buffer.len()))
    }

    /// What is in these buffers.
    pub(crate) fn all(buffers: &[IoSlice<'_>]) -> Self {
        Self::buffers(buffers.iter().map(|buffer| buffer.len()))
    }

    /// The stream has bounds, where it may stop earlier: nothing that was moved is less than it could have been.
    #[inline]
    pub(crate) fn to_a_bound(self) -> Self {
        Self(self.0.min(1))
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

    /// A read that would block has nothing urgent before it.
    fn over(self, interest: Interest) -> Interest {
        if interest.is_readable() { interest | Interest::PRIORITY } else { interest }
    }
}
