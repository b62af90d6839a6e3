//! Running one future to its end on the spot: [`block_on_simple`], and the waker that does nothing.
//!
//! # Invariants
//!
//! - **B1** A wake-up is kept until it is used: `Parker::park` after `Parker::unpark` returns at once, however long ago
//!   that was and on whichever thread.
//! - **B2** A parker serves one `block_on_simple` at a time. A nested call takes another one; else it would eat the
//!   wake-ups of the future outside, which would then sleep for ever.
//! - **B3** A wake-up that comes too late (a waker kept after its future ended) costs the next user of the parker one
//!   needless poll, and nothing else.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

/// A waker that does nothing: for polling a future by hand when somebody else decides when to look again.
///
/// ```
/// use core::{future::{Future, pending}, pin::pin, task::Context};
/// use ropewalk_core::noop_waker;
///
/// let waker = noop_waker();
/// let mut never = pin!(pending::<()>());
/// assert!(never.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
/// ```
#[must_use]
pub fn noop_waker() -> Waker {
    Waker::noop().clone()
}

/// Runs `future` to its end on this thread and returns its value. It needs no runtime.
///
/// With the feature `std` the thread sleeps while the future waits, and a [`Waker`] called from anywhere, even from
/// inside the poll, ends the sleep. Without it there is nobody who could put the thread to sleep: the future is polled
/// again and again, with a spin hint in between, and wakers do nothing.
///
/// A call inside another one's poll works, and holds up the outer future until the inner one is done.
///
/// ```
/// use ropewalk_core::block_on_simple;
///
/// let text = block_on_simple(async { ["all", "in", "one"].join(" ") });
/// assert_eq!(text, "all in one");
/// ```
///
/// A future that waits for another thread:
///
/// ```
/// use ropewalk_core::{block_on_simple, wait_queue::WaitQueue};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let (ready, queue) = (AtomicBool::new(false), WaitQueue::new());
/// std::thread::scope(|s| {
///     s.spawn(|| {
///         ready.store(true, Ordering::Release);
///         queue.wake_one();
///     });
///     let waited = block_on_simple(queue.wait_if(|| !ready.load(Ordering::Acquire)));
///     assert_eq!(waited, Ok(()));
/// });
/// ```
///
/// # Panics
///
/// If the future does.
pub fn block_on_simple<F: Future>(future: F) -> F::Output {
    #[cfg(any(feature = "std", test, loom, shuttle))]
    return parked::run(future);
    #[cfg(not(any(feature = "std", test, loom, shuttle)))]
    return spin(future);
}

/// Polls until it is done.
#[cfg(any(not(any(feature = "std", loom, shuttle)), test))]
fn spin<F: Future>(future: F) -> F::Output {
    let waker = noop_waker();
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
        crate::prim::spin_loop();
    }
}

#[cfg(any(feature = "std", test, loom, shuttle))]
mod parked {
    use super::{Context, Future, Poll, Waker, pin};
    use crate::prim::{Condvar, Lock};
    use core::mem;
    use std::sync::Arc;
    use std::task::Wake;

    pub(super) fn run<F: Future>(future: F) -> F::Output {
        let seat = Seat::take();
        let value = seat.run(future);
        seat.give_back(); // not reached by a panic: then the next call makes a new one
        value
    }

    /// Where a thread sleeps.
    #[derive(Debug)]
    pub(super) struct Parker {
        state: Lock<State>,
        woken: Condvar,
    }

    /// ```text
    ///            park                unpark
    ///   Awake ---------> Asleep ----------------> Woken --- park returns ---> Awake
    ///     \________________unpark________________/
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum State {
        Awake,
        Asleep,
        Woken,
    }

    impl Parker {
        pub(super) fn new() -> Self {
            Self { state: Lock::new(State::Awake), woken: Condvar::new() }
        }

        /// Sleeps until an `unpark` that no earlier `park` has used up (B1).
        pub(super) fn park(&self) {
            let mut state = self.state.lock();
            if *state == State::Awake {
                *state = State::Asleep;
            }
            while *state == State::Asleep {
                state = self.woken.wait(state);
            }
            *state = State::Awake;
        }

        /// Ends the sleep, or the next one. The condition variable is only bothered if somebody sleeps.
        pub(super) fn unpark(&self) {
            if mem::replace(&mut *self.state.lock(), State::Woken) == State::Asleep {
                self.woken.notify_one();
            }
        }
    }

    impl Wake for Parker {
        fn wake(self: Arc<Self>) {
            self.unpark();
        }
        fn wake_by_ref(self: &Arc<Self>) {
            self.unpark();
        }
    }

    /// A parker in use, and its waker.
    struct Seat {
        parker: Arc<Parker>,
        waker: Waker,
    }

    impl Seat {
        fn new() -> Self {
            let parker = Arc::new(Parker::new());
            let waker = Waker::from(parker.clone());
            Self { parker, waker }
        }

        fn run<F: Future>(&self, future: F) -> F::Output {
            let mut cx = Context::from_waker(&self.waker);
            let mut future = pin!(future);
            loop {
                if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
                    return value;
                }
                self.parker.park();
            }
        }
    }

    #[cfg(not(any(loom, shuttle)))]
    std::thread_local! {
        /// The thread's own seat, while nobody sits in it.
        static KEPT: core::cell::Cell<Option<Seat>> = const { core::cell::Cell::new(None) };
    }

    #[cfg(not(any(loom, shuttle)))]
    impl Seat {
        /// The thread's own seat; if an outer call has it (B2), or the thread is ending, a new one.
        #[cfg_attr(feature = "roaming", inline(never))] // what is polled in between may wait, and go on elsewhere
        fn take() -> Self {
            KEPT.try_with(core::cell::Cell::take).ok().flatten().unwrap_or_else(Self::new)
        }
        #[cfg_attr(feature = "roaming", inline(never))] // as above
        fn give_back(self) {
            // An error says that the thread is ending: the seat goes with it.
            let _ = KEPT.try_with(|kept| kept.set(Some(self)));
        }
    }

    /// A model checker's objects do not outlive one execution, so nothing is kept.
    #[cfg(any(loom, shuttle))]
    impl Seat {
        fn take() -> Self {
            Self::new()
        }
        fn give_back(self) {}
    }
}

#[cfg(test)]
mod tests;
