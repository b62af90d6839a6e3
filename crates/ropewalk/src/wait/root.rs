//! The root of a program: `block_on`, with threads and without.

use super::{park_thread, refuse_if_in_task, refuse_in_transaction_here, wait};
use crate::context;
use crate::local::Lent;
use crate::runtime::Handle;
use crate::sched::host::{Order, Ticket, make};
use crate::sched::hosted::{Driving, Seat, Taken};
use crate::sched::worker::Worker;
use ropewalk_core::task::{Async, TaskError};
use std::future::{Future, poll_fn};
use std::panic::resume_unwind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Runs `future` to its end, inside `runtime`.
pub(crate) fn block_on_in<F: Future>(runtime: &Handle, future: F) -> F::Output {
    refuse_in_transaction_here("block_on inside a transaction");
    let inside = context::with_worker(|worker| {
        worker.is_some_and(|worker| Arc::ptr_eq(&worker.pool.runtime, &runtime.shared))
            && !context::has_entered()
    });
    if inside {
        return wait(future);
    }
    let mut future = pin!(future);
    if let Ok(seat) = runtime.shared.seat() {
        return drive(runtime, seat, future);
    }
    let mut root = Root::new(runtime);
    wait_apart(|cx| root.poll(cx, future.as_mut()))
}

/// A root polled outside of its runtime: a panic of a detached task may end the runtime, and then it is the root that
/// dies of it.
struct Root<'a> {
    runtime: &'a Handle,
    known_as: Option<Waker>,
}

impl<'a> Root<'a> {
    fn new(runtime: &'a Handle) -> Self {
        Self { runtime, known_as: None }
    }

    fn poll<F: Future>(&mut self, cx: &mut Context<'_>, future: Pin<&mut F>) -> Poll<F::Output> {
        if self.runtime.shared.can_terminate()
            && !self.known_as.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            self.forget();
            self.known_as = Some(cx.waker().clone());
            self.runtime.shared.add_root(cx.waker().clone());
        }
        self.runtime.shared.raise_fatal();
        let _entered = context::enter(self.runtime.clone());
        future.poll(cx)
    }

    fn forget(&mut self) {
        if let Some(waker) = self.known_as.take() {
            self.runtime.shared.remove_root(&waker);
        }
    }
}

impl Drop for Root<'_> {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Waits where `block_on` was called, which is not inside the runtime it is of.
fn wait_apart<R>(poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    if context::with_worker(|worker| worker.is_some()) { wait(poll_fn(poll)) } else { park_thread(poll) }
}

/// `block_on` without threads: takes the seat and drives. While somebody else has it, the future is polled here, and woken
/// by them; when they leave, this one takes over.
fn drive<F: Future>(runtime: &Handle, seat: &Seat, mut future: Pin<&mut F>) -> F::Output {
    context::with_worker(|host| host.map(refuse_if_in_task));
    let mut root = Root::new(runtime);
    loop {
        match seat.take() {
            Ok(driving) => return drive_root(runtime, driving, future),
            Err(Taken::ByThisThread | Taken::ByAnother) => {
                let done = wait_apart(|cx| match seat.watch(cx.waker()) {
                    true => Poll::Ready(None),
                    false => root.poll(cx, future.as_mut()).map(Some),
                });
                if let Some(output) = done {
                    return output;
                }
            }
            Err(reason @ Taken::BoundTo(_)) => panic!("ropewalk: block_on: {reason}"),
            Err(Taken::Over) => return wait_apart(|cx| root.poll(cx, future.as_mut())),
        }
    }
}

/// The root becomes a pinned task of the first worker, so that it is scheduled like everything else.
fn drive_root<F: Future>(runtime: &Handle, mut driving: Driving<'_>, mut future: Pin<&mut F>) -> F::Output {
    let worker: *const Worker = driving.first();
    let lent = Lent::from_here();
    let body = poll_fn(|cx: &mut Context<'_>| {
        // SAFETY: the seat, and with it the worker, is held until the root is over.
        let leave = LeaveUnlessPending(unsafe { &*worker });
        // SAFETY: the caller of `block_on` stands still until the root is over.
        let polled = unsafe { lent.within(|| future.as_mut().poll(cx)) };
        if polled.is_pending() {
            std::mem::forget(leave);
        }
        polled
    });
    // SAFETY: pinned to this thread; it is over, and its output taken, before this function is left (`Abort` sees to
    // that should anything unwind), so what it borrows outlives it.
    let (runnable, mut handle) = unsafe {
        let worker = &*worker;
        worker.reserve_pinned();
        let order = Order::here(Ticket { home: worker.index() as u16, root: true });
        make(&worker.pool, Some(worker), Async(body), order)
    };
    let abort = Abort("the scheduler, or a hook called by it, panicked under block_on");
    driving.first().push_pinned(runnable);
    driving.run_root_until(|| handle.is_finished() || runtime.shared.is_terminated());
    if !handle.is_finished() {
        handle.cancel();
        driving.run_until(|| handle.is_finished());
    }
    std::mem::forget(abort);
    drop(driving);
    match handle.try_take() {
        Some(Ok(output)) => output,
        Some(Err(TaskError::Panicked(panic))) => resume_unwind(panic.into_payload()),
        _ => {
            runtime.shared.raise_fatal();
            unreachable!("the root is cancelled only when a panic ended the runtime")
        }
    }
}

/// Ends the drive when the root is done, or has panicked.
struct LeaveUnlessPending<'a>(&'a Worker);

impl Drop for LeaveUnlessPending<'_> {
    fn drop(&mut self) {
        self.0.leave.set(true);
    }
}

/// Ends the process when it is dropped: something that others borrow from, or rely on, unwinds.
pub(crate) struct Abort(pub(crate) &'static str);

impl Drop for Abort {
    fn drop(&mut self) {
        crate::runtime::complain(format_args!("{}", self.0));
        std::process::abort();
    }
}
