//! A picture of everything that is alive: who runs, who waits, for what, since when, and where in its code.
//!
//! ```
//! use ropewalk::{Runtime, sync::Mutex, task, yield_now};
//! use std::sync::Arc;
//!
//! let runtime = Runtime::builder().worker_threads(0).observe(true).build()?;
//! let (lock, handle) = (Arc::new(Mutex::new(())), runtime.handle());
//! let held = lock.clone();
//! let _holder = task::Builder::new().name("holder").spawn_on(&handle, async move {
//!     let _guard = held.lock().await;
//!     std::future::pending::<()>().await;
//! });
//! let _waiter = task::Builder::new().name("waiter").spawn_on(&handle, async move { drop(lock.lock().await) });
//! runtime.run_until_stalled()?;
//!
//! let text = runtime.dump().to_string();
//! assert!(text.contains("\"waiter\" task"));
//! assert!(text.contains("for a mutex"));
//! # #[cfg(feature = "deadlock_detection")]
//! assert!(text.contains("held by \"holder\" (task")); // with the feature `deadlock_detection`
//! # Ok::<(), ropewalk::RuntimeError>(())
//! ```
//!
//! Nothing stops for it. Tasks are found by walking the memory they live in, while they run, come and go; so it is not a
//! picture of one moment, but each line was true when it was written. It takes no longer than
//! [`time_limit`](DumpOptions::time_limit), and holds no more than [`max_tasks`](DumpOptions::max_tasks): of those that are alike
//! some are listed, all are counted.
//!
//! # What is known
//!
//! | of | is known |
//! |---|---|
//! | every task, strand and job | id, name, state, pool, spawn place, parent |
//! | those with a name, and all in a runtime built with [`observe`](crate::Builder::observe) | age, polls, busy time, what they wait for and since when |
//! | a `sync::Mutex`, and an `RwLock` that is held to write (feature `deadlock_detection`) | who took it, if something was observed in this process before |
//! | strands that have started (feature `backtraces`, Linux) | where they wait, function by function |
//! | what runs on a worker (feature `backtraces`, Linux) | where its thread is, if it computes |
//!
//! # Backtraces
//!
//! A stack that is put away cannot be read from outside. So each strand is asked, and woken: it writes down where it is, and goes on
//! waiting. It is a wake-up without a reason, as every wait may have. A strand whose worker is busy does not answer; after a third of
//! the time limit that is said instead.
//!
//! Taking a dump never suspends: it blocks the thread it is called on, wherever that is and whatever locks are held, for as long as
//! it takes. So strands that are at home on the very worker that takes it cannot answer. In a task or on a strand, call it by
//! [`spawn_blocking`](crate::spawn_blocking) to see all of them.
//!
//! # By a signal
//!
//! [`Builder::dump_on_signal`](crate::Builder::dump_on_signal) writes one whenever the process gets a signal, also when no worker
//! gets on.

mod collect;
pub(crate) mod frames;
mod human;
mod json;
#[cfg(unix)]
pub(crate) mod on_signal;
#[cfg(all(unix, feature = "console"))]
mod search;
mod text;
#[cfg(all(feature = "backtraces", target_os = "linux"))]
pub(crate) mod traces;
#[cfg(not(all(feature = "backtraces", target_os = "linux")))]
#[path = "dump/no_traces.rs"]
pub(crate) mod traces;
mod tree;

pub use frames::Frame;
#[cfg(unix)]
pub use on_signal::DumpTarget;

use crate::inspect::TaskInfo;
use crate::runtime::Shared;
use crate::sched::owners::Owner;
use crate::task::TaskId;
use collect::{Found, Listed, Pick};
use ropewalk_core::blocked::Reason;
use std::collections::HashMap;
use std::panic::Location;
use std::time::{Duration, Instant, SystemTime};

/// How much a dump may take and hold; see [`Runtime::dump_with`](crate::Runtime::dump_with).
///
/// ```
/// use ropewalk::DumpOptions;
/// use std::time::Duration;
/// let runtime = ropewalk::Runtime::builder().worker_threads(1).build()?;
/// let options = DumpOptions::new().max_tasks(100).backtraces(0).time_limit(Duration::from_millis(50));
/// assert!(runtime.dump_with(&options).tasks.is_empty());
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing by themselves"]
pub struct DumpOptions {
    max_tasks: usize,
    backtraces: usize,
    time_limit: Duration,
}

impl Default for DumpOptions {
    fn default() -> Self {
        Self { max_tasks: 10_000, backtraces: 1000, time_limit: Duration::from_secs(3) }
    }
}

impl DumpOptions {
    /// 10,000 tasks, 1000 backtraces, three seconds.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many tasks are listed at most; of those that are alike, at most a tenth of that. All of them are counted.
    pub fn max_tasks(mut self, count: usize) -> Self {
        self.max_tasks = count;
        self
    }

    /// How many strands are asked where they are, at most; 0: none.
    pub fn backtraces(mut self, count: usize) -> Self {
        self.backtraces = count;
        self
    }

    /// How long it may take, about. A third of it is for strands to answer, the rest for the names of functions, which take long the
    /// first time. What is not known by then is left out, and that is said.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }
}

/// What was alive; see [the module](self). [`Display`](std::fmt::Display) is a text for people, [`to_json`](Self::to_json) one for
/// programs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dump {
    /// When it was taken.
    pub at: SystemTime,
    /// How long that took.
    pub took: Duration,
    /// The pools, and how many there were of what.
    pub pools: Vec<DumpedPool>,
    /// The tasks, strands and jobs that are listed, in the order of the tree: a parent comes before its children.
    pub tasks: Vec<DumpedTask>,
    /// Those that have the same parent, spawn place and state, and wait for the same kind of thing.
    pub alike: Vec<Alike>,
    /// How many were counted in their pool only: there were too many that are not alike.
    pub unlisted: u64,
    /// The time was over before all were counted.
    pub cut_short: bool,
}

/// A pool, as a [`Dump`] shows it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DumpedPool {
    /// Its name; `blocking` is that of the threads for jobs.
    pub name: String,
    /// How many workers, or threads, it has.
    pub workers: usize,
    /// How many were running, on a worker or thread, at that moment.
    pub running: u64,
    /// How many could run, and wait for their turn.
    pub queued: u64,
    /// How many wait for something.
    pub waiting: u64,
    /// How many are over, but for their children.
    pub ending: u64,
    /// What those wait for of which it is known, the most frequent first.
    pub waiting_for: Vec<(Reason, u64)>,
}

impl DumpedPool {
    /// How many are alive.
    pub fn tasks(&self) -> u64 {
        self.running + self.queued + self.waiting + self.ending
    }

    /// How many wait for what is not known, because they are not observed.
    pub fn unobserved(&self) -> u64 {
        self.waiting.saturating_sub(self.waiting_for.iter().map(|(_, count)| count).sum())
    }
}

/// A task, strand or job, as a [`Dump`] shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DumpedTask {
    /// What [`Runtime::tasks`](crate::Runtime::tasks) tells of it.
    pub info: TaskInfo,
    /// How many of those that are listed it stems from.
    pub depth: usize,
    /// Which of [`Dump::alike`] it is one of.
    pub alike: usize,
    /// Who has the lock it waits for (feature `deadlock_detection`).
    pub held_by: Option<LockHolder>,
    /// Where it is.
    pub backtrace: Backtrace,
}

/// Who has taken a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockHolder {
    /// Of a task, strand or job.
    pub id: Option<TaskId>,
    /// The name of the task, or else of the thread, if it has one.
    pub name: Option<String>,
}

/// Where a task is, as far as it could be found out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Backtrace {
    /// Nobody asked: it is not a strand, or has not started.
    None,
    /// The functions it is in, the innermost first, without those of the runtime at both ends.
    Frames(Vec<Frame>),
    /// Why it could not be found out.
    Missing(&'static str),
}

/// Tasks that are alike.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Alike {
    /// Their pool.
    pub pool: String,
    /// `task`, `strand` or `job`.
    pub kind: &'static str,
    /// As in [`TaskInfo::state`].
    pub state: &'static str,
    /// What they wait for, if they do, and it is known.
    pub reason: Option<Reason>,
    /// Their parent.
    pub parent: Option<TaskId>,
    /// Where they were spawned.
    pub spawned_at: &'static Location<'static>,
    /// How many they are.
    pub count: u64,
    /// How many of them are in [`Dump::tasks`].
    pub listed: u64,
    /// For how long one of them has waited at most, if it is known.
    pub longest: Option<Duration>,
}

/// What is waited for has an owner.
fn is_lock(reason: Reason) -> bool {
    matches!(reason, Reason::Mutex | Reason::RwLockRead | Reason::RwLockWrite)
}

impl Dump {
    pub(crate) fn of(shared: &Shared, options: &DumpOptions) -> Self {
        let (at, from) = (SystemTime::now(), Instant::now());
        let until = from.checked_add(options.time_limit);
        let answers_until = from.checked_add(options.time_limit / 3);
        let found = Found::walk(shared, options, until, Pick::Some);
        let backtraces = traces::of(shared, &found.listed, options.backtraces, (answers_until, until));
        Self::put_together(found, backtraces, (at, from))
    }

    /// Of what was found, with where each one is.
    fn put_together(
        found: Found,
        backtraces: impl IntoIterator<Item = Backtrace>,
        (at, from): (SystemTime, Instant),
    ) -> Self {
        let Found { pools, listed, alike, unlisted, cut_short, .. } = found;
        let dumped = |(Listed { info, alike, .. }, backtrace)| DumpedTask {
            info,
            depth: 0,
            alike,
            held_by: None,
            backtrace,
        };
        let mut tasks: Vec<_> = listed.into_iter().zip(backtraces).map(dumped).collect();
        find_holders(&mut tasks);
        let tasks = tree::ordered(tasks);
        Self { at, took: from.elapsed(), pools, tasks, alike, unlisted, cut_short }
    }
}

/// Who has the locks that are waited for.
fn find_holders(tasks: &mut [DumpedTask]) {
    let names: HashMap<TaskId, String> =
        tasks.iter().filter_map(|task| Some((task.info.id, task.info.name.clone()?))).collect();
    for task in tasks {
        let blocked = task.info.observed.as_ref().and_then(|observed| observed.blocked);
        let lock = blocked.filter(|blocked| is_lock(blocked.reason)).map(|blocked| blocked.what);
        task.held_by = lock.and_then(Owner::of).map(|owner| match owner {
            Owner::Task(id) => LockHolder { id: Some(id), name: names.get(&id).cloned() },
            Owner::Thread(thread) => LockHolder { id: None, name: thread.name().map(str::to_owned) },
        });
    }
}
