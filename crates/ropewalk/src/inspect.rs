//! Every task that is alive, found by walking the memory of the pools, and every blocking job, found at its desk: nothing
//! on the spawn path pays for it.

use crate::runtime::Shared;
use crate::sched::blocking;
use crate::sched::host::{self, Extra, Observation, Ticket, observation};
use crate::sched::pool::Pool;
use crate::sched::reasons::Notes;
use crate::sched::station::Station;
use crate::task::TaskId;
use ropewalk_core::blocked::Reason;
use ropewalk_core::prim::real::Ordering::Relaxed;
use ropewalk_core::task::TaskRef;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// What is known of a task that is alive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskInfo {
    /// Its id.
    pub id: TaskId,
    /// `task`, `strand` or `job`.
    pub kind: &'static str,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// The task that does not end before this one: of a task of a group the one that spawned it, of a strand the one in whose
    /// scope or nursery it was started, of the stolen half of a [`join`](fn@crate::join) the strand that joins. `None`: it is
    /// nobody's child, or that of a plain thread.
    pub parent: Option<TaskId>,
    /// The pool it lives in; `blocking` for a job of the blocking pool.
    pub pool: String,
    /// `queued`, `running`, `waiting`, or `ending`: its body is over, and it waits for its children.
    pub state: &'static str,
    /// Whether it stays on one worker.
    pub pinned: bool,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// Of a task with a name, or in an observed runtime.
    pub observed: Option<Observed>,
}

/// What is known of an observed task beyond that.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Observed {
    /// Its name.
    pub name: Option<String>,
    /// How often it was polled.
    pub polls: u64,
    /// How long these polls took.
    pub busy: Duration,
    /// How long ago it was spawned.
    pub age: Duration,
    /// What it waits for, while it does.
    pub blocked: Option<Blocked>,
}

/// What a task waits for.
///
/// ```
/// use ropewalk::{Reason, Runtime, time::sleep};
/// use std::time::Duration;
///
/// let runtime = Runtime::builder().worker_threads(0).observe(true).build()?;
/// let _task = runtime.spawn(sleep(Duration::from_secs(60)));
/// runtime.run_until_stalled()?;
/// let blocked = runtime.tasks()[0].observed.as_ref().unwrap().blocked.unwrap();
/// assert_eq!(blocked.reason, Reason::Sleep);
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
///
/// A task that waits for several things at once shows the one it asked last, and how many there are beside it. A
/// future that says nothing, because it is not one of this crate's, shows as [`Reason::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blocked {
    /// The kind of thing.
    pub reason: Reason,
    /// Its address; of a task, a job or a thread the id; 0 if unknown.
    pub what: usize,
    /// How many other things it waits for beside this one.
    pub others: u32,
    /// For how long.
    pub since: Duration,
}

/// How often a task that runs again and again is looked at: then it does not wait.
const LOOKS: usize = 4;

impl Blocked {
    /// What `task` waits for, if it is observed, and does.
    pub(crate) fn by(task: &TaskRef, now: Duration) -> Option<Self> {
        Self::of(seen(task)?, || task.state_name(), now)
    }

    /// Of a task in the state that `state` tells.
    fn of(seen: &Observation, state: impl Fn() -> &'static str, now: Duration) -> Option<Self> {
        // Between two equal turns no poll has begun: state and notes are of the same one.
        let read = || {
            let turn = seen.reasons.read().turn;
            let (waits, notes) = (state() == "waiting", seen.reasons.read());
            (turn == notes.turn).then_some((waits || notes.parked, notes))
        };
        let (waits, Notes { reason, what, others, since, .. }) = (0..LOOKS).find_map(|_| read())?;
        let since = now.saturating_sub(Duration::from_nanos(since));
        waits.then_some(Blocked { reason, what, others, since })
    }
}

/// As it reads after "waits for".
impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        match self.reason {
            Reason::Other => {}
            Reason::Join | Reason::Blocking | Reason::Thread => write!(f, " (id {})", self.what)?,
            _ => write!(f, " at {:#x}", self.what)?,
        }
        if self.others > 0 {
            write!(f, " and {} more", self.others)?;
        }
        write!(f, ", for {:?}", self.since)
    }
}

/// What is observed of a task or a job.
fn seen(task: &TaskRef) -> Option<&Observation> {
    observation(task).or_else(|| blocking::observation(task))
}

impl TaskInfo {
    pub(crate) fn all(shared: &Shared) -> Vec<TaskInfo> {
        let mut found = Vec::new();
        shared.pools().iter().for_each(|pool| TaskInfo::of_pool(pool, &mut found));
        found.extend(TaskInfo::of_jobs(shared));
        found.sort_by_key(|info| info.id);
        found
    }

    /// The jobs of the blocking pool.
    pub(crate) fn of_jobs(shared: &Shared) -> Vec<TaskInfo> {
        let (jobs, now) = (shared.blocking.jobs(), shared.config.clock.now());
        jobs.iter().map(|job| TaskInfo::of(job, "blocking", now)).collect()
    }

    /// Those of one pool.
    pub(crate) fn of_pool(pool: &Pool, found: &mut Vec<TaskInfo>) {
        let now = pool.config.clock.now();
        pool.depot.for_each(|task| {
            if task.kind() != Ticket::KIND {
                let mut info = TaskInfo::of(&task, &pool.name, now);
                let runs_at = |station: &Arc<Station>| task.is_at(station.hold.current());
                if info.state == "running" && !pool.stations().any(runs_at) {
                    info.state = "queued"; // new, woken, or it yielded
                }
                found.push(info);
            }
        });
    }

    /// The one that runs at `station`, if it is still there.
    pub(crate) fn running_at(pool: &Pool, station: &Station) -> Option<TaskInfo> {
        let (current, now, mut found) = (station.hold.current(), pool.config.clock.now(), None);
        pool.depot.for_each(|task| {
            if !current.is_null() && task.is_at(current) {
                found = Some(TaskInfo::of(&task, &pool.name, now));
            }
        });
        found
    }

    /// Those that could run, but only at `station`, where another one does.
    pub(crate) fn held_up_at(pool: &Pool, station: &Station) -> Vec<TaskInfo> {
        let (current, now, mut found) = (station.hold.current(), pool.config.clock.now(), Vec::new());
        pool.depot.for_each(|task| {
            let is_here = host::home(&task).is_some_and(|home| usize::from(home) == station.index);
            if is_here && !task.is_at(current) && task.state_name() == "running" {
                found.push(TaskInfo::of(&task, &pool.name, now));
            }
        });
        found
    }

    pub(crate) fn of(task: &TaskRef, pool: &str, now: Duration) -> Self {
        let observed = seen(task).map(|seen: &Observation| Observed {
            name: seen.name.as_deref().map(str::to_owned),
            polls: seen.polls.load(Relaxed),
            busy: Duration::from_nanos(seen.busy.load(Relaxed)),
            age: now.saturating_sub(Duration::from_nanos(seen.born)),
            blocked: Blocked::of(seen, || task.state_name(), now),
        });
        Self {
            id: task.id(),
            kind: host::noun(task),
            parent: host::parent(task),
            name: host::name(task).map(str::to_owned).or_else(|| observed.as_ref()?.name.clone()),
            pool: pool.to_owned(),
            state: task.state_name(),
            pinned: task.is_pinned(),
            spawned_at: task.spawned_at(),
            observed,
        }
    }
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.id)?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        write!(f, " in {}: {}, spawned at {}", self.pool, self.state, self.spawned_at)?;
        match self.observed.as_ref().and_then(|observed| observed.blocked) {
            Some(blocked) => write!(f, ", waits for {blocked}"),
            None => Ok(()),
        }
    }
}
