//! Signals against simple models, with futures polled, forgotten about and dropped at random: every value, turn and permit
//! is accounted for after each step. Seeds are fixed, so a failure is found again; `SIGNALS_SEED` tries another one.
#![cfg(not(any(loom, shuttle)))]

#[path = "signals/broadcast.rs"]
mod broadcast;
#[path = "signals/notify.rs"]
mod notify;
#[path = "signals/once.rs"]
mod once;
#[path = "signals/oneshot.rs"]
mod oneshot;
#[path = "signals/watch.rs"]
mod watch;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

/// How many random steps a test takes.
const STEPS: usize = if cfg!(debug_assertions) { 300_000 } else { 3_000_000 };

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

/// Counts how often it is woken.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Counter {
    fn new() -> (Arc<Self>, Waker) {
        let counter = Arc::<Self>::default();
        (counter.clone(), counter.into())
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

fn poll_with<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// Values that know how many of them there are.
#[derive(Clone, Default)]
struct Census(Arc<AtomicUsize>);

#[derive(Debug)]
struct Citizen(Arc<AtomicUsize>, u64);

impl Census {
    fn citizen(&self, id: u64) -> Citizen {
        self.0.fetch_add(1, SeqCst);
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
