//! What the workers count, as one snapshot.

mod histogram;
mod prometheus;

pub use histogram::Histogram;

#[cfg(unix)]
pub use crate::drive::io::IoMetrics;
use crate::drive::time::Shard;
use crate::inspect::TaskInfo;
use crate::runtime::Shared;
use crate::sched;
use crate::sched::park;
use crate::sched::station::{Station, Status};
use std::time::Duration;

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerState {
    /// Running tasks, or looking for some.
    Busy,
    /// Asleep.
    Idle,
    /// Asleep in the driver, for all of its pool.
    Polling,
    /// Serving only what is pinned to it, until that ends.
    Retiring,
    /// Nobody is there: it has retired.
    Vacant,
}

/// A snapshot of a runtime, taken without stopping anybody: each figure is read once. Of what is counted, a part is never more than the
/// whole (such as [`finished`](WorkerMetrics::finished) and [`polls`](WorkerMetrics::polls)), and a later snapshot never less than an earlier one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Metrics {
    /// Its pools; the first is `main`.
    pub pools: Vec<PoolMetrics>,
    /// Its blocking pool.
    pub blocking: BlockingMetrics,
    /// Its I/O driver.
    #[cfg(unix)]
    pub io: IoMetrics,
    /// Panics of tasks that nobody waited for.
    pub unhandled_panics: u64,
    /// Waits of a task for one that it stems from, which were refused
    /// ([`TaskError::Ancestor`](crate::TaskError::Ancestor)).
    pub refused_waits: u64,
}

/// A snapshot of the blocking pool.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BlockingMetrics {
    /// Its threads, those that are just starting included.
    pub threads: usize,
    /// Threads that wait for a job.
    pub idle: usize,
    /// Jobs that wait for a thread.
    pub queued: usize,
    /// Jobs that have a thread.
    pub running: usize,
    /// Jobs that had one and are over.
    pub finished: u64,
    /// Threads started.
    pub started: u64,
    /// Threads that have ended.
    pub ended: u64,
    /// Threads that the system did not give.
    pub start_failures: u64,
    /// Times a thread spun before sleeping.
    pub spins: u64,
    /// Spins that ended with a job.
    pub spin_hits: u64,
}

/// A snapshot of a pool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolMetrics {
    /// Its name.
    pub name: String,
    /// Its workers, those that have retired included.
    pub workers: Vec<WorkerMetrics>,
    /// Tasks in the injection queue.
    pub injected: usize,
    /// Tasks and strands that are not over.
    pub alive: u64,
    /// Strands that have begun and are not over.
    pub strands: u64,
    /// Workers that take work, stand-ins not counted.
    pub active: usize,
    /// Workers that are there because others are stuck in a poll, or were lately.
    pub stand_ins: usize,
    /// Workers that serve only what is pinned to them.
    pub retiring: usize,
    /// Workers that are looking for work now.
    pub searching: usize,
    /// Workers that are asleep and would be woken for work.
    pub sleeping: usize,
    /// Timers that are pending.
    pub timers: usize,
    /// Times a stand-in came for a worker that was stuck in a poll.
    pub rescues: u64,
    /// The longest polls so far, of those that took longer than
    /// [`preempt_threshold`](crate::Builder::preempt_threshold), or about as long: the longest first, at most eight, and
    /// of tasks that were spawned at one place only the longest.
    pub longest_polls: Vec<LongPoll>,
}

/// A poll that took long, as the watchdog saw it.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
/// let begun = Instant::now();
/// let hog = async move {
///     let other = ropewalk::spawn(async {}); // somebody waits, so somebody looks
///     while begun.elapsed() < Duration::from_millis(100) {}
///     other.await
/// };
/// runtime.block_on(runtime.spawn(hog)).unwrap().unwrap();
/// for long in &runtime.metrics().pools[0].longest_polls {
///     println!("{:?} in {}", long.time, long.task);
/// }
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LongPoll {
    /// How long it took, about: it is looked at every so often, not timed.
    pub time: Duration,
    /// The task, as it was then; it says where it was spawned.
    pub task: TaskInfo,
}

/// A snapshot of a worker.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// What it is doing.
    pub state: WorkerState,
    /// Tasks in its own queue.
    pub queued: usize,
    /// Strands and local tasks that stay on it and are not over.
    pub pinned: usize,
    /// Stacks parked in the middle of a poll.
    pub parked_stacks: usize,
    /// Polls of tasks.
    pub polls: u64,
    /// Tasks spawned on it.
    pub spawned: u64,
    /// Tasks that ended on it.
    pub finished: u64,
    /// Tasks that were taken from the LIFO slot, to run next. (A strand may begin elsewhere, then.)
    pub lifo_hits: u64,
    /// Batches taken from the injection queue.
    pub injected: u64,
    /// Times its queue was full and half of it moved to the injection queue.
    pub overflows: u64,
    /// Searches through the other workers' queues.
    pub searches: u64,
    /// Successful steals of half a queue.
    pub steals: u64,
    /// Steals from a LIFO slot whose owner made no progress.
    pub lifo_steals: u64,
    /// Times it spun before sleeping.
    pub spins: u64,
    /// Spins that found work.
    pub spin_hits: u64,
    /// Times it went to sleep.
    pub parks: u64,
    /// Times it woke up.
    pub wakes: u64,
    /// Times it left the work to others for some microseconds, because two got less done than one.
    pub asides: u64,
    /// Polls that ended because the budget was used up.
    pub budget_yields: u64,
    /// Polls that ended at a [`preempt_point`](crate::preempt_point) because they took too long.
    pub preemptions: u64,
    /// Waits inside a poll that parked a stack.
    pub waits_in_poll: u64,
    /// Waits by [`Blocking`](crate::Blocking) that held the thread itself.
    pub held: u64,
    /// Timers that it found due, its own and others'.
    pub timers_fired: u64,
    /// Strands that began on it.
    pub strands_started: u64,
    /// Strands that ended on it: those that began on it, unless they roam.
    pub strands_ended: u64,
    /// How long polls take, if that is sampled ([`Builder::histograms`](crate::Builder::histograms)): it counts as many as there were.
    pub poll_time: Option<Box<Histogram>>,
    /// How long tasks wait after they were woken, or spawned, until they run here; of those that were sampled.
    pub wake_to_run: Option<Box<Histogram>>,
}

impl Metrics {
    pub(crate) fn of(shared: &Shared) -> Self {
        let pools = shared.pools();
        Self {
            pools: pools.iter().map(|pool| PoolMetrics::of(pool)).collect(),
            blocking: shared.blocking.metrics(),
            #[cfg(unix)]
            io: shared.io.metrics(),
            unhandled_panics: shared.panics.get(),
            refused_waits: shared.refused_waits.get(),
        }
    }

    /// The sum of one figure over all workers.
    ///
    /// ```
    /// # let runtime = ropewalk::Runtime::builder().worker_threads(0).build()?;
    /// runtime.block_on(async { ropewalk::spawn(async {}).await.unwrap() });
    /// assert_eq!(runtime.metrics().total(|worker| worker.finished), 1);
    /// # Ok::<(), ropewalk::RuntimeError>(())
    /// ```
    pub fn total(&self, figure: impl Fn(&WorkerMetrics) -> u64) -> u64 {
        self.pools.iter().flat_map(|pool| &pool.workers).map(figure).sum()
    }
}

impl Metrics {
    /// How long polls take, on all workers of all pools; empty unless [`Builder::histograms`](crate::Builder::histograms) is on.
    pub fn poll_time(&self) -> Histogram {
        Histogram::sum_of(self.pools.iter().map(PoolMetrics::poll_time))
    }

    /// How long tasks wait after they were woken until they run, on all workers of all pools; empty unless
    /// [`Builder::histograms`](crate::Builder::histograms) is on.
    pub fn wake_to_run(&self) -> Histogram {
        Histogram::sum_of(self.pools.iter().map(PoolMetrics::wake_to_run))
    }
}

impl PoolMetrics {
    /// As [`Metrics::poll_time`], of this pool.
    pub fn poll_time(&self) -> Histogram {
        Histogram::sum_of(self.workers.iter().filter_map(|worker| worker.poll_time.as_deref().cloned()))
    }

    /// As [`Metrics::wake_to_run`], of this pool.
    pub fn wake_to_run(&self) -> Histogram {
        Histogram::sum_of(self.workers.iter().filter_map(|worker| worker.wake_to_run.as_deref().cloned()))
    }

    pub(crate) fn of(pool: &sched::pool::Pool) -> Self {
        let (counters, (active, stand_ins)) = (pool.idle.counters(), pool.staff());
        let workers: Vec<_> = pool.stations().map(|station| WorkerMetrics::of(station)).collect();
        let ended: u64 = workers.iter().map(|worker| worker.strands_ended).sum();
        let started: u64 = workers.iter().map(|worker| worker.strands_started).sum();
        Self {
            name: pool.name.clone(),
            // One that roams may end elsewhere than where it started.
            strands: started.saturating_sub(ended),
            workers,
            injected: pool.injector.len(),
            alive: pool.live(),
            active,
            stand_ins,
            retiring: pool.retiring(),
            searching: counters.searching(),
            sleeping: counters.sleeping(),
            timers: pool.shards().map(Shard::len).sum(),
            rescues: pool.rescues.get(),
            longest_polls: pool.longest_polls.lock().list().to_vec(),
        }
    }
}

impl WorkerMetrics {
    fn of(station: &Station) -> Self {
        let state = match (station.status(), station.parker.state()) {
            (Status::Vacant, _) => WorkerState::Vacant,
            (Status::Retiring, _) => WorkerState::Retiring,
            (_, park::WorkerState::Busy) => WorkerState::Busy,
            (_, park::WorkerState::Idle) => WorkerState::Idle,
            (_, park::WorkerState::Polling) => WorkerState::Polling,
        };
        let (counters, histograms) = (&station.counters, station.known_histograms());
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        // What is a part of something else is read before it: it never seems to be more than that.
        Self {
            state,
            poll_time: histograms.map(|known| Box::new(Histogram::of(&known.poll_time))),
            wake_to_run: histograms.map(|known| Box::new(Histogram::of(&known.wake_to_run))),
            strands_ended: counters.strands_ended.get(),
            strands_started: counters.strands_started.get(),
            queued: station.queued(),
            pinned: station.pinned.load(relaxed),
            parked_stacks: station.parked.load(relaxed),
            finished: counters.finished.get(),
            spawned: counters.spawned.get(),
            lifo_hits: counters.lifo_hits.get(),
            injected: counters.injected.get(),
            overflows: counters.overflows.get(),
            steals: counters.steals.get(),
            lifo_steals: counters.lifo_steals.get(),
            searches: counters.searches.get(),
            spin_hits: counters.spin_hits.get(),
            spins: counters.spins.get(),
            wakes: counters.wakes.get(),
            parks: counters.parks.get(),
            asides: counters.asides.get(),
            budget_yields: counters.budget_yields.get(),
            preemptions: counters.preemptions.get(),
            waits_in_poll: counters.waits_in_poll.get(),
            held: counters.held.get(),
            timers_fired: counters.timers.get(),
            polls: counters.polls.get(),
        }
    }
}
