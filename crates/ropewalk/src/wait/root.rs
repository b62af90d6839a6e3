//! The root of a program: `block_on`, with threads and without.

use super::{park_thread, refuse_if_in_task, wait};
use crate::context;
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
    let poll = |cx: &mut Context<'_>| {
        raise_fatal(runtime, Some(cx.waker()));
        let _entered = context::enter(runtime.clone());
        future.as_mut().poll(cx)
    };
    wait_apart(poll)
}

/// Waits where `block_on` was called, which is not inside the runtime it is of.
fn wait_apart<R>(poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    if context::with_worker(|worker| worker.is_some()) { wait(poll_fn(poll)) } else { park_thread(poll) }
}

/// A panic of a detached task may have ended the runtime: it is the root that dies of it.
fn raise_fatal(runtime: &Handle, root: Option<&Waker>) {
    if let Some(fatal) = runtime.shared.take_fatal(root) {
        resume_unwind(fatal.into_payload());
    }
}

/// `block_on` without threads: takes the seat and drives. While somebody else has it, the future is polled here, and woken
/// by them; when they leave, this one takes over.
fn drive<F: Future>(runtime: &Handle, seat: &Seat, mut future: Pin<&mut F>) -> F::Output {
    context::with_worker(|host| host.map(refuse_if_in_task));
    let mut poll = |cx: &mut Context<'_>| {
        raise_fatal(runtime, Some(cx.waker()));
        let _entered = context::enter(runtime.clone());
        future.as_mut().poll(cx)
    };
    loop {
        match seat.take() {
            Ok(driving) => return drive_root(runtime, driving, future),
            Err(Taken::ByThisThread | Taken::ByAnother) => {
                let done = wait_apart(|cx| match seat.watch(cx.waker()) {
                    true => Poll::Ready(None),
                    false => poll(cx).map(Some),
                });
                if let Some(output) = done {
                    return output;
                }
            }
            Err(reason @ Taken::BoundTo(_)) => panic!("ropewalk: block_on: {reason}"),
            Err(Taken::Over) => return wait_apart(poll),
        }
    }
}

/// The root becomes a pinned task of the first worker, so that it is scheduled like everything else.
fn drive_root<F: Future>(runtime: &Handle, mut driving: Driving<'_>, mut future: Pin<&mut F>) -> F::Output {
    let worker: *const Worker = driving.first();
    let body = poll_fn(|cx: &mut Context<'_>| {
        // SAFETY: the seat, and with it the worker, is held until the root is over.
        let leave = LeaveUnlessPending(unsafe { &*worker });
        let polled = future.as_mut().poll(cx);
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
        make(&worker.pool, Some(worker), Async(body), Order::here(Ticket(worker.index() as u16)))
    };
    let abort = Abort("the scheduler, or a hook called by it, panicked under block_on");
    driving.first().push_pinned(runnable);
    driving.run_until(|| handle.is_finished() || runtime.shared.is_terminated());
    if !handle.is_finished() {
        handle.cancel();
        driving.run_until(|| handle.is_finished());
    }
    std::mem::forget(abort);
    drop(driving);
    let mut cx = Context::from_waker(Waker::noop());
    match Pin::new(&mut handle).poll(&mut cx) {
        Poll::Ready(Ok(output)) => output,
        Poll::Ready(Err(TaskError::Panicked(panic))) => resume_unwind(panic.into_payload()),
        _ => {
            raise_fatal(runtime, None);
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
        eprintln!("ropewalk: {}", self.0);
        std::process::abort();
    }
}
