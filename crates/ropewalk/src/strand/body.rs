//! A strand as the body of a task: each poll resumes its stack.
//!
//! * **B1** Before its first poll a strand is a function, and goes wherever there is room. From then on it is a stack, and stays
//!   (`Stranded::home`).
//! * **B2** A stack that was started is freed after its function has returned or unwound, on its home thread. If it can not go on
//!   because its worker is gone, it is leaked.

use super::Interrupted;
use super::seat::Seat;
use super::stack::Stack;
use super::unwinding;
use crate::context;
use crate::sched::fibre::forget_first_frame;
use crate::sched::worker::Worker;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ropewalk_core::task::Body;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What a strand gave, or what it panicked with.
type Outcome<T> = Result<T, Box<dyn Any + Send>>;

/// See the head of this file.
pub(crate) struct Run<F, T> {
    stage: Stage<F, T>,
    /// What its stack is to have, in bytes; zero: as its pool says.
    stack_size: usize,
    /// Used through its address: it is pinned.
    seat: Seat,
}

enum Stage<F, T> {
    Waiting(F),
    Going(Coroutine<(), (), Outcome<T>, Stack>),
    Over,
}

impl<F: FnOnce() -> T, T> Run<F, T> {
    pub(super) fn new(function: F, stack_size: usize) -> Self {
        Self { stage: Stage::Waiting(function), stack_size, seat: Seat::new() }
    }

    /// # Panics
    /// If there is no memory for its stack.
    fn start(&mut self, worker: &Worker) {
        super::prepare();
        let size = if self.stack_size == 0 { worker.pool.config.strand_stack_size } else { self.stack_size };
        let stack = worker.stacks.take(size).unwrap_or_else(|error| panic!("ropewalk: {error}"));
        stack.set_owner(worker.frame.current.get().map(std::ptr::NonNull::cast));
        let Stage::Waiting(function) = std::mem::replace(&mut self.stage, Stage::Over) else {
            unreachable!("it starts once")
        };
        let seat: *const Seat = &self.seat;
        let first = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the seat is in the same body, which is pinned, and outlives the stack (B2).
            unsafe { &*seat }.set_yielder(yielder);
            catch_unwind(AssertUnwindSafe(function))
        };
        // SAFETY: whatever `function` borrows is there until it has returned or unwound (`scope.rs`, C1), and for ever if it is
        // leaked.
        self.stage = Stage::Going(unsafe { Coroutine::with_stack_unchecked(stack, first) });
    }
}

impl<F: FnOnce() -> T, T> Body for Run<F, T> {
    type Output = T;
    const CANCELLED_BY_POLL: bool = true;

    fn is_started(&self) -> bool {
        !matches!(self.stage, Stage::Waiting(_))
    }

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, cancelled: bool) -> Poll<T> {
        // SAFETY: the seat, which is pinned, is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        context::with_worker(|worker| {
            let worker = worker.expect("strands run on workers");
            if let Stage::Waiting(_) = this.stage {
                this.start(worker);
            }
            let Stage::Going(routine) = &mut this.stage else {
                unreachable!("it is not polled after its end")
            };
            let result = {
                let _here = this.seat.enter(worker, cx, cancelled);
                routine.resume(())
            };
            match result {
                CoroutineResult::Yield(()) => Poll::Pending,
                CoroutineResult::Return(outcome) => {
                    forget_first_frame();
                    if let Stage::Going(routine) = std::mem::replace(&mut this.stage, Stage::Over) {
                        worker.stacks.put(routine.into_stack());
                    }
                    match outcome {
                        Ok(value) => Poll::Ready(value),
                        Err(payload) => {
                            unwinding::has_ended();
                            resume_unwind(payload)
                        }
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
        if let Stage::Going(routine) = &self.stage
            && !routine.done()
        {
            std::mem::forget(std::mem::replace(&mut self.stage, Stage::Over)); // B2
        }
    }
}
