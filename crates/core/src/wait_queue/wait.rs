//! The waiting side: a future that is a node of the queue. Its invariants are numbered in `wait_queue.rs`.

use super::{Closed, WaitQueue, Waiter, waiter_state};
use crate::prim::Ordering;
use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll};

/// Waits for its turn in a [`WaitQueue`]. Made by [`WaitQueue::wait`].
///
/// Output: `Ok(())` when woken, `Err(Closed)` when the queue is or gets closed.
///
/// Cancel safety: dropping it leaves the queue; if it was chosen by [`wake_one`](WaitQueue::wake_one) and did not notice
/// yet, the turn goes to the next waiter. A primitive for which a turn is more than a hint calls [`cancel`](Self::cancel)
/// first and decides itself.
///
/// To wait again, take a new one: `wait.set(queue.wait())`.
///
/// # Panics
///
/// A poll after it completed (or was cancelled) panics with "`Wait` polled after it completed".
#[must_use = "a future does nothing unless it is polled"]
pub struct Wait<'q> {
    queue: &'q WaitQueue,
    /// Linked nodes must not move; [`Links`](crate::list::Links) make it, and so this future, `!Unpin` (W4).
    node: Waiter,
}

impl<'q> Wait<'q> {
    pub(super) fn new(queue: &'q WaitQueue) -> Self {
        Self { queue, node: Waiter::new() }
    }

    /// The queue it waits in.
    pub fn queue(&self) -> &'q WaitQueue {
        self.queue
    }

    /// Polls; the first time, `should_wait` is asked under the queue's lock whether to wait at all. If not, the result is
    /// `Ok` at once. This is [`WaitQueue::wait_if`] for futures written by hand.
    ///
    /// `should_wait` must do no more than touch atomics (W6). A condition that holds wins over a closed queue.
    ///
    /// ```
    /// use core::{pin::pin, task::{Context, Poll, Waker}};
    /// use ropewalk_core::wait_queue::WaitQueue;
    ///
    /// let queue = WaitQueue::new();
    /// let mut cx = Context::from_waker(Waker::noop());
    /// let mut wait = pin!(queue.wait());
    /// assert!(wait.as_mut().poll_wait_with(&mut cx, || true).is_pending());
    /// queue.wake_one();
    /// assert_eq!(wait.as_mut().poll_wait_with(&mut cx, || unreachable!()), Poll::Ready(Ok(())));
    /// wait.set(queue.wait());
    /// assert_eq!(wait.as_mut().poll_wait_with(&mut cx, || false), Poll::Ready(Ok(())));
    /// ```
    ///
    /// # Panics
    ///
    /// After it completed.
    pub fn poll_wait_with(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        should_wait: impl FnOnce() -> bool,
    ) -> Poll<Result<(), Closed>> {
        self.into_ref().poll_entered(cx, WaitQueue::announce, should_wait)
    }

    /// As [`poll_wait_with`](Self::poll_wait_with), without the barrier before `should_wait`: for a primitive that keeps an
    /// announcement in the very word its condition is in. `should_wait` sets it by a read-modify-write with acquire and
    /// release; whoever changes the condition does so by another one of the same word, finds the announcement, and calls
    /// [`wake_while`](WaitQueue::wake_while). One of the two comes first in that word's order, and the other one sees it.
    ///
    /// # Panics
    ///
    /// After it completed.
    pub fn poll_announced(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        should_wait: impl FnOnce() -> bool,
    ) -> Poll<Result<(), Closed>> {
        self.into_ref().poll_entered(cx, WaitQueue::announce_quietly, should_wait)
    }

    /// Like [`poll_wait_with`](Self::poll_wait_with), without the barrier of the first poll. For a primitive whose wakers
    /// always lock: they use [`wake_one_or`](WaitQueue::wake_one_or), [`wake_last_or`](WaitQueue::wake_last_or),
    /// [`wake_all_after`](WaitQueue::wake_all_after) and [`close`](WaitQueue::close) only. Others may miss it.
    ///
    /// # Panics
    ///
    /// After it completed.
    #[inline]
    pub fn poll_wait_locked(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        should_wait: impl FnOnce() -> bool,
    ) -> Poll<Result<(), Closed>> {
        self.into_ref().poll_entered(cx, WaitQueue::announce_quietly, should_wait)
    }

    /// Whether the wait has ended since a poll returned `Pending`; it is completed then. That is all there is to the last
    /// poll of most waits.
    #[inline(always)]
    pub(crate) fn is_over(self: Pin<&mut Self>) -> bool {
        let state = self.node.state.load(Ordering::Acquire); // by its last poll
        let over = !matches!(state, waiter_state::IDLE | waiter_state::WAITING | waiter_state::DONE);
        if over {
            self.check_ours();
            self.node.state.store(waiter_state::DONE, Ordering::Relaxed);
        }
        over
    }

    #[inline]
    fn poll_entered(
        self: Pin<&Self>,
        cx: &mut Context<'_>,
        announce: impl FnOnce(&WaitQueue) -> bool,
        should_wait: impl FnOnce() -> bool,
    ) -> Poll<Result<(), Closed>> {
        match self.node.state.load(Ordering::Acquire) {
            waiter_state::IDLE => self.enter(cx, announce, should_wait),
            waiter_state::WAITING => self.renew(cx),
            outcome => self.finish(outcome),
        }
    }

    /// Leaves the queue. Returns `true` if this waiter had been chosen by [`wake_one`](WaitQueue::wake_one) and had not
    /// noticed: the turn is then the caller's, to be used or passed on; dropping the future will not do it any more.
    ///
    /// The future counts as completed afterwards.
    #[inline]
    #[must_use = "if it returns true, the turn must be used or passed on"]
    pub fn cancel(self: Pin<&mut Self>) -> bool {
        self.leave()
    }

    /// [`cancel`](Self::cancel), and empties the place where it was. Nothing if it is empty.
    #[cfg(feature = "alloc")] // for channels
    #[inline(always)]
    pub(crate) fn cancel_in(seat: Pin<&mut Option<Self>>) -> bool {
        // SAFETY: what is in it is not moved, and is forgotten below only when it is not linked (W2, W4).
        let seat = unsafe { seat.get_unchecked_mut() };
        let Some(wait) = seat else { return false };
        let chosen = wait.leave();
        // SAFETY: ours to write. What was there needs no drop: it is not linked (W2), and who unlinked it took its waker.
        unsafe { core::ptr::write(seat, None) };
        chosen
    }

    /// First poll: links the node unless there is no need to wait, or no use.
    fn enter(
        self: Pin<&Self>,
        cx: &mut Context<'_>,
        announce: impl FnOnce(&WaitQueue) -> bool,
        should_wait: impl FnOnce() -> bool,
    ) -> Poll<Result<(), Closed>> {
        let waker = cx.waker().clone(); // W6; declared before the guard, so dropped after it
        let mut lists = self.queue.lists.lock();
        let open = announce(self.queue);
        if !should_wait() {
            self.queue.retract(&lists);
            return self.finish(waiter_state::RELEASED);
        }
        if !open {
            return self.finish(waiter_state::CLOSED);
        }
        let epoch = lists.epoch;
        // SAFETY: the node is ours until it is linked (W1); it is pinned, and `leave` unlinks it before it goes (W4).
        unsafe {
            self.node.waker.with_mut(|slot| *slot = Some(waker));
            self.node.epoch.with_mut(|slot| *slot = epoch);
            lists.waiting.push_back(self.node());
        }
        self.node.state.store(waiter_state::WAITING, Ordering::Relaxed);
        Poll::Pending
    }

    /// A later poll that did not find an outcome: makes sure that the right waker is called.
    fn renew(&self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let lists = self.queue.lists.lock();
        let state = self.node.state.load(Ordering::Relaxed); // written under the lock we hold (W3)
        if state != waiter_state::WAITING {
            return self.finish(state);
        }
        // SAFETY: the lock is held (W1).
        let same = self
            .node
            .waker
            .with(|waker| unsafe { &*waker }.as_ref().is_some_and(|w| w.will_wake(cx.waker())));
        drop(lists);
        if same { Poll::Pending } else { self.replace_waker(cx) }
    }

    /// Clones the new waker without the lock (W6), so the outcome may come meanwhile: then the new one is not needed.
    fn replace_waker(&self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        let new = cx.waker().clone();
        let lists = self.queue.lists.lock();
        let state_now = self.node.state.load(Ordering::Relaxed); // written under the lock we hold (W3)
        if state_now != waiter_state::WAITING {
            drop(lists);
            drop(new); // if that panics the turn is still there, to be passed on (W7)
            return self.finish(state_now);
        }
        // SAFETY: the lock is held (W1).
        let old = self.node.waker.with_mut(|waker| unsafe { (*waker).replace(new) });
        drop(lists);
        drop(old);
        Poll::Pending
    }

    /// Consumes an outcome. The node is not linked any more, so it is ours (W3).
    fn finish(&self, outcome: u32) -> Poll<Result<(), Closed>> {
        assert!(outcome != waiter_state::DONE, "`Wait` polled after it completed");
        self.check_ours();
        self.node.state.store(waiter_state::DONE, Ordering::Relaxed);
        Poll::Ready(if outcome == waiter_state::CLOSED { Err(Closed) } else { Ok(()) })
    }

    /// Makes sure that the node is not linked. Returns whether a turn was left unused (W7).
    #[inline]
    fn leave(&self) -> bool {
        let state = self.node.state.load(Ordering::Acquire);
        match state {
            waiter_state::DONE => false,
            waiter_state::WAITING => self.leave_queue(),
            _ => self.leave_with(state),
        }
    }

    /// The node is not linked, so it is ours (W3). Looking at it lets loom check that it is.
    #[inline(always)]
    fn check_ours(&self) {
        // SAFETY: ours (W3).
        debug_assert!(self.node.waker.with(|waker| unsafe { (*waker).is_none() }));
    }

    /// It is not linked, so it is ours (W3).
    #[inline(always)]
    fn leave_with(&self, state: u32) -> bool {
        self.node.state.store(waiter_state::DONE, Ordering::Relaxed);
        state == waiter_state::CHOSEN
    }

    #[inline(never)]
    fn leave_queue(&self) -> bool {
        let mut waker = None; // dropped after unlocking (W6)
        let mut lists = self.queue.lists.lock();
        let state = self.node.state.load(Ordering::Relaxed); // it may have been chosen just before the lock was ours
        if state == waiter_state::WAITING {
            // SAFETY: linked under the lock that is held (W1, W2).
            unsafe { lists.unlink(self.node()) };
            // SAFETY: the lock is held (W1).
            waker = self.node.waker.with_mut(|waker| unsafe { (*waker).take() });
            self.queue.retract(&lists);
        }
        let unused = self.leave_with(state);
        drop(lists);
        drop(waker);
        unused
    }

    /// It was chosen, and will not use its turn.
    #[cold]
    fn pass_on(&self) {
        self.queue.wake_one();
    }

    fn node(&self) -> NonNull<Waiter> {
        NonNull::from(&self.node)
    }
}

impl Future for Wait<'_> {
    type Output = Result<(), Closed>;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_wait_with(cx, || true)
    }
}

impl Drop for Wait<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.leave() {
            self.pass_on();
        }
    }
}

impl fmt::Debug for Wait<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.node.state.load(Ordering::Relaxed) {
            waiter_state::IDLE => "idle",
            waiter_state::WAITING => "waiting",
            waiter_state::DONE => "done",
            _ => "woken",
        };
        f.debug_struct("Wait").field("state", &state).finish_non_exhaustive()
    }
}
