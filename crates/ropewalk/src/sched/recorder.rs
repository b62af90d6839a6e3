//! The flight recorder of a runtime: what its workers did last, on a tape each (`recorder/tape.rs`), and what others did, on one tape under a lock.
//!
//! * **RC1** A tape has one writer: the worker at its station. Workers follow one another there, and who comes has taken the kit that the other gave back.
//! * **RC2** While nothing is recorded there is no tape, and nobody asks: polls go the long way, and wake-ups do, only while a worker has one.
//! * **RC3** What is kept is bounded: so many events for each worker, as many for all others together, the tapes of [`BYGONE`] workers of pools that
//!   are gone, [`NAMES`] names of tasks that have ended and of threads.

pub(crate) mod act;
pub(crate) mod tape;

use super::host;
use super::station::Station;
use crate::context;
pub(crate) use act::{Act, End, Event, Noun, Slept};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use ropewalk_core::task::Runnable;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Instant, SystemTime};
pub(crate) use tape::Tape;

/// The most events that can be asked for: half a gigabyte for each worker, and one for all other threads.
pub(crate) const MOST_EVENTS: usize = 1 << 24;
/// The least that are kept.
const LEAST_EVENTS: usize = 16;
/// Of so many workers that are no more.
const BYGONE: usize = 64;
/// So many names, each at most that long.
const NAMES: usize = 4096;
const LONGEST_NAME: usize = 256;

/// How many recorders are on, in the whole process: what a span asks first.
static RECORDING: AtomicUsize = AtomicUsize::new(0);
/// Those that were switched on, the last one last.
static ON: Mutex<Vec<Weak<Recorder>>> = Mutex::new(Vec::new());

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Recorder {
    on: AtomicBool,
    start: Instant,
    pub(crate) started: SystemTime,
    /// Held while it is switched, so that one change is whole before the next.
    switching: Lock<()>,
    reels: Lock<Reels>,
    outside: Lock<Outside>,
    names: Lock<VecDeque<(u64, Box<str>)>>,
}

#[derive(Debug, Default)]
struct Reels {
    /// Events for each; 0: nothing is recorded.
    capacity: usize,
    all: Vec<Reel>,
}

/// The tape of a worker, and whose it is.
#[derive(Clone, Debug)]
pub(crate) struct Reel {
    pub(crate) pool: Arc<str>,
    pub(crate) worker: usize,
    pub(crate) tape: Arc<Tape>,
}

/// What threads did that are no workers.
#[derive(Debug, Default)]
struct Outside {
    capacity: usize,
    events: VecDeque<(u32, Event)>,
    /// When that began.
    since: u64,
    /// How many there were, ever.
    pushed: u64,
    threads: BTreeMap<u32, Box<str>>,
}

/// What is found outside when somebody looks.
pub(crate) struct Found {
    pub(crate) events: Vec<(u32, Event)>,
    pub(crate) since: u64,
    pub(crate) lost: u64,
    pub(crate) threads: BTreeMap<u32, Box<str>>,
}

impl Act {
    /// A task is woken, or was spawned.
    pub(crate) fn woken(task: &Runnable, new: bool) -> Self {
        Act::Woken { place: task.spawned_at(), new, ticket: host::is_ticket(task) }
    }
}

/// Where an event is that may be amended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(u64);

impl Recorder {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            on: AtomicBool::new(false),
            start: Instant::now(),
            started: SystemTime::now(),
            switching: Lock::new(()),
            reels: Lock::new(Reels::default()),
            outside: Lock::new(Outside::default()),
            names: Lock::new(VecDeque::new()),
        })
    }

    /// Whether a recorder is on, somewhere in the process.
    #[inline(always)]
    pub(crate) fn is_any_on() -> bool {
        RECORDING.load(Relaxed) > 0
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Relaxed)
    }

    pub(crate) fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// So many events for each worker from now on; 0: none. What was recorded before is gone, unless nothing changes: then false. `tell` tells the
    /// pools.
    pub(crate) fn switch(self: &Arc<Self>, events: usize, tell: impl FnOnce(bool)) -> bool {
        let capacity = if events == 0 { 0 } else { events.max(LEAST_EVENTS).next_power_of_two() };
        let _whole = self.switching.lock();
        let (on, before) = (capacity > 0, {
            let mut reels = self.reels.lock();
            if reels.capacity == capacity {
                return false;
            }
            std::mem::replace(&mut *reels, Reels { capacity, all: Vec::new() })
        });
        let events = VecDeque::with_capacity(capacity);
        let outside = Outside { capacity, events, since: self.now(), ..Outside::default() };
        *self.outside.lock() = outside;
        *self.names.lock() = VecDeque::new();
        if self.on.swap(on, Relaxed) != on {
            self.count(on);
        }
        tell(on);
        drop(before);
        true
    }

    /// One more recorder is on, or one less.
    fn count(self: &Arc<Self>, on: bool) {
        let mut all = ON.lock().unwrap_or_else(PoisonError::into_inner);
        let this = Arc::as_ptr(self);
        all.retain(|other| other.strong_count() > 0 && other.as_ptr() != this);
        if on {
            all.push(Arc::downgrade(self));
            RECORDING.fetch_add(1, Relaxed);
        } else {
            RECORDING.fetch_sub(1, Relaxed);
        }
    }

    /// The one that records what happens here: of the runtime this is in; outside of any, the last that was switched on.
    pub(crate) fn here() -> Option<Arc<Self>> {
        let entered = context::with_entered(|handle| handle.shared.recorder.clone());
        let of_worker =
            || context::with_worker(|worker| worker.map(|worker| worker.pool.runtime.recorder.clone()));
        if let Some(here) = entered.or_else(of_worker) {
            return here.is_on().then_some(here);
        }
        let all = ON.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().rev().filter_map(Weak::upgrade).find(|recorder| recorder.is_on())
    }

    /// The tape of the worker at `station`, if something is recorded. It is made when it is first asked for. `new`: so is the worker, which
    /// has done nothing that could be missing.
    pub(crate) fn tape(&self, pool: &str, station: &Station, new: bool) -> Option<Arc<Tape>> {
        let mut reels = self.reels.lock();
        let mut tape = station.tape.lock();
        if reels.capacity == 0 {
            *tape = None;
            return None;
        }
        if let Some(known) = &*tape
            && reels.all.iter().any(|reel| Arc::ptr_eq(&reel.tape, known))
        {
            return tape.clone();
        }
        let made = Arc::new(Tape::new(reels.capacity));
        if new {
            made.begin(0);
        }
        *tape = Some(made.clone());
        // One that nobody else has is of a pool that is gone (RC3).
        let is_bygone = |reel: &Reel| Arc::strong_count(&reel.tape) == 1;
        let mut too_many = reels.all.iter().filter(|reel| is_bygone(reel)).count().saturating_sub(BYGONE);
        reels.all.retain(|reel| {
            let goes = too_many > 0 && is_bygone(reel);
            too_many -= usize::from(goes);
            !goes
        });
        reels.all.push(Reel { pool: pool.into(), worker: station.index, tape: made.clone() });
        Some(made)
    }

    /// Since when something is recorded, if it is.
    pub(crate) fn since(&self) -> u64 {
        self.outside.lock().since
    }

    pub(crate) fn reels(&self) -> Vec<Reel> {
        self.reels.lock().all.clone()
    }

    /// How many events there is room for, for each worker.
    pub(crate) fn capacity(&self) -> usize {
        self.reels.lock().capacity
    }

    /// Something happens here, on a worker of this runtime or elsewhere.
    pub(crate) fn note(self: &Arc<Self>, id: u64, act: Act) {
        let noted = context::with_worker(|worker| {
            worker.is_some_and(|worker| {
                Arc::ptr_eq(&worker.pool.runtime.recorder, self) && worker.note(id, act).is_some()
            })
        });
        if !noted {
            self.note_outside(self.now(), id, act);
        }
    }

    /// The same, on a thread that is no worker.
    pub(crate) fn note_outside(&self, time: u64, id: u64, act: Act) -> Option<Mark> {
        let thread = this_thread();
        let mut outside = self.outside.lock();
        if outside.capacity == 0 {
            return None;
        }
        if !outside.threads.contains_key(&thread) {
            let name =
                std::thread::current().name().map_or_else(|| format!("thread {thread}"), str::to_owned);
            if outside.threads.len() == NAMES {
                outside.threads.pop_first();
            }
            outside.threads.insert(thread, shortened(&name));
        }
        if outside.events.len() == outside.capacity {
            outside.events.pop_front();
        }
        outside.events.push_back((thread, Event { time, id, act }));
        outside.pushed += 1;
        Some(Mark(outside.pushed - 1))
    }

    /// More is known of what was noted there.
    pub(crate) fn amend_outside(&self, mark: Mark, time: u64, id: u64, act: Act) {
        let mut outside = self.outside.lock();
        let first = outside.pushed - outside.events.len() as u64;
        let at = mark.0.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        match at.and_then(|at| outside.events.get_mut(at)) {
            // It is another one's if all was begun anew in between.
            Some((_, event)) if event.time == time && event.id == id => event.act = act,
            _ => {
                drop(outside);
                self.note_outside(time, id, act);
            }
        }
    }

    pub(crate) fn found_outside(&self) -> Found {
        let outside = self.outside.lock();
        let (events, threads) = (&outside.events, &outside.threads);
        let lost = outside.pushed - events.len() as u64;
        Found {
            events: events.iter().copied().collect(),
            since: outside.since,
            lost,
            threads: threads.clone(),
        }
    }

    /// A task with a name has ended.
    pub(crate) fn remember(&self, id: u64, name: &str) {
        let mut names = self.names.lock();
        if names.len() == NAMES {
            names.pop_front();
        }
        names.push_back((id, shortened(name)));
    }

    pub(crate) fn names(&self) -> Vec<(u64, Box<str>)> {
        self.names.lock().iter().cloned().collect()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if self.is_on() {
            RECORDING.fetch_sub(1, Relaxed);
        }
    }
}

fn shortened(name: &str) -> Box<str> {
    name[..name.floor_char_boundary(LONGEST_NAME)].into()
}

/// A number for each thread.
#[cfg_attr(feature = "roaming", inline(never))] // TL1
fn this_thread() -> u32 {
    thread_local!(static NUMBER: Cell<u32> = const { Cell::new(0) });
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let known = NUMBER.try_with(Cell::get).unwrap_or(0);
    if known != 0 {
        return known;
    }
    let number = NEXT.fetch_add(1, Relaxed);
    let _ending = NUMBER.try_with(|known| known.set(number));
    number
}
