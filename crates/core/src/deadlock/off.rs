//! Nothing.

use super::Needs;
use crate::blocked::Reason;
use core::task::Waker;

#[derive(Debug)]
pub(crate) struct Key;

impl Key {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Here;

impl Here {
    #[inline(always)]
    pub(crate) const fn caller() -> Self {
        Self
    }

    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn unknown() -> Self {
        Self
    }
}

#[derive(Debug)]
pub(crate) struct Waiting;

impl Waiting {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn queue(&self) {}

    #[inline(always)]
    pub(crate) fn begin(&self, _needs: Needs<'_>, _reason: Reason, _waker: &Waker, _at: Here) {}

    #[inline(always)]
    pub(crate) fn end(&self) {}
}

/// How many wakers of a task there are.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub(crate) struct WakerCount;

#[cfg(feature = "alloc")]
impl WakerCount {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self
    }

    #[inline(always)]
    pub(crate) fn add_one(&self) {}

    #[inline(always)]
    pub(crate) fn take_one(&self) {}
}

#[inline(always)]
pub(crate) fn acquired(_lock: &Key, _writes: bool) {}

#[inline(always)]
pub(crate) fn released(_lock: &Key) {}

#[inline(always)]
pub(crate) fn counts_no_more(_lock: &Key) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_no_size_and_nothing_to_drop() {
        fn weight<T>() -> (usize, bool) {
            (size_of::<T>(), core::mem::needs_drop::<T>())
        }
        let nothing = (0, false);
        assert_eq!([weight::<Key>(), weight::<Here>(), weight::<Waiting>()], [nothing; 3]);
        #[cfg(feature = "alloc")]
        assert_eq!(weight::<WakerCount>(), nothing);
    }
}
