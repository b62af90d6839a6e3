//! What several stops need to make tasks wait: a gate that is opened once, and a baton that two tasks pass to each other.

use ropewalk_core::prim::real::{AtomicBool, Ordering::*};
use ropewalk_core::wait_queue::WaitQueue;
use std::future::{Future, poll_fn};
use std::sync::Mutex;
use std::task::{Poll, Waker};

/// Closed until it is opened; then everybody passes.
#[derive(Default)]
pub(crate) struct Gate {
    open: AtomicBool,
    queue: WaitQueue,
}

impl Gate {
    pub(crate) async fn pass(&self) {
        while !self.open.load(Acquire) {
            self.queue.wait_if(|| !self.open.load(Acquire)).await.expect("a gate is opened, never closed");
        }
    }

    pub(crate) fn open(&self) {
        self.open.store(true, Release);
        self.queue.wake_all();
    }
}

/// The turn of one of two, and the other one's waker.
#[derive(Default)]
pub(crate) struct Baton(Mutex<State>);

#[derive(Default)]
struct State {
    holder: usize,
    waiting: Option<Waker>,
}

impl Baton {
    /// Waits until it is `me`'s turn (0 or 1).
    pub(crate) fn receive(&self, me: usize) -> impl Future<Output = ()> + '_ {
        poll_fn(move |cx| {
            let mut state = self.0.lock().expect("nothing panics in here");
            if state.holder == me {
                return Poll::Ready(());
            }
            state.waiting = Some(cx.waker().clone());
            Poll::Pending
        })
    }

    /// Gives the turn to the other one. False: it was not `me`'s to give.
    #[must_use]
    pub(crate) fn pass(&self, me: usize) -> bool {
        let mut state = self.0.lock().expect("nothing panics in here");
        if state.holder != me {
            return false;
        }
        state.holder = 1 - me;
        let other = state.waiting.take();
        drop(state);
        other.into_iter().for_each(Waker::wake);
        true
    }
}
