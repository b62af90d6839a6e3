//! Strands: threads of execution with a stack of their own, run by the scheduler.
//!
//! A strand is a task whose poll resumes its stack: woken, queued, counted and shown like any other. It may wait for anything,
//! and the worker goes on with other work meanwhile. It starts on whichever worker has room ("placement", `sched`) and then stays
//! there, so that what its stack holds need not be `Send`; unless its pool lets strands roam, which is `unsafe` (feature `roaming`).
//!
//! Strands form a tree: a [`scope`] starts children that may borrow from the call it is in, and is not left before they ended.
//! Cancelling a strand makes the wait it is in unwind; on its way the scopes it is in cancel their children.
//!
//! In programs built with `panic = "abort"` nothing can unwind: a cancelled strand goes on, and [`is_cancelled`] tells it.
//!
//! | file | what it is |
//! |---|---|
//! | `body` | a strand as the body of a task (B1, B2) |
//! | `berth` | its stack, with its seat |
//! | `seat` | what belongs to it beside the stack, and how it waits (S1-S3) |
//! | `scene` | the tree (C1-C4) |
//! | `spans` | what `tracing` keeps by thread |
//! | `shown` | what ThreadSanitizer is told |
//! | `unwinding` | who unwinds, on a thread with many stacks |
//! | `nursery` | scopes that fail as a whole |
//! | `stranded` | what its task carries |
//! | `scope`, `handle`, `builder` | what users have of it |
//! | `stack` | where stacks come from |

mod berth;
mod body;
mod builder;
mod handle;
mod nursery;
mod scene;
mod scope;
pub(crate) mod seat;
mod shown;
mod spans;
#[cfg(unix)]
mod stack;
#[cfg(not(unix))]
#[path = "strand/plain_stack.rs"]
mod stack;
mod stranded;
pub(crate) mod unwinding;

pub use builder::Builder;
pub(crate) use builder::strand_of_half;
pub use handle::Strand;
pub(crate) use scene::{Scene, is_orphan};
pub use scope::{Scope, nursery, scope};
pub(crate) use stack::StackCache;
pub(crate) use stranded::Stranded;

use crate::context;
use crate::sched::host::{LocalStrand, Order};
use crate::sched::worker::Worker;
use crate::task::{SpawnLocalError, TaskHandle, TaskId};
use crate::{Handle, local};
pub(crate) use nursery::Recall;
use ropewalk_core::task::{Header, TaskRef};
pub(crate) use seat::{Belongings, Manner, Seat, interrupt_if_failed, is_interrupted, may_be_interrupted};
pub(crate) use spans::Spans;
use std::any::Any;
use std::fmt::{self, Write};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::time::Duration;

/// How a strand ended, if it gave no value.
pub type StrandError = ropewalk_core::task::TaskError;

/// What a wait on a cancelled strand unwinds with. Catching it does not help: the next wait throws again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the strand was cancelled")
    }
}

impl std::error::Error for Interrupted {}

/// A [`scope`] was left while children were alive. They were cancelled, and have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveStrands {
    /// What they are called, in the order in which they were started.
    pub names: Vec<String>,
}

impl fmt::Display for LiveStrands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, names) = (self.names.len(), self.names.join(", "));
        let plural = if count == 1 { "child" } else { "children" };
        write!(
            f,
            "a scope was left with {count} live {plural}, now cancelled: {names}; join them, or call join_all"
        )
    }
}

impl std::error::Error for LiveStrands {}

/// Runs `f` as a strand of the current runtime, or the default one, and waits for it: the entry point of a program of strands.
///
/// ```
/// let answer = ropewalk::run(|| ropewalk::spawn(async { 6 * 7 }).wait().unwrap());
/// assert_eq!(answer, 42);
/// # use ropewalk::Wait;
/// ```
///
/// # Panics
/// With what `f` panics with, and if the default runtime cannot start. In a runtime without threads see also
/// [`Runtime::run`](crate::Runtime::run).
#[track_caller]
pub fn run<F, T>(f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    run_in(&Handle::current(), f)
}

/// The same in `runtime`.
#[track_caller]
pub(crate) fn run_in<F, T>(runtime: &Handle, f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let spawned_at = Location::caller();
    // Should the wait unwind, the scope cancels the strand, and drives the runtime itself until that has ended.
    scope(|s| {
        let root = {
            let _inside = context::enter(runtime.clone());
            s.spawn_from(spawned_at, f)
        };
        match crate::wait::block_on_in(runtime, root) {
            Err(StrandError::Cancelled) if runtime.shared.is_threadless() => panic!(
                "ropewalk: run: the strand was cancelled, by itself, or because it had begun on another thread, to which it belonged \
                 and which does not drive the runtime any more"
            ),
            ended => handle::value_of(ended),
        }
    })
}

/// Starts a strand that is nobody's child, in the pool of the caller or of the default runtime.
///
/// ```
/// let strand = ropewalk::strand::spawn(|| ropewalk::wait(async { 42 }));
/// assert_eq!(strand.join(), 42);
/// ```
///
/// A panic of it that nobody joins ends the runtime, unless that was built with
/// [`UnhandledPanic::Report`](crate::UnhandledPanic::Report).
#[track_caller]
pub fn spawn<F, T>(f: F) -> Strand<'static, T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f)
}

/// Starts a strand on this worker, so that `f` need not be `Send`.
///
/// ```
/// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
/// let task = runtime.spawn(async {
///     let strand = ropewalk::strand::spawn_local(|| ropewalk::wait(async { 42 })).unwrap();
///     strand.await.unwrap()
/// });
/// assert_eq!(runtime.block_on(task).unwrap(), 42);
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
///
/// # Errors
/// Off a worker; the function is given back.
#[track_caller]
pub fn spawn_local<F, T>(f: F) -> Result<TaskHandle<T>, SpawnLocalError<F>>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let spawned_at = Location::caller();
    context::with_worker(|worker| {
        let Some(worker) = worker else { return Err(SpawnLocalError(f)) };
        let order = Order { extra: LocalStrand(worker.index() as u16), spawned_at, priority: 0 };
        Ok(crate::task::launch_pinned(worker, body::Run::new(local::carry(f), 0), order))
    })
}

/// Lets everything else that can run on this worker go first. Off a strand it waits as anything does.
///
/// # Panics
/// In debug builds, with a guard of a [lock of threads](crate::thread::Mutex) held: who goes first might want that lock.
#[inline(always)]
pub fn yield_now() {
    // Not `with_seat`: its closure would be a frame to return from (`seat.rs`).
    let here = context::with_worker(|worker| {
        worker.and_then(|worker| Some((NonNull::from(worker), worker.frame.strand.get()?)))
    });
    if let Some((worker, seat)) = here {
        // SAFETY: the strand that runs here, and its worker, are alive while it runs.
        let (worker, seat) = unsafe { (worker.as_ref(), seat.as_ref()) };
        if seat.own.handlers.is_empty() {
            seat.own.holds.refuse_to_wait();
            return seat.yield_now(worker);
        }
    }
    crate::wait(crate::yield_now());
}

/// Sleeps. On a strand, the worker goes on with other work; see [`time::sleep`](crate::time::sleep).
pub fn sleep(duration: Duration) {
    crate::wait(crate::time::sleep(duration));
}

/// Calls `f`; if the strand is cancelled meanwhile, or was before, waits inside go on as if it was not. Afterwards the next one
/// unwinds. So does what a [`nursery`] interrupts.
///
/// ```
/// use ropewalk::strand;
/// use std::time::Duration;
/// ropewalk::run(|| strand::scope(|s| {
///     let saved = s.spawn(|| strand::shield(|| { strand::sleep(Duration::from_millis(1)); "saved" }));
///     saved.cancel();
///     let _ended_before_it_began_or_saved = saved.try_join();
/// }));
/// ```
pub fn shield<R>(f: impl FnOnce() -> R) -> R {
    struct Lower;
    impl Drop for Lower {
        fn drop(&mut self) {
            Belongings::here(|own| own.shields.set(own.shields.get() - 1));
        }
    }
    Belongings::here(|own| own.shields.set(own.shields.get() + 1));
    let _lower = Lower;
    f()
}

/// Whether what runs here unwinds. [`std::thread::panicking`] also says so while another strand of this worker is suspended in a
/// destructor that waits. While there is such a one, what is known of this strand are the panics that its panic hook was told of: one
/// that was caught still counts, and one is not seen that was thrown by [`resume_unwind`], or after the program has put a hook of its own in
/// place of ours without calling that. A strand that unwinds unseen, and is cancelled, is then interrupted in its destructor, which ends
/// the process: so set hooks before the first strand starts, or call the one before.
pub fn panicking() -> bool {
    with_seat(|_, seat| seat.is_unwinding()).unwrap_or_else(std::thread::panicking)
}

/// Throws a child's panic on.
pub(crate) fn rethrow(payload: Box<dyn Any + Send>) -> ! {
    with_seat(|_, seat| seat.set_unwinding(true));
    resume_unwind(payload)
}

/// Calls `f`, and says how it ended.
#[inline]
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    let result = catch_unwind(AssertUnwindSafe(f));
    if result.is_err() {
        has_caught();
    }
    result
}

#[cold]
fn has_caught() {
    with_seat(|_, seat| seat.set_unwinding(false));
}

/// Whether the strand that runs here was cancelled: its next wait unwinds. False off strands.
pub fn is_cancelled() -> bool {
    with_seat(|worker, seat| {
        // SAFETY: the current task is alive while it runs.
        seat.is_cancelled()
            || worker.frame.current.get().is_some_and(|task| unsafe { Header::is_cancelled(task) })
    })
    .unwrap_or(false)
}

/// The strand that runs here; `None` off strands.
pub fn current() -> Option<Current> {
    with_seat(|worker, _| {
        // SAFETY: the current task is alive while it runs.
        worker.frame.current.get().map(|task| Current(unsafe { Header::reference(task) }))
    })
    .flatten()
}

/// The id of the strand that runs here; `None` off strands.
pub fn id() -> Option<TaskId> {
    // SAFETY: the current task is alive while it runs.
    with_seat(|worker, _| worker.frame.current.get().map(|task| unsafe { Header::id(task) })).flatten()
}

/// What a strand knows of itself; see [`current`].
#[derive(Clone, Debug)]
pub struct Current(TaskRef);

impl Current {
    /// Its id.
    pub fn id(&self) -> TaskId {
        self.0.id()
    }

    /// The name it was given.
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    /// Where it was started.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.0.spawned_at()
    }

    /// Asks it to end; see [`Strand::cancel`].
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// What is to be done before the first strand starts: on this thread, and anywhere.
#[inline]
pub(crate) fn prepare() {
    thread_local!(static READY: stack::SignalStack = {
        unwinding::know_of_panics();
        stack::DESCRIBE.get_or_init(|| describe);
        stack::prepare_thread()
    });
    let _ending = READY.try_with(|_| ());
}

/// Writes what a report calls a strand, whose task is `owner`, in a signal handler (`stack.rs`, K4).
///
/// # Safety
/// `owner` is the task of a strand, and alive.
unsafe fn describe(owner: NonNull<()>, line: &mut stack::Line) {
    // SAFETY: passed on to the caller. The reference is never given back: the process ends here.
    let task = ManuallyDrop::new(unsafe { Header::reference(owner.cast()) });
    let _cut_off = match task.name() {
        Some(name) => write!(line, "strand {} \"{name}\" (spawned at {})", task.id(), task.spawned_at()),
        None => write!(line, "strand {} (spawned at {})", task.id(), task.spawned_at()),
    };
}

/// Calls `f` with the strand that runs here, if one does.
#[inline(always)]
pub(crate) fn with_seat<R>(f: impl FnOnce(&Worker, &Seat) -> R) -> Option<R> {
    context::with_worker(|worker| {
        let worker = worker?;
        // SAFETY: the strand that runs here is alive while it runs.
        worker.frame.strand.get().map(|seat| f(worker, unsafe { seat.as_ref() }))
    })
}
