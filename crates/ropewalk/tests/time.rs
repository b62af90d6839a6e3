//! Time: never early, in order, wherever the future is and whatever becomes of the worker that has its timer.
#![allow(clippy::async_yields_async)] // futures that move are what is tested

#[path = "time/clock.rs"]
mod clock;
#[path = "time/intervals.rs"]
mod intervals;
mod kit;
#[path = "time/places.rs"]
mod places;
#[path = "time/sleeping.rs"]
mod sleeping;
#[path = "time/under_load.rs"]
mod under_load;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

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

fn poll_with<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}
