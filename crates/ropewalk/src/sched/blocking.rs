//! The blocking pool: threads for closures that would hold up a worker.
//!
//! A job is a task cell whose body calls the closure at its first poll, so that handles, cancellation, panics and names are
//! those of tasks. Where jobs meet threads is `desk.rs`, with the proof that none is lost; `job.rs` is the cell, `thread.rs`
//! the life of a thread.
//!
//! * The pool starts empty, or with `blocking_threads`' minimum if that was asked for, grows while jobs wait and nobody is
//!   idle, and shrinks to the minimum when threads have been idle for `blocking_keep_alive`. Whoever leaves jobs waiting
//!   wakes or starts the next thread, one at a time: the submitter the first one, then each thread the next.
//! * A queued job that is cancelled leaves the queue at once; its closure is dropped by whoever cancels it. A job that runs
//!   is never interrupted: it may ask `task::is_cancelled`.
//! * A thread is at the desk again before it wakes who waits for its job. So a task that awaits one job after the other
//!   finds the thread of the last one idle. (Not before it publishes the result: what nobody takes is dropped after that, and
//!   a thread in somebody's destructor must not count as idle.)
//! * No thread to be had: with others alive the job waits for them; with none its owner gets `TaskError::NoThread`.

mod desk;
mod job;
mod thread;

pub(crate) use job::{Job, observation, spawn};
pub(crate) use thread::{current_job, is_on_any, is_on_thread_of};

use super::counters::Count;
use super::spin::SpinRight;
use crate::metrics::BlockingMetrics;
use crate::runtime::{Config, GRACE, Handle, RuntimeError, complain};
use crate::wait::wait_at_most;
use desk::{Desk, Start, Unrun};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use ropewalk_core::task::{Runnable, TaskRef};
use std::io;
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The blocking pool of a runtime.
pub(crate) struct Blocking {
    desk: Desk<Job>,
    /// Jobs that threads are at, until who waits for them was woken.
    in_hand: AtomicUsize,
    /// The number of the next thread.
    numbers: AtomicUsize,
    /// Threads to be joined in the end; those that ended are forgotten now and then.
    threads: Lock<Vec<JoinHandle<()>>>,
    spinner: SpinRight,
    spins: Count,
    spin_hits: Count,
}

/// Why jobs come back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Shutdown,
    NoThread,
}

impl Blocking {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            desk: Desk::new(config.blocking.least, config.blocking.most),
            in_hand: AtomicUsize::new(0),
            numbers: AtomicUsize::new(0),
            threads: Lock::new(Vec::new()),
            spinner: SpinRight::new(),
            spins: Count::default(),
            spin_hits: Count::default(),
        }
    }

    /// Starts the threads that were asked for.
    pub(crate) fn start_ahead(runtime: &Handle) -> Result<(), RuntimeError> {
        let wanted = &runtime.shared.config.blocking;
        let ahead = if wanted.ahead { wanted.least } else { 0 };
        (0..ahead).try_for_each(|_| {
            let pool = &runtime.shared.blocking;
            pool.try_start(runtime, pool.desk.start_ahead()).map_err(|(error, _)| RuntimeError::System(error))
        })
    }

    /// Starts a thread; if there is none to be had, and no other, jobs that wait are refused.
    fn start(&self, runtime: &Handle, start: Start) {
        if let Err((error, unrun)) = self.try_start(runtime, start) {
            let refused = give_back(&runtime.shared.config, unrun, Reason::NoThread);
            if refused > 0 {
                complain(format_args!(
                    "no thread for the blocking pool ({error}): {refused} jobs did not run"
                ));
            }
        }
    }

    fn try_start(&self, runtime: &Handle, start: Start) -> Result<(), (io::Error, Unrun<Job>)> {
        let (config, there) = (&runtime.shared.config, runtime.clone());
        let name = format!("{}-blocking-{}", config.thread_name, self.numbers.fetch_add(1, Relaxed));
        let builder = std::thread::Builder::new().name(name).stack_size(config.blocking.stack_size);
        match builder.spawn(move || thread::serve(&there)) {
            Ok(thread) => {
                start.succeeded();
                self.keep(thread);
                Ok(())
            }
            Err(error) => Err((error, self.desk.failed(start))),
        }
    }

    /// Keeps a thread to be joined. When the list is full it is cleaned up rather than grown, if that helps.
    fn keep(&self, thread: JoinHandle<()>) {
        let mut threads = self.threads.lock();
        if threads.len() == threads.capacity() {
            threads.retain(|thread| !thread.is_finished());
            let room = threads.len().max(8);
            threads.reserve(room);
        }
        threads.push(thread);
    }

    /// Queued jobs are removed, and their owners told; no more are accepted; threads leave as they become idle.
    pub(crate) fn close(&self, config: &Config) {
        give_back(config, self.desk.close(), Reason::Shutdown);
    }

    /// Jobs that ran to their end, and those that are not over.
    pub(crate) fn count(&self) -> (u64, u64) {
        let (tally, _idle) = self.desk.tally();
        (tally.done, (tally.queued + tally.assigned) as u64)
    }

    /// Whether no job is under way, and who waited for one was woken. A job is taken in hand before the desk strikes it off
    /// its list, and let go after its waiter was woken: so the desk is asked first.
    pub(crate) fn is_idle(&self) -> bool {
        self.count().1 == 0 && self.in_hand.load(SeqCst) == 0
    }

    /// Calls `waker` when the last job is over, and when the last thread has left.
    pub(crate) fn watch(&self, waker: &Waker) {
        self.desk.watch(waker);
    }

    /// After `close`, where it may be waited: until the last thread has left, or until the grace is over. False: then what
    /// runs is left behind.
    pub(crate) fn wait_for_threads(&self) -> bool {
        let until = Instant::now() + Duration::from_millis(GRACE.into());
        let left = wait_at_most(Some(until), |cx| {
            self.desk.watch(cx.waker());
            if self.desk.tally().0.threads == 0 { Poll::Ready(()) } else { Poll::Pending }
        });
        if left.is_some() {
            self.join();
        }
        left.is_some()
    }

    fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        // A thread may do this itself when its thread-locals are dropped.
        let others = threads.into_iter().filter(|thread| thread.thread().id() != std::thread::current().id());
        others.for_each(|thread| drop(thread.join()));
    }

    /// Every job that is not over.
    pub(crate) fn jobs(&self) -> Vec<TaskRef> {
        let mut jobs = Vec::new();
        self.desk.for_each(|job| jobs.push(job.reference()));
        jobs.retain(|job| !job.is_finished());
        jobs
    }

    pub(crate) fn metrics(&self) -> BlockingMetrics {
        let (tally, idle) = self.desk.tally();
        BlockingMetrics {
            threads: tally.threads,
            idle,
            queued: tally.queued,
            running: tally.assigned,
            finished: tally.done,
            started: tally.started,
            ended: tally.ended,
            start_failures: tally.failed,
            spins: self.spins.get(),
            spin_hits: self.spin_hits.get(),
        }
    }
}

/// Ends jobs that did not run and tells their owners; how many there were.
fn give_back(config: &Config, unrun: Unrun<Job>, reason: Reason) -> usize {
    let mut count = 0;
    for slip in unrun {
        // SAFETY: it is outside, so the Runnable that stood for it at the desk is ours (B1).
        let task = unsafe { Runnable::from_raw(slip.as_ref().job.task()) };
        let id = task.id();
        match reason {
            Reason::Shutdown => {
                task.cancel(true);
                drop(task);
            }
            Reason::NoThread => task.refuse(),
        }
        job::tell_of_end(config, id);
        count += 1;
    }
    count
}
