//! A signal without data: somebody waits, somebody else says "go on".
//!
//! # Invariants
//!
//! - **NT1** `permit` is set only under the queue's lock, when nobody waits. Whoever clears it by an exchange has it.
//! - **NT2** `rounds` is raised only under the queue's lock, by the `notify_waiters` that then wakes all who are linked. A
//!   waiter compares it, under the lock, with what it read when it was made. So a `notify_waiters` that comes after
//!   `notified()` either finds the waiter linked, or is seen by it before it links.
//! - **NT3** All wakers of the queue take its lock (`wake_one_or`, `wake_last_or`, `wake_all_after`): waiters need no
//!   barrier.
//! - **NT4** A turn given by `notify_one` or `notify_last` is used once: the future completes, or its drop calls
//!   `notify_one` again, which stores it if nobody is left.
//! - **NT5** `Notified::wait` is pinned with the future, and is linked, or has an outcome that nobody saw, in the stage
//!   `Queued` only. In the others there is nothing to drop in it.
//!
//! Read-modify-writes, counted: `notify_one` 1 (the lock; and the wake-up's own), a stored permit taken 1, a wait 2 (the
//! lock, the clone of the waker).

use crate::blocked::{self, Reason};
use crate::budget::poll_proceed;
use crate::prim::{AtomicBool, AtomicUsize, Ordering};
use crate::wait_queue::{Wait, WaitQueue};
use core::fmt;
use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};

/// Lets tasks, strands and threads wait until somebody says "go on".
///
/// [`notify_one`](Self::notify_one) wakes one waiter, or is remembered if there is none: one such *permit* is stored, not
/// more. [`notify_waiters`](Self::notify_waiters) wakes all who wait and stores nothing.
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::Notify};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// static READY: Notify = Notify::new();
/// static VALUE: AtomicU32 = AtomicU32::new(0);
///
/// let thread = std::thread::spawn(|| {
///     VALUE.store(7, Ordering::Relaxed);
///     READY.notify_one();
/// });
/// block_on_simple(READY.notified());
/// assert_eq!(VALUE.load(Ordering::Relaxed), 7);
/// # thread.join().unwrap();
/// ```
///
/// To wait for a condition that others announce by [`notify_waiters`](Self::notify_waiters), take the future first and
/// look second; then no announcement is missed:
///
/// ```
/// # use ropewalk_core::sync::Notify;
/// # use std::sync::atomic::{AtomicBool, Ordering};
/// async fn until_open(open: &AtomicBool, changed: &Notify) {
///     loop {
///         let change = changed.notified();
///         if open.load(Ordering::Acquire) {
///             return;
///         }
///         change.await;
///     }
/// }
/// ```
///
/// What was written before a `notify_*` is seen by whom it wakes. `const`-constructible, except under a model checker; no
/// allocation.
pub struct Notify {
    queue: WaitQueue,
    /// Whether a `notify_one` found nobody (NT1).
    permit: AtomicBool,
    /// How often `notify_waiters` was called (NT2). If it wraps, a waiter that slept through all of it waits on.
    rounds: AtomicUsize,
}

impl Notify {
    /// Nobody waits and no permit is stored.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self { queue: WaitQueue::new(), permit: AtomicBool::new(false), rounds: AtomicUsize::new(0) }
    }
    /// Nobody waits and no permit is stored.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self { queue: WaitQueue::new(), permit: AtomicBool::new(false), rounds: AtomicUsize::new(0) }
    }

    /// Wakes the waiter that came first. If nobody waits, the next one who would need not.
    ///
    /// Permits do not add up: two calls without a waiter let one waiter through.
    ///
    /// # Panics
    ///
    /// If the waker of the waiter does; the notification has been given then.
    #[inline]
    pub fn notify_one(&self) {
        self.queue.wake_one_or(|| self.store_permit());
    }

    /// Wakes the waiter that came last: for workers of which the one that rested least should go on. Otherwise like
    /// [`notify_one`](Self::notify_one).
    pub fn notify_last(&self) {
        self.queue.wake_last_or(|| self.store_permit());
    }

    /// Wakes all whose [`notified`](Self::notified) was called before this, polled or not. Stores nothing for later ones,
    /// and leaves a stored permit alone.
    ///
    /// If a waker panics, the others are still woken.
    pub fn notify_waiters(&self) {
        self.queue.wake_all_after(|| {
            let next = self.rounds.load(Ordering::Relaxed).wrapping_add(1); // under the lock (NT2)
            self.rounds.store(next, Ordering::Release);
        });
    }

    /// Waits for a notification. [`notify_waiters`](Self::notify_waiters) counts from this call on; a place in the line for
    /// [`notify_one`](Self::notify_one) is taken by the first poll, or by [`Notified::enable`].
    ///
    /// Cancel safety: dropping the future leaves the line. If it was notified by `notify_one` and did not complete, the
    /// notification goes to the waiter that came first, or is stored.
    #[inline]
    pub fn notified(&self) -> Notified<'_> {
        let rounds = self.rounds.load(Ordering::Acquire);
        Notified { notify: self, wait: ManuallyDrop::new(self.queue.wait()), rounds, stage: Stage::New }
    }

    /// Under the queue's lock, with nobody waiting (NT1).
    fn store_permit(&self) {
        self.permit.store(true, Ordering::Release);
    }

    /// Whether a first poll would complete; not binding.
    #[inline]
    fn is_due(&self, rounds: usize) -> bool {
        self.permit.load(Ordering::Relaxed) || self.has_passed(rounds)
    }

    /// Whether `notify_waiters` was called since `rounds` was read.
    #[inline]
    fn has_passed(&self, rounds: usize) -> bool {
        self.rounds.load(Ordering::Acquire) != rounds
    }

    #[inline]
    fn take_permit(&self) -> bool {
        self.permit.load(Ordering::Relaxed) && self.permit.swap(false, Ordering::Acquire)
    }
}

impl Default for Notify {
    fn default() -> Self {
        Self::new()
    }
}
impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify")
            .field("permit", &self.permit.load(Ordering::Relaxed))
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

/// Where a [`Notified`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    New,
    Queued,
    Done,
}

/// The future of [`Notify::notified`].
///
/// Keep polling it, or drop it: one that was notified and is set aside keeps the notification to itself. (A `select!` in a
/// loop that polls `&mut notified` only in some rounds may do that.)
///
/// It may be polled again after it completed, and is complete then as well.
#[must_use = "a future does nothing unless it is polled"]
pub struct Notified<'a> {
    notify: &'a Notify,
    wait: ManuallyDrop<Wait<'a>>,
    /// What `rounds` said when this was made.
    rounds: usize,
    stage: Stage,
}

impl Notified<'_> {
    /// Takes a place in the line now, instead of at the first poll, so that a [`notify_one`](Notify::notify_one) after this
    /// call reaches this future. Returns whether it is notified already: then a poll completes at once.
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, sync::Notify};
    /// use core::pin::pin;
    ///
    /// let notify = Notify::new();
    /// let (mut first, mut second) = (pin!(notify.notified()), pin!(notify.notified()));
    /// assert!(!first.as_mut().enable());
    /// assert!(!second.as_mut().enable());
    /// notify.notify_one();
    /// notify.notify_one();
    /// block_on_simple(second); // neither was stored over the other: both are in line
    /// block_on_simple(first);
    /// ```
    ///
    /// A permit that it takes is used up, even if the future is dropped without a poll: the caller was told.
    pub fn enable(self: Pin<&mut Self>) -> bool {
        let due = self.stage == Stage::New && self.notify.is_due(self.rounds);
        self.poll_turn(&mut Context::from_waker(Waker::noop()), due).is_ready()
    }

    /// Polls, and gives a reason of its own if it has to wait: for primitives that are made of a [`Notify`].
    #[inline]
    pub fn poll_because(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        reason: Reason,
        what: usize,
    ) -> Poll<()> {
        if self.as_mut().is_called() { Poll::Ready(()) } else { self.poll_otherwise(cx, reason, what) }
    }

    /// Whether it was notified since it queued: all that most of the last polls have to find out.
    #[inline(always)]
    fn is_called(self: Pin<&mut Self>) -> bool {
        // SAFETY: `wait` is not moved out of here (NT5).
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: it is pinned with the future (NT5).
        let over = this.stage == Stage::Queued && unsafe { Pin::new_unchecked(&mut *this.wait) }.is_over();
        if over {
            this.stage = Stage::Done;
        }
        over
    }

    #[inline(never)]
    fn poll_otherwise(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        reason: Reason,
        what: usize,
    ) -> Poll<()> {
        let due = self.stage == Stage::New && self.notify.is_due(self.rounds);
        if due {
            ready!(poll_proceed(cx)); // nothing has been taken yet
        }
        let turn = self.as_mut().poll_turn(cx, due);
        if turn.is_pending() {
            blocked::note(reason, what);
        }
        turn
    }

    #[cold]
    fn leave(&mut self) {
        // SAFETY: a queued future is pinned (NT5), and is not used after this.
        if unsafe { Pin::new_unchecked(&mut *self.wait) }.cancel() {
            self.notify.notify_one(); // NT4
        }
    }

    /// A poll that asks for no budget. `due`: it is new, and need not wait, as it seems; who waits looks again.
    #[inline]
    fn poll_turn(self: Pin<&mut Self>, cx: &mut Context<'_>, due: bool) -> Poll<()> {
        // SAFETY: `wait` is not moved out of here (NT5).
        let this = unsafe { self.get_unchecked_mut() };
        let (notify, rounds) = (this.notify, this.rounds);
        let over =
            if due { notify.has_passed(rounds) || notify.take_permit() } else { this.stage == Stage::Done };
        // SAFETY: it is pinned with the future (NT5).
        let wait = unsafe { Pin::new_unchecked(&mut *this.wait) };
        let asked = || !notify.has_passed(rounds) && !notify.take_permit();
        let over = over || wait.poll_wait_locked(cx, asked).is_ready();
        this.stage = if over { Stage::Done } else { Stage::Queued };
        if over { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Future for Notified<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let what = blocked::address_of(self.notify);
        self.poll_because(cx, Reason::Notify, what)
    }
}

impl Drop for Notified<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.stage == Stage::Queued {
            self.leave();
        }
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notified").field("stage", &self.stage).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
