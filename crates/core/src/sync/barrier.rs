//! Meeting: nobody goes on before all are there.
//!
//! # Invariants
//!
//! - **BR1** `present` counts the [`Present`]s of the current round. Who completes the number starts the next round and takes
//!   nobody along; those of earlier rounds do not count themselves out any more.
//! - **BR2** `open` is the low part of the round, written under the lock and before the waiters are woken. A waiter that
//!   queues looks at it under the queue's lock: so it is woken, or sees that its round is over (see `wait_queue.rs`).
//! - **BR3** Who ends a round may be slow to wake its waiters, and wake some of the next round too: being woken proves nothing.

use crate::blocked::{self, Reason};
use crate::budget;
use crate::prim::{AtomicUsize, Lock, Ordering};
use crate::wait_queue::WaitQueue;
use core::fmt;
use core::future::poll_fn;
use core::pin::pin;
use core::task::Poll;

/// Lets a fixed number of parties wait for each other, again and again.
///
/// ```
/// use ropewalk_core::{block_on_simple, sync::Barrier};
///
/// static BARRIER: Barrier = Barrier::new(3);
///
/// let parties: Vec<_> =
///     (0..3).map(|_| std::thread::spawn(|| block_on_simple(BARRIER.wait()).is_leader())).collect();
/// let leaders = parties.into_iter().map(|party| party.join().unwrap());
/// assert_eq!(leaders.filter(|&leads| leads).count(), 1);
/// ```
///
/// It allocates nothing and is `const`-constructible (except under a model checker).
pub struct Barrier {
    parties: usize,
    round: Lock<Round>,
    open: AtomicUsize,
    queue: WaitQueue,
}

#[derive(Debug)]
struct Round {
    number: u64,
    present: usize,
}

impl Barrier {
    /// A barrier for so many parties; 0 is taken as 1, for which nobody ever waits.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(parties: usize) -> Self {
        let round = Lock::new(Round { number: 0, present: 0 });
        Self { parties, round, open: AtomicUsize::new(0), queue: WaitQueue::new() }
    }
    /// A barrier for so many parties; 0 is taken as 1, for which nobody ever waits.
    #[cfg(any(loom, shuttle))]
    pub fn new(parties: usize) -> Self {
        let round = Lock::new(Round { number: 0, present: 0 });
        Self { parties, round, open: AtomicUsize::new(0), queue: WaitQueue::new() }
    }

    /// Waits until all parties wait. The last one to come does not wait, and is told that it leads.
    ///
    /// Cancel safety: a waiter that is dropped before the last one came is not present any more. One that is dropped later
    /// was counted: the others went on.
    pub async fn wait(&self) -> BarrierWaitResult {
        poll_fn(budget::poll_proceed).await;
        let Some(present) = self.enter() else {
            self.queue.wake_all();
            return BarrierWaitResult { leads: true };
        };
        let mut wait = pin!(self.queue.wait());
        poll_fn(|cx| {
            loop {
                let woken = wait.as_mut().poll_wait_with(cx, || present.is_early());
                if woken.is_pending() {
                    blocked::note(Reason::Barrier, blocked::address_of(self));
                    return Poll::Pending;
                }
                if !present.is_early() {
                    return Poll::Ready(());
                }
                wait.set(self.queue.wait()); // woken by the end of an earlier round (BR3)
            }
        })
        .await;
        BarrierWaitResult { leads: false }
    }

    /// Counts the caller in. `None`: it is the last one, and the round is over.
    fn enter(&self) -> Option<Present<'_>> {
        let mut round = self.round.lock();
        if round.present + 1 < self.parties {
            round.present += 1;
            return Some(Present { barrier: self, round: round.number });
        }
        *round = Round { number: round.number + 1, present: 0 };
        self.open.store(round.number as usize, Ordering::Release);
        None
    }
}

/// Somebody is there, until it goes or its round is over.
struct Present<'b> {
    barrier: &'b Barrier,
    round: u64,
}

impl Present<'_> {
    /// Whether its round goes on (BR2).
    fn is_early(&self) -> bool {
        self.barrier.open.load(Ordering::Acquire) == self.round as usize
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        let mut round = self.barrier.round.lock();
        if round.number == self.round {
            round.present -= 1;
        }
    }
}

/// What [`Barrier::wait`] says to each party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult {
    leads: bool,
}

impl BarrierWaitResult {
    /// Whether this party came last: it is so for one of each round.
    pub fn is_leader(&self) -> bool {
        self.leads
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("parties", &self.parties).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
