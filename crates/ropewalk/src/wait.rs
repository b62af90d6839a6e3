//! Waiting from anywhere: one function, and handlers by which the caller decides how everything inside waits.
//!
//! | where | what [`wait`] does |
//! |---|---|
//! | in a [transaction](crate::stm) | panics |
//! | under [`with_handler`] | what the handler does |
//! | on a strand | suspends the strand |
//! | in a task's poll, or a destructor on a worker | parks the stack; the worker goes on on another |
//! | on a plain thread | parks the thread |
//!
//! Where that is inside the `block_on` of a runtime without threads that another thread drives, it drives when that one leaves
//! (`wait/candidate.rs`).

mod alarm;
mod candidate;
mod root;

use crate::context;
use crate::runtime::{BlockInTask, Handle};
use crate::sched::host::{Extra, Ticket};
use crate::sched::park::ThreadParker;
use crate::sched::pool::TakenBack;
use crate::sched::reasons;
use crate::sched::worker::Worker;
pub(crate) use crate::strand::is_interrupted;
use crate::strand::{Belongings, Manner, Seat, interrupt_if_failed};
pub(crate) use alarm::{Alarm, wait_at_most};
use candidate::{Manner as Need, Waiting, is_root_here, park_thread};
pub(crate) use root::{Abort, block_on_in};
use ropewalk_core::task::Header;
use std::cell::Cell;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::ptr::{NonNull, null};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Waits for a future from code that is not `async`, on a strand, in a task or on a thread.
///
/// ```
/// let answer = ropewalk::spawn(async { 6 * 7 });
/// assert_eq!(ropewalk::wait(answer).unwrap(), 42); // this thread parks meanwhile
/// ```
///
/// # Panics
/// With what the future panics with; with [`HandlerGaveUp`] if a handler returns too early; inside a task if the runtime
/// was built with [`BlockInTask::Panic`], or if there is no memory for another stack; inside a
/// [transaction](crate::stm::atomically). Inside the [`block_on`](crate::Runtime::block_on) of a runtime without threads as that does.
#[inline(always)] // a strand waits in its caller's frame: see "waiting" in `strand/seat.rs`
pub fn wait<F: IntoFuture>(future: F) -> F::Output {
    let mut future = pin!(future.into_future());
    match strand_without_handlers() {
        // SAFETY: the strand that runs here is alive while it runs, and so is its seat (S1).
        Some(seat) => unsafe { seat.as_ref() }.wait(Manner::Open, |cx| future.as_mut().poll(cx)),
        None => wait_elsewhere(future),
    }
}

/// [`wait`] as a method of every future.
pub trait Wait: IntoFuture + Sized {
    /// Waits for it; see [`wait`].
    ///
    /// ```
    /// use ropewalk::Wait;
    /// assert_eq!(ropewalk::spawn(async { 1 }).wait().unwrap(), 1);
    /// ```
    ///
    /// # Panics
    /// As [`wait`].
    #[inline(always)]
    fn wait(self) -> Self::Output {
        wait(self)
    }
}

impl<F: IntoFuture> Wait for F {}

/// Runs a future to its end from anywhere: the entry point of a program. On a plain thread it starts the default
/// runtime if there is none and parks the thread; on a worker or strand it is [`wait`].
///
/// ```
/// assert_eq!(ropewalk::block_on(async { 1 + 1 }), 2);
/// ```
///
/// # Panics
/// With what the future panics with, if the default runtime cannot start, and inside a [transaction](crate::stm::atomically).
pub fn block_on<F: Future>(future: F) -> F::Output {
    block_on_in(&crate::Handle::current(), future)
}

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

/// The strand that runs here, if nobody has decided how it waits, and it is in no root that is polled apart.
///
/// # Panics
/// As [`Holds::refuse_to_wait`](crate::thread::Holds::refuse_to_wait).
#[inline(always)]
fn strand_without_handlers() -> Option<NonNull<Seat>> {
    context::with_worker(|worker| {
        let seat = worker?.frame.strand.get()?;
        // SAFETY: the strand that runs here is alive while it runs, and so is its seat (S1).
        let own = unsafe { &seat.as_ref().own };
        (own.handlers.is_empty() && !is_root_here()).then(|| {
            own.holds.refuse_to_wait();
            seat
        })
    })
}

#[inline(never)]
fn wait_elsewhere<F: Future>(future: Pin<&mut F>) -> F::Output {
    match HandlerStack::here(|handlers| handlers.0.get()) {
        frame if frame.is_null() => wait_as_here(future),
        // SAFETY: frames on the stack of handlers live in `with_handler` calls further up this very stack.
        frame => wait_by(unsafe { &*frame }, future),
    }
}

/// Waits as the place does, handlers aside.
fn wait_as_here<F: Future + ?Sized>(mut future: Pin<&mut F>) -> F::Output {
    if !is_root_here() {
        return wait_at(|cx| future.as_mut().poll(cx));
    }
    let mut waiting = Waiting::new(&[], Need::Open("a wait"), |cx, _| future.as_mut().poll(cx));
    wait_at(|cx| waiting.poll(cx))
}

/// Suspends the strand, or parks the stack or the thread, until `attempt` is ready.
fn wait_at<R>(mut attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    context::with_worker(|worker| {
        let Some(worker) = worker else {
            return park_thread_apart(|cx| poll_in_nurseries(&mut attempt, cx));
        };
        worker.frame.own().holds.refuse_to_wait();
        if let Some(seat) = worker.frame.strand.get() {
            // SAFETY: the strand that runs here is alive while it runs.
            return unsafe { seat.as_ref() }.wait(Manner::Open, attempt);
        }
        refuse_if_in_task(worker);
        worker.wait_here(|cx| poll_in_nurseries(&mut attempt, cx))
    })
}

/// Polls what is waited for off strands. A nursery around it that has failed makes it unwind.
fn poll_in_nurseries<R>(
    attempt: &mut impl FnMut(&mut Context<'_>) -> Poll<R>,
    cx: &mut Context<'_>,
) -> Poll<R> {
    let polled = attempt(cx);
    if polled.is_pending() {
        interrupt_if_failed(cx.waker());
    }
    polled
}

/// # Panics
/// In a task's poll, if the runtime was built so.
fn refuse_if_in_task(worker: &Worker) {
    assert!(worker.frame.current.get().is_some(), "ropewalk: hooks run between tasks and must not wait");
    if worker.pool.config.block_in_task == BlockInTask::Allow || worker.frame.strand.get().is_some() {
        return;
    }
    // SAFETY: the current task is alive while it runs.
    let current = worker.frame.current.get().map(|task| unsafe { Header::reference(task) });
    if current.is_some_and(|task| task.kind() != Ticket::KIND) {
        panic!("ropewalk: wait inside a task's poll, in a runtime built with block_in_task(Panic)");
    }
}

/// Waits on `worker` as the place does, but to the end: also a cancelled strand, because what it does for others cannot be
/// left half way.
pub(crate) fn wait_shielded<R>(worker: &Worker, attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    match worker.frame.strand.get() {
        // SAFETY: the strand that runs here is alive while it runs, and so is its seat (S1).
        Some(seat) => unsafe { seat.as_ref() }.wait(Manner::Shielded, attempt),
        None => worker.wait_here(attempt),
    }
}

/// Waits wherever this is, to the end, and whatever handlers say: others rely on it. In a hook, where no stack can be
/// parked, the thread is.
pub(crate) fn wait_to_the_end<R>(attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    wait_to_the_end_driving(&[], &|_| None, attempt)
}

/// The same for something that is done in `threadless` runtimes, among others, of which this may be the thread that has to drive them.
/// `instead` says what is dropped where it must not, because they are bound to a thread that does not.
pub(crate) fn wait_to_the_end_driving<R>(
    threadless: &[Handle],
    instead: &dyn Fn(&Handle) -> Option<TakenBack>,
    mut attempt: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> R {
    if threadless.is_empty() && !is_root_here() {
        return wait_to_the_end_apart(attempt);
    }
    let mut waiting = Waiting::new(threadless, Need::ToTheEnd(instead), |cx, _| attempt(cx));
    wait_to_the_end_apart(|cx| waiting.poll(cx))
}

fn wait_to_the_end_apart<R>(attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    context::with_worker(|worker| match worker {
        Some(worker) if worker.frame.current.get().is_some() => wait_shielded(worker, attempt),
        _ => park_thread_apart(attempt),
    })
}

/// Parks the thread until `attempt` is ready, and drives nothing.
fn park_thread_apart<R>(attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    park_thread_until(None, attempt).expect("without a limit it waits to the end")
}

/// Parks the thread until `attempt` is ready; `None`: it was not, until then.
fn park_thread_until<R>(
    until: Option<Instant>,
    mut attempt: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> Option<R> {
    // A wait inside a wait gets a parker of its own: the inner one must not swallow the outer one's wake-up.
    let (parker, waker) = take_parker();
    #[cfg(feature = "deadlock_detection")]
    let _known = crate::deadlock::known_as(until.is_none().then_some(&parker));
    let mut cx = Context::from_waker(&waker);
    let value = loop {
        if let Poll::Ready(value) = attempt(&mut cx) {
            break Some(value);
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            break None;
        }
        reasons::park(true);
        parker.park(left);
        reasons::park(false);
    };
    keep_parker(parker, waker);
    value
}

thread_local! {
    /// What this thread parks with, while it does not.
    static KEPT: Cell<Option<(Arc<ThreadParker>, Waker)>> = const { Cell::new(None) };
}

#[cfg_attr(feature = "roaming", inline(never))] // TL1
fn take_parker() -> (Arc<ThreadParker>, Waker) {
    KEPT.try_with(Cell::take).ok().flatten().unwrap_or_else(|| {
        let parker = Arc::new(ThreadParker::new());
        (parker.clone(), Waker::from(parker))
    })
}

#[cfg_attr(feature = "roaming", inline(never))] // TL1
fn keep_parker(parker: Arc<ThreadParker>, waker: Waker) {
    // A thread that is ending has nowhere to keep it; that is all right.
    let _ended = KEPT.try_with(|kept| kept.set(Some((parker, waker))));
}
