//! Wakers collected under a lock, to be woken after it.

use core::fmt;
use core::task::Waker;

/// At most `N` wakers on the stack, woken in the order in which they came. If one panics, dropping the batch wakes the
/// rest: nobody else will.
pub struct WakeBatch<const N: usize> {
    wakers: [Option<Waker>; N],
    len: usize,
}

impl<const N: usize> WakeBatch<N> {
    /// A batch without wakers.
    pub const fn new() -> Self {
        Self { wakers: [const { None }; N], len: 0 }
    }

    /// How many were put into it, also after they were woken.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether none was put into it.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether there is no room for another one.
    pub const fn is_full(&self) -> bool {
        self.len == N
    }

    /// Adds a waker.
    ///
    /// # Panics
    ///
    /// If it is full.
    #[inline]
    pub fn push(&mut self, waker: Waker) {
        self.wakers[self.len] = Some(waker);
        self.len += 1;
    }

    /// Wakes them. Each is taken out before it is woken, so none is woken twice, and after a panic another call goes on
    /// with the next.
    #[inline]
    pub fn wake(&mut self) {
        self.wakers[..self.len].iter_mut().filter_map(Option::take).for_each(Waker::wake);
    }
}

impl<const N: usize> Drop for WakeBatch<N> {
    fn drop(&mut self) {
        self.wake();
    }
}

impl<const N: usize> Default for WakeBatch<N> {
    fn default() -> Self {
        Self::new()
    }
}
impl<const N: usize> fmt::Debug for WakeBatch<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakeBatch").field("len", &self.len).finish_non_exhaustive()
    }
}
