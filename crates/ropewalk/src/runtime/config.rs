//! The knobs of a runtime after `build` has checked them.

use super::Timebase;
use ropewalk_core::task::TaskId;
use std::fmt;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

type Hook = Arc<dyn Fn() + Send + Sync>;
type TaskHook = Arc<dyn Fn(TaskId) + Send + Sync>;

/// Functions of the user's that are called at certain moments.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) on_thread_start: Option<Hook>,
    pub(crate) on_thread_stop: Option<Hook>,
    pub(crate) on_thread_park: Option<Hook>,
    pub(crate) on_thread_unpark: Option<Hook>,
    pub(crate) on_task_spawn: Option<TaskHook>,
    pub(crate) on_task_end: Option<TaskHook>,
    pub(crate) before_poll: Option<TaskHook>,
    pub(crate) after_poll: Option<TaskHook>,
}

/// What happens to a panic in a task or strand that nobody waits for. If nothing is said, panics of tasks are reported, and those of
/// strands terminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnhandledPanic {
    /// It is printed to standard error with the task's name and spawn place, and counted.
    Report,
    /// As `Report`, and the runtime is shut down; a `block_on` under way re-raises the panic.
    Terminate,
}

/// What `wait` does inside a task's poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockInTask {
    /// The stack is parked and the worker goes on with other work; it is counted.
    Allow,
    /// It panics: for code bases that want to find such places.
    Panic,
}

/// The settings of the blocking pool.
#[derive(Clone, Debug)]
pub(crate) struct BlockingConfig {
    /// Threads that stay when there is nothing to do.
    pub(crate) least: usize,
    pub(crate) most: usize,
    /// Whether these `least` threads are started with the runtime.
    pub(crate) ahead: bool,
    pub(crate) keep_alive: Duration,
    pub(crate) stack_size: usize,
}

impl BlockingConfig {
    /// The default for a machine with so many cores.
    pub(crate) fn for_cores(cores: usize) -> Self {
        let (most, keep_alive) = (cores.max(512), Duration::from_secs(60));
        Self { least: cores, most, ahead: false, keep_alive, stack_size: 2 * 1024 * 1024 }
    }
}

/// How many cores this process may run on. What quotas it has of their time is in files: who wants to know that as well asks
/// [`available_parallelism`].
pub(crate) fn cores() -> usize {
    #[cfg(target_os = "linux")]
    if let Ok(set) = rustix::thread::sched_getaffinity(None) {
        return (set.count() as usize).max(1);
    }
    available_parallelism().map_or(1, usize::from)
}

/// How far splitmix64 goes with each number.
pub(crate) const RANDOM_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number that splitmix64 gives for a state.
pub(crate) fn mixed(state: u64) -> u64 {
    let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// What the strands of a pool are like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strands {
    /// How many bytes of stack one has that is not told otherwise.
    pub(crate) stack_size: usize,
    /// They go to another worker after any wait.
    pub(crate) roam: bool,
}

/// Checked settings; see [`Builder`](super::Builder) for what they mean.
#[derive(Clone)]
pub(crate) struct Config {
    /// How many this process could run on when the builder was made: later it may be asked from a thread that is bound to one.
    pub(crate) cores: usize,
    pub(crate) queue_capacity: usize,
    pub(crate) work_stealing: bool,
    pub(crate) lifo_slot: bool,
    pub(crate) global_queue_interval: u32,
    pub(crate) preempt_threshold: Duration,
    pub(crate) rescue_threshold: Duration,
    pub(crate) thread_name: Arc<str>,
    pub(crate) thread_stack_size: usize,
    /// Of the main pool; another one that is not told otherwise has stacks of that size too.
    pub(crate) strands: Strands,
    pub(crate) pin_workers: bool,
    pub(crate) blocking: BlockingConfig,
    /// `None`: tasks are reported, strands terminate.
    pub(crate) unhandled_panic: Option<UnhandledPanic>,
    pub(crate) block_in_task: BlockInTask,
    pub(crate) observe: bool,
    pub(crate) histograms: bool,
    #[cfg(unix)]
    pub(crate) dump_on_signal: Option<(crate::signal::unix::SignalKind, crate::dump::DumpTarget)>,
    /// Events for each worker; 0: nothing is recorded.
    pub(crate) record: usize,
    pub(crate) seed: u64,
    /// It was given: the run is to be the same every time.
    pub(crate) seeded: bool,
    pub(crate) clock: Timebase,
    #[cfg(unix)]
    pub(crate) io_driver: crate::drive::io::Choice,
    pub(crate) hooks: Hooks,
}

/// The watchdog looks no more often than that.
const SHORTEST_TICK: Duration = Duration::from_micros(100);

impl Config {
    /// Where the random sequence number `stream` starts: never at zero, and elsewhere for every seed.
    pub(crate) fn random(&self, stream: u64) -> u64 {
        mixed(self.seed.wrapping_add(stream.wrapping_add(1).wrapping_mul(RANDOM_STEP))).max(1)
    }

    /// Whether somebody looks how long polls take.
    pub(crate) fn has_watchdog(&self) -> bool {
        !self.preempt_threshold.is_zero() || !self.rescue_threshold.is_zero()
    }

    /// How often it looks: a poll is found to be too long at most so much later. Getting up for that is what it costs (ten microseconds).
    pub(crate) fn tick(&self) -> Duration {
        let thresholds = [self.preempt_threshold * 3 / 2, self.rescue_threshold * 3 / 4];
        let shortest = thresholds.into_iter().filter(|threshold| !threshold.is_zero()).min();
        shortest.unwrap_or(Duration::MAX).max(SHORTEST_TICK)
    }

    /// Whether a run is to be the same every time, or its time is not the system's: real time must not steer it.
    pub(crate) fn is_replayed(&self) -> bool {
        self.seeded || self.clock.is_own()
    }

    /// Whether every poll is looked at: hooks, or an observed runtime.
    pub(crate) fn watches(&self) -> bool {
        let hooks = &self.hooks;
        self.observe
            || hooks.before_poll.is_some()
            || hooks.after_poll.is_some()
            || hooks.on_task_end.is_some()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("thread_name", &self.thread_name).finish_non_exhaustive()
    }
}
