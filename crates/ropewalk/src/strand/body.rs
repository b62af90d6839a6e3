//! A strand as the body of a task: each poll resumes its stack.
//!
//! * **B1** Before its first poll a strand is a function, and goes wherever there is room. From then on it is a stack, and stays
//!   (`Stranded::home`), or is queued as a task is, where strands roam.
//! * **B2** A stack that was started is freed after its function has returned or unwound, on its home thread, or where it did. If it can not go on
//!   because its worker is gone, it is leaked.

use super::Interrupted;
use super::berth::Berth;
use super::seat::Seat;
use super::shown::Shown;
use crate::context;
use crate::sched::worker::Worker;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ropewalk_core::task::{Body, Orders};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// What a strand gave, or what it panicked with.
type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// See the head of this file.
pub(crate) struct Run<F, T>(Stage<F, T>);

enum Stage<F, T> {
    /// With what its stack is to have, in bytes; zero: as its pool says.
    Waiting(F, usize),
    Going(Coroutine<(), (), Outcome<T>, Berth>, NonNull<Seat>, Shown),
    Over,
}

impl<F: FnOnce() -> T, T> Run<F, T> {
    #[inline]
    pub(super) fn new(function: F, stack_size: usize) -> Self {
        Self(Stage::Waiting(function, stack_size))
    }

    /// # Panics
    /// If there is no memory for its stack.
    fn start(&mut self, worker: &Worker) {
        super::prepare();
        let Stage::Waiting(function, size) = std::mem::replace(&mut self.0, Stage::Over) else {
            unreachable!("it starts once")
        };
        let size = if size == 0 { worker.pool.strands.stack_size } else { size };
        let stack = worker.stacks.take(size).unwrap_or_else(|error| panic!("ropewalk: {error}"));
        stack.set_owner(worker.frame.current.get().map(NonNull::cast));
        let (berth, seat) = Berth::new(stack, worker.runs_roaming());
        let first = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the seat is there as long as the stack is (S1).
            unsafe { seat.as_ref() }.set_yielder(yielder);
            catch_unwind(AssertUnwindSafe(function))
        };
        // SAFETY: whatever `function` borrows is there until it has returned or unwound (`scene.rs`, C1), and for ever if it is
        // leaked.
        self.0 = Stage::Going(unsafe { Coroutine::with_stack_unchecked(berth, first) }, seat, Shown::new());
    }
}

impl<F: FnOnce() -> T, T> Body for Run<F, T> {
    type Output = T;
    const CANCELLED_BY_POLL: bool = true;

    fn is_started(&self) -> bool {
        !matches!(self.0, Stage::Waiting(..))
    }

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, orders: Orders) -> Poll<T> {
        // SAFETY: a function that waits may be moved, and of a stack that is on its way only the handle is here.
        let this = unsafe { self.get_unchecked_mut() };
        context::with_worker_at_loop(|worker| {
            let worker = worker.expect("strands run on workers");
            if let Stage::Waiting(..) = this.0 {
                this.start(worker);
            } else if cfg!(feature = "roaming") && worker.pool.strands.roam {
                super::prepare(); // this thread may have started none
            }
            let Stage::Going(routine, seat, shown) = &mut this.0 else {
                unreachable!("it is not polled after its end")
            };
            let result = {
                // SAFETY: it is there as long as the stack is (S1).
                let _here = unsafe { seat.as_ref() }.enter(worker, cx, orders);
                shown.during(|| routine.resume(()))
            };
            match result {
                CoroutineResult::Yield(()) => Poll::Pending,
                CoroutineResult::Return(outcome) => {
                    shown.has_ended();
                    // SAFETY: it is there as long as the stack is (S1), and its function has returned.
                    if let Some(fork) = unsafe { seat.as_ref() }.fork() {
                        // SAFETY: it was taken here (B1), by the strand that is over now.
                        unsafe { worker.put_fork(fork) };
                    }
                    if let Stage::Going(routine, ..) = std::mem::replace(&mut this.0, Stage::Over) {
                        worker.stacks.put(routine.into_stack().into_stack());
                    }
                    match outcome {
                        Ok(value) => Poll::Ready(value),
                        Err(payload) => resume_unwind(payload),
                    }
                }
            }
        })
    }

    fn is_interruption(payload: &(dyn Any + Send)) -> bool {
        payload.is::<Interrupted>()
    }
}

impl<F, T> Drop for Run<F, T> {
    fn drop(&mut self) {
        if let Stage::Going(routine, ..) = &self.0
            && !routine.done()
        {
            std::mem::forget(std::mem::replace(&mut self.0, Stage::Over)); // B2
        }
    }
}
