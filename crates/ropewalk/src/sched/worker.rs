//! A worker: the policy of the scheduler in [`Worker::find_next`], and what it does when there is nothing to do.
//!
//! What is runnable waits in one of three places: the LIFO slot, the *ready lane* (spawned or woken by what runs here, or yielded) and the
//! *due lane* (found by a look: timers, sockets, inbox, injection queue). The two lanes share the time as `agenda.rs` says.
//!
//! Order of service, and so the bound on waiting. In polls of the worker that has the task (asserted in `tests/tasks/starvation.rs`): let
//! `L` = [`LIFO_STREAK`], `G` = `global_queue_interval`, `C` = the ready ring's capacity, and `R(p) = t + ⌈t / (G − 1)⌉` with
//! `t = (p + 1)·(L + 1)`: one turn in `L + 1` is not the LIFO slot's, and while a look finds one task only, of `G` polls at most one is
//! due. If looks find more, the ready lane has half of the polls where polls stand for time (AG4), `2·t + 2·G`, and half of the time elsewhere. In time (asserted with a fake clock in `agenda/tests.rs`):
//! let `P` be the longest poll, and `W` = [`OFTEN`](agenda) + `P`, the time from look to look once the window fits the polls (AG2).
//!
//! (A worker that was woken runs what it was woken for before it looks at anything else: two polls more, at most.)
//!
//! * A ready task with `p` tasks before it in the lane runs at the latest in poll `R(p)` from now; nothing comes before it later, but what is
//!   due. But in that time it may go to the end of the injection queue, once: when the ring overflows and half of it is before the task.
//! * A task whose timer is due, whose socket is ready (if nobody sleeps in the driver: then at once), or that was woken or spawned outside, is
//!   found within `G` polls, and within `W`. With `q` tasks before it in the due lane it runs within `2·(q + 1)·(L + 1) + 2·G` polls from then
//!   on: half of them may be ready ones, and what a due task wakes may come after it from the slot. In time: when the ready lane has had as
//!   much as the tasks before it took, and a window more. The due lane holds `D` = `C / 4` free tasks (at least 16), of which timers and
//!   sockets leave a quarter to what comes from outside; what is due beyond that waits in the wheel, or at the end of the ready lane (up to
//!   256 sockets are seen in one look).
//! * Of the injection queue a look takes a fair share, as many as fit into a window of due ones: a task with `q` tasks before it there runs, or
//!   is ready with less than `C/2` tasks before it, within `(q + D + 1)·max(G, 2·(L + 1))` polls of any one active worker.
//! * A pinned task woken elsewhere joins the due lane within `G` polls, and within `W`. If its worker sleeps, and workers take turns
//!   (`worker/turns.rs`), that one is called within `G` polls, or `W`, of the worker that woke the task.
//! * A task in the LIFO slot runs at the latest in poll 2: one turn of the ring may come first. But when a task yields, a newer one wants
//!   the slot, or a look finds something due, it becomes the last of the ring.
//! * A task that yields, or has used up its budget, goes behind everything that is ready, in slot and lane.
//! * The oldest half that a suspended strand has forked, and nobody has taken, joins the ready lane of its worker within `G` polls, and `W`.
//! * A strand that is run by the one that joins it ([`Worker::run_at_once`]) belongs to that one's poll, and spends its budget.

mod agenda;
mod alarm;
mod batch;
mod cores;
pub(crate) mod crowd;
mod follow;
mod frame;
mod halves;
mod lane;
mod look;
mod pair;
mod placement;
mod queue;
mod record;
mod rest;
mod run;
mod sample;
mod timers;
pub(crate) mod turns;

use agenda::Agenda;
use batch::Batch;
use cores::{Asked, Cores};
use crowd::Crowd;
pub(crate) use frame::Frame;
use lane::Lane;
use pair::Tempo;
use record::Reel;
use rest::Rest;
use sample::Sampler;
pub(crate) use sample::{Histograms, Samples};

use super::fibre::Fibres;
use super::idle::Searching;
use super::lifo::{self, Sighting};
use super::linger::Habit;
use super::pool::Pool;
use super::slab::Cache;
use super::spin::SpinCredit;
use super::station::{Kit, Station};
use super::watchdog::Watchdog;
use crate::drive::time::PreciseSleep;
use crate::fork::Spare;
use crate::strand::StackCache;
use ropewalk_core::task::{Header, Runnable, TaskId};
use std::alloc::Layout;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::num::NonZeroU64;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How many tasks in a row may come from the LIFO slot while others wait.
pub(crate) const LIFO_STREAK: u32 = 3;
/// How often a searcher looks at every other worker.
const SEARCH_ROUNDS: usize = 3;
/// Ids are taken from the runtime in lots.
const IDS: u64 = 1024;

/// In the order in which they are declared: what every turn of the loop touches comes first and lies together, for a system call leaves little
/// of it in the nearest cache.
#[repr(C, align(64))]
pub(crate) struct Worker {
    pub(crate) frame: Frame,
    pub(crate) pool: Arc<Pool>,
    pub(crate) station: Arc<Station>,
    watchdog: Arc<Watchdog>,
    /// What is runnable, and was made so by what runs here.
    ready: Lane,
    next: lifo::Owner<Runnable>,
    /// The task that ran last, wants to run again, and is all there is here: no reason to show it to thieves. It is put
    /// there at the end of a turn of the loop and taken at the beginning of the next.
    again: Cell<Option<Runnable>>,
    streak: Cell<u32>,
    /// The state of the pool this worker acted on last.
    epoch: Cell<u32>,
    /// A woken task goes to the LIFO slot, and that is all (`mind_slot`).
    slot_open: Cell<bool>,
    /// The watchdog may sleep: it is called when something begins to wait here.
    uncalled: Cell<bool>,
    alone: Cell<bool>,
    searching: Cell<Option<Searching>>,
    closing: Cell<bool>,
    /// The pool closes or drains: somebody waits for the last tasks to end.
    winding_down: Cell<bool>,
    retiring: Cell<bool>,
    /// What the driver had was delivered since the last look: no need to ask it in the next one.
    driver_seen: Cell<bool>,
    /// The next poll goes the long way: somebody watches all of them, or it is timed.
    watching: Cell<bool>,
    /// The loop goes back to the trampoline after this task.
    pub(crate) leave: Cell<bool>,
    /// It goes back after every task: somebody else decides who is next.
    pub(crate) single: Cell<bool>,
    /// The worker has a thread of its own, on which it may sleep.
    threaded: bool,
    /// Whoever drives it lets it sleep in its loop, as if it had.
    pub(super) at_home: Cell<bool>,
    /// Somebody wants to hear when it falls asleep or gets up.
    hooked: bool,
    pub(super) habit: Habit,
    crowd: Crowd,
    agenda: Agenda,
    /// What a look found: see `agenda.rs`.
    due: Lane,
    batch: Batch,
    /// Pinned tasks that are not over.
    pinned: Cell<usize>,
    /// How many of them local queue and inbox have room for.
    room_for_pinned: Cell<usize>,
    /// How often in a row little was to be had elsewhere; below zero: how often not to wait for more.
    small_hauls: Cell<i32>,
    /// How well spinning paid off lately.
    spin_credit: SpinCredit,
    /// The same for tasks that looked a little longer for what they wait for.
    pub(super) linger_credit: SpinCredit,
    random: Cell<u64>,
    ids: Cell<(u64, u64)>,
    cache: UnsafeCell<Cache>,
    /// For strands that fork.
    forks: RefCell<Spare>,
    /// Others that may be robbed, and what this thief saw of their LIFO slots.
    peers: RefCell<Vec<(Arc<Station>, Sighting)>>,
    sampler: Sampler,
    reel: Reel,
    cores: Cores,
    calls: Asked,
    tempo: Tempo,
    /// While somebody drives it who sleeps until deadlines: the thread is not ours.
    precise: Cell<Option<PreciseSleep>>,
    pub(crate) fibres: Fibres,
    pub(crate) stacks: StackCache,
}

impl Worker {
    pub(crate) fn new(pool: Arc<Pool>, station: Arc<Station>, threaded: bool) -> Self {
        let Kit { ring, due, lifo, cache, forks } = station.take_kit();
        station.counters.look_now();
        Self {
            agenda: Agenda::new(pool.config.global_queue_interval),
            epoch: Cell::new(pool.epoch().wrapping_sub(1)),
            watchdog: pool.runtime.watchdog.clone(),
            ready: Lane::new(ring),
            due: Lane::new(due),
            next: lifo,
            again: Cell::new(None),
            cache: UnsafeCell::new(cache),
            forks: RefCell::new(forks),
            streak: Cell::new(0),
            slot_open: Cell::new(false),
            uncalled: Cell::new(threaded),
            batch: Batch::default(),
            random: Cell::new(pool.config.random(station.index as u64)),
            ids: Cell::new((0, 0)),
            peers: RefCell::default(),
            searching: Cell::new(None),
            closing: Cell::new(false),
            winding_down: Cell::new(false),
            retiring: Cell::new(false),
            driver_seen: Cell::new(false),
            watching: Cell::new(false),
            sampler: Sampler::default(),
            reel: Reel::default(),
            pinned: Cell::new(0),
            room_for_pinned: Cell::new(0),
            spin_credit: SpinCredit::new(),
            linger_credit: SpinCredit::new(),
            habit: Habit::default(),
            crowd: Crowd::default(),
            cores: Cores::default(),
            calls: Asked::default(),
            tempo: Tempo::default(),
            small_hauls: Cell::new(0),
            leave: Cell::new(false),
            single: Cell::new(false),
            alone: Cell::new(true),
            threaded,
            at_home: Cell::new(false),
            precise: Cell::new(None),
            hooked: pool.config.hooks.on_thread_park.is_some()
                || pool.config.hooks.on_thread_unpark.is_some(),
            frame: Frame::default(),
            fibres: Fibres::default(),
            stacks: StackCache::default(),
            pool,
            station,
        }
    }

    pub(crate) fn index(&self) -> usize {
        self.station.index
    }

    /// The loop: runs on a fibre until it is told to leave.
    pub(crate) fn work(&self) {
        loop {
            let found = match self.find_next() {
                Some(task) => Some(task),
                None => match self.rest() {
                    Rest::CalledOff => continue,
                    Rest::Over(called_for) => called_for,
                },
            };
            if let Some(task) = found {
                self.run(task);
                self.mind_crowd();
            }
            if self.leave.get() {
                self.driver_seen.set(false); // whoever drives it next comes later
                return self.call_homes();
            }
        }
    }

    /// Where the next task comes from: what was woken last; else what a look found due, in its turn; else the oldest of one's own;
    /// else from outside; else from others. Now and then the worker sees what time it is, and looks around (`agenda.rs`).
    #[inline]
    fn find_next(&self) -> Option<Runnable> {
        match self.is_time_to_glance() {
            false => self.own().or_else(|| self.elsewhere()),
            true => self.glance_and_find(),
        }
    }

    #[inline]
    fn own(&self) -> Option<Runnable> {
        debug_assert!(self.may_take());
        if let Some(task) = self.again.take() {
            return Some(task);
        }
        if self.streak.get() < LIFO_STREAK
            && let Some(task) = self.next.take()
        {
            self.streak.set(self.streak.get() + 1);
            self.station.counters.lifo_hits.bump();
            return Some(task);
        }
        self.streak.set(0);
        let oldest = match self.agenda.serves_due() {
            true => self.oldest_due(),
            false => self.ready.oldest(),
        };
        oldest.or_else(|| self.next.take()).or_else(|| self.turn_to_due())
    }

    /// Nothing is left of one's own.
    fn elsewhere(&self) -> Option<Runnable> {
        self.pass_the_turn();
        self.weigh_theft();
        self.mind_crowd();
        self.await_haul();
        let found = self.fetch_outside().or_else(|| self.own_half()).or_else(|| self.search());
        self.weigh_haul(found.is_some());
        found
    }

    /// Pinned tasks woken elsewhere and a fair share of the injection queue are one's own from now on: there is nothing else.
    fn fetch_outside(&self) -> Option<Runnable> {
        while let Some(task) = self.station.inbox.pop() {
            self.ready.push_pinned(task);
        }
        if self.uncalled.get() && self.has_backlog() {
            self.something_waits();
        }
        if self.retiring.get() {
            return self.pop_pinned();
        }
        let waiting = self.pool.injector.len();
        if waiting == 0 {
            return self.pop_pinned_if_first();
        }
        let task = if waiting == 1 { self.pool.injector.pop() } else { self.fetch_share(waiting) };
        if task.is_some() {
            self.station.counters.injected.bump();
        }
        task
    }

    /// A fair share of what waits outside: the oldest to run, the others into the ring.
    fn fetch_share(&self, waiting: usize) -> Option<Runnable> {
        // No more than half a ring, so that an overflow does not send it back.
        let room = (self.ready.ring.capacity() / 2).saturating_sub(self.ready.ring.len());
        let share = self.fair_share(waiting).min(room + 1);
        let task = self.pool.injector.pop_into(share, &self.ready.ring);
        if share > 1 {
            self.notify_others(); // what moved to the ring may be stolen there
        }
        task
    }

    /// How many of those that wait outside this worker takes.
    fn fair_share(&self, waiting: usize) -> usize {
        (waiting / self.pool.active().max(1) + 1).min(waiting)
    }

    /// After the inbox was emptied with nothing else to do, its first task is next.
    fn pop_pinned_if_first(&self) -> Option<Runnable> {
        if self.ready.ring.is_empty() { self.pop_pinned() } else { None }
    }

    /// Looks for work at other workers, as one of a bounded number of searchers.
    fn search(&self) -> Option<Runnable> {
        if self.alone.get() || self.retiring.get() || !(self.is_searching() || self.may_rob()) {
            return None;
        }
        let searching = self.searching.take().or_else(|| self.pool.idle.try_search(self.pool.active()))?;
        self.searching.set(Some(searching));
        self.station.counters.searches.bump();
        let found = (0..SEARCH_ROUNDS).find_map(|round| self.rob_all(round == 0).or_else(|| self.rob_half()));
        found.or_else(|| self.fetch_outside())
    }

    /// Whether others rely on this worker's search.
    pub(super) fn is_searching(&self) -> bool {
        let searching = self.searching.take();
        let is = searching.is_some();
        self.searching.set(searching);
        is
    }

    /// Whether a search might find something. A look costs less than the search: what it reads is not written while nobody
    /// has anything.
    fn may_rob(&self) -> bool {
        let has_any = |(peer, _): &(Arc<Station>, Sighting)| peer.has_loot() || peer.lifo.has_loot();
        let peers = self.peers.borrow();
        let all_sleep = self.pool.idle.counters().sleeping() >= peers.len(); // who sleeps has nothing
        !self.pool.injector.is_empty() || !all_sleep && peers.iter().any(has_any) || self.any_half()
    }

    /// One pass over all others, starting at a random one.
    pub(super) fn rob_all(&self, lifo_too: bool) -> Option<Runnable> {
        let mut peers = self.peers.borrow_mut();
        let (count, start) = (peers.len(), self.next_random() as usize % peers.len());
        for at in 0..count {
            let (victim, sighting) = &mut peers[(start + at) % count];
            if let Some(task) = self.rob(victim) {
                return Some(task);
            }
            if !lifo_too {
                continue;
            }
            if let Some(task) = victim.lifo.steal_if_stale(sighting, victim.counters.polls.get()) {
                self.station.counters.lifo_steals.bump();
                self.note_steal(&task, victim.index, 1);
                return Some(task);
            }
        }
        None
    }

    /// Takes half of a lane of `victim`: what is due there goes first, and is due here.
    fn rob(&self, victim: &Arc<Station>) -> Option<Runnable> {
        let due = victim.due.steal_into(&self.due.ring);
        let task = due.or_else(|| victim.stealer.steal_into(&self.ready.ring))?;
        self.station.counters.steals.bump();
        self.note_theft(victim);
        let stolen = self.free_tasks();
        self.note_steal(&task, victim.index, stolen + 1);
        if stolen > 0 {
            self.something_waits();
        }
        Some(task)
    }

    /// A spawn on this worker is counted, or refused because the pool closes.
    #[inline]
    #[must_use]
    pub(crate) fn admit(&self) -> bool {
        if self.closing.get() {
            return false;
        }
        self.station.counters.spawned.bump();
        true
    }

    /// A pinned task was made for this worker.
    pub(crate) fn adopt(&self) {
        self.pinned.set(self.pinned.get() + 1);
        self.station.pinned.store(self.pinned.get(), Ordering::Relaxed);
        self.reserve_pinned();
    }

    /// All that is pinned here may be queued at once, and waking it allocates nothing: local tasks, the tickets of fibres,
    /// the root of a `block_on`.
    #[inline]
    pub(crate) fn reserve_pinned(&self) {
        let most = self.pinned.get() + self.fibres.count() + 1;
        if most > self.room_for_pinned.get() {
            self.make_room_for_pinned(most);
        }
    }

    #[cold]
    fn make_room_for_pinned(&self, most: usize) {
        let room = most.next_power_of_two();
        self.room_for_pinned.set(room);
        self.station.inbox.reserve_in_all(room);
        [&self.ready, &self.due].iter().for_each(|lane| lane.reserve_pinned(room));
    }

    /// Whether something here belongs to this thread: local tasks or parked stacks.
    pub(crate) fn is_bound(&self) -> bool {
        self.pinned.get() > 0 || self.station.parked.load(Ordering::Relaxed) > 0
    }

    /// Whether it sleeps in its loop. A pool that closes may be over for who drives it: that one looks.
    fn sleeps_here(&self) -> bool {
        self.threaded || self.at_home.get() && !self.closing.get()
    }

    /// Whether there is no other worker in the pool.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone.get()
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.get()
    }

    #[inline]
    pub(crate) fn alloc(&self, layout: Layout) -> NonNull<u8> {
        // SAFETY: only this thread has the worker; the cache does not call back.
        unsafe { &mut *self.cache.get() }.alloc(&self.pool, layout)
    }

    #[inline]
    pub(crate) fn free(&self, task: NonNull<Header>, layout: Layout) {
        // SAFETY: as in `alloc`; the caller (`Host::dealloc`) checked that the task is of this pool.
        unsafe { (*self.cache.get()).free(&self.pool.depot, task, layout) }
    }

    #[inline]
    pub(crate) fn next_id(&self) -> TaskId {
        let (next, end) = self.ids.get();
        let (next, end) = if next == end { self.pool.runtime.take_ids(IDS) } else { (next, end) };
        self.ids.set((next + 1, end));
        TaskId::new(NonZeroU64::new(next).expect("ids start at one"))
    }

    /// xorshift64*: the runtime's seeded generator, as far as this worker needs one.
    pub(crate) fn next_random(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random.set(x);
        x.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
