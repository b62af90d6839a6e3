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
mod handler;
mod root;

use crate::context;
use crate::runtime::{BlockInTask, Handle};
use crate::sched::host::{Extra, Ticket};
use crate::sched::park::ThreadParker;
use crate::sched::pool::TakenBack;
use crate::sched::reasons;
use crate::sched::worker::Worker;
pub(crate) use crate::strand::is_interrupted;
use crate::strand::{Manner, Seat, interrupt_if_failed};
pub(crate) use alarm::{Alarm, wait_at_most};
use candidate::{Manner as Need, Waiting, is_root_here, park_thread};
use handler::wait_elsewhere;
pub use handler::{Blocking, Handler, HandlerGaveUp, OnStrand, with_handler};
pub(crate) use handler::{HandlerStack, as_transaction, is_in_transaction, refuse_in_transaction_here};
pub(crate) use root::{Abort, block_on_in};
use ropewalk_core::task::Header;
use std::cell::Cell;
use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::ptr::NonNull;
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
