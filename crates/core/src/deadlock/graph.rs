//! The graph of owners and waiters, and the search in it. See `deadlock.rs` for what counts and why it is never false.

use super::Needs;
use super::report::{Deadlock, Member};
use crate::blocked::Reason;
use crate::prim::Lock;
use crate::prim::real::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::panic::Location;
use core::task::Waker;

/// Who owns and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// A task, strand, job or thread of the runtime, by its id.
    Task(u64),
    /// Another thread, by a number.
    Thread(u64),
}

/// Where an actor waits.
pub trait Seat: Send {
    /// Whether it is suspended, was not asked to stop, and there is one waker to wake it. Reads atomics only.
    fn waits_plainly(&self) -> bool;
    /// Its name, id, and where it was started.
    fn describe(&self) -> String;
}

/// Who waits, and where.
#[allow(missing_debug_implementations)]
pub struct Who {
    /// The one who waits.
    pub actor: Actor,
    /// Where.
    pub seat: Box<dyn Seat>,
}

/// What the runtime tells of what runs now.
struct Hooks {
    /// Who waits with this waker; `None` if the waker is not that of what runs here.
    waits: fn(&Waker) -> Option<Who>,
    runs: fn() -> Option<Actor>,
    began: fn(),
}

static HOOKS: AtomicPtr<Hooks> = AtomicPtr::new(core::ptr::null_mut());
static GRAPH: Lock<Graph> = Lock::new(Graph::new());
/// For keys of locks and for waits: in the order of their coming.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// Installs what tells who waits with a waker, and who runs; and what is to be done after a wait began. The first call
/// counts.
pub fn install(waits: fn(&Waker) -> Option<Who>, runs: fn() -> Option<Actor>, began: fn()) {
    if HOOKS.load(Ordering::Acquire).is_null() {
        let hooks = Box::leak(Box::new(Hooks { waits, runs, began }));
        HOOKS.store(hooks, Ordering::Release);
    }
}

fn hooks() -> Option<&'static Hooks> {
    // SAFETY: `install` puts there what is never freed.
    unsafe { HOOKS.load(Ordering::Acquire).as_ref() }
}

/// Tells locks apart, wherever they are moved. The number is given at the first use.
#[derive(Debug)]
pub(crate) struct Key(AtomicU64);

impl Key {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn number(&self) -> u64 {
        number_of(&self.0)
    }
}

/// The number in `cell`, which gets one if it has none.
fn number_of(cell: &AtomicU64) -> u64 {
    match cell.load(Ordering::Relaxed) {
        0 => {
            let new = NUMBERS.fetch_add(1, Ordering::Relaxed);
            cell.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed)
                .map_or_else(|seen| seen, |_| new)
        }
        number => number,
    }
}

/// Where in the program something was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here(Option<&'static Location<'static>>);

impl Here {
    #[track_caller]
    pub(crate) const fn caller() -> Self {
        Self(Some(Location::caller()))
    }

    pub(crate) fn unknown() -> Self {
        Self(None)
    }
}

/// A future's entry among those who wait.
#[derive(Debug)]
pub(crate) struct Waiting(AtomicU64);

impl Waiting {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// It joins a line: called under the line's lock, so that those before it have smaller numbers.
    pub(crate) fn queue(&self) {
        number_of(&self.0);
    }

    /// It is about to return `Pending`.
    pub(crate) fn begin(&self, needs: Needs<'_>, reason: Reason, waker: &Waker, at: Here) {
        let number = number_of(&self.0);
        let wait = hooks().and_then(|hooks| (hooks.waits)(waker)).map(|who| {
            let needs = match needs {
                Needs::Lock(key) => Need::Lock(key.number()),
                Needs::End(id) => Need::End(Actor::Task(id)),
            };
            Wait { who, needs, reason, at: at.0 }
        });
        let counts = wait.is_some();
        let before = match wait {
            Some(wait) => GRAPH.lock().waits.insert(number, wait),
            None => GRAPH.lock().waits.remove(&number), // it is polled by somebody that is not known
        };
        drop(before);
        if let Some(hooks) = hooks().filter(|_| counts) {
            (hooks.began)();
        }
    }

    /// It does not wait any more.
    pub(crate) fn end(&self) {
        let number = self.0.swap(0, Ordering::Relaxed);
        if number != 0 {
            let before = GRAPH.lock().waits.remove(&number);
            drop(before);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.end();
    }
}

/// How many wakers of a task there are.
#[derive(Debug)]
pub(crate) struct WakerCount(AtomicUsize);

impl WakerCount {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn take_one(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// What runs here has a lock now; `writes`: alone.
pub(crate) fn acquired(lock: &Key, writes: bool) {
    if let Some(actor) = hooks().and_then(|hooks| (hooks.runs)()) {
        GRAPH.lock().owners.entry(lock.number()).or_default().push(Owner { actor, writes });
    }
}

/// What runs here is about to give it back.
pub(crate) fn released(lock: &Key) {
    let actor = hooks().and_then(|hooks| (hooks.runs)());
    let mut graph = GRAPH.lock();
    let Some(owners) = graph.owners.get_mut(&lock.number()) else { return };
    match owners.iter().position(|owner| Some(owner.actor) == actor) {
        Some(at) => drop(owners.swap_remove(at)),
        None => return graph.leave_out(lock.number()),
    }
    if owners.is_empty() {
        graph.owners.remove(&lock.number());
    }
}

/// It is not a matter of owners any more: permits were added or taken away.
pub(crate) fn counts_no_more(lock: &Key) {
    GRAPH.lock().leave_out(lock.number());
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Lock(u64),
    End(Actor),
}

struct Wait {
    who: Who,
    needs: Need,
    reason: Reason,
    at: Option<&'static Location<'static>>,
}

struct Owner {
    actor: Actor,
    writes: bool,
}

struct Graph {
    /// By their numbers: in a line, those before have smaller ones.
    waits: BTreeMap<u64, Wait>,
    owners: BTreeMap<u64, Vec<Owner>>,
    /// Locks whose owners are not known.
    left_out: BTreeSet<u64>,
    /// The waits of each deadlock that was found.
    known: BTreeSet<Vec<u64>>,
    found: Vec<Arc<Deadlock>>,
}

/// What a check found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Checked {
    /// Deadlocks that were not known before.
    pub new: Vec<Arc<Deadlock>>,
    /// There are cycles of waits that are not all plain just now: look again later.
    pub suspicious: bool,
}

/// Looks for deadlocks now.
pub fn check() -> Checked {
    let mut graph = GRAPH.lock();
    let mut new = Vec::new();
    for cycle in graph.cycles(true) {
        if graph.known.insert(sorted(&cycle)) {
            let deadlock = Arc::new(graph.describe(&cycle));
            graph.found.push(deadlock.clone());
            new.push(deadlock);
        }
    }
    let suspicious = graph.cycles(false).iter().any(|cycle| !graph.known.contains(&sorted(cycle)));
    Checked { new, suspicious }
}

/// A cycle, wherever it was entered.
fn sorted(cycle: &[u64]) -> Vec<u64> {
    let mut numbers = cycle.to_vec();
    numbers.sort_unstable();
    numbers
}

/// Every deadlock that was found until now.
pub fn found() -> Vec<Arc<Deadlock>> {
    GRAPH.lock().found.clone()
}

impl Graph {
    const fn new() -> Self {
        Self {
            waits: BTreeMap::new(),
            owners: BTreeMap::new(),
            left_out: BTreeSet::new(),
            known: BTreeSet::new(),
            found: Vec::new(),
        }
    }

    fn leave_out(&mut self, lock: u64) {
        self.owners.remove(&lock);
        self.left_out.insert(lock);
    }

    /// The only wait of each actor that has one; all of them, or those that are plain now.
    fn waiting(&self, plain: bool) -> BTreeMap<Actor, u64> {
        let (mut only, mut several) = (BTreeMap::new(), BTreeSet::new());
        for (&number, wait) in &self.waits {
            if only.insert(wait.who.actor, number).is_some() {
                several.insert(wait.who.actor);
            }
        }
        only.retain(|actor, number| {
            !several.contains(actor) && (!plain || self.waits[number].who.seat.waits_plainly())
        });
        only
    }

    /// Cycles of waits, each once, as the numbers of the waits in their order.
    fn cycles(&self, plain: bool) -> Vec<Vec<u64>> {
        let waiting = self.waiting(plain);
        let mut cycles: Vec<Vec<u64>> = Vec::new();
        for &number in waiting.values() {
            if cycles.iter().any(|cycle| cycle.contains(&number)) {
                continue;
            }
            let mut path = Vec::new();
            if self.leads_back(number, number, &waiting, &mut path, &mut BTreeSet::new()) {
                cycles.push(path);
            }
        }
        cycles
    }

    /// Whether a way leads from wait `from` to wait `goal`; `path` is the way then.
    fn leads_back(
        &self,
        from: u64,
        goal: u64,
        waiting: &BTreeMap<Actor, u64>,
        path: &mut Vec<u64>,
        seen: &mut BTreeSet<u64>,
    ) -> bool {
        path.push(from);
        for actor in self.needed(from) {
            let Some(&next) = waiting.get(&actor) else { continue };
            if next == goal || seen.insert(next) && self.leads_back(next, goal, waiting, path, seen) {
                return true;
            }
        }
        path.pop();
        false
    }

    /// Those without whom this wait does not end.
    fn needed(&self, number: u64) -> Vec<Actor> {
        let wait = &self.waits[&number];
        let lock = match wait.needs {
            Need::End(actor) => return Vec::from([actor]),
            Need::Lock(lock) if self.left_out.contains(&lock) => return Vec::new(),
            Need::Lock(lock) => lock,
        };
        let owners = self.owners.get(&lock).map(Vec::as_slice).unwrap_or_default();
        if wait.reason != Reason::RwLockRead {
            return owners.iter().map(|owner| owner.actor).collect();
        }
        if owners.iter().any(|owner| owner.writes) {
            return owners.iter().filter(|owner| owner.writes).map(|owner| owner.actor).collect();
        }
        let before = self.waits.range(..number).map(|(_, wait)| wait);
        let writers =
            before.filter(|wait| wait.needs == Need::Lock(lock) && wait.reason == Reason::RwLockWrite);
        writers.map(|wait| wait.who.actor).collect()
    }

    fn describe(&self, cycle: &[u64]) -> Deadlock {
        let member = |number| {
            let Wait { who, reason, at, .. } = &self.waits[number];
            Member { who: who.seat.describe(), reason: *reason, at: *at }
        };
        Deadlock { members: cycle.iter().map(member).collect() }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
