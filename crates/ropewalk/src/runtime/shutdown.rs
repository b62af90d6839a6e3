//! Going down: how a runtime waits for its tasks, ends them, and accounts for what does not end.
//!
//! 1. *Draining* ([`Shared::drain`]): nothing is accepted from outside any more; what the runtime's own tasks spawn is.
//!    Whoever shuts down leaves its waker at every pool, and then looks; workers that know that the pool drains look after
//!    each end, and when they learn of it. Both sides look after a barrier (`Gate::live`), so one sees the other.
//! 2. *Closing*: every pool is closed; workers drop what is alive and leave.
//! 3. Waiting for the last worker, where that is possible: not on a worker of the same runtime, nor, if the runtime is just
//!    dropped, on another one's. What cannot leave is left behind with its thread, and named.

use super::shared::{Shared, complain};
use crate::context;
use crate::inspect::TaskInfo;
use crate::sched::blocking::is_on_thread_of;
use crate::sched::host::{Extra, Ticket};
use crate::sched::hosted::{Driving, Standing, Taken};
use crate::sched::park::WorkerState;
use crate::sched::pool::Pool;
use crate::sched::station::Status;
use crate::sched::worker::Worker;
use crate::wait::{is_interrupted, wait_at_most};
use ropewalk_core::prim::fence;
use ropewalk_core::prim::real::Ordering::{Relaxed, SeqCst};
use ropewalk_core::task::Header;
use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How long, in milliseconds, what only the outside can end gets, and how often that is looked at.
pub(crate) const GRACE: u32 = 100;
pub(crate) const NAP: u32 = 20;
/// An account names no more than this.
const NAMED: usize = 64;

/// Why most that is left behind is left behind.
pub(crate) const NEVER_COMES: &str = "they waited for something outside that did not come within 100 ms";
const GO_ON: &str = "they had not ended 100 ms after they were cancelled";

/// A graceful shutdown had to cancel tasks, or to leave some behind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ShutdownError {
    /// Tasks that ended by themselves between the call and the deadline.
    pub finished: u64,
    /// Tasks that had not, and were cancelled.
    pub cancelled: u64,
    /// Which they were, as they were at the deadline; of more than 64 the first ones, by id.
    pub tasks: Vec<TaskInfo>,
    /// Those of them that did not end even then. They are left alone, with the threads they run on.
    pub left: Vec<LeftBehind>,
}

/// A task that was left behind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeftBehind {
    /// The task.
    pub task: TaskInfo,
    /// Why it could not be ended.
    pub reason: &'static str,
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { finished, cancelled, tasks, left } = self;
        write!(f, "{cancelled} tasks had not ended by the deadline and were cancelled ({finished} had)")?;
        for (at, task) in tasks.iter().enumerate() {
            write!(f, "{} {task}", if at == 0 { ":" } else { ";" })?;
        }
        if *cancelled > tasks.len() as u64 {
            write!(f, "; and {} more", cancelled - tasks.len() as u64)?;
        }
        for LeftBehind { task, reason } in left {
            write!(f, "; left behind: {task} ({reason})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownError {}

/// From where somebody shuts a runtime down.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Thread,
    /// A task of this runtime.
    OwnTask,
    /// On a worker of this runtime, but in no task: the root of a `block_on`.
    OwnRoot,
    OtherWorker,
    /// In a job of this runtime's blocking pool.
    OwnJob,
}

impl Shared {
    /// As [`Runtime::shutdown`](super::Runtime::shutdown).
    pub(crate) fn shut_down_by(&self, limit: Duration) -> Result<(), ShutdownError> {
        let (before, place) = (self.ended(), self.place());
        if matches!(place, Place::OwnTask | Place::OwnJob) {
            self.add_caller();
        }
        // A job holds its thread: if it waited for the other jobs, nobody would tell it of their end but for the last.
        let limit = if place == Place::OwnJob { Duration::ZERO } else { limit };
        let drained = self.drain(place, limit);
        let finished = self.ended().saturating_sub(before);
        let cancelled = self.live().saturating_sub(self.callers());
        let tasks = if drained { Vec::new() } else { self.alive_but_callers() };
        self.shut_down(true);
        let left = std::mem::take(&mut *self.left.lock());
        if drained && left.is_empty() {
            return Ok(());
        }
        Err(ShutdownError { finished, cancelled: if drained { 0 } else { cancelled }, tasks, left })
    }

    fn place(&self) -> Place {
        context::with_worker(|worker| match worker {
            None if is_on_thread_of(self) => Place::OwnJob,
            None => Place::Thread,
            Some(worker) if !self.is_mine(worker) => Place::OtherWorker,
            Some(worker) => match worker.frame.current.get() {
                // SAFETY: the current task is alive while it runs.
                Some(task) if unsafe { Header::kind(task) } != Ticket::KIND => Place::OwnTask,
                _ => Place::OwnRoot,
            },
        })
    }

    fn is_mine(&self, worker: &Worker) -> bool {
        std::ptr::eq(Arc::as_ptr(&worker.pool.runtime), self)
    }

    /// Tasks of this runtime that shut it down. They are never taken off: they stay alive for a while, and then it is closed.
    pub(crate) fn callers(&self) -> u64 {
        self.callers.load(SeqCst)
    }

    /// One more makes those who wait see that there are fewer to wait for.
    fn add_caller(&self) {
        self.callers.fetch_add(1, SeqCst);
        self.pools().iter().for_each(|pool| pool.tell_watchers());
    }

    /// Tasks and jobs that are over.
    fn ended(&self) -> u64 {
        self.pools().iter().map(|pool| pool.ended()).sum::<u64>() + self.blocking.count().0
    }

    /// Tasks and jobs that are not over: never too few, since what ended, anywhere, is read before what was ever accepted.
    fn live(&self) -> u64 {
        let pools = self.pools();
        fence(SeqCst);
        let ended = pools.iter().map(|pool| pool.ended()).sum::<u64>() + self.blocking.count().0;
        let accepted = pools.iter().map(|pool| pool.accepted()).sum::<u64>();
        let (done, present) = self.blocking.count();
        (accepted + done + present).saturating_sub(ended)
    }

    /// Waits until nothing is alive but those who wait for that, at most for `limit`, or until the strand that waits is cancelled, or
    /// a nursery around it has failed. False: something is.
    fn drain(&self, place: Place, limit: Duration) -> bool {
        self.start_draining();
        let until = Instant::now().checked_add(limit); // a limit that the clock cannot hold is none
        let drained = || self.live() <= self.callers();
        let is_late = || until.is_some_and(|until| Instant::now() >= until);
        let is_over = |waker: &Waker| drained() || is_late() || is_interrupted(waker);
        let seat = self.seat.get().filter(|_| matches!(place, Place::Thread | Place::OtherWorker));
        let mut standing = seat.map(Standing::new);
        while !is_over(Waker::noop()) {
            let handed = wait_at_most(until, |cx| {
                self.watch_pools(cx.waker());
                match standing.as_mut().and_then(|standing| standing.ask(cx.waker())) {
                    Some(driving) => Poll::Ready(Some(driving)),
                    None if is_over(cx.waker()) => Poll::Ready(None),
                    None => Poll::Pending,
                }
            });
            if let Some(Some(mut driving)) = handed {
                driving.heed(true);
                let watch = |waker: &Waker| self.watch_pools(waker);
                driving.run_until_or(until, watch, |bell| drained() || is_interrupted(bell));
            }
        }
        drained()
    }

    fn watch_pools(&self, waker: &Waker) {
        self.blocking.watch(waker);
        self.pools().iter().for_each(|pool| pool.watch_census(waker));
    }

    /// The tasks that are not over, without those that wait for that.
    fn alive_but_callers(&self) -> Vec<TaskInfo> {
        let own = if self.is_inside() { crate::task::id() } else { None };
        let mut alive = TaskInfo::all(self);
        alive.retain(|info| Some(info.id) != own);
        alive.truncate(NAMED);
        alive
    }

    /// Cancels everything and waits for the last worker, if that is possible here. `asked`: by somebody who wants to know,
    /// and so waits also on another runtime's worker, but for nobody who does not stop.
    pub(crate) fn shut_down(&self, asked: bool) {
        let (pools, place) = (self.pools(), self.place());
        self.close_all();
        if let Some(seat) = self.seat.get() {
            match seat.take() {
                Ok(driving) => drop::<Driving<'_>>(driving),
                Err(reason @ (Taken::BoundTo(_) | Taken::Away)) if !self.abandoned.swap(true, Relaxed) => {
                    self.leave_behind(&pools[..1], BOUND, &reason.to_string());
                }
                // Whoever drives it drives it to its end.
                Err(_) => {}
            }
        }
        let waits = place == Place::Thread || asked && place == Place::OtherWorker;
        if waits && (self.seat.get().is_some() || !self.abandoned.load(Relaxed)) {
            // Every pool with threads is waited for, also after one that some cannot leave.
            let threaded = pools.iter().filter(|pool| !pool.hosted);
            let not_left = threaded.filter(|pool| !self.wait_for_workers(pool, asked)).count();
            self.watchdog.end();
            #[cfg(unix)]
            self.dumps_end.cancel();
            let threads = std::mem::take(&mut *self.threads.lock());
            self.abandoned.fetch_or(not_left > 0, Relaxed);
            if not_left == 0 {
                // A worker's thread may do this itself when its thread-locals are dropped.
                let others =
                    threads.into_iter().filter(|thread| thread.thread().id() != thread::current().id());
                others.for_each(|thread| drop(thread.join()));
            }
            if !self.blocking.wait_for_threads() {
                let jobs = TaskInfo::of_jobs(self);
                self.name_left(jobs, RUNS, RUNS);
            }
        }
    }

    /// Waits for the last worker of a closed pool. False: some do not leave.
    fn wait_for_workers(&self, pool: &Arc<Pool>, asked: bool) -> bool {
        let (mut stuck_since, mut patience) = (None, GRACE / NAP);
        for nap_before in 0_u64.. {
            if nap_before == 1 {
                pool.cancel_around_the_stuck();
            }
            let nap = Instant::now() + Duration::from_millis(NAP.into());
            let left = wait_at_most(Some(nap), |cx| {
                pool.watch_census(cx.waker());
                if pool.is_deserted() { Poll::Ready(()) } else { Poll::Pending }
            });
            if left.is_some() {
                return true;
            }
            // Who has asked does not wait for a poll that never ends.
            let idle = stuck_at(pool);
            let stuck = if asked { Some(pool.live()) } else { idle };
            patience = if stuck.is_some() && stuck == stuck_since { patience - 1 } else { GRACE / NAP };
            if patience == 0 {
                let reason = if idle.is_some() { NEVER_COMES } else { GO_ON };
                self.leave_behind(std::slice::from_ref(pool), reason, reason);
                return false;
            }
            stuck_since = stuck;
        }
        unreachable!("patience ends before the numbers do")
    }

    /// Names the tasks that are still alive.
    pub(crate) fn leave_behind(&self, pools: &[Arc<Pool>], reason: &'static str, words: &str) {
        let mut left = Vec::new();
        for pool in pools {
            TaskInfo::of_pool(pool, &mut left);
        }
        self.name_left(left, reason, words);
    }

    fn name_left(&self, left: Vec<TaskInfo>, reason: &'static str, words: &str) {
        if left.is_empty() {
            return;
        }
        let names: Vec<_> = left.iter().map(ToString::to_string).collect();
        complain(format_args!("left behind at shutdown ({words}): {}", names.join(", ")));
        self.left.lock().extend(left.into_iter().map(|task| LeftBehind { task, reason }));
    }
}

const RUNS: &str = "a job that runs is not interrupted, and these took longer than 100 ms";
const BOUND: &str = "they belong to a thread that does not drive the runtime";

/// If everybody is asleep and something is alive (a parked stack, a strand that waits while it unwinds), nobody is left to
/// wake it but the outside: how many polls there were. The same answer for a while means that nothing is under way.
fn stuck_at(pool: &Pool) -> Option<u64> {
    let manned = || pool.stations().filter(|station| station.status() != Status::Vacant);
    let asleep =
        manned().all(|station| station.parker.state() != WorkerState::Busy && station.inbox.is_empty());
    let alive = pool.live() > 0 || manned().any(|station| station.parked.load(Relaxed) > 0);
    let stuck = asleep && alive && pool.injector.is_empty();
    stuck.then(|| pool.stations().map(|station| station.counters.polls.get()).sum())
}
