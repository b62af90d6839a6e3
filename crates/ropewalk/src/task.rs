//! Tasks: futures run by the scheduler.

use crate::context;
use crate::group::kin::Kin;
use crate::local::{self, Heir};
use crate::runtime::Runtime;
use crate::sched::host::{Extra, Home, LocalStrand, Observation, Order, make};
use crate::sched::pool::Pool;
use crate::sched::worker::Worker;
use ropewalk_core::task::{Async, Body, Header, Runnable};
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

mod blocking;

pub use crate::local::{AccessError, Inherited, Kind, LocalKey, Own, Scoped};
pub use blocking::spawn_blocking;
pub use ropewalk_core::task::{AbortHandle, PanicInfo, TaskError, TaskHandle, TaskId};

/// Starts a task: `future` runs on the current runtime from now on, whether or not somebody waits for it. Outside of
/// any runtime the default one is used.
///
/// ```
/// ropewalk::block_on(async {
///     let answer = ropewalk::spawn(async { 6 * 7 });
///     assert_eq!(answer.await.unwrap(), 42);
/// });
/// ```
///
/// If the runtime is shutting down, the future is dropped and the handle gives [`TaskError::Shutdown`].
#[track_caller]
#[inline]
pub fn spawn<F>(future: F) -> TaskHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let order = Order::here(());
    if context::has_entered() {
        return launch(&crate::Handle::current().main(), None, future, order);
    }
    context::with_worker(|worker| match worker {
        Some(worker) => launch(&worker.pool, Some(worker), future, order),
        None => {
            let pool = Runtime::default_handle().main();
            launch(&pool, None, future, order)
        }
    })
}

/// Starts a task in `pool`.
#[track_caller]
pub(crate) fn spawn_in<F>(pool: &Arc<Pool>, future: F) -> TaskHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let order = Order::here(());
    context::with_worker(|worker| {
        let worker = worker.filter(|worker| Arc::ptr_eq(&worker.pool, pool));
        launch(pool, worker, future, order)
    })
}

/// Starts a task, with what it inherits.
#[inline]
pub(crate) fn launch<F, X>(
    pool: &Arc<Pool>,
    worker: Option<&Worker>,
    future: F,
    order: Order<X>,
) -> TaskHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    X: Extra,
{
    match local::heritage(worker) {
        None => start(pool, worker, future, order),
        Some(heritage) => {
            let future: Pin<Box<dyn Future<Output = F::Output> + Send>> = Box::pin(future);
            start(pool, worker, Heir::new(heritage, future), order)
        }
    }
}

/// Makes a task and queues it, or refuses it because the pool closes.
#[inline]
fn start<F, X>(pool: &Arc<Pool>, worker: Option<&Worker>, future: F, order: Order<X>) -> TaskHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    X: Extra,
{
    if pool.config.observe && X::KIND != Observation::KIND {
        let Order { spawned_at, priority, extra } = order;
        let extra = observation(pool, None, extra.into_kin());
        return start(pool, worker, future, Order { extra, spawned_at, priority });
    }
    let admitted = match worker {
        Some(worker) => worker.admit(),
        None => pool.admit(),
    };
    // SAFETY: future and output are Send + 'static.
    let (runnable, handle) = unsafe { make(pool, worker, Async(future), order) };
    enqueue(pool, worker, runnable, admitted);
    handle
}

/// Queues a task that was just made, and may go anywhere, or refuses it because the pool closes.
pub(crate) fn queue(pool: &Pool, worker: Option<&Worker>, task: Runnable) {
    let admitted = match worker {
        Some(worker) => worker.admit(),
        None => pool.admit(),
    };
    enqueue(pool, worker, task, admitted);
}

#[inline]
fn enqueue(pool: &Pool, worker: Option<&Worker>, task: Runnable, admitted: bool) {
    if !admitted {
        return refuse(task);
    }
    tell_of_spawn(pool, &task);
    match worker {
        Some(worker) => worker.push_new(task),
        None => pool.inject_new(task),
    }
}

/// Calls the user's hook; the task is counted already, so a panic there ends the process, as in every hook.
#[inline]
pub(crate) fn tell_of_spawn(pool: &Pool, task: &Runnable) {
    #[cfg(feature = "tokio-console")]
    crate::sched::host::begin_span(&task.task());
    if let Some(hook) = &pool.config.hooks.on_task_spawn {
        let abort = crate::wait::Abort("the hook on_task_spawn panicked");
        hook(task.id());
        std::mem::forget(abort);
    }
}

/// The pool closes: the owner is told through the handle.
#[cold]
fn refuse(task: Runnable) {
    task.cancel(true);
    drop(task);
}

pub(crate) fn observation(pool: &Pool, name: Option<Box<str>>, kin: Option<Kin>) -> Observation {
    pool.watch();
    let born = pool.config.clock.now().as_nanos() as u64;
    Observation::new(name, born, kin)
}

/// Starts a task that stays on the worker it is spawned on, so that it need not be `Send`.
///
/// Its handle is `Send` if its output is. The future is dropped on that worker.
///
/// # Errors
/// Off a worker there is nowhere to stay: the future is given back in the error.
///
/// ```
/// use std::rc::Rc;
/// let runtime = ropewalk::Runtime::builder().worker_threads(0).build()?;
/// let task = runtime.spawn(async {
///     let here = ropewalk::spawn_local(async { Rc::new(5) }).unwrap();
///     0 // `here` is not Send, so it cannot be awaited in a task that is
/// });
/// assert_eq!(runtime.block_on(task).unwrap(), 0);
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
#[track_caller]
pub fn spawn_local<F>(future: F) -> Result<TaskHandle<F::Output>, SpawnLocalError<F>>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let spawned_at = Location::caller();
    context::with_worker(|worker| {
        let Some(worker) = worker else { return Err(SpawnLocalError(future)) };
        let order = Order { extra: Home(worker.index() as u16), spawned_at, priority: 0 };
        Ok(launch_local(worker, future, order))
    })
}

/// Starts a task that stays on `worker`, the current one, with what it inherits.
pub(crate) fn launch_local<F, X>(worker: &Worker, future: F, order: Order<X>) -> TaskHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
    X: Extra,
{
    match local::heritage(Some(worker)) {
        None => launch_pinned(worker, Async(future), order),
        Some(heritage) => {
            let future: Pin<Box<dyn Future<Output = F::Output>>> = Box::pin(future);
            launch_pinned(worker, Async(Heir::new(heritage, future)), order)
        }
    }
}

/// Makes a task that stays on `worker`, the current one, and queues it.
pub(crate) fn launch_pinned<B: Body + 'static, X: Extra>(
    worker: &Worker,
    body: B,
    order: Order<X>,
) -> TaskHandle<B::Output> {
    if worker.pool.config.observe && X::KIND != Observation::KIND {
        let Order { spawned_at, priority, extra } = order;
        let (home, is_strand) = (extra.home(), X::KIND == LocalStrand::KIND);
        let extra = Observation { home, is_strand, ..observation(&worker.pool, None, extra.into_kin()) };
        return launch_pinned(worker, body, Order { extra, spawned_at, priority });
    }
    // SAFETY: pinned: it is polled and dropped by this worker, on this thread; a handle whose output is not Send stays
    // on this thread too.
    let (runnable, handle) = unsafe { make(&worker.pool, Some(worker), body, order) };
    if !worker.admit() {
        refuse(runnable);
        return handle;
    }
    tell_of_spawn(&worker.pool, &runnable);
    worker.adopt();
    worker.push_new_pinned(runnable);
    handle
}

/// [`spawn_local`] was called off a worker. It holds the future.
pub struct SpawnLocalError<F>(pub F);

impl<F> fmt::Debug for SpawnLocalError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpawnLocalError")
    }
}

impl<F> fmt::Display for SpawnLocalError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "spawn_local works inside a task or strand, or under block_on of a runtime without threads",
        )
    }
}

impl<F> std::error::Error for SpawnLocalError<F> {}

/// Lets everything else that is runnable on this worker go first.
///
/// ```
/// ropewalk::block_on(async {
///     ropewalk::yield_now().await;
/// });
/// ```
///
/// **Cancel safety**: dropping it has no effect.
pub fn yield_now() -> impl Future<Output = ()> + Send {
    let mut yielded = false;
    poll_fn(move |cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context::with_worker(|worker| match worker {
            Some(worker) => drop(worker.go_last(cx.waker())),
            None => cx.waker().wake_by_ref(),
        });
        Poll::Pending
    })
}

/// Spends one unit of the current task's budget, as every operation of the runtime does, and yields if it is used up.
/// For loops that call nothing of the runtime's.
///
/// **Cancel safety**: dropping it has no effect.
pub fn consume_budget() -> impl Future<Output = ()> + Send {
    poll_fn(ropewalk_core::budget::poll_proceed)
}

/// The id of the task that runs now; `None` outside of any.
pub fn id() -> Option<TaskId> {
    // SAFETY: the current task is alive while it runs.
    current(|task| unsafe { Header::id(task) })
}

/// The same as [`id`].
pub fn current_task_id() -> Option<TaskId> {
    id()
}

/// Whether the task that runs now was asked to stop; it will be dropped at its next suspension. False outside of any.
pub fn is_cancelled() -> bool {
    // SAFETY: the current task is alive while it runs.
    current(|task| unsafe { Header::is_cancelled(task) }).unwrap_or(false)
}

fn current<R>(f: impl FnOnce(std::ptr::NonNull<Header>) -> R) -> Option<R> {
    context::with_worker(|worker| match worker {
        Some(worker) => worker.frame.current.get(),
        None => crate::sched::blocking::current_job(),
    })
    .map(f)
}

/// Starts tasks with a name or in a certain pool. Such tasks are observed: their polls and times are counted.
///
/// ```
/// let runtime = ropewalk::Runtime::new()?;
/// let task = ropewalk::task::Builder::new().name("adder").spawn_on(&runtime.handle(), async { 1 + 1 });
/// assert_eq!(runtime.block_on(task).unwrap(), 2);
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until `spawn`"]
pub struct Builder {
    name: Option<Box<str>>,
    pool: Option<crate::Pool>,
}

impl Builder {
    /// No name, the current runtime's pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// The task's name, shown in reports of panics and in dumps.
    pub fn name(mut self, name: impl Into<Box<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The pool it runs in.
    pub fn pool(mut self, pool: &crate::Pool) -> Self {
        self.pool = Some(pool.clone());
        self
    }

    /// The name, and the pool.
    pub(crate) fn into_parts(self) -> (Option<Box<str>>, Option<crate::Pool>) {
        (self.name, self.pool)
    }

    /// Starts the task; see [`spawn`].
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> TaskHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_on(&crate::Handle::current(), future)
    }

    /// Starts the task in `runtime`, unless a [`pool`](Self::pool) was named.
    #[track_caller]
    pub fn spawn_on<F>(self, runtime: &crate::Handle, future: F) -> TaskHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let pool = self.pool.map_or_else(|| runtime.main(), |pool| pool.inner());
        let order =
            Order { extra: observation(&pool, self.name, None), spawned_at: Location::caller(), priority: 0 };
        context::with_worker(|worker| {
            let worker = worker.filter(|worker| Arc::ptr_eq(&worker.pool, &pool));
            launch(&pool, worker, future, order)
        })
    }
}
