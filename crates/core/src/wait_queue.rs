//! A first-in first-out queue of waiting wakers: the base of every primitive that makes somebody wait.
//!
//! A [`Wait`] future carries its own node. Nothing is allocated, a waiter leaves in constant time when its future is
//! dropped, and a turn given to a waiter that is dropped before it noticed goes to the next one. The queue stores no
//! permits: what a turn means, and what is remembered when nobody waits, is up to the primitive on top.
//!
//! # How a primitive uses it without losing a wake-up
//!
//! The primitive keeps its condition in atomics of its own.
//!
//! ```text
//! waiter: wait_if(check)                               waker: wake_one, wake_all
//!   1. lock                                              1. (the caller changed the condition)
//!   2. announce: state = WAITING                         2. SeqCst fence        <- barrier
//!   3. SeqCst fence            <- barrier                3. if state != WAITING: nobody waits, done
//!   4. check(): if it need not wait, leave               4. lock, take the first, unlock, wake it
//!   5. link the node, unlock
//! ```
//!
//! The two fences are in some order. If the waker's is first, step 4 of the waiter sees the changed condition. If the
//! waiter's is first, step 3 of the waker sees the announcement (or a later value, written under the lock after the
//! waiter had left), goes for the lock, and gets it after the waiter linked itself or left. So a waker that finds nobody
//! costs a fence and a load, and a waiter is never overlooked.
//!
//! The other way round, `wake_one_or(store)` and `wait_if(check)` run both closures under the lock: for primitives that
//! hand something over and store it only if there is nobody to take it. If all wakers of a primitive are of that kind
//! (`wake_one_or`, `wake_last_or`, `wake_all_after`), they always lock, and its waiters need no barrier of their own:
//! `poll_wait_locked` leaves it out.
//!
//! # Invariants
//!
//! - **W1** `links`, `waker` and `epoch` of a node are touched only under the queue's lock, or by its owner before it was
//!   ever linked.
//! - **W2** Under the lock: a node is linked exactly when its state is WAITING. It is in `waiting` if its epoch is the
//!   queue's, else in `releasing`. A linked node has a waker.
//! - **W3** A node leaves WAITING only under the lock. When a waker takes a node out, its release store of the outcome is
//!   its last access: from then on the node is the owner's alone, who may free it without locking.
//! - **W4** A linked node is valid. `Wait` is linked only when pinned, and dropping it unlinks it; until it is dropped,
//!   pinning forbids that its memory is reused. So a `Wait` that is forgotten stays linked, and is sound to point to for
//!   ever: `mem::forget` on a pinned box leaks the memory with it, and a `pin!` on the stack cannot be forgotten. The
//!   forgotten waiter takes a turn with it when it is chosen: forget no waiters.
//! - **W5** `state` is written under the lock only. While it is not CLOSED, it is WAITING whenever `waiting` is not empty.
//! - **W6** No user code runs under the lock: wakers are cloned before, woken and dropped after. The closures of
//!   `wait_if`, `poll_wait_with`, `wake_one_or` and their like do run under it: they may touch atomics and nothing else.
//! - **W7** A turn (outcome CHOSEN) is used once: a poll returns `Ok`, or `cancel` returns `true`, or the drop of the
//!   `Wait` gives it to the next waiter.
//! - **W8** `wake_all` moves those who wait into `releasing` at once, and wakes them from there in batches. Later arrivals
//!   are in `waiting`: that `wake_all` does not wake them, and a `wake_one` goes to them and not to one being released.
//!
//! # Rejected
//!
//! - One list, and `wake_all` stops at the first node that came after it began: a `wake_one` between two batches would
//!   choose a waiter that is as good as woken, and the newcomer it was meant for would sleep on.
//! - A flag in the node for "linked in which list": `wake_all` would have to visit every node under the lock.
//! - Nodes that point to a sentinel in the queue: the queue could not be moved after a waiter was forgotten.

mod sweep;
mod wait;
mod waiter;

pub use wait::Wait;

use crate::blocked::{self, Reason};
use crate::list::List;
use crate::prim::{AtomicU32, BriefLock, Ordering, fence};
use core::fmt;
use core::future::poll_fn;
use core::pin::pin;
use core::ptr::NonNull;
use core::task::Waker;
use sweep::{Sweep, Turns};
use waiter::{Waiter, state as waiter_state};

/// The values of [`WaitQueue::state`].
mod queue_state {
    /// Nobody is in `waiting`.
    pub const EMPTY: u32 = 0;
    /// Somebody is in `waiting`, or is about to be.
    pub const WAITING: u32 = 1;
    /// Nobody will ever be linked again; those still in `waiting` are being told so.
    pub const CLOSED: u32 = 2;
}

/// What the lock guards.
struct Lists {
    /// Those whom `wake_one` may choose, oldest first.
    waiting: List<Waiter>,
    /// Those whom a `wake_all` has yet to wake, oldest first; their epochs never decrease from front to back.
    releasing: List<Waiter>,
    /// How many times `wake_all` found somebody. It does not wrap: 64 bits outlast any machine.
    epoch: u64,
}

impl Lists {
    const fn new() -> Self {
        Self { waiting: List::new(), releasing: List::new(), epoch: 0 }
    }

    /// Takes out the waiter that came last.
    fn pop_back(&mut self) -> Option<NonNull<Waiter>> {
        let last = self.waiting.back()?;
        // SAFETY: it is in this list, so it is valid (W4).
        unsafe { self.waiting.remove(last) };
        Some(last)
    }

    /// Takes a linked node out of the list it is in.
    ///
    /// # Safety
    ///
    /// `node` is valid and WAITING, in the queue of these lists.
    unsafe fn unlink(&mut self, node: NonNull<Waiter>) {
        // SAFETY: the node is valid, and `&mut self` shows that the lock is held (W1).
        let epoch = unsafe { node.as_ref().epoch.with(|epoch| *epoch) };
        let list = if epoch == self.epoch { &mut self.waiting } else { &mut self.releasing };
        // SAFETY: this is the list that the node is in (W2).
        let was_linked = unsafe { list.remove(node) };
        assert!(was_linked, "a waiting node is linked");
    }
}

/// A queue of waiters that are woken in the order in which they came.
///
/// ```
/// use ropewalk_core::{block_on_simple, wait_queue::{Closed, WaitQueue}};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// static READY: AtomicBool = AtomicBool::new(false);
/// static QUEUE: WaitQueue = WaitQueue::new();
///
/// let waiter = std::thread::spawn(|| {
///     while !READY.load(Ordering::Acquire) {
///         block_on_simple(QUEUE.wait_if(|| !READY.load(Ordering::Acquire)))?;
///     }
///     Ok::<_, Closed>("seen")
/// });
/// READY.store(true, Ordering::Release);
/// QUEUE.wake_one();
/// assert_eq!(waiter.join().unwrap(), Ok("seen"));
/// ```
///
/// It is `const`-constructible, except under a model checker. Without the feature `std` its lock spins: then it is not for
/// interrupt handlers, which could wait for ever for the code that they interrupted.
pub struct WaitQueue {
    state: AtomicU32,
    lists: BriefLock<Lists>,
}

impl WaitQueue {
    /// A queue without waiters.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new() -> Self {
        Self { state: AtomicU32::new(queue_state::EMPTY), lists: BriefLock::new(Lists::new()) }
    }
    /// A queue without waiters.
    #[cfg(any(loom, shuttle))]
    pub fn new() -> Self {
        Self { state: AtomicU32::new(queue_state::EMPTY), lists: BriefLock::new(Lists::new()) }
    }

    /// Waits to be woken. The place in the queue is taken by the first poll, not by this call.
    ///
    /// Cancel safety: dropping the future leaves the queue, and a turn that was already given goes to the next waiter.
    pub fn wait(&self) -> Wait<'_> {
        Wait::new(self)
    }

    /// Waits to be woken, but only if `should_wait` says so when asked under the queue's lock, where no wake-up can slip
    /// in between the question and the queueing. `Ok` means "woken, or no need to wait": look at the condition again.
    ///
    /// `should_wait` is asked in the first poll only, and must do no more than touch atomics (W6): a lock taken in it, or a
    /// call to this queue, may deadlock. A condition that holds wins over a closed queue.
    ///
    /// Cancel safety: as for [`wait`](Self::wait).
    ///
    /// # Errors
    ///
    /// [`Closed`] if the queue is closed and `should_wait` returned `true`.
    pub async fn wait_if(&self, mut should_wait: impl FnMut() -> bool) -> Result<(), Closed> {
        let mut wait = pin!(self.wait());
        poll_fn(|cx| wait.as_mut().poll_wait_with(cx, &mut should_wait)).await
    }

    /// [`wait_if`](Self::wait_if) that says why it waits, and for what, each time it is about to suspend.
    ///
    /// Cancel safety and errors: as there.
    pub async fn wait_because(
        &self,
        reason: Reason,
        what: usize,
        mut should_wait: impl FnMut() -> bool,
    ) -> Result<(), Closed> {
        let mut wait = pin!(self.wait());
        poll_fn(|cx| {
            let turn = wait.as_mut().poll_wait_with(cx, &mut should_wait);
            if turn.is_pending() {
                blocked::note(reason, what);
            }
            turn
        })
        .await
    }

    /// Gives a turn to the waiter that came first, and wakes it. Returns `false` if nobody waits.
    ///
    /// With nobody waiting it costs a fence and a relaxed load. The fence pairs with the one of a waiter that asks its
    /// `should_wait` (see the top of the file): change the condition first, by any atomic store, then call this.
    pub fn wake_one(&self) -> bool {
        self.has_waiters() && self.wake_one_or(|| ())
    }

    /// Like [`wake_one`](Self::wake_one), but if nobody waits it calls `otherwise` under the queue's lock, before any
    /// later waiter is asked whether it should wait. Always takes the lock. On a closed queue nobody waits.
    ///
    /// `otherwise` must do no more than touch atomics (W6).
    ///
    /// ```
    /// use ropewalk_core::{block_on_simple, wait_queue::WaitQueue};
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// // A signal that is remembered if it comes too early.
    /// let (queue, stored) = (WaitQueue::new(), AtomicBool::new(false));
    /// queue.wake_one_or(|| stored.store(true, Ordering::Relaxed));
    /// block_on_simple(queue.wait_if(|| !stored.swap(false, Ordering::Relaxed))).unwrap();
    /// ```
    #[inline]
    pub fn wake_one_or(&self, otherwise: impl FnOnce()) -> bool {
        self.choose(|lists| lists.waiting.pop_front(), otherwise)
    }

    /// Like [`wake_one_or`](Self::wake_one_or), but gives the turn to the waiter that came last.
    pub fn wake_last_or(&self, otherwise: impl FnOnce()) -> bool {
        self.choose(Lists::pop_back, otherwise)
    }

    #[inline]
    fn choose(
        &self,
        pop: impl FnOnce(&mut Lists) -> Option<NonNull<Waiter>>,
        otherwise: impl FnOnce(),
    ) -> bool {
        let mut lists = self.lists.lock();
        let Some(waker) = self.take_out(&mut lists, pop) else {
            otherwise();
            return false;
        };
        self.retract(&lists);
        drop(lists);
        waker.wake();
        true
    }

    /// Gives a turn to the waiter that came first, and to the following ones while `more` says so: it is asked under the
    /// queue's lock, as long as somebody is left waiting, with the number of turns given so far. Always takes the lock.
    /// Returns how many were woken.
    ///
    /// For primitives that keep the announcement of their waiters in a word of their own, and renew it in `more`; see
    /// [`Wait::poll_announced`]. `more` must do no more than touch atomics (W6).
    pub fn wake_while(&self, mut more: impl FnMut(usize) -> bool) -> usize {
        let mut lists = self.lists.lock();
        let Some(waker) = self.take_out(&mut lists, |lists| lists.waiting.pop_front()) else { return 0 };
        if lists.waiting.is_empty() || !more(1) {
            self.retract(&lists);
            drop(lists);
            waker.wake();
            return 1;
        }
        Turns::new(self, more).run(lists, waker)
    }

    /// Takes out a waiter and gives it a turn; the caller wakes it after unlocking.
    fn take_out(
        &self,
        lists: &mut Lists,
        pop: impl FnOnce(&mut Lists) -> Option<NonNull<Waiter>>,
    ) -> Option<Waker> {
        let first = if self.is_closed() { None } else { pop(lists) };
        // SAFETY: taken out under the lock, which is still held (W3).
        first.map(|node| unsafe { Waiter::settle(node, waiter_state::CHOSEN) })
    }

    /// Wakes all who wait now, in order, and returns how many it woke. Those who come while it runs are left waiting (W8).
    ///
    /// It wakes in bounded batches, between which the lock is free. If a waker panics, the others are still woken. Two
    /// concurrent calls may share the work, and the count.
    pub fn wake_all(&self) -> usize {
        if self.has_waiters() { self.wake_all_after(|| ()) } else { 0 }
    }

    /// Like [`wake_all`](Self::wake_all), but calls `before` under the queue's lock first: who is asked later whether it
    /// should wait sees what it did, and who was asked before is woken. Always takes the lock.
    ///
    /// `before` must do no more than touch atomics (W6).
    pub fn wake_all_after(&self, before: impl FnOnce()) -> usize {
        let mut lists = self.lists.lock();
        before();
        if self.is_closed() || lists.waiting.is_empty() {
            return 0;
        }
        lists.epoch += 1;
        let Lists { waiting, releasing, epoch } = &mut *lists;
        releasing.append(waiting);
        let sweep = Sweep::released(self, *epoch);
        self.retract(&lists);
        sweep.run(lists)
    }

    /// Ends all waiting: present and future waiters get [`Closed`]. Those already chosen or released keep their `Ok`.
    ///
    /// Returns whether this call closed the queue; closing twice is harmless.
    pub fn close(&self) -> bool {
        let lists = self.lists.lock();
        if self.is_closed() {
            return false;
        }
        self.state.store(queue_state::CLOSED, Ordering::Release);
        Sweep::closed(self).run(lists);
        true
    }

    /// Whether [`close`](Self::close) was called.
    pub fn is_closed(&self) -> bool {
        self.state.load(Ordering::Acquire) == queue_state::CLOSED
    }

    /// Whether somebody may be waiting, for a caller that has just changed what they wait for. `false` is certain: every
    /// waiter that is not seen here will see the change.
    fn has_waiters(&self) -> bool {
        fence(Ordering::SeqCst); // the waker's barrier
        self.state.load(Ordering::Relaxed) == queue_state::WAITING
    }

    /// Says that somebody is about to wait, before asking whether it must. Under the lock. Returns `false` if closed.
    fn announce(&self) -> bool {
        let open = self.announce_quietly();
        fence(Ordering::SeqCst); // the waiter's barrier
        open
    }

    /// The same to wakers that always lock.
    fn announce_quietly(&self) -> bool {
        let open = !self.is_closed();
        if open {
            self.state.store(queue_state::WAITING, Ordering::Relaxed);
        }
        open
    }

    /// Takes the announcement back if nobody is left (W5). Under the lock, of which `lists` is the proof.
    fn retract(&self, lists: &Lists) {
        if lists.waiting.is_empty() && !self.is_closed() {
            self.state.store(queue_state::EMPTY, Ordering::Relaxed);
        }
    }
}

impl Default for WaitQueue {
    fn default() -> Self {
        Self::new()
    }
}
impl fmt::Debug for WaitQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.load(Ordering::Relaxed) {
            queue_state::EMPTY => "empty",
            queue_state::WAITING => "waiting",
            _ => "closed",
        };
        f.debug_struct("WaitQueue").field("state", &state).finish_non_exhaustive()
    }
}

/// The queue was closed: nobody will wake this waiter any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was waited for is closed: stop waiting, it will not come")
    }
}
impl core::error::Error for Closed {}

#[cfg(test)]
mod tests;
