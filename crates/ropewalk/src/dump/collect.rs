//! The walk: who is alive, how many are alike, and some of each kind in full.

use super::{Alike, DumpOptions, DumpedPool};
use crate::inspect::{Blocked, TaskInfo};
use crate::runtime::Shared;
use crate::sched::host::{self, Extra, Ticket};
use crate::sched::pool::Pool;
use crate::sched::station::Status;
use crate::task::TaskId;
use ropewalk_core::blocked::Reason;
use ropewalk_core::task::TaskRef;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After so many tasks the clock is looked at.
const LOOK: u64 = 256;

/// What a walk has found.
pub(super) struct Found {
    pub(super) pools: Vec<DumpedPool>,
    pub(super) listed: Vec<Listed>,
    pub(super) alike: Vec<Alike>,
    pub(super) unlisted: u64,
    pub(super) cut_short: bool,
    /// How many of a kind there are in the pool that is walked.
    reasons: [u64; Reason::ALL.len()],
    kinds: HashMap<Kind, usize>,
    /// How many may be listed, in all and of a kind.
    most: usize,
    most_alike: u64,
    seen: u64,
    until: Option<Instant>,
    /// How many there were of those that are looked for.
    pub(super) matching: u64,
}

/// Which ones are listed.
#[derive(Clone, Copy)]
pub(super) enum Pick<'a> {
    /// Some of each kind.
    Some,
    /// Those of which it is true.
    #[cfg_attr(not(all(unix, feature = "console")), allow(dead_code))]
    If(&'a dyn Fn(&TaskInfo) -> bool),
    /// These.
    #[cfg_attr(not(all(unix, feature = "console")), allow(dead_code))]
    These(&'a HashSet<TaskId>),
}

/// A task that is shown in full.
pub(super) struct Listed {
    pub(super) task: TaskRef,
    pub(super) info: TaskInfo,
    pub(super) alike: usize,
}

/// Those that are alike have this in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    pool: usize,
    kind: &'static str,
    state: &'static str,
    reason: Option<Reason>,
    parent: Option<TaskId>,
    /// Where its text is: of one place in the code there may be several, which are then not alike.
    spawned_at: *const Location<'static>,
}

/// A task as the walk meets it.
struct Seen {
    task: TaskRef,
    state: &'static str,
    blocked: Option<Blocked>,
    now: Duration,
}

impl Seen {
    fn info(&self, pool: &str) -> TaskInfo {
        let mut info = TaskInfo::of(&self.task, pool, self.now);
        info.state = self.state;
        if let Some(observed) = &mut info.observed {
            observed.blocked = self.blocked;
        }
        info
    }
}

impl Found {
    /// Everything that is alive, until the time is over.
    pub(super) fn walk(
        shared: &Shared,
        options: &DumpOptions,
        until: Option<Instant>,
        pick: Pick<'_>,
    ) -> Self {
        let mut found = Self {
            pools: Vec::new(),
            listed: Vec::new(),
            alike: Vec::new(),
            unlisted: 0,
            cut_short: false,
            reasons: [0; Reason::ALL.len()],
            kinds: HashMap::new(),
            most: options.max_tasks,
            most_alike: (options.max_tasks as u64).div_ceil(10),
            seen: 0,
            until,
            matching: 0,
        };
        for pool in shared.pools() {
            found.walk_pool(&pool, pick);
        }
        found.walk_jobs(shared, pick);
        found
    }

    fn walk_pool(&mut self, pool: &Arc<Pool>, pick: Pick<'_>) {
        let now = pool.config.clock.now();
        let manned = pool.stations().filter(|station| station.status() != Status::Vacant);
        self.begin(&pool.name, manned.count());
        // Who is at none of them, and says that it runs, is queued: it is new, was woken, or yielded.
        let runs = |task: &TaskRef| pool.stations().any(|station| task.is_at(station.hold.current()));
        pool.depot.for_each_while(|task| {
            if task.kind() != Ticket::KIND {
                let state = match task.state_name() {
                    "running" if !runs(&task) => "queued",
                    state => state,
                };
                self.see(task, state, now, pick);
            }
            !self.is_over()
        });
        self.end();
    }

    fn walk_jobs(&mut self, shared: &Shared, pick: Pick<'_>) {
        let (now, threads) = (shared.config.clock.now(), shared.blocking.metrics().threads);
        let jobs = shared.blocking.jobs();
        if threads > 0 || !jobs.is_empty() {
            self.begin("blocking", threads);
            for job in jobs {
                let state = job.state_name();
                self.see(job, state, now, pick);
            }
            self.end();
        }
    }

    fn begin(&mut self, pool: &str, workers: usize) {
        self.pools.push(DumpedPool { name: pool.to_owned(), workers, ..DumpedPool::default() });
    }

    fn end(&mut self) {
        let counts = std::mem::replace(&mut self.reasons, [0; Reason::ALL.len()]);
        let mut by_count: Vec<_> =
            Reason::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect();
        by_count.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        self.pools.last_mut().expect("it was begun").waiting_for = by_count;
    }

    fn is_over(&mut self) -> bool {
        self.seen += 1;
        self.cut_short |=
            self.seen.is_multiple_of(LOOK) && self.until.is_some_and(|until| Instant::now() >= until);
        self.cut_short
    }

    fn see(&mut self, task: TaskRef, state: &'static str, now: Duration, pick: Pick<'_>) {
        let at = self.pools.len() - 1;
        let pool = &mut self.pools[at];
        let count = match state {
            "done" => return, // it has ended meanwhile
            "running" => &mut pool.running,
            "queued" => &mut pool.queued,
            "ending" => &mut pool.ending,
            _ => &mut pool.waiting,
        };
        *count += 1;
        let blocked = if state == "waiting" { Blocked::by(&task, now) } else { None };
        if let Some(blocked) = blocked {
            self.reasons[blocked.reason as usize] += 1;
        }
        let seen = Seen { task, state, blocked, now };
        match pick {
            Pick::Some => self.list_some(seen),
            Pick::If(is_wanted) => {
                let info = seen.info(&self.pools[at].name);
                if is_wanted(&info) {
                    self.list(seen.task, info);
                }
            }
            Pick::These(ids) if ids.contains(&seen.task.id()) => {
                let info = seen.info(&self.pools[at].name);
                self.list(seen.task, info);
            }
            Pick::These(_) => {}
        }
    }

    /// One that is looked for.
    fn list(&mut self, task: TaskRef, info: TaskInfo) {
        self.matching += 1;
        if self.listed.len() < self.most {
            self.listed.push(Listed { task, info, alike: 0 });
        }
    }

    fn list_some(&mut self, seen: Seen) {
        let kind = Kind {
            pool: self.pools.len() - 1,
            kind: host::noun(&seen.task),
            state: seen.state,
            reason: seen.blocked.map(|blocked| blocked.reason),
            parent: host::parent(&seen.task),
            spawned_at: seen.task.spawned_at(),
        };
        let Some(index) = self.index_of(kind, &seen.task) else {
            self.unlisted += 1;
            return;
        };
        let alike = &mut self.alike[index];
        alike.count += 1;
        alike.longest = alike.longest.max(seen.blocked.map(|blocked| blocked.since));
        if alike.listed < self.most_alike && self.listed.len() < self.most {
            alike.listed += 1;
            let info = seen.info(&alike.pool);
            self.listed.push(Listed { task: seen.task, info, alike: index });
        }
    }

    /// `None`: there are so many kinds already that none of a new one could be listed.
    fn index_of(&mut self, kind: Kind, task: &TaskRef) -> Option<usize> {
        if let Some(index) = self.kinds.get(&kind) {
            return Some(*index);
        }
        if self.listed.len() >= self.most {
            return None;
        }
        let index = self.alike.len();
        self.kinds.insert(kind, index);
        self.alike.push(Alike {
            pool: self.pools[kind.pool].name.clone(),
            kind: kind.kind,
            state: kind.state,
            reason: kind.reason,
            parent: kind.parent,
            spawned_at: task.spawned_at(),
            count: 0,
            listed: 0,
            longest: None,
        });
        Some(index)
    }
}
