//! Strands, as far as the kernel needs them: one stack of execution as a pinned task of the scheduler.
//!
//! A strand is a task whose poll resumes its stack, woken, queued and cancelled like any other; it is cancelled by
//! resuming it, never by freeing its stack. Scopes, names and the rest of the strand API build on this.

use crate::context;
use crate::local::{self, Locals};
use crate::runtime::Handle;
use crate::sched::fibre::forget_first_frame;
use crate::sched::host::{Home, Order};
use crate::task::{SpawnLocalError, TaskHandle};
use crate::thread::Holds;
use crate::wait::HandlerStack;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use ropewalk_core::task::Body;
use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{Location, resume_unwind};
use std::pin::Pin;
use std::ptr::{NonNull, null};
use std::task::{Context, Poll, Waker};

/// What a wait on a cancelled strand unwinds with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// What belongs to a strand while it is not running, and what its stack needs of the poll that resumed it.
pub(crate) struct Seat {
    handlers: HandlerStack,
    locals: Locals,
    holds: Holds,
    /// The runtimes it has entered.
    entered: Cell<Vec<Handle>>,
    yielder: Cell<*const Yielder<(), ()>>,
    waker: Cell<*const Waker>,
    cancelled: Cell<bool>,
    /// Waits under way on its stack: one may be inside the poll of another.
    waits: Cell<u32>,
    /// It is unwinding from an interruption: waits suspend, they do not throw again.
    unwinding: Cell<bool>,
}

struct Strand<T: 'static> {
    routine: Coroutine<(), (), T, DefaultStack>,
    seat: Box<Seat>,
}

impl<T: 'static> Body for Strand<T> {
    type Output = T;
    const CANCELLED_BY_POLL: bool = true;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>, cancelled: bool) -> Poll<T> {
        let this = &mut *self;
        let seat = &*this.seat;
        seat.waker.set(cx.waker());
        seat.cancelled.set(cancelled);
        let _frame = enter(seat);
        match this.routine.resume(()) {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(value) => {
                forget_first_frame();
                Poll::Ready(value)
            }
        }
    }

    fn is_interruption(payload: &(dyn Any + Send)) -> bool {
        payload.is::<Interrupted>()
    }
}

impl<T> Unpin for Strand<T> {}

/// Makes the worker's frame the strand's until the answer is dropped: its handlers, locals and guards, and what it has entered, come and go
/// with it. (The poll that resumes it has entered nothing.)
fn enter(seat: &Seat) -> impl Drop {
    struct Restore<'a>(&'a Seat, HandlerStack, Locals, Holds);
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            context::with_worker(|worker| {
                let frame = &worker.expect("strands run on workers").frame;
                self.0.handlers.set(frame.handlers.take());
                frame.handlers.set(self.1.take());
                self.0.locals.set(frame.locals.take());
                frame.locals.set(self.2.take());
                self.0.holds.set(frame.holds.take());
                frame.holds.set(self.3.take());
                frame.strand.set(None);
            });
            self.0.entered.set(context::go_away());
        }
    }
    context::with_worker(|worker| {
        let frame = &worker.expect("strands run on workers").frame;
        let (handlers, locals, holds) = (frame.handlers.take(), frame.locals.take(), frame.holds.take());
        frame.handlers.set(seat.handlers.take());
        frame.locals.set(seat.locals.take());
        frame.holds.set(seat.holds.take());
        frame.strand.set(Some(NonNull::from(seat)));
        context::come_back(seat.entered.take());
        Restore(seat, handlers, locals, holds)
    })
}

/// Waits on a strand: suspends it until `attempt` is ready. A cancelled strand unwinds instead.
pub(crate) fn wait_here<R>(seat: &Seat, attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    wait_on(seat, false, attempt)
}

/// The same, but a cancelled strand waits too.
pub(crate) fn wait_shielded<R>(seat: &Seat, attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    wait_on(seat, true, attempt)
}

fn wait_on<R>(seat: &Seat, shielded: bool, mut attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    let outer = seat.waits.replace(seat.waits.get() + 1);
    let mut suspended = false;
    loop {
        // SAFETY: the waker is that of the poll that resumed us and is still under way. A copy, because the attempt may
        // itself wait, and then goes on in another poll; never dropped, and the task is alive while its stack runs (T3).
        let waker = ManuallyDrop::new(unsafe { seat.waker.get().read() });
        if let Poll::Ready(value) = attempt(&mut Context::from_waker(&waker)) {
            seat.waits.set(outer);
            if suspended && outer > 0 {
                waker.wake_by_ref(); // it may have been the outer wait's wake-up that resumed this one
            }
            return value;
        }
        suspended = true;
        if !seat.cancelled.get() || seat.unwinding.get() || shielded {
            // SAFETY: the yielder is this stack's own.
            unsafe { (*seat.yielder.get()).suspend(()) };
        }
        if seat.cancelled.get() && !shielded && !seat.unwinding.replace(true) {
            resume_unwind(Box::new(Interrupted));
        }
    }
}

/// Starts a strand on this worker: `f` runs on a stack of its own, and may [`wait`](crate::wait) for anything while the
/// worker goes on with other work.
///
/// ```
/// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
/// let task = runtime.spawn(async {
///     let strand = ropewalk::strand::spawn(|| ropewalk::wait(async { 42 })).unwrap();
///     strand.await.unwrap()
/// });
/// assert_eq!(runtime.block_on(task).unwrap(), 42);
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
///
/// Cancelling it makes the wait it is in, or its next one, unwind with [`Interrupted`]; destructors run, and may wait.
///
/// # Errors
/// Off a worker; the function is given back.
///
/// # Panics
/// If there is no memory for its stack.
#[track_caller]
pub fn spawn<F, T>(f: F) -> Result<TaskHandle<T>, SpawnLocalError<F>>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let spawned_at = Location::caller();
    context::with_worker(|worker| {
        let Some(worker) = worker else { return Err(SpawnLocalError(f)) };
        let size = worker.pool.config.strand_stack_size;
        let stack = DefaultStack::new(size)
            .unwrap_or_else(|error| panic!("ropewalk: no memory for a stack of {size} bytes: {error}"));
        let seat = Box::new(Seat {
            handlers: HandlerStack::default(),
            locals: Locals::default(),
            holds: Holds::default(),
            entered: Cell::default(),
            yielder: Cell::new(null()),
            waker: Cell::new(null()),
            cancelled: Cell::new(false),
            waits: Cell::new(0),
            unwinding: Cell::new(false),
        });
        let at: *const Seat = &*seat;
        let f = local::carry(f);
        let routine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the seat lives beside the routine, in the same body.
            unsafe { (*at).yielder.set(yielder) };
            f()
        });
        let order = Order { extra: Home(worker.index() as u16), spawned_at, priority: 0 };
        Ok(crate::task::launch_pinned(worker, Strand { routine, seat }, order))
    })
}
