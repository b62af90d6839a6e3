//! Every task that is alive, found by walking the memory of the pools, and every blocking job, found at its desk: nothing
//! on the spawn path pays for it.

use crate::runtime::Shared;
use crate::sched::blocking;
use crate::sched::host::{Extra, Observation, Ticket, observation};
use crate::sched::pool::Pool;
use crate::task::TaskId;
use ropewalk_core::prim::real::Ordering::Relaxed;
use ropewalk_core::task::TaskRef;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// What is known of a task that is alive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskInfo {
    /// Its id.
    pub id: TaskId,
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
                found.push(TaskInfo::of(&task, &pool.name, now));
            }
        });
    }

    fn of(task: &TaskRef, pool: &str, now: Duration) -> Self {
        let seen = observation(task).or_else(|| blocking::observation(task));
        let observed = seen.map(|seen: &Observation| Observed {
            name: seen.name.as_deref().map(str::to_owned),
            polls: seen.polls.load(Relaxed),
            busy: Duration::from_nanos(seen.busy.load(Relaxed)),
            age: now.saturating_sub(Duration::from_nanos(seen.born)),
        });
        Self {
            id: task.id(),
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
        write!(f, "task {}", self.id)?;
        if let Some(name) = self.observed.as_ref().and_then(|observed| observed.name.as_ref()) {
            write!(f, " {name:?}")?;
        }
        write!(f, " in {}: {}, spawned at {}", self.pool, self.state, self.spawned_at)
    }
}
