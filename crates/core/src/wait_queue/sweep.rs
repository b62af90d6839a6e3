//! Waking many: batch by batch, never under the lock. Its invariants are numbered in `wait_queue.rs`.

use super::{Lists, WaitQueue, Waiter, waiter_state};
use crate::prim::BriefGuard;
use crate::wake_batch::WakeBatch;
use core::ptr::NonNull;
use core::task::Waker;

/// How many wakers are taken out per locking: enough to make the lock cheap, few enough for a small stack.
const BATCH: usize = if cfg!(loom) { 1 } else { 16 };

/// One `wake_all` or `close` under way. It goes through to the end even if a waker panics: those it is responsible for
/// cannot be woken by anybody else.
pub(super) struct Sweep<'q> {
    queue: &'q WaitQueue,
    whom: Whom,
    woken: usize,
    unfinished: bool,
}

#[derive(Clone, Copy)]
enum Whom {
    /// Those in `releasing` who came before this epoch. A bound, because other sweeps may append for ever (W8).
    Before(u64),
    /// Those in `waiting`, to whom the queue is closed. It needs no bound, because nobody is linked any more.
    Everybody,
}

impl<'q> Sweep<'q> {
    /// Wakes those in `releasing` who came before `epoch`.
    pub(super) fn released(queue: &'q WaitQueue, epoch: u64) -> Self {
        Self { queue, whom: Whom::Before(epoch), woken: 0, unfinished: true }
    }

    /// Tells those in `waiting` that the queue is closed.
    pub(super) fn closed(queue: &'q WaitQueue) -> Self {
        Self { queue, whom: Whom::Everybody, woken: 0, unfinished: true }
    }

    /// Wakes them all, starting under the lock that the caller has taken. Returns their number.
    pub(super) fn run(mut self, lists: BriefGuard<'q, Lists>) -> usize {
        self.step(lists);
        self.rest();
        self.woken
    }

    fn rest(&mut self) {
        while self.unfinished {
            self.step(self.queue.lists.lock());
        }
    }

    /// Takes out one batch, unlocks, and wakes it.
    fn step(&mut self, mut lists: BriefGuard<'_, Lists>) {
        let mut batch = WakeBatch::<BATCH>::new();
        while !batch.is_full() && self.unfinished {
            match self.whom.next(&mut lists) {
                // SAFETY: taken out under the lock, which is still held (W3).
                Some(node) => batch.push(unsafe { Waiter::settle(node, self.whom.outcome()) }),
                None => self.unfinished = false,
            }
        }
        drop(lists);
        self.woken += batch.len();
        batch.wake();
    }
}

/// Only a panicking waker leaves something to do here.
impl Drop for Sweep<'_> {
    fn drop(&mut self) {
        self.rest();
    }
}

impl Whom {
    /// Takes out the next one.
    fn next(self, lists: &mut Lists) -> Option<NonNull<Waiter>> {
        match self {
            Whom::Everybody => lists.waiting.pop_front(),
            Whom::Before(limit) => {
                let first = lists.releasing.front()?;
                // SAFETY: a linked node is valid (W4), and `&mut Lists` shows that the lock is held (W1).
                let epoch = unsafe { first.as_ref().epoch.with(|epoch| *epoch) };
                if epoch < limit { lists.releasing.pop_front() } else { None }
            }
        }
    }

    fn outcome(self) -> u32 {
        match self {
            Whom::Everybody => waiter_state::CLOSED,
            Whom::Before(_) => waiter_state::RELEASED,
        }
    }
}

/// One `wake_while` under way that goes beyond the first waiter. Like a sweep it goes through to the end.
pub(super) struct Turns<'q, F: FnMut(usize) -> bool> {
    queue: &'q WaitQueue,
    more: F,
    woken: usize,
    goes_on: bool,
}

impl<'q, F: FnMut(usize) -> bool> Turns<'q, F> {
    /// `more` has just said that another one is to be woken, after the first.
    pub(super) fn new(queue: &'q WaitQueue, more: F) -> Self {
        Self { queue, more, woken: 1, goes_on: true }
    }

    /// Wakes the first one and the following. Returns their number.
    pub(super) fn run(mut self, lists: BriefGuard<'q, Lists>, first: Waker) -> usize {
        let mut batch = WakeBatch::new();
        batch.push(first);
        self.step(lists, batch);
        self.rest();
        self.woken
    }

    fn rest(&mut self) {
        while self.goes_on {
            self.step(self.queue.lists.lock(), WakeBatch::new());
        }
    }

    /// Fills up the batch, unlocks, and wakes it.
    fn step(&mut self, mut lists: BriefGuard<'_, Lists>, mut batch: WakeBatch<BATCH>) {
        while !batch.is_full() && self.goes_on {
            if let Some(waker) = self.queue.take_out(&mut lists, |lists| lists.waiting.pop_front()) {
                batch.push(waker);
                self.woken += 1;
            }
            self.goes_on = !lists.waiting.is_empty() && (self.more)(self.woken);
        }
        self.queue.retract(&lists);
        drop(lists);
        batch.wake();
    }
}

/// Only a panicking waker leaves something to do here.
impl<F: FnMut(usize) -> bool> Drop for Turns<'_, F> {
    fn drop(&mut self) {
        self.rest();
    }
}
