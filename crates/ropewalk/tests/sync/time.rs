//! Time: never early, in order, wherever the future is and whatever becomes of the worker that has its timer.
#![allow(clippy::async_yields_async)] // futures that move are what is tested

mod clock;
#[path = "../../src/kit.rs"]
mod counter;
mod intervals;
mod places;
mod sleeping;
mod under_load;

use counter::Counter;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn poll_with<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

/// A sleep that was polled once, and is pending. (On a busy machine one may be over before its first poll.)
fn pending(span: Duration, waker: &Waker) -> Pin<Box<ropewalk::time::Sleep>> {
    loop {
        let mut nap = Box::pin(ropewalk::time::sleep(span));
        if poll_with(nap.as_mut(), waker).is_pending() {
            return nap;
        }
    }
}
