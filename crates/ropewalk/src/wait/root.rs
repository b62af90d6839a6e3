//! The root of a program: `block_on`, with threads and without.

use super::{Waiting, park_thread, poll_in_nurseries, refuse_if_in_task, refuse_in_transaction_here, wait};
use crate::context;
use crate::local::Lent;
use crate::runtime::Handle;
use crate::sched::host::{Order, Ticket, make};
use crate::sched::hosted::Driving;
use crate::sched::worker::Worker;
use crate::strand::{Interrupted, Recall, is_interrupted, may_be_interrupted};
use ropewalk_core::task::{Async, TaskError};
use std::any::Any;
use std::future::{Future, poll_fn};
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
    if runtime.shared.is_threadless() {
        return drive(runtime, future);
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
fn wait_apart<R>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    if context::with_worker(|worker| worker.is_some()) {
        wait(poll_fn(poll))
    } else {
        park_thread("block_on", |cx| poll_in_nurseries(&mut poll, cx))
    }
}

/// `block_on` without threads: takes the seat and drives. While another thread has it, the future is polled here, as a candidate, and
/// woken by that one.
fn drive<F: Future>(runtime: &Handle, mut future: Pin<&mut F>) -> F::Output {
    context::with_worker(|host| host.map(refuse_if_in_task));
    let mut root = Root::new(runtime);
    let is_driven =
        |driven: Option<&Handle>| driven.is_some_and(|driven| Arc::ptr_eq(&driven.shared, &runtime.shared));
    let attempt = |cx: &mut Context<'_>, driven: Option<&Handle>| match is_driven(driven) {
        true => future.as_mut().poll(cx),
        false => root.poll(cx, future.as_mut()),
    };
    let mut waiting = Waiting::of_root(runtime, "block_on", attempt);
    wait_apart(|cx| waiting.poll(cx))
}

/// How the drive for a root ended.
pub(super) enum Driven<R> {
    Done(R),
    Panicked(Box<dyn Any + Send>),
    /// A panic ended the runtime, and with it the root.
    Terminated,
    /// The wait that drove was interrupted, and the root has ended.
    Interrupted,
}

/// The root becomes a pinned task of the first worker, so that it is scheduled like everything else. If it `heeds` what interrupts the
/// caller, the root is then interrupted, too, and driven to its end.
pub(super) fn drive_root<R>(
    runtime: &Handle,
    mut driving: Driving<'_>,
    heeds: bool,
    mut root: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> Driven<R> {
    let worker: *const Worker = driving.first();
    let lent = Lent::from_here();
    let recall = (heeds && may_be_interrupted()).then(Recall::new);
    let body = poll_fn(|cx: &mut Context<'_>| {
        // SAFETY: the seat, and with it the worker, is held until the root is over.
        let leave = LeaveUnlessPending(unsafe { &*worker });
        let poll = || match &recall {
            Some(recall) => recall.within(|| root(cx)),
            None => root(cx),
        };
        // SAFETY: the caller stands still until the root is over.
        let polled = unsafe { lent.within(poll) };
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
    driving.heed(recall.is_some());
    let bell = recall.as_ref().map(|_| driving.bell());
    let is_recalled = || bell.as_ref().is_some_and(is_interrupted);
    driving.run_root_until(|| handle.is_finished() || runtime.shared.is_terminated() || is_recalled());
    driving.heed(false);
    let recalled = !handle.is_finished() && !runtime.shared.is_terminated();
    if !handle.is_finished() {
        handle.cancel();
        recall.iter().for_each(Recall::interrupt);
        driving.run_to_the_end(|| handle.is_finished());
    }
    std::mem::forget(abort);
    drop(driving);
    match handle.try_take() {
        Some(Ok(output)) => Driven::Done(output),
        Some(Err(TaskError::Panicked(panic))) => match panic.into_payload() {
            payload if recalled && payload.is::<Interrupted>() => Driven::Interrupted,
            payload => Driven::Panicked(payload),
        },
        _ if recalled => Driven::Interrupted,
        _ => Driven::Terminated,
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
