//! Who decides how a wait is done: the handlers of a stack, and the transaction in which there is none.

use super::{park_thread, wait_as_here};
use crate::context;
use crate::strand::Belongings;
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::ptr::{NonNull, null};

/// Decides how everything inside a call waits; see [`with_handler`].
pub trait Handler {
    /// Returns when `future` is done, and not before.
    fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>);
}

/// Parks the thread itself, wherever it is. On a worker nothing else runs there meanwhile; that is counted, and what the
/// worker had queued is left to the others. Waiting this way for something that only this worker could do (a local task,
/// or any task where there is no other worker) does not end.
#[derive(Clone, Copy, Debug)]
pub struct Blocking;

impl Handler for Blocking {
    fn suspend(&self, mut future: Pin<&mut dyn Future<Output = ()>>) {
        refuse_in_transaction_here("a wait inside a transaction");
        context::with_worker(|worker| {
            if let Some(worker) = worker {
                worker.hold();
            }
        });
        park_thread("a wait", |cx| future.as_mut().poll(cx));
    }
}

/// Waits as the place itself does: suspends the strand, or parks the task's stack, or the thread.
#[derive(Clone, Copy, Debug)]
pub struct OnStrand;

impl Handler for OnStrand {
    fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        refuse_in_transaction_here("a wait inside a transaction");
        wait_as_here(future);
    }
}

/// A handler returned before the future it was given was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandlerGaveUp;

impl fmt::Display for HandlerGaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a wait handler returned before the future it was given was done")
    }
}

impl std::error::Error for HandlerGaveUp {}

/// Runs `f`; whatever waits inside it (on this stack, not in tasks or strands it starts) does so by `handler`. The
/// handler itself waits as its surroundings do.
///
/// ```
/// use ropewalk::{Blocking, Wait, with_handler};
/// fn answer() -> u32 {
///     ropewalk::spawn(async { 42 }).wait().unwrap() // written once; the caller decides how it waits
/// }
/// assert_eq!(with_handler(&Blocking, answer), 42);
/// assert_eq!(answer(), 42);
/// ```
pub fn with_handler<R>(handler: &dyn Handler, f: impl FnOnce() -> R) -> R {
    let outer = HandlerStack::here(|handlers| handlers.0.get());
    // SAFETY: the frame is taken off the stack of handlers before `handler` is given back to the caller, whatever way
    // `f` ends, and a suspended stack takes its handlers with it: so the lifetime may be hidden.
    let handler = unsafe { std::mem::transmute::<&dyn Handler, &'static dyn Handler>(handler) };
    // SAFETY: as in `wait_elsewhere`.
    let in_transaction = unsafe { outer.as_ref() }.is_some_and(|frame| frame.in_transaction);
    let frame = HandlerFrame { handler, outer, in_transaction };
    let _restore = HandlerStack::swap(&frame);
    f()
}

struct HandlerFrame {
    handler: &'static dyn Handler,
    outer: *const HandlerFrame,
    /// It is inside a transaction: nobody waits here.
    in_transaction: bool,
}

/// Runs `f`, which is a transaction: it must not wait, nor begin another one.
///
/// # Panics
/// If it is inside one.
#[inline]
pub(crate) fn as_transaction<R>(f: impl FnOnce() -> R) -> R {
    if cfg!(any(loom, shuttle)) {
        return f(); // the threads of a model are one thread
    }
    struct Restore<'a>(&'a HandlerStack, *const HandlerFrame);
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            self.0.0.set(self.1);
        }
    }
    let here = HandlerStack::here(|handlers| NonNull::from(handlers));
    // SAFETY: it belongs to what runs here (a seat, a worker's frame, a thread), and stays where it is until `f` has returned: a body is not
    // suspended, and a strand does not leave its worker. (It is looked for once: transactions are short.)
    let handlers = unsafe { here.as_ref() };
    let outer = handlers.0.get();
    refuse_in_transaction(outer, "a transaction inside a transaction");
    let frame = HandlerFrame { handler: &Blocking, outer, in_transaction: true };
    let _restore = Restore(handlers, handlers.0.replace(&frame));
    f()
}

/// Whether a transaction runs here.
pub(crate) fn is_in_transaction() -> bool {
    let frame = HandlerStack::here(|handlers| handlers.0.get());
    // SAFETY: as in `wait_elsewhere`.
    unsafe { frame.as_ref() }.is_some_and(|frame| frame.in_transaction)
}

/// # Panics
/// If a transaction runs here.
pub(crate) fn refuse_in_transaction_here(what: &str) {
    refuse_in_transaction(HandlerStack::here(|handlers| handlers.0.get()), what);
}

/// # Panics
/// If it is one of a transaction.
#[inline]
fn refuse_in_transaction(frame: *const HandlerFrame, what: &str) {
    // SAFETY: as in `wait_elsewhere`.
    if unsafe { frame.as_ref() }.is_some_and(|frame| frame.in_transaction) {
        panic!(
            "ropewalk: {what}: it would be run again, with everything inside, whenever it meets another one; \
             do it before or after `atomically`, or pass the `&mut Tx` on"
        );
    }
}

/// The handlers of one stack of execution, innermost first.
pub(crate) struct HandlerStack(Cell<*const HandlerFrame>);

impl HandlerStack {
    pub(crate) const fn new() -> Self {
        Self(Cell::new(null()))
    }

    pub(crate) fn take(&self) -> Self {
        Self(Cell::new(self.0.replace(null())))
    }

    pub(crate) fn set(&self, other: Self) {
        self.0.set(other.0.get());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.get().is_null()
    }

    /// The stack of handlers that belongs to what runs here.
    fn here<R>(f: impl FnOnce(&HandlerStack) -> R) -> R {
        Belongings::here(|own| f(&own.handlers))
    }

    /// Puts `top` on top until the answer is dropped.
    fn swap(top: *const HandlerFrame) -> impl Drop {
        struct Restore(*const HandlerFrame);
        impl Drop for Restore {
            fn drop(&mut self) {
                HandlerStack::here(|handlers| handlers.0.set(self.0));
            }
        }
        Restore(HandlerStack::here(|handlers| handlers.0.replace(top)))
    }
}

fn wait_by<F: Future>(frame: &HandlerFrame, future: Pin<&mut F>) -> F::Output {
    refuse_in_transaction(frame, "a wait inside a transaction");
    let mut output = None;
    {
        let mut whole = pin!(async { output = Some(future.await) });
        let _as_outside = HandlerStack::swap(frame.outer);
        crate::strand::with_seat(|_, seat| seat.open_up()); // the handler may hold the thread
        frame.handler.suspend(whole.as_mut());
    }
    output.unwrap_or_else(|| std::panic::panic_any(HandlerGaveUp))
}

/// Waits as the innermost handler says, if there is one.
#[inline(never)]
pub(super) fn wait_elsewhere<F: Future>(future: Pin<&mut F>) -> F::Output {
    match HandlerStack::here(|handlers| handlers.0.get()) {
        frame if frame.is_null() => wait_as_here(future),
        // SAFETY: frames on the stack of handlers live in `with_handler` calls further up this very stack.
        frame => wait_by(unsafe { &*frame }, future),
    }
}
