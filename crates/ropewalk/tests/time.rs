//! Time: never early, in order, wherever the future is and whatever becomes of the worker that has its timer.
#![allow(clippy::async_yields_async)] // futures that move are what is tested

#[path = "time/clock.rs"]
mod clock;
#[path = "../src/kit.rs"]
mod counter;
#[path = "time/intervals.rs"]
mod intervals;
mod kit;
#[path = "time/places.rs"]
mod places;
#[path = "time/sleeping.rs"]
mod sleeping;
#[path = "time/under_load.rs"]
mod under_load;

use counter::Counter;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

fn poll_with<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}
