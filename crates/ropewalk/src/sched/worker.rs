//! A worker: the policy of the scheduler in [`Worker::find_next`], and what it does when there is nothing to do.
//!
//! Order of service, and so the bound on waiting, in polls of the worker that has the task (asserted in
//! `tests/starvation.rs`). Let `L` = [`LIFO_STREAK`], `G` = `global_queue_interval`, `C` = the ring's capacity, and
//! `R(p) = t + ⌈t / (G − 1)⌉` with `t = (p + 1)·(L + 1)`: one turn in `L + 1` is not the LIFO slot's, and of `G` polls at
//! most one goes to the outside.
//!
//! * A task with `p` tasks before it in ring and local queue runs at the latest in poll `R(p)` from now; nothing comes
//!   before it later. But in that time it may go to the end of the injection queue, once: when the ring overflows and half
//!   of it is before the task, or when more waits outside than half a ring can take, and the task came since the last look.
//! * A task with `q` tasks before it in the injection queue is taken within `(q + 1)·G` polls of any one active worker. It
//!   runs at once, or has less than `C/2` tasks of the ring before it, and what is in the local queue; and it stays there.
//! * A pinned task woken elsewhere joins the local queue within `G` polls, behind everything.
//! * A task whose timer is due when its worker looks, every `G` polls, and after every [`BUDGETS`](super::budget::BUDGETS)
//!   polls that used up their budget, has less than `C` tasks before it and stays there: no flood from outside overtakes it.
//!   If the ring is full, a few are woken in each look, and the others wait in the wheel.
//! * A task whose socket is ready is woken within `G` polls of any one worker of the main pool, if nobody sleeps in the driver
//!   (then at once), and has the tasks of the ring before it; up to 256 are woken in one look.
//! * A task in the LIFO slot runs at the latest in poll `2 + ⌈2 / (G − 1)⌉`: one turn of the ring may come first. But when
//!   a task yields, or a newer one wants the slot, it becomes the last of the ring.
//! * A task that yields, or has used up its budget, goes behind everything in slot, ring and local queue.

pub(crate) mod crowd;
mod follow;
mod frame;
mod pair;
mod rest;
mod timers;

use crowd::Crowd;
pub(crate) use frame::Frame;
use pair::Tempo;
pub(crate) use timers::Timers;

use super::fibre::Fibres;
use super::host::Extra;
use super::idle::Searching;
use super::lifo::Sighting;
use super::linger::Habit;
use super::next::Next;
use super::pool::Pool;
use super::slab::Cache;
use super::spin::SpinCredit;
use super::station::{Kit, Station};
use super::{host, ring};
use crate::thread::Holds;
use ropewalk_core::task::{Header, Ran, Runnable, TaskId};
use std::alloc::Layout;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;

/// How many tasks in a row may come from the LIFO slot while others wait.
pub(crate) const LIFO_STREAK: u32 = 3;
/// How often a searcher looks at every other worker.
const SEARCH_ROUNDS: usize = 3;
/// Ids are taken from the runtime in lots.
const IDS: u64 = 1024;

pub(crate) struct Worker {
    pub(crate) pool: Arc<Pool>,
    pub(crate) station: Arc<Station>,
    ring: ring::Producer<Runnable>,
    next: Next<Runnable>,
    /// The task that ran last, wants to run again, and is all there is here: no reason to show it to thieves. It is put
    /// there at the end of a turn of the loop and taken at the beginning of the next.
    again: Cell<Option<Runnable>>,
    /// Runnable pinned tasks, each with the ring's tail when it came: the two queues are one FIFO by position.
    local: UnsafeCell<VecDeque<(u64, Runnable)>>,
    /// The ring's tail after the last delivery from outside: what is before it does not go out again.
    stays: Cell<u64>,
    cache: UnsafeCell<Cache>,
    /// Polls until the next look outside.
    until_look: Cell<u32>,
    /// The same, while a look at the timers comes in between; zero: none does.
    put_off: Cell<u32>,
    streak: Cell<u32>,
    /// A woken task goes to the LIFO slot.
    slot_open: Cell<bool>,
    /// Tasks are being woken by the batch: others are told once, at the end.
    in_batch: Cell<bool>,
    random: Cell<u64>,
    ids: Cell<(u64, u64)>,
    /// Others that may be robbed, and what this thief saw of their LIFO slots.
    peers: RefCell<Vec<(Arc<Station>, Sighting)>>,
    alone: Cell<bool>,
    searching: Cell<Option<Searching>>,
    /// The state of the pool this worker acted on last.
    epoch: Cell<u32>,
    closing: Cell<bool>,
    /// The pool closes or drains: somebody waits for the last tasks to end.
    winding_down: Cell<bool>,
    retiring: Cell<bool>,
    watching: Cell<bool>,
    /// Pinned tasks that are not over.
    pinned: Cell<usize>,
    /// How many of them local queue and inbox have room for.
    room_for_pinned: Cell<usize>,
    /// How well spinning paid off lately.
    spin_credit: SpinCredit,
    /// The same for tasks that looked a little longer for what they wait for.
    pub(super) linger_credit: SpinCredit,
    pub(super) habit: Habit,
    crowd: Crowd,
    tempo: Tempo,
    /// How often in a row little was to be had elsewhere; below zero: how often not to wait for more.
    small_hauls: Cell<i32>,
    /// The loop goes back to the trampoline after this task.
    pub(crate) leave: Cell<bool>,
    /// It goes back after every task: somebody else decides who is next.
    pub(crate) single: Cell<bool>,
    /// The worker has a thread of its own, on which it may sleep.
    threaded: bool,
    pub(crate) frame: Frame,
    pub(crate) fibres: Fibres,
}

/// What a worker must know of a task before it runs it, because afterwards it may be gone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Goes wherever there is room.
    Free,
    /// Stays here: a local task, a strand.
    Pinned,
    /// Stays here and is the runtime's own: a waiting fibre's ticket, the root of `block_on`.
    Internal,
}

impl Worker {
    pub(crate) fn new(pool: Arc<Pool>, station: Arc<Station>, threaded: bool) -> Self {
        let Kit { ring, lifo, cache } = station.take_kit();
        Self {
            until_look: Cell::new(0),
            put_off: Cell::new(0),
            epoch: Cell::new(pool.epoch().wrapping_sub(1)),
            stays: Cell::new(0),
            ring,
            next: Next::new(lifo),
            again: Cell::new(None),
            local: UnsafeCell::default(),
            cache: UnsafeCell::new(cache),
            streak: Cell::new(0),
            slot_open: Cell::new(pool.config.lifo_slot),
            in_batch: Cell::new(false),
            random: Cell::new(pool.config.random(station.index as u64)),
            ids: Cell::new((0, 0)),
            peers: RefCell::default(),
            searching: Cell::new(None),
            closing: Cell::new(false),
            winding_down: Cell::new(false),
            retiring: Cell::new(false),
            watching: Cell::new(false),
            pinned: Cell::new(0),
            room_for_pinned: Cell::new(0),
            spin_credit: SpinCredit::new(),
            linger_credit: SpinCredit::new(),
            habit: Habit::default(),
            crowd: Crowd::default(),
            tempo: Tempo::default(),
            small_hauls: Cell::new(0),
            leave: Cell::new(false),
            single: Cell::new(false),
            alone: Cell::new(true),
            threaded,
            frame: Frame::default(),
            fibres: Fibres::default(),
            pool,
            station,
        }
    }

    pub(crate) fn index(&self) -> usize {
        self.station.index
    }

    // ---- the policy -------------------------------------------------------------------------------------------

    /// The loop: runs on a fibre until it is told to leave.
    pub(crate) fn work(&self) {
        loop {
            match self.find_next() {
                Some(task) => {
                    self.run(task);
                    self.mind_crowd();
                }
                None if self.rest() => continue,
                None => {}
            }
            if self.leave.get() {
                return;
            }
        }
    }

    /// Where the next task comes from: now and then from outside; else what was woken last; else the oldest of one's
    /// own; else from outside; else from others.
    #[inline]
    fn find_next(&self) -> Option<Runnable> {
        let left = self.until_look.get();
        if left > 0 {
            self.until_look.set(left - 1);
        } else if let Some(task) = self.look() {
            return Some(task);
        }
        self.own().or_else(|| self.elsewhere())
    }

    /// Now and then: what goes on outside. In between, only whom it is time for.
    fn look(&self) -> Option<Runnable> {
        let put_off = self.put_off.replace(0);
        if put_off > 0 {
            self.until_look.set(put_off - 1);
            self.see_to_timers(Timers::Own);
            return None;
        }
        self.until_look.set(self.pool.config.global_queue_interval - 1);
        self.again.take().into_iter().for_each(|task| self.push_ring(task));
        self.look_around(false);
        self.fetch_outside()
    }

    /// Nothing is left of one's own.
    fn elsewhere(&self) -> Option<Runnable> {
        self.weigh_theft();
        self.mind_crowd();
        self.await_haul();
        let found = self.fetch_outside().or_else(|| self.search());
        self.weigh_haul(found.is_some());
        found
    }

    #[inline]
    fn own(&self) -> Option<Runnable> {
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
        self.oldest().or_else(|| self.next.take())
    }

    /// The oldest of ring and local queue together.
    #[inline]
    fn oldest(&self) -> Option<Runnable> {
        let local_first = self.with_local(|local| local.front().map(|(position, _)| *position));
        match local_first {
            Some(position) if self.ring.head_position() >= position => self.pop_pinned(),
            Some(_) => self.ring.pop().or_else(|| self.pop_pinned()),
            None => self.ring.pop(),
        }
    }

    /// Pinned tasks woken elsewhere join the local queue; a fair share of the injection queue joins the ring.
    fn fetch_outside(&self) -> Option<Runnable> {
        while let Some(task) = self.station.inbox.pop() {
            self.push_pinned(task);
        }
        if self.retiring.get() {
            return self.pop_pinned();
        }
        let waiting = self.pool.injector.len();
        if waiting == 0 {
            return self.pop_pinned_if_first();
        }
        let share = (waiting / self.pool.active().max(1) + 1).min(self.ring.capacity() / 2);
        if share > self.room_to_half() + 1 {
            self.make_room();
        }
        let task = self.pool.injector.pop_into(share.min(self.room_to_half() + 1), &self.ring);
        self.stays.set(self.ring.tail_position());
        if task.is_some() {
            self.station.counters.injected.bump();
        }
        if share > 1 {
            self.notify_others(); // what moved to the ring may be stolen there
        }
        task
    }

    /// What comes from outside is in the older half of the ring, so that an overflow does not send it back.
    fn room_to_half(&self) -> usize {
        (self.ring.capacity() / 2).saturating_sub(self.ring.len())
    }

    /// After the inbox was emptied with nothing else to do, its first task is next.
    fn pop_pinned_if_first(&self) -> Option<Runnable> {
        if self.ring.is_empty() { self.pop_pinned() } else { None }
    }

    /// Looks for work at other workers, as one of a bounded number of searchers.
    fn search(&self) -> Option<Runnable> {
        if self.alone.get() || self.retiring.get() || !(self.is_searching() || self.may_rob()) {
            return None;
        }
        let searching = self.searching.take().or_else(|| self.pool.idle.try_search(self.pool.active()))?;
        self.searching.set(Some(searching));
        self.station.counters.searches.bump();
        let found = (0..SEARCH_ROUNDS).find_map(|round| self.rob_all(round == 0));
        found.or_else(|| self.fetch_outside())
    }

    /// Whether others rely on this worker's search.
    fn is_searching(&self) -> bool {
        let searching = self.searching.take();
        let is = searching.is_some();
        self.searching.set(searching);
        is
    }

    /// Whether a search might find something. A look costs less than the search: what it reads is not written while nobody
    /// has anything.
    fn may_rob(&self) -> bool {
        let has_any = |(peer, _): &(Arc<Station>, Sighting)| peer.stealer.has_loot() || !peer.lifo.is_empty();
        !self.pool.injector.is_empty() || self.peers.borrow().iter().any(has_any)
    }

    /// One pass over all others, starting at a random one.
    pub(super) fn rob_all(&self, lifo_too: bool) -> Option<Runnable> {
        let mut peers = self.peers.borrow_mut();
        let (count, start) = (peers.len(), self.next_random() as usize % peers.len());
        for at in 0..count {
            let (victim, sighting) = &mut peers[(start + at) % count];
            if let Some(task) = victim.stealer.steal_into(&self.ring) {
                self.station.counters.steals.bump();
                self.note_theft(victim);
                return Some(task);
            }
            if !lifo_too {
                continue;
            }
            if let Some(task) = victim.lifo.steal_if_stale(sighting, victim.counters.polls.get()) {
                self.station.counters.lifo_steals.bump();
                return Some(task);
            }
        }
        None
    }

    // ---- running ----------------------------------------------------------------------------------------------

    #[inline]
    fn run(&self, task: Runnable) {
        if let Some(searching) = self.searching.take() {
            self.end_search(searching);
        }
        let kind = if task.is_pinned() { self.kind_of_pinned(&task) } else { Kind::Free };
        if self.closing.get() && kind != Kind::Internal {
            task.cancel(true);
        }
        self.station.counters.polls.bump();
        self.set_current(Some(task.as_raw()));
        self.frame.budget.set(super::budget::BUDGET);
        self.frame.yielded.set(false);
        self.frame.holds.set(Holds::default());
        let ran =
            if self.watching.get() { self.run_watched(task) } else { task.run_with(&self.frame.yielded) };
        self.set_current(None);
        let left = self.frame.budget.get();
        self.station.counters.operations.add(u64::from(super::budget::BUDGET - left));
        match ran {
            Ran::Idle => {}
            Ran::Done => self.finished(kind),
            Ran::Woken(task) | Ran::Yielded(task) => self.push_back(task, kind),
        }
    }

    /// What runs here from now on, also for those who look from outside.
    #[inline]
    pub(crate) fn set_current(&self, task: Option<NonNull<Header>>) {
        self.frame.current.set(task);
        self.station.current.store(task.map_or(std::ptr::null_mut(), NonNull::as_ptr), Ordering::Relaxed);
    }

    #[cold]
    fn kind_of_pinned(&self, task: &Runnable) -> Kind {
        if task.task().kind() == host::Ticket::KIND { Kind::Internal } else { Kind::Pinned }
    }

    fn run_watched(&self, task: Runnable) -> Ran {
        let (config, id) = (&self.pool.config, task.id());
        let watched = task.task();
        if let Some(hook) = &config.hooks.before_poll {
            hook(id);
        }
        let observation = host::observation(&watched);
        let from = observation.map(|_| config.clock.now());
        if let (Some(observation), Some(from)) = (observation, from) {
            observation.reasons.begin(from);
        }
        let ran = task.run_with(&self.frame.yielded);
        if let (Some(observation), Some(from)) = (observation, from) {
            observation.polled(config.clock.now().saturating_sub(from).as_nanos() as u64);
        }
        if let Some(hook) = &config.hooks.after_poll {
            hook(id);
        }
        if let (Ran::Done, Some(hook)) = (&ran, &config.hooks.on_task_end) {
            hook(id);
        }
        ran
    }

    #[inline]
    fn finished(&self, kind: Kind) {
        if kind == Kind::Internal {
            return;
        }
        if kind == Kind::Pinned {
            self.pinned.set(self.pinned.get() - 1);
            self.station.pinned.store(self.pinned.get(), Ordering::Relaxed);
        }
        self.station.counters.finished.bump();
        if self.winding_down.get() {
            self.pool.one_ended();
        }
    }

    #[cold]
    fn end_search(&self, searching: Searching) {
        // The last searcher hands on, unless there is nothing left to search for.
        if self.pool.idle.found_work(searching) && (!self.ring.is_empty() || self.any_work()) {
            self.pool.notify();
        }
    }

    // ---- queueing ---------------------------------------------------------------------------------------------

    /// A task woken or spawned on this worker: it runs next, because what it needs is still warm.
    #[inline]
    pub(crate) fn push_woken(&self, task: Runnable) {
        if self.retiring.get() {
            return self.pool.inject(task);
        }
        if !self.slot_open.get() {
            self.push_ring(task);
            if !self.in_batch.get() {
                self.notify_others();
            }
            return;
        }
        // Alone in the slot it is this worker's next task: no reason to wake anybody for it.
        if let Some(older) = self.next.put(task) {
            self.push_ring(older);
            self.notify_others();
        }
    }

    /// A task that ran just now and wants to run again: behind everything, the one in the slot included. The number of
    /// runnable tasks did not change, so nobody needs to be woken, unless nobody was woken yet for the one in the slot.
    #[inline]
    fn push_back(&self, task: Runnable, kind: Kind) {
        let task = match kind {
            Kind::Free => match self.keep_pair(task) {
                Ok(()) => return,
                Err(task) => task,
            },
            _ => task,
        };
        if let Some(next) = self.next.take() {
            self.push_ring(next);
            self.notify_others();
        }
        if kind != Kind::Free {
            return self.push_pinned(task);
        }
        if self.retiring.get() {
            return self.pool.inject(task);
        }
        if self.is_otherwise_empty() {
            return self.again.set(Some(task));
        }
        self.push_ring(task);
    }

    /// Nothing is queued but what may be in the slot, and the loop goes on here.
    #[inline]
    fn is_otherwise_empty(&self) -> bool {
        self.threaded
            && self.ring.is_empty()
            && self.with_local(|local| local.is_empty())
            && !self.leave.get()
            && !self.retiring.get()
    }

    #[inline]
    pub(super) fn push_ring(&self, task: Runnable) {
        if let Err(task) = self.ring.push(task) {
            self.overflow(task);
        }
        self.mind_backlog();
    }

    /// The ring is full: its newer half and `task` go to the injection queue, where others find them too. The older half
    /// keeps its turn, or tasks could move back and forth without ever running.
    #[cold]
    fn overflow(&self, task: Runnable) {
        self.station.counters.overflows.bump();
        self.move_out(self.ring.capacity() / 2, Some(task));
    }

    /// More waits outside than there is room for: what was queued here since the last look goes behind it.
    #[cold]
    fn make_room(&self) {
        let stay = self.stays.get().saturating_sub(self.ring.head_position()) as usize;
        if stay < self.ring.len() {
            self.move_out(stay, None);
        }
    }

    /// The ring keeps its `keep` oldest tasks; the others and `task` go to the injection queue.
    fn move_out(&self, keep: usize, task: Option<Runnable>) {
        let mut tasks = self.pool.spill.lock();
        let head = self.ring.head_position();
        while self.ring.take_half(&mut tasks) > 0 {}
        let (kept, tail) = (keep.min(tasks.len()), self.ring.tail_position());
        self.ring.fill(&mut tasks.drain(..kept));
        // Who came behind so many in the ring stays behind as many, at most: nobody gets more before it.
        let moved = |position: u64| tail + position.saturating_sub(head).min(kept as u64);
        self.stays.set(moved(self.stays.get()));
        self.with_local(|local| local.iter_mut().for_each(|(position, _)| *position = moved(*position)));
        tasks.extend(task);
        self.pool.inject_spilt(tasks);
    }

    /// A pinned task of this worker.
    pub(crate) fn push_pinned(&self, task: Runnable) {
        let position = self.ring.tail_position();
        self.with_local(|local| local.push_back((position, task)));
    }

    pub(crate) fn pop_pinned(&self) -> Option<Runnable> {
        self.with_local(|local| local.pop_front()).map(|(_, task)| task)
    }

    /// `f` must not call back into the worker.
    #[inline]
    fn with_local<R>(&self, f: impl FnOnce(&mut VecDeque<(u64, Runnable)>) -> R) -> R {
        // SAFETY: only this thread has the worker, and no closure passed here reaches it again.
        f(unsafe { &mut *self.local.get() })
    }

    /// User code is about to hold the thread: what is queued here becomes everybody's.
    pub(crate) fn hold(&self) {
        self.station.counters.held.bump();
        if let Some(next) = self.next.take() {
            self.push_ring(next);
        }
        if !self.ring.is_empty() {
            self.notify_others();
        }
    }

    #[inline]
    fn notify_others(&self) {
        if !self.alone.get() {
            self.pool.notify();
        } else if self.epoch.get() != self.pool.epoch() {
            self.look_around(false); // it may have company by now, to whom this should be open
        }
    }

    /// The current operation returns `Pending` but wants to go on: behind everything that is runnable now. True: it was
    /// polled by the current task itself.
    pub(crate) fn go_last(&self, waker: &Waker) -> bool {
        let own = Header::of_waker(waker).is_some_and(|task| self.frame.current.get() == Some(task));
        if own {
            self.frame.yielded.set(true);
        } else {
            waker.wake_by_ref();
        }
        own
    }

    // ---- small things -----------------------------------------------------------------------------------------

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
    pub(crate) fn reserve_pinned(&self) {
        let most = self.pinned.get() + self.fibres.count() + 1;
        if most > self.room_for_pinned.get() {
            let room = most.next_power_of_two();
            self.room_for_pinned.set(room);
            self.station.inbox.reserve_in_all(room);
            self.with_local(|local| local.reserve(room.saturating_sub(local.len())));
        }
    }

    /// Whether something here belongs to this thread: local tasks or parked stacks.
    pub(crate) fn is_bound(&self) -> bool {
        self.pinned.get() > 0 || self.station.parked.load(Ordering::Relaxed) > 0
    }

    /// Whether it has a thread of its own, on which it may sleep.
    pub(super) fn is_threaded(&self) -> bool {
        self.threaded
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
