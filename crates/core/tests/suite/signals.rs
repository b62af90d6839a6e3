//! Signals against simple models, with futures polled, forgotten about and dropped at random: every value, turn and permit
//! is accounted for after each step. Seeds are fixed, so a failure is found again; `SIGNALS_SEED` tries another one.

mod broadcast;
#[path = "../../src/kit/counter.rs"]
mod counter;
mod notify;
mod once;
mod oneshot;
mod watch;

use crate::account::{self, End};
use counter::Counter;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

/// How many random steps a test takes.
fn steps() -> usize {
    account::steps(if cfg!(debug_assertions) { 300_000 } else { 3_000_000 })
}

/// A generator of numbers (xorshift), the same on every machine.
struct Dice(u64);

impl Dice {
    fn new(salt: u64) -> Self {
        let seed =
            std::env::var("SIGNALS_SEED").map_or(1, |seed| seed.parse().expect("SIGNALS_SEED is a number"));
        Self((seed ^ salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)) | 1)
    }

    /// From 0 to `n - 1`.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn poll_with<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// One poll of a future that is dropped then.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    account::made();
    let outcome = poll_with(Box::pin(future).as_mut(), Waker::noop());
    account::ended(if outcome.is_ready() { End::Completed } else { End::Waiting });
    outcome
}

/// Up to four wait, one of them may leave: `event`, told how many are left, wakes each once, and tells it what it returns.
fn wakes_all_who_wait<F: Future>(
    dice: &mut Dice,
    mut wait: impl FnMut() -> F,
    event: impl FnOnce(&mut Dice, usize) -> F::Output,
) where
    F::Output: PartialEq + Debug,
{
    let mut waits: Vec<_> = (0..dice.below(5))
        .map(|_| {
            let (counter, waker) = Counter::new();
            account::made();
            let mut future = Box::pin(wait());
            assert!(poll_with(future.as_mut(), &waker).is_pending());
            (future, counter)
        })
        .collect();
    if dice.one_in(2) && !waits.is_empty() {
        drop(waits.swap_remove(dice.below(waits.len())));
        account::ended(End::Waiting);
    }
    let outcome = Poll::Ready(event(dice, waits.len()));
    for (mut future, counter) in waits {
        assert_eq!(counter.count(), 1);
        if dice.one_in(4) {
            account::ended(End::Chosen);
            continue;
        }
        account::ended(End::Completed);
        assert_eq!(poll_with(future.as_mut(), Waker::noop()), outcome);
    }
}

/// Values that know how many of them there are.
#[derive(Clone, Default)]
struct Census(Arc<AtomicUsize>);

#[derive(Debug)]
struct Citizen(Arc<AtomicUsize>, u64);

impl Census {
    fn citizen(&self, id: u64) -> Citizen {
        self.0.fetch_add(1, SeqCst);
        account::found(1); // or `alive` says that it is not
        Citizen(self.0.clone(), id)
    }

    fn alive(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Clone for Citizen {
    fn clone(&self) -> Self {
        Census(self.0.clone()).citizen(self.1)
    }
}

impl Drop for Citizen {
    fn drop(&mut self) {
        assert_ne!(self.0.fetch_sub(1, SeqCst), 0, "dropped once too often");
    }
}
