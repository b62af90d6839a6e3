//! The runtime: pools, a root to wait from, and the order in which all of it goes down.

mod builder;
mod clock;
mod config;
mod error;
mod shared;
mod shutdown;

pub(crate) use builder::MOST_WORKERS;
pub use builder::{Builder, RuntimeConfig};
pub use clock::{Clock, ManualClock, SystemClock};
pub(crate) use clock::{Timebase, nanos_of};
pub use config::{BlockInTask, UnhandledPanic};
pub(crate) use config::{Config, RANDOM_STEP, Strands, mixed};
pub use error::RuntimeError;
#[cfg(any(feature = "tracing", feature = "tokio-console"))]
pub(crate) use shared::unharmed;
pub(crate) use shared::{Shared, complain, hire, next_id, wake_safely};
pub(crate) use shutdown::{GRACE, NAP, NEVER_COMES};
pub use shutdown::{LeftBehind, ShutdownError};

use crate::dump::{Dump, DumpOptions};
use crate::inspect::TaskInfo;
use crate::metrics::Metrics;
use crate::pool::Pool;
use crate::sched::blocking::{self, Blocking};
use crate::task::{TaskHandle, spawn_in};
use crate::trace::Trace;
use crate::{context, sched, wait};
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// One instance of Ropewalk. Dropping it shuts it down: futures are dropped on their workers, handles get
/// [`TaskError::Shutdown`](crate::TaskError::Shutdown).
///
/// Several runtimes live side by side. Free functions such as [`spawn`](crate::spawn) mean the runtime they are called
/// in, or else the default one.
///
/// **Dropping** it on a plain thread waits until its workers have ended. A poll that never returns holds it up; a stack
/// that still waits for something from outside after 100 ms is left behind and named on standard error; so is a job of the
/// blocking pool that still runs then. On a worker, its own or another runtime's, and in a job of its own it does not wait.
#[derive(Debug)]
pub struct Runtime {
    handle: Handle,
}

/// A shared right to use a runtime. It does not keep the runtime running: once the [`Runtime`] is gone, what is spawned
/// through a handle ends with [`TaskError::Shutdown`](crate::TaskError::Shutdown) at once.
#[derive(Clone)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
    /// The pool made with the runtime.
    main: Arc<sched::pool::Pool>,
}

impl Runtime {
    /// The settings to start from.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// A runtime with default settings.
    ///
    /// # Errors
    /// When the system gives no threads or memory, or `ROPEWALK_THREADS` is not a usable number.
    pub fn new() -> Result<Self, RuntimeError> {
        Builder::new().build()
    }

    /// The runtime that free functions use outside of any other; it is made when first needed and never dropped.
    ///
    /// # Panics
    /// If it cannot be made; the message says why.
    pub fn default_handle() -> Handle {
        static DEFAULT: std::sync::OnceLock<Runtime> = std::sync::OnceLock::new();
        let runtime = DEFAULT.get_or_init(|| match Runtime::new() {
            Ok(runtime) => runtime,
            Err(error) => panic!("ropewalk: the default runtime cannot start: {error}"),
        });
        runtime.handle.clone()
    }

    fn start(config: Config, workers: usize, hosted: bool) -> Result<Self, RuntimeError> {
        crate::sched::budget::install();
        crate::sched::linger::install();
        crate::sched::worker::crowd::install();
        #[cfg(feature = "deadlock_detection")]
        crate::deadlock::install();
        let (shared, main) = Shared::start(config, workers, hosted)?;
        let runtime = Self { handle: Handle { shared, main } };
        Blocking::start_ahead(&runtime.handle)?; // an error drops the runtime, which ends what was started
        Ok(runtime)
    }

    /// Runs `future` on this thread until it is done, while the workers run what it spawns. Inside a task or strand of this runtime it
    /// is the same as [`wait`](crate::wait).
    ///
    /// # Without worker threads
    ///
    /// This thread runs everything meanwhile: it *drives*. While another one does, `future` is polled here, and that one runs the rest. When
    /// it is done, the one that has waited longest drives: that may be any wait inside such a future, too. So each
    /// goes on until it has what it waits for. It may be called on strands and in tasks of another runtime: a strand that is
    /// cancelled while it drives ends `future` first, and gives up driving. If that other runtime has no threads either, the strand goes on
    /// only while that one is driven: whenever it is not, nobody drives this one, and nobody else may.
    ///
    /// What has begun on a thread as a local task, a strand, or a task that waits in the middle of a poll, ends there. As long as there is such
    /// a thing the runtime is *bound* to that thread. A thread whose future is done leaves it so; but for strands that borrow from calls on
    /// other threads, which wait for them, it goes on for a second, and then cancels them. (In [`try_tick`](Self::try_tick) and
    /// [`run_until_stalled`](Self::run_until_stalled) it cancels them at once.)
    ///
    /// If the thread to which it is bound has exited, that stays so: `block_on` panics, `try_tick` is refused, and when the
    /// runtime ends, dropped or by [`shutdown`](Self::shutdown), what is bound is left behind and named.
    ///
    /// # Panics
    /// With what `future` panics with, and if a task's panic ended the runtime ([`UnhandledPanic::Terminate`]). If the runtime has no threads, is bound
    /// to another thread, by a local task, a strand or a task that waits in its poll, and that one does not drive it: at once, or when it
    /// stops while this waits; a [`wait`](crate::wait) inside `future` panics then, too. And so if its driver is inside another runtime without
    /// threads that nobody drives.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }

    /// Runs `f` as a strand of this runtime, and waits for it; see [`crate::run`].
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(0).build()?;
    /// let words = vec!["rope", "walk"];
    /// assert_eq!(runtime.run(|| words.concat()), "ropewalk");
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    ///
    /// # Panics
    /// With what `f` panics with, and as [`block_on`](Self::block_on). Without worker threads also if `f` has begun on another thread, which drove the
    /// runtime then, and had not ended a second after that one was done: it is cancelled there. However it panics, `f` has ended.
    #[track_caller]
    pub fn run<F, T>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        crate::strand::run_in(&self.handle, f)
    }

    /// Starts a task in the default pool; see [`crate::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> TaskHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Runs a closure in the blocking pool; see [`crate::spawn_blocking`].
    #[track_caller]
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> TaskHandle<T> {
        self.handle.spawn_blocking(call)
    }

    /// A shared right to use this runtime.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The pool of that name; the one made with the runtime is called `main`.
    pub fn pool(&self, name: &str) -> Option<Pool> {
        self.handle.pool(name)
    }

    /// What the workers have counted until now.
    pub fn metrics(&self) -> Metrics {
        self.handle.metrics()
    }

    /// From now on the workers sample how long polls and wake-ups take, or do so no more; see
    /// [`Builder::histograms`]. That goes for pools that are made later, too. They do so in any case while there is a console.
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// assert_eq!(runtime.metrics().poll_time().count(), 0);
    /// runtime.set_histograms(true);
    /// let polls = || runtime.metrics().poll_time().count();
    /// while polls() == 0 {
    ///     runtime.block_on(runtime.spawn(async {})).unwrap();
    /// }
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn set_histograms(&self, on: bool) {
        self.handle.set_histograms(on);
    }

    /// Records what happens from now on, the last `events_per_worker` events of each worker; 0 ends that. What was recorded before is gone, unless the number is the
    /// same as before. Workers follow at their next look around: after `global_queue_interval` polls, or 64 microseconds and a poll. See [`trace`](crate::trace).
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// assert!(runtime.trace().tracks.is_empty());
    /// runtime.record(4096)?;
    /// while runtime.trace().polls().count() == 0 {
    ///     runtime.block_on(runtime.spawn(async {})).unwrap();
    /// }
    /// runtime.record(0)?;
    /// assert!(runtime.record(usize::MAX).is_err());
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    ///
    /// # Errors
    /// If it is more than 16,777,216.
    pub fn record(&self, events_per_worker: usize) -> Result<(), RuntimeError> {
        self.handle.record(events_per_worker)
    }

    /// What was recorded last ([`Builder::record`]). Recording goes on meanwhile.
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).record(1024).build()?;
    /// runtime.block_on(runtime.spawn(async {})).unwrap();
    /// let trace = runtime.trace();
    /// assert_eq!(trace.tracks[0].name, "main/worker 0");
    /// assert!(trace.to_chrome().starts_with("{\"traceEvents\":["));
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn trace(&self) -> Trace {
        self.handle.trace()
    }

    /// Every task that is alive, ordered by id. Tasks spawned meanwhile may be missing.
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(0).build()?;
    /// let task = ropewalk::task::Builder::new().name("sleeper").spawn_on(&runtime.handle(), std::future::pending::<()>());
    /// assert!(runtime.tasks()[0].to_string().contains("sleeper"));
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn tasks(&self) -> Vec<TaskInfo> {
        self.handle.tasks()
    }

    /// Everything that is alive, as a tree, with what it waits for and where it is; see [`dump`](crate::dump). It blocks this thread,
    /// mostly for some milliseconds, for about three seconds at most.
    ///
    /// ```
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// let _task = runtime.spawn(std::future::pending::<()>());
    /// println!("{}", runtime.dump());
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn dump(&self) -> Dump {
        self.handle.dump()
    }

    /// As [`dump`](Self::dump), with other limits.
    pub fn dump_with(&self, options: &DumpOptions) -> Dump {
        self.handle.dump_with(options)
    }

    /// Runs one ready task on this thread, for loops that belong to somebody else. False: there is none.
    ///
    /// # Errors
    /// The runtime has threads of its own, or another thread is driving it, or it is bound to another thread.
    pub fn try_tick(&self) -> Result<bool, RuntimeError> {
        Ok(self.handle.shared.seat()?.take().map_err(RuntimeError::seat)?.tick())
    }

    /// Runs ready tasks on this thread until there are none.
    ///
    /// # Errors
    /// As for [`try_tick`](Self::try_tick).
    pub fn run_until_stalled(&self) -> Result<(), RuntimeError> {
        let mut driving = self.handle.shared.seat()?.take().map_err(RuntimeError::seat)?;
        driving.run_while_ready(|| false);
        Ok(())
    }

    /// Cancels everything and waits as dropping does.
    pub fn shutdown_now(self) {
        drop(self);
    }

    /// Waits until every task and every blocking job has ended, at most until the deadline; then cancels what is left, and waits until that has
    /// ended, too. `Duration::MAX` is no deadline.
    ///
    /// From the call on, nothing is accepted from outside (the owner gets [`TaskError::Shutdown`](crate::TaskError::Shutdown));
    /// the runtime's own tasks may spawn what they need to end. It can be called
    ///
    /// * on a plain thread, which is parked; without worker threads it drives the runtime meanwhile;
    /// * in a task or strand of another runtime, whose stack is parked;
    /// * in a task of this runtime, through a [`Handle`] or not. It waits for all others, not for itself nor for those that
    ///   do the same; but what it had to cancel it does not see end. It goes on to its next suspension, where it is cancelled;
    /// * more than once, also at the same time: everybody waits, and who comes late finds nothing left.
    ///
    /// If a strand that waits here is cancelled, or a nursery around it fails, the deadline is now: what is left is cancelled, the account is
    /// given, and the strand's next wait unwinds.
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// drop(runtime.spawn(async { /* ends by itself */ }));
    /// assert!(runtime.shutdown(Duration::from_secs(60)).is_ok());
    ///
    /// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
    /// drop(runtime.spawn(std::future::pending::<()>()));
    /// let account = runtime.shutdown(Duration::ZERO).unwrap_err();
    /// assert_eq!(account.cancelled, 1);
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    ///
    /// # Errors
    /// An account of what had to be cancelled, and of what did not end even within 100 ms after that: a poll that does not
    /// return, a stack that waits for something from outside. That is never torn down by force; it stays, with its thread.
    pub fn shutdown(self, deadline: Duration) -> Result<(), ShutdownError> {
        self.handle.shutdown(deadline)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.handle.shared.shut_down(false);
    }
}

impl Handle {
    /// The runtime this is called in, or the default one.
    pub fn current() -> Handle {
        context::runtime().unwrap_or_else(Runtime::default_handle)
    }

    pub(crate) fn main(&self) -> Arc<sched::pool::Pool> {
        self.main.clone()
    }

    /// The runtime of a worker in `pool`.
    pub(crate) fn of_worker(pool: &Arc<sched::pool::Pool>) -> Handle {
        let main = pool.runtime.pool("main").unwrap_or_else(|| pool.clone());
        Handle { shared: pool.runtime.clone(), main }
    }

    /// As [`Runtime::block_on`].
    ///
    /// # Panics
    /// As [`Runtime::block_on`].
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        wait::block_on_in(self, future)
    }

    /// As [`Runtime::run`].
    ///
    /// # Panics
    /// As [`Runtime::run`].
    #[track_caller]
    pub fn run<F, T>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        crate::strand::run_in(self, f)
    }

    /// As [`Runtime::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> TaskHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_in(&self.main, future)
    }

    /// As [`Runtime::spawn_blocking`].
    #[track_caller]
    pub fn spawn_blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> TaskHandle<T> {
        blocking::spawn(self, call, None, Location::caller(), None)
    }

    /// As [`Runtime::shutdown`]: the runtime goes down, whoever has it.
    ///
    /// # Errors
    /// As [`Runtime::shutdown`].
    pub fn shutdown(&self, deadline: Duration) -> Result<(), ShutdownError> {
        self.shared.shut_down_by(deadline)
    }

    /// Cancels everything, and waits as dropping the [`Runtime`] does.
    pub fn shutdown_now(&self) {
        self.shared.shut_down(false);
    }

    /// As [`Runtime::pool`].
    pub fn pool(&self, name: &str) -> Option<Pool> {
        self.shared.pool(name).map(Pool::wrap)
    }

    /// As [`Runtime::metrics`].
    pub fn metrics(&self) -> Metrics {
        Metrics::of(&self.shared)
    }

    /// Whether it goes down, or has.
    #[cfg(all(unix, feature = "console"))]
    pub(crate) fn has_ended(&self) -> bool {
        use crate::sched::pool::Phase;
        self.shared.pools().first().is_none_or(|pool| pool.phase() != Phase::Open)
    }

    /// Whether somebody records what happens.
    #[cfg(all(unix, feature = "console"))]
    pub(crate) fn is_recorded(&self) -> bool {
        self.shared.recorder.is_on()
    }

    /// Its settings.
    #[cfg(all(unix, feature = "console"))]
    pub(crate) fn config(&self) -> &Config {
        &self.shared.config
    }

    /// As [`Runtime::set_histograms`].
    pub fn set_histograms(&self, on: bool) {
        self.shared.sample(on);
    }

    /// As [`Runtime::record`].
    ///
    /// # Errors
    /// As [`Runtime::record`].
    pub fn record(&self, events_per_worker: usize) -> Result<(), RuntimeError> {
        builder::check_record(events_per_worker)?;
        self.shared.record(events_per_worker);
        Ok(())
    }

    /// As [`Runtime::trace`]. It works as well when the runtime was shut down.
    pub fn trace(&self) -> Trace {
        Trace::of(&self.shared)
    }

    /// As [`Runtime::tasks`].
    pub fn tasks(&self) -> Vec<TaskInfo> {
        TaskInfo::all(&self.shared)
    }

    /// As [`Runtime::dump`].
    pub fn dump(&self) -> Dump {
        self.dump_with(&DumpOptions::default())
    }

    /// As [`Runtime::dump_with`].
    pub fn dump_with(&self, options: &DumpOptions) -> Dump {
        Dump::of(&self.shared, options)
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shared.fmt(f)
    }
}
