//! How a runtime is configured. Everything non-deterministic (clock, seed) enters here.

use super::config::{BlockInTask, BlockingConfig, Config, Hooks, Strands, UnhandledPanic, cores};
use super::{Clock, ManualClock, Runtime, RuntimeError, Timebase};
#[cfg(unix)]
use crate::drive::io::{Choice, IoDriver, IoDriverKind};
#[cfg(unix)]
use crate::dump::DumpTarget;
use crate::sched::recorder::MOST_EVENTS;
#[cfg(unix)]
use crate::signal::unix::SignalKind;
use ropewalk_core::task::TaskId;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

/// The most workers a pool can have.
pub(crate) const MOST_WORKERS: usize = 1024;
/// The most threads a blocking pool can have.
const MOST_BLOCKING: usize = 65_536;
const SMALLEST_STACK: usize = 32 * 1024;

/// The same as [`Builder`]: `RuntimeConfig::single_threaded()`, `RuntimeConfig::multi_threaded()`.
pub type RuntimeConfig = Builder;

/// Makes a [`Runtime`]. Every setting has a default that suits a server; [`build`](Self::build) refuses what cannot
/// work and names the setting and what it accepts.
///
/// ```
/// let runtime = ropewalk::Runtime::builder().worker_threads(2).thread_name("spinner").build()?;
/// assert_eq!(runtime.block_on(async { 1 + 1 }), 2);
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
///
/// Hooks run on workers, between tasks. They must not [`wait`](crate::wait()), and a panic in one ends the process: there
/// is no task to blame for it.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    workers: Option<usize>,
    hosted: Option<usize>,
    paused: bool,
    config: Config,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// The default settings.
    pub fn new() -> Self {
        let cores = cores();
        let config = Config {
            cores,
            queue_capacity: 256,
            work_stealing: true,
            lifo_slot: true,
            global_queue_interval: 61,
            preempt_threshold: Duration::from_millis(1),
            rescue_threshold: Duration::from_millis(2),
            thread_name: "ropewalk".into(),
            thread_stack_size: 2 * 1024 * 1024,
            // Instrumented code has large frames.
            strands: Strands { stack_size: if cfg!(tsan) { 256 * 1024 } else { 64 * 1024 }, roam: false },
            pin_workers: false,
            blocking: BlockingConfig::for_cores(cores),
            unhandled_panic: None,
            block_in_task: BlockInTask::Allow,
            observe: false,
            histograms: false,
            #[cfg(unix)]
            dump_on_signal: None,
            record: 0,
            seed: 0x005E_ED0F_0A12_0BE5,
            seeded: false,
            clock: Timebase::System,
            #[cfg(unix)]
            io_driver: Choice::default(),
            hooks: Hooks::default(),
        };
        Self { workers: None, hosted: None, paused: false, config }
    }

    /// No threads: everything runs on the thread that calls `block_on`.
    pub fn single_threaded() -> Self {
        Self::new().worker_threads(0)
    }

    /// As many threads as cores may be used: the default.
    pub fn multi_threaded() -> Self {
        Self::new()
    }

    /// How many threads the default pool has; 0: none, everything runs on the thread that calls `block_on`.
    /// Default: the cores this process may use, or as many as its quota of their time comes to; the environment variable
    /// `ROPEWALK_THREADS` overrides the default.
    pub fn worker_threads(mut self, count: usize) -> Self {
        self.workers = Some(count);
        self
    }

    /// `count` logical workers without threads, driven by whoever calls `block_on`, [`try_tick`](Runtime::try_tick) or
    /// [`run_until_stalled`](Runtime::run_until_stalled). Which one runs next is drawn from the [`seed`](Self::seed).
    pub fn hosted_workers(mut self, count: usize) -> Self {
        self.hosted = Some(count);
        self
    }

    /// How many tasks a worker's own queue holds before half of it moves to the injection queue. A power of two from 4
    /// to 65,536; default 256.
    pub fn queue_capacity(mut self, tasks: usize) -> Self {
        self.config.queue_capacity = tasks;
        self
    }

    /// Whether idle workers take tasks from others. Default: yes.
    pub fn work_stealing(mut self, on: bool) -> Self {
        self.config.work_stealing = on;
        self
    }

    /// Whether a task that was just woken runs next on the worker that woke it. Default: yes.
    pub fn lifo_slot(mut self, on: bool) -> Self {
        self.config.lifo_slot = on;
        self
    }

    /// After how many polls a busy worker looks at its timers, the injection queue and the driver. It does so earlier if its polls are long
    /// (after 64 microseconds, or a poll), unless the [`clock`](Self::clock) or the [`seed`](Self::seed) is one's own. From 2 to 65,536; default 61.
    pub fn global_queue_interval(mut self, polls: u32) -> Self {
        self.config.global_queue_interval = polls;
        self
    }

    /// How long a poll may take before its worker is asked to yield, which [`preempt_point`](crate::preempt_point) does. Zero:
    /// nobody is asked. Default: 1 ms.
    pub fn preempt_threshold(mut self, threshold: Duration) -> Self {
        self.config.preempt_threshold = threshold;
        self
    }

    /// How long a poll may take while others wait behind it. Then a stand-in takes over what waits: tasks, strands that have not started,
    /// timers and the driver. (Local tasks and strands that have started cannot leave their thread.) If it takes five times as long, it is
    /// reported on stderr, with whom it delays. Zero: nobody comes. Default: 2 ms.
    ///
    /// Somebody looks for such polls about every 1.5 ms, or every 8 ms after a quarter of a second with little to do and no long poll: the first one is found that much later.
    ///
    /// Where there is no stealing, what is queued at a worker stays there. A runtime on the caller's thread has nobody who would look.
    pub fn rescue_threshold(mut self, threshold: Duration) -> Self {
        self.config.rescue_threshold = threshold;
        self
    }

    /// Which I/O driver to use. Default: [`Auto`](IoDriverKind::Auto); the environment variable `ROPEWALK_IO_DRIVER` overrides
    /// the default. The driver is made with the first socket; [`metrics`](Runtime::metrics) says which one it is, and why.
    /// [`build`](Self::build) refuses what this system has not; if only its kernel lacks io_uring, or forbids it, epoll is
    /// used in its place.
    ///
    /// ```
    /// use ropewalk::{Runtime, driver::IoDriverKind};
    /// let refused = Runtime::builder().io_driver(IoDriverKind::Iocp).build().unwrap_err();
    /// assert!(refused.to_string().starts_with("io_driver: Iocp is not possible; accepted: Auto"));
    /// let runtime = Runtime::builder().worker_threads(0).io_driver(IoDriverKind::Poll).build()?;
    /// assert_eq!(runtime.metrics().io.asked_for, IoDriverKind::Poll);
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    #[cfg(unix)]
    pub fn io_driver(mut self, kind: IoDriverKind) -> Self {
        self.config.io_driver = Choice::Kind(kind);
        self
    }

    /// A driver of one's own, made when the first socket needs it.
    #[cfg(unix)]
    pub fn io_driver_with(
        mut self,
        make: impl Fn() -> std::io::Result<Box<dyn IoDriver>> + Send + Sync + 'static,
    ) -> Self {
        self.config.io_driver = Choice::Custom(Arc::new(make));
        self
    }

    /// The name of the worker threads, followed by their number. Default `ropewalk`.
    pub fn thread_name(mut self, name: impl AsRef<str>) -> Self {
        self.config.thread_name = name.as_ref().into();
        self
    }

    /// The size of the stacks on which workers run tasks. At least 32 KiB; default 2 MiB. Memory is used as needed.
    pub fn thread_stack_size(mut self, bytes: usize) -> Self {
        self.config.thread_stack_size = bytes;
        self
    }

    /// The size of a strand's stack, in pools that are not told otherwise ([`PoolBuilder::strand_stack_size`](crate::PoolBuilder::strand_stack_size)).
    /// At least 32 KiB; default 64 KiB.
    pub fn strand_stack_size(mut self, bytes: usize) -> Self {
        self.config.strands.stack_size = bytes;
        self
    }

    /// Lets strands of the main pool go to another worker after any wait; see [`PoolBuilder::roaming_strands`](crate::PoolBuilder::roaming_strands).
    ///
    /// # Safety
    /// As there.
    #[cfg(feature = "roaming")]
    pub unsafe fn roaming_strands(mut self, roam: bool) -> Self {
        self.config.strands.roam = roam;
        self
    }

    /// Whether worker `i` is bound to the `i`-th core that the process may use. Default: no.
    pub fn pin_workers(mut self, on: bool) -> Self {
        self.config.pin_workers = on;
        self
    }

    /// How many threads the blocking pool has ([`spawn_blocking`](crate::spawn_blocking)): it starts with `min`, grows to
    /// `max` while jobs wait and no thread is idle, and shrinks to `min` again. `min` from 0 to `max`, `max` from 1 to
    /// 65,536. Default: as many as cores, to 512; by default, though, it starts empty, and those `min` come when they are
    /// first needed.
    pub fn blocking_threads(mut self, min: usize, max: usize) -> Self {
        let blocking = &mut self.config.blocking;
        (blocking.least, blocking.most, blocking.ahead) = (min, max, true);
        self
    }

    /// How long a thread of the blocking pool that is not one of the minimum waits for a job before it ends. Any
    /// duration, `Duration::MAX` for ever; default 60 s.
    pub fn blocking_keep_alive(mut self, time: Duration) -> Self {
        self.config.blocking.keep_alive = time;
        self
    }

    /// The size of the stacks of the blocking pool's threads. At least 32 KiB; default 2 MiB. Memory is used as needed.
    pub fn blocking_stack_size(mut self, bytes: usize) -> Self {
        self.config.blocking.stack_size = bytes;
        self
    }

    /// What happens to a panic in a task or strand that nobody waits for. Default: [`UnhandledPanic::Report`] for tasks,
    /// [`UnhandledPanic::Terminate`] for strands.
    pub fn unhandled_panic(mut self, policy: UnhandledPanic) -> Self {
        self.config.unhandled_panic = Some(policy);
        self
    }

    /// What [`wait`](crate::wait) does inside a task's poll. Default: [`BlockInTask::Allow`].
    pub fn block_in_task(mut self, policy: BlockInTask) -> Self {
        self.config.block_in_task = policy;
        self
    }

    /// Whether the workers sample how long polls take, and how long tasks wait for theirs after they were woken:
    /// [`Metrics::poll_time`](crate::Metrics::poll_time), [`Metrics::wake_to_run`](crate::Metrics::wake_to_run). It costs less than a hundredth of their time.
    /// Default: no. [`Runtime::set_histograms`] changes it while the runtime runs.
    pub fn histograms(mut self, on: bool) -> Self {
        self.config.histograms = on;
        self
    }

    /// Records what happens, for [`Runtime::trace`]: the last `events_per_worker` events of each worker (a poll is one, a wake-up is one), and
    /// as many of all other threads together. Each takes 32 bytes, those of other threads 56; the number is rounded up to a power of two. Default: 0, nothing. [`Runtime::record`]
    /// changes it while the runtime runs.
    pub fn record(mut self, events_per_worker: usize) -> Self {
        self.config.record = events_per_worker;
        self
    }

    /// Whether every task is observed: names, times and counts, at the cost of two clock reads a poll. Default: no.
    pub fn observe(mut self, on: bool) -> Self {
        self.config.observe = on;
        self
    }

    /// Writes a [dump](crate::dump) of the runtime whenever the process gets this signal. Default: no.
    ///
    /// A thread of its own sleeps until then and takes the dump, so it works also when every worker is busy or stuck. The signal does
    /// not do to the process what it did before; see [`signal`](crate::signal) for that, and for what is merged.
    /// [`build`](Self::build) refuses a signal to which nobody can listen.
    ///
    /// ```
    /// use ropewalk::{Runtime, dump::DumpTarget, signal::unix::SignalKind};
    /// let file = std::env::temp_dir().join(format!("ropewalk-dump-{}", std::process::id()));
    /// let target = DumpTarget::File(file.clone());
    /// let runtime = Runtime::builder().worker_threads(1).dump_on_signal(SignalKind::user_defined2(), target).build()?;
    /// std::process::Command::new("kill").args(["-USR2", &std::process::id().to_string()]).status()?;
    /// while !std::fs::read_to_string(&file).is_ok_and(|text| text.contains("pool main: 1 worker")) {
    ///     std::thread::yield_now();
    /// }
    /// # drop(runtime);
    /// # std::fs::remove_file(file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(unix)]
    pub fn dump_on_signal(mut self, kind: SignalKind, target: DumpTarget) -> Self {
        self.config.dump_on_signal = Some((kind, target));
        self
    }

    /// The seed of every random choice the runtime makes. With one, how long polls take has no influence on their order: looks at what is due
    /// are made after a number of polls only ([`global_queue_interval`](Self::global_queue_interval)).
    pub fn seed(mut self, seed: u64) -> Self {
        (self.config.seed, self.config.seeded) = (seed, true);
        self
    }

    /// The clock of the runtime. Default: the system's monotonic clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.config.clock = Timebase::own(clock);
        self
    }

    /// Whether time stands still, for tests: sleeps and timeouts take no real time. Default: no.
    ///
    /// The runtime gets a [`ManualClock`] of its own that shows zero. It moves in two ways: by hand, with
    /// [`time::advance`](crate::time::advance); and whenever `block_on` finds nothing to run but timers are pending, then it
    /// jumps to the first of them. So `sleep(one hour).await` is over at once, things happen in the order of their
    /// deadlines, and a seed gives the same run every time. Jobs of the blocking pool are waited for before a jump; threads
    /// outside of the runtime go by real time and are not. [`try_tick`](Runtime::try_tick) and
    /// [`run_until_stalled`](Runtime::run_until_stalled) never jump: whoever calls them moves the clock.
    /// [`time::resume`](crate::time::resume) lets it run with real time.
    ///
    /// Only a runtime without threads can tell that there is nothing to run: without another setting a paused one is that,
    /// as by `worker_threads(0)`; [`hosted_workers`](Self::hosted_workers) fits as well, `worker_threads` above 0 and
    /// [`clock`](Self::clock) do not.
    ///
    /// ```
    /// use std::time::Duration;
    /// let runtime = ropewalk::Runtime::builder().paused(true).build()?;
    /// runtime.block_on(async {
    ///     let from = ropewalk::time::Instant::now();
    ///     ropewalk::time::sleep(Duration::from_secs(3600)).await;
    ///     assert_eq!(from.elapsed(), Duration::from_secs(3600));
    /// });
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn paused(mut self, on: bool) -> Self {
        self.paused = on;
        self
    }

    /// Called on each worker thread, and on each thread of the blocking pool, when it starts.
    pub fn on_thread_start(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.hooks.on_thread_start = Some(Arc::new(hook));
        self
    }

    /// Called on each worker thread, and on each thread of the blocking pool, before it ends.
    pub fn on_thread_stop(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.hooks.on_thread_stop = Some(Arc::new(hook));
        self
    }

    /// Called before a worker sleeps. It may wake and spawn tasks; then the worker runs them instead.
    pub fn on_thread_park(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.hooks.on_thread_park = Some(Arc::new(hook));
        self
    }

    /// Called after a worker has slept.
    pub fn on_thread_unpark(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.config.hooks.on_thread_unpark = Some(Arc::new(hook));
        self
    }

    /// Called when a task was spawned, on the spawning thread.
    pub fn on_task_spawn(mut self, hook: impl Fn(TaskId) + Send + Sync + 'static) -> Self {
        self.config.hooks.on_task_spawn = Some(Arc::new(hook));
        self
    }

    /// Called when a task is over, on the worker where it ended.
    pub fn on_task_end(mut self, hook: impl Fn(TaskId) + Send + Sync + 'static) -> Self {
        self.config.hooks.on_task_end = Some(Arc::new(hook));
        self
    }

    /// Called before each poll of a task.
    pub fn before_poll(mut self, hook: impl Fn(TaskId) + Send + Sync + 'static) -> Self {
        self.config.hooks.before_poll = Some(Arc::new(hook));
        self
    }

    /// Called after each poll of a task.
    pub fn after_poll(mut self, hook: impl Fn(TaskId) + Send + Sync + 'static) -> Self {
        self.config.hooks.after_poll = Some(Arc::new(hook));
        self
    }

    /// Makes the runtime and starts its workers.
    ///
    /// # Errors
    /// A setting out of its range, or threads or memory that the system does not give.
    pub fn build(mut self) -> Result<Runtime, RuntimeError> {
        if self.paused {
            self.stop_the_clock()?;
        }
        let hosted = self.hosted.is_some() || self.workers == Some(0);
        let count = match (self.hosted, self.workers) {
            (Some(_), Some(1..)) => {
                return Err(RuntimeError::setting(
                    "hosted_workers",
                    "together with worker_threads",
                    "one of the two",
                ));
            }
            (Some(count), _) => count,
            (None, Some(0)) => 1,
            (None, Some(count)) => count,
            (None, None) => default_workers()?,
        };
        let knob = if self.hosted.is_some() { "hosted_workers" } else { "worker_threads" };
        check(knob, count, 1..=MOST_WORKERS)?;
        #[cfg_attr(not(unix), allow(unused_mut))]
        let mut config = self.config;
        check("queue_capacity", config.queue_capacity, 4..=65_536)?;
        if !config.queue_capacity.is_power_of_two() {
            return Err(RuntimeError::setting(
                "queue_capacity",
                config.queue_capacity,
                "a power of two from 4 to 65536",
            ));
        }
        check("global_queue_interval", config.global_queue_interval as usize, 2..=65_536)?;
        check("thread_stack_size", config.thread_stack_size, SMALLEST_STACK..=1 << 40)?;
        config.strands.check()?;
        check_record(config.record)?;
        let blocking = &config.blocking;
        check("blocking_threads (max)", blocking.most, 1..=MOST_BLOCKING)?;
        check("blocking_threads (min)", blocking.least, 0..=blocking.most)?;
        check("blocking_stack_size", blocking.stack_size, SMALLEST_STACK..=1 << 40)?;
        #[cfg(unix)]
        config.io_driver.settle()?;
        if config.thread_name.bytes().any(|byte| byte == 0) {
            return Err(RuntimeError::setting(
                "thread_name",
                "a name with a NUL byte",
                "a name without NUL bytes",
            ));
        }
        Runtime::start(config, count, hosted)
    }

    fn stop_the_clock(&mut self) -> Result<(), RuntimeError> {
        if let Some(count @ 1..) = self.workers {
            let given = format!("together with worker_threads({count})");
            return Err(RuntimeError::setting(
                "paused",
                given,
                "worker_threads(0) or hosted_workers beside it",
            ));
        }
        if self.config.clock.is_own() {
            let accepted = "one of the two; ManualClock::skipping() is the clock of a paused runtime";
            return Err(RuntimeError::setting("paused", "together with clock", accepted));
        }
        if self.hosted.is_none() {
            self.workers = Some(0);
        }
        self.config.clock = Timebase::own(ManualClock::skipping());
        Ok(())
    }
}

/// How much may be recorded.
pub(super) fn check_record(events_per_worker: usize) -> Result<(), RuntimeError> {
    check("record", events_per_worker, 0..=MOST_EVENTS)
}

impl Strands {
    /// Whether this can be done.
    pub(crate) fn check(self) -> Result<(), RuntimeError> {
        check("strand_stack_size", self.stack_size, SMALLEST_STACK..=1 << 40)
    }
}

fn check(
    knob: &'static str,
    value: usize,
    accepted: std::ops::RangeInclusive<usize>,
) -> Result<(), RuntimeError> {
    if accepted.contains(&value) {
        return Ok(());
    }
    Err(RuntimeError::setting(knob, value, format!("{} to {}", accepted.start(), accepted.end())))
}

fn default_workers() -> Result<usize, RuntimeError> {
    let Some(given) = std::env::var_os("ROPEWALK_THREADS") else {
        return Ok(available_parallelism().map_or(1, usize::from).min(MOST_WORKERS));
    };
    let number = given.to_str().and_then(|text| text.trim().parse().ok());
    number.filter(|count| (1..=MOST_WORKERS).contains(count)).ok_or_else(|| {
        let accepted = format!("a number from 1 to {MOST_WORKERS}");
        RuntimeError::setting("ROPEWALK_THREADS", format!("{given:?}"), accepted)
    })
}
