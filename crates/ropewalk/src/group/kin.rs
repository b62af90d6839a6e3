//! To whom a task belongs: the task that was current when it was spawned, and the group it was spawned in.
//!
//! The rule that a task ends after its children is kept by [`Family`], in the core; here is where families are found again.
//! Any task may be a parent, so parents carry nothing: a runtime has a table of those that are, by address. An entry is made
//! by the task itself at its first child and removed by it when it ends, so an address stands for one task.

use super::roll::{Panic, Roll};
use crate::context;
use crate::runtime::{Shared, complain};
use crate::sched::blocking::{Job, current_job};
use crate::sched::host::{Extra, Ticket, kin_of};
use ropewalk_core::prim::{Arc as FamilyArc, Lock};
use ropewalk_core::task::{Family, Header, Membership, TaskId, TaskRef};
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Arc;

/// The table is spread over this many locks.
const SHARDS: usize = 16;

/// What a task of a group carries.
#[derive(Debug)]
pub(crate) struct Kin {
    /// `None`: it was spawned outside of any task.
    membership: Option<Membership>,
    roll: Arc<Roll>,
    seat: u32,
}

/// The task that runs now, as far as children are concerned.
#[derive(Debug)]
pub(crate) struct Parent {
    id: TaskId,
    family: FamilyArc<Family>,
}

impl Parent {
    /// The task that is current, if there is one; `known` is remembered from last time. `None` also for one that is over,
    /// of which only a waker or a destructor of the output still runs.
    pub(crate) fn current<'a>(known: &'a mut Option<Parent>, roll: &Arc<Roll>) -> Option<&'a Parent> {
        let before = known.take();
        *known = with_current(|task, runtime| {
            // SAFETY: the current task is alive while it runs.
            let id = unsafe { Header::id(task) };
            match before {
                Some(parent) if parent.id == id => Some(parent),
                _ => runtime.families.of(task, roll).map(|family| Parent { id, family }),
            }
        })
        .flatten();
        known.as_ref()
    }

    pub(crate) fn id(&self) -> TaskId {
        self.id
    }

    /// Whether it is the task that runs now.
    pub(crate) fn is_current(&self) -> bool {
        // SAFETY: the current task is alive while it runs.
        with_current(|task, _| unsafe { Header::id(task) } == self.id).unwrap_or(false)
    }
}

/// Calls `f` with the task, or the blocking job, that runs here, and its runtime. The root of a `block_on` is no task.
fn with_current<R>(f: impl FnOnce(NonNull<Header>, &Shared) -> R) -> Option<R> {
    context::with_worker(|worker| {
        let Some(worker) = worker else {
            let job = current_job()?;
            // SAFETY: the current job is alive while it runs.
            return Some(f(job, unsafe { Job::relations(job) }.0));
        };
        let task = worker.frame.current.get()?;
        // SAFETY: the current task is alive while it runs.
        (unsafe { Header::kind(task) } != Ticket::KIND).then(|| f(task, &worker.pool.runtime))
    })
}

impl Kin {
    /// For a child of `parent` that is about to be made.
    pub(crate) fn new(parent: Option<&Parent>, roll: Arc<Roll>, seat: u32) -> Self {
        Self { membership: parent.map(|parent| Family::enrol(&parent.family)), roll, seat }
    }

    /// The task that does not end before this one.
    pub(crate) fn parent(&self) -> Option<TaskId> {
        self.membership.as_ref().map(|membership| membership.family().parent_id())
    }

    /// The task is made, and not queued yet.
    pub(crate) fn made(&self, task: TaskRef) {
        if let Some(membership) = &self.membership {
            membership.take_seat(task.clone());
        }
        self.roll.take_seat(self.seat, task);
    }

    /// The task is over. The group is told first: when the parent ends, its groups know how all of their tasks ended.
    pub(crate) fn ended(&self, failed: bool, panic: Option<String>) {
        let family = self.membership.as_ref().map(|membership| number_of(membership.family()));
        let panic = panic.zip(family).map(|(text, family)| Panic { family, text });
        self.roll.ended(self.seat, failed, panic);
        if let Some(membership) = &self.membership {
            membership.leave();
        }
    }
}

/// Tells families that are there at the same time apart.
fn number_of(family: &Family) -> usize {
    std::ptr::from_ref(family).addr()
}

/// The tasks of a runtime that have children.
pub(crate) struct Families([Lock<HashMap<usize, House>>; SHARDS]);

struct House {
    family: FamilyArc<Family>,
    /// The groups into which the parent spawned.
    rolls: Vec<Arc<Roll>>,
}

impl Families {
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| Lock::new(HashMap::new())))
    }

    fn shard(&self, task: NonNull<Header>) -> &Lock<HashMap<usize, House>> {
        &self.0[(task.addr().get() >> 4) % SHARDS]
    }

    /// The family of `task`, which runs on this thread, in this runtime.
    fn of(&self, task: NonNull<Header>, roll: &Arc<Roll>) -> Option<FamilyArc<Family>> {
        let mut shard = self.shard(task).lock();
        if let Some(house) = shard.get_mut(&task.addr().get()) {
            if !house.rolls.iter().any(|known| Arc::ptr_eq(known, roll)) {
                house.rolls.push(roll.clone());
            }
            return Some(house.family.clone());
        }
        // SAFETY: the current task is alive while it runs; it has no family, or it would be in the table, or over.
        let family = unsafe {
            let above = kin_of(task).and_then(|kin| kin.membership.as_ref());
            Family::found(task, above.map(|membership| membership.family().clone()))
        }?;
        shard.insert(task.addr().get(), House { family: family.clone(), rolls: vec![roll.clone()] });
        Some(family)
    }

    /// Whether `task`, whose body is over, may end; then its entry goes.
    pub(crate) fn may_end(&self, task: NonNull<Header>, runtime: &Shared) -> bool {
        let shard = self.shard(task);
        let Some(family) = shard.lock().get(&task.addr().get()).map(|house| house.family.clone()) else {
            return true;
        };
        // SAFETY: the host asks for a live task of its own.
        if !unsafe { family.may_end(task) } {
            return false;
        }
        let house = shard.lock().remove(&task.addr().get());
        for roll in house.into_iter().flat_map(|house| house.rolls) {
            roll.forgotten(number_of(&family), &mut |panic| runtime.forgotten_panic(panic));
        }
        true
    }
}

/// Whether the task that runs on this thread is `task` or stems from it. Then it cannot wait for it, and that is said.
pub(crate) fn refuses_wait(task: NonNull<Header>) -> bool {
    let refused = with_current(|current, runtime| {
        // SAFETY: the current task is alive while it runs.
        let family =
            unsafe { kin_of(current) }.and_then(|kin| kin.membership.as_ref()).map(Membership::family);
        let stems = current == task || family.is_some_and(|family| family.is_under(task));
        if stems {
            // SAFETY: as above, and whoever waits for `task` keeps it alive.
            let (waiting, awaited) = unsafe { (Header::reference(current), Header::reference(task)) };
            runtime.refused_waits.add_shared(1);
            complain(format_args!(
                "{} waits for {}, which cannot end before it; the wait is refused",
                described(&waiting),
                described(&awaited)
            ));
        }
        stems
    });
    refused.unwrap_or(false)
}

/// The task that runs on this thread waits for the group of `roll`. If it stems from those of its tasks that the wait
/// would have to see ended, it waits for ever, and that is said. True: it was.
pub(crate) fn reports_wait(roll: &Arc<Roll>, for_all: bool) -> bool {
    let reported = with_current(|current, runtime| {
        // SAFETY: the current task is alive while it runs, and so are those it stems from.
        let kin = |task| unsafe { kin_of(task) };
        let above = kin(current)?.membership.as_ref().map(Membership::family);
        let line = std::iter::once(current).chain(above.into_iter().flat_map(|family| family.heads()));
        let in_group = line.filter(|task| kin(*task).is_some_and(|kin| Arc::ptr_eq(&kin.roll, roll))).count();
        let needed = if for_all { 1 } else { roll.alive() };
        if in_group == 0 || in_group < needed {
            return None;
        }
        runtime.refused_waits.add_shared(1);
        // SAFETY: as above.
        let waiting = unsafe { Header::reference(current) };
        complain(format_args!(
            "{} waits for a group to which it, or a task it stems from, belongs: that wait cannot end",
            described(&waiting)
        ));
        Some(())
    });
    reported.flatten().is_some()
}

/// A task as reports name it.
pub(crate) fn described(task: &TaskRef) -> String {
    let (id, place) = (task.id(), task.spawned_at());
    match task.name() {
        Some(name) => format!("task {id} \"{name}\" (spawned at {place})"),
        None => format!("task {id} (spawned at {place})"),
    }
}
