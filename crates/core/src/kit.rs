//! What the tests of primitives share: polling by hand, wakers that count, values that are counted.

mod counter;

pub(crate) use counter::Counter;

use crate::noop_waker;
use crate::prim::real;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;

pub(crate) fn poll<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    poll_with(future, &noop_waker())
}

pub(crate) fn poll_with<F: Future + ?Sized>(future: &mut Pin<Box<F>>, waker: &Waker) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

/// A future that was polled once and waits.
pub(crate) fn waiting<F: Future>(future: F) -> Pin<Box<F>> {
    let mut future = Box::pin(future);
    assert!(poll(&mut future).is_pending());
    future
}

/// The output of a future that does not wait.
#[track_caller]
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    ready(&mut Box::pin(future))
}

/// The output of a future that waited long enough.
#[track_caller]
pub(crate) fn ready<F: Future>(future: &mut Pin<Box<F>>) -> F::Output {
    match poll(future) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it must not wait any more"),
    }
}

/// Values that know how many of them there are. A drop too many is a panic, a missing one shows in `alive`.
#[derive(Clone, Default)]
pub(crate) struct Census(Arc<real::AtomicUsize>);

#[derive(Debug)]
pub(crate) struct Citizen(Arc<real::AtomicUsize>, pub(crate) u32);

impl Census {
    pub(crate) fn citizen(&self, id: u32) -> Citizen {
        self.0.fetch_add(1, real::Ordering::SeqCst);
        Citizen(self.0.clone(), id)
    }
    pub(crate) fn alive(&self) -> usize {
        self.0.load(real::Ordering::SeqCst)
    }
}

impl Clone for Citizen {
    fn clone(&self) -> Self {
        Census(self.0.clone()).citizen(self.1)
    }
}

impl Drop for Citizen {
    fn drop(&mut self) {
        assert_ne!(self.0.fetch_sub(1, real::Ordering::SeqCst), 0, "dropped once too often");
    }
}

/// A waker that runs a closure.
#[cfg(not(any(loom, shuttle)))]
pub(crate) fn call(f: impl Fn() + Send + Sync + 'static) -> Waker {
    struct Call<F>(F);
    impl<F: Fn() + Send + Sync + 'static> Wake for Call<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }
    Arc::new(Call(f)).into()
}

/// A waker that panics when it is woken.
pub(crate) fn panicking_waker() -> Waker {
    struct Bang;
    impl Wake for Bang {
        fn wake(self: Arc<Self>) {
            panic!("bang");
        }
    }
    Arc::new(Bang).into()
}
