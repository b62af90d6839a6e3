//! A pool: stations and the workers at them, the injection queue, and how the set of workers changes.
//!
//! * **P1** A station's status changes under the census lock, and every change raises the epoch and wakes the workers;
//!   each of them acts on it before it sleeps (`Worker::any_work`) and at the latest in its next look (AG1).
//! * **P2** What was accepted runs or its owner is told: a spawn from outside is counted or refused in one step (`gate`),
//!   and a worker leaves a closing pool only when all that was counted is over (`live`). A hosted worker leaves when its
//!   driver does; what was counted but not queued by then is refused when it comes.
//! * **P3** Closing cancels everything alive once every worker has acknowledged it, because from then on nobody spawns.

use super::counters::Count;
use super::gate::Gate;
pub(crate) use super::gate::Phase;
use super::host::{Extra, Ticket};
use super::hosted::{Lodgers, Orphans};
use super::idle::Idle;
use super::injector::Injector;
use super::park::{NEVER, Seam, WorkerState};
use super::recorder::Act;
use super::slab::Depot;
use super::station::{Station, Status, due_capacity};
use super::watchdog::longest::Longest;
use super::worker::crowd::Aside;
use super::worker::turns::Turns;
use super::worker::{Samples, Worker};
use crate::context;
use crate::drive::time::{Lease, Shard};
use crate::runtime::{Config, Shared, Strands};
use ropewalk_core::prim::real::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering::*};
use ropewalk_core::prim::{Lock, LockGuard, fence};
use ropewalk_core::task::Runnable;
use std::io;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Waker};

/// Who looks at wake-ups: those who sample, those who record.
const SAMPLED: u8 = 1;
const RECORDED: u8 = 2;

/// Who is there, and who waits for that to change. Everything here is cold.
#[derive(Default)]
pub(crate) struct Census {
    /// Stations with a worker, retiring ones included.
    manned: usize,
    watchers: Vec<Waker>,
    /// How many workers were asked for, and how many more are there for those that are stuck.
    asked_for: usize,
    stand_ins: usize,
}

pub(crate) struct Pool {
    pub(crate) name: String,
    pub(crate) config: Arc<Config>,
    pub(crate) runtime: Arc<Shared>,
    pub(crate) injector: Injector<Runnable>,
    /// Empty, with room for all that a worker has queued: one whose ring overflows, or who gives it away, does not allocate.
    pub(crate) spill: Lock<Vec<Runnable>>,
    /// Held by who counts a strand where it is to start (PL2).
    pub(crate) placing: Lock<()>,
    pub(crate) idle: Idle,
    pub(crate) seam: Seam,
    /// Timers of threads that are no workers.
    pub(crate) timers: Lease,
    /// Itself, for shards and clocks to call.
    pub(super) this: Weak<Pool>,
    /// Called by a clock that is moved; made when first needed.
    pub(super) clock_moved: OnceLock<Waker>,
    /// The clock would have jumped, but for work elsewhere: its end is looked for. See `timers.rs`.
    pub(super) may_skip_soon: AtomicBool,
    pub(crate) depot: Depot,
    pub(crate) census: Lock<Census>,
    stations: Box<[OnceLock<Arc<Station>>]>,
    /// Held while the number of workers is being changed, so that one change is whole before the next.
    resizing: Lock<()>,
    /// Workers that take work.
    active: AtomicUsize,
    /// Workers that stand aside.
    pub(super) aside: Aside,
    /// Whether they take turns.
    pub(super) turns: Turns,
    epoch: AtomicU32,
    /// Whether it is open, and how many tasks threads spawned that are not workers of this pool.
    gate: Gate,
    unacknowledged: AtomicUsize,
    /// A strand has forked here, some time: halves of joins are looked for.
    pub(crate) forked: AtomicBool,
    watched: AtomicBool,
    /// Whether somebody looks at wake-ups, and who ([`SAMPLED`], [`RECORDED`]); and what is needed for samples, once there are any.
    seen: AtomicU8,
    samples: OnceLock<Box<Samples>>,
    /// There are stand-ins.
    pub(crate) reinforced: AtomicBool,
    /// How many workers were asked for: the stations beyond are those of stand-ins.
    regular: AtomicUsize,
    /// How often a stand-in was sent for.
    pub(crate) rescues: Count,
    pub(crate) longest_polls: Lock<Longest>,
    /// Driven by whoever calls, without threads of its own.
    pub(crate) hosted: bool,
    pub(crate) strands: Strands,
    /// Who drives it, while that one sleeps on a worker of another runtime.
    guest: Lock<Option<Waker>>,
    /// The guest gets up, too, if what it waits for is interrupted.
    pub(super) recalls_guest: AtomicBool,
    pub(crate) orphans: Orphans,
    pub(crate) lodgers: Lodgers,
}

/// Tasks that were taken out of the queue; they are dropped unrun, and with them what they hold, which may do anything.
#[must_use]
pub(crate) struct TakenBack {
    pool: Arc<Pool>,
    tasks: Vec<Runnable>,
}

impl Drop for TakenBack {
    fn drop(&mut self) {
        for task in self.tasks.drain(..) {
            task.cancel(false);
            drop(task);
            self.pool.gate.leave();
            self.pool.one_ended();
        }
    }
}

impl Pool {
    pub(crate) fn new(
        name: &str,
        runtime: &Arc<Shared>,
        most_workers: usize,
        hosted: bool,
        sampled: bool,
        strands: Strands,
    ) -> Arc<Self> {
        let config = runtime.config.clone();
        let driver = runtime.driver_for(name);
        let seen = (u8::from(sampled) * SAMPLED) | (u8::from(runtime.recorder.is_on()) * RECORDED);
        Arc::new_cyclic(|this: &Weak<Self>| Self {
            name: name.to_owned(),
            runtime: runtime.clone(),
            injector: Injector::new(),
            placing: Lock::new(()),
            spill: Lock::new(Vec::with_capacity(
                config.queue_capacity + due_capacity(config.queue_capacity) + 2,
            )),
            idle: Idle::new(),
            seam: Seam::new(driver),
            timers: Lease::new(this.clone(), config.clock.id()),
            this: this.clone(),
            clock_moved: OnceLock::new(),
            may_skip_soon: AtomicBool::new(false),
            depot: Depot::new(),
            census: Lock::new(Census::default()),
            stations: (0..most_workers).map(|_| OnceLock::new()).collect(),
            resizing: Lock::new(()),
            active: AtomicUsize::new(0),
            aside: Aside::new(),
            turns: Turns::new(),
            epoch: AtomicU32::new(0),
            gate: Gate::new(),
            unacknowledged: AtomicUsize::new(0),
            forked: AtomicBool::new(false),
            watched: AtomicBool::new(config.watches()),
            seen: AtomicU8::new(seen),
            samples: OnceLock::new(),
            reinforced: AtomicBool::new(false),
            regular: AtomicUsize::new(0),
            rescues: Count::default(),
            longest_polls: Lock::new(Longest::default()),
            hosted,
            strands,
            guest: Lock::new(None),
            recalls_guest: AtomicBool::new(false),
            orphans: Orphans::new(),
            lodgers: Lodgers::new(),
            config,
        })
    }

    // ---- queueing ---------------------------------------------------------------------------------------------

    /// Queues a task from outside the pool's workers.
    pub(crate) fn inject(&self, task: Runnable) {
        self.see_woken::<false>(&task);
        self.queue_outside(task);
    }

    /// The same of one that was just spawned.
    pub(crate) fn inject_new(&self, task: Runnable) {
        self.see_woken::<true>(&task);
        self.queue_outside(task);
    }

    /// The same of one that was seen already.
    #[inline]
    pub(crate) fn queue_outside(&self, task: Runnable) {
        self.injector.push(task);
        self.notify_or_watch(); // its barrier stands between the push and the look at the phase
        if self.phase() == Phase::Closed {
            self.refuse_late();
        }
    }

    /// Takes tasks that came from outside out of the queue again, where no worker may come for them: those that `is_meant`.
    pub(crate) fn take_back(self: &Arc<Self>, is_meant: impl Fn(&Runnable) -> bool) -> TakenBack {
        let queued: Vec<_> = (0..self.injector.len()).map_while(|_| self.injector.pop()).collect();
        let (meant, others): (Vec<_>, Vec<_>) = queued.into_iter().partition(is_meant);
        others.into_iter().for_each(|task| self.queue_outside(task)); // a driver may have come meanwhile
        TakenBack { pool: self.clone(), tasks: meant }
    }

    /// Queues what a worker gives away, from [`spill`](Self::spill).
    pub(crate) fn inject_spilt(&self, mut tasks: LockGuard<'_, Vec<Runnable>>) {
        let some = !tasks.is_empty();
        self.injector.push_batch(&mut tasks);
        drop(tasks);
        if some {
            self.notify_or_watch();
        }
    }

    /// Whether timers are pending, or files are watched, that some worker has to see to.
    pub(crate) fn awaits_anything(&self) -> bool {
        self.seam.is_watching() || self.first_deadline() != NEVER
    }

    /// Sends a pinned task to the worker it belongs to.
    pub(crate) fn send_home(&self, home: usize, task: Runnable) {
        self.see_woken::<false>(&task);
        self.station(home).inbox.push(task);
        self.call(home);
    }

    /// There is something in the inbox of a worker.
    pub(super) fn call(&self, worker: usize) {
        self.idle.end_spin(worker);
        let is_awake = self.station(worker).parker.state() == WorkerState::Busy;
        self.unpark(worker);
        if is_awake {
            self.runtime.watchdog.call_after_sleep();
        }
    }

    /// The same for what comes from outside: if nobody is woken, it may have to wait for a worker that is stuck.
    fn notify_or_watch(&self) {
        if !self.notify() {
            self.runtime.watchdog.call();
        }
    }

    /// There is more work than before: wakes one sleeper, unless somebody is searching already. True: it did.
    #[inline]
    pub(crate) fn notify(&self) -> bool {
        let not_polling = |worker: usize| self.station(worker).parker.state() != WorkerState::Polling;
        let Some(worker) = self.idle.worker_to_wake_rather(not_polling) else { return false };
        self.station(worker).parker.unpark(&self.seam); // a hosted pool sleeps at its first station only
        self.wake_guest();
        true
    }

    pub(super) fn unpark(&self, worker: usize) {
        // A hosted pool has one thread, which sleeps for all of its workers at the first.
        let worker = if self.hosted { 0 } else { worker };
        self.station(worker).parker.unpark(&self.seam);
        self.wake_guest();
    }

    pub(crate) fn unpark_all(&self) {
        for station in self.stations() {
            station.parker.unpark(&self.seam);
        }
        self.wake_guest();
    }

    /// The first file is watched: whoever sleeps without looking for events begins anew.
    #[cfg(unix)]
    pub(crate) fn watch_begins(&self) {
        self.seam.watch_begins();
        self.watch_for_others();
        if self.hosted {
            self.unpark(0); // as a guest, it has told its host that there is nothing to look for
        }
    }

    /// Whoever drives this pool on another runtime's worker has no thread to unpark. It leaves its waker before it looks
    /// whether there was an unpark, and we look for the waker after the unpark: one of the two sees the other.
    fn wake_guest(&self) {
        if self.hosted
            && let Some(guest) = { self.guest.lock().take() }
        {
            guest.wake();
        }
    }

    /// Ready when `station`, where the pool's driver sleeps, was unparked.
    pub(crate) fn poll_guest(&self, station: &Station, cx: &mut Context<'_>) -> Poll<()> {
        let before = self.guest.lock().replace(cx.waker().clone());
        drop(before);
        if !station.parker.was_unparked() {
            return Poll::Pending;
        }
        let unused = self.guest.lock().take();
        drop(unused);
        Poll::Ready(())
    }

    // ---- who is there -----------------------------------------------------------------------------------------

    pub(crate) fn stations(&self) -> impl Iterator<Item = &Arc<Station>> + Clone {
        self.stations.iter().map_while(OnceLock::get)
    }

    pub(super) fn station(&self, index: usize) -> &Arc<Station> {
        self.stations[index].get_or_init(|| {
            let timers = Lease::new(self.this.clone(), self.config.clock.id());
            Arc::new(Station::new(index, self.config.queue_capacity, timers))
        })
    }

    /// Workers that take work.
    #[inline]
    pub(crate) fn active(&self) -> usize {
        self.active.load(Relaxed)
    }

    /// Somebody waits for a timer or a file. If nobody is asleep who would see to it, and it is not one of this pool's own (whom a later
    /// look at the queues finds), it may have to wait for workers that are stuck.
    #[inline]
    pub(crate) fn watch_for_others(&self) {
        if self.idle.counters().sleeping() == 0 && !self.hosted {
            let this = std::ptr::from_ref(self);
            let is_ours = |worker: &Worker| std::ptr::eq(Arc::as_ptr(&worker.pool), this);
            if !context::with_worker(|worker| worker.is_some_and(is_ours)) {
                self.runtime.watchdog.call_after_sleep();
            }
        }
    }

    /// Of these, how many were asked for, and how many stand in for others.
    pub(crate) fn staff(&self) -> (usize, usize) {
        let census = self.census.lock();
        let active = self.active();
        let asked_for = if self.hosted { active } else { active.min(census.asked_for) };
        (asked_for, active - asked_for)
    }

    /// Workers that only serve what is pinned to them.
    pub(crate) fn retiring(&self) -> usize {
        self.stations().filter(|station| station.status() == Status::Retiring).count()
    }

    #[inline]
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Acquire)
    }

    pub(crate) fn phase(&self) -> Phase {
        self.gate.phase()
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Relaxed)
    }

    /// Polls are watched from now on: there is an observed task.
    pub(crate) fn watch(&self) {
        if !self.watched.swap(true, Relaxed) {
            self.changed();
        }
    }

    /// What is needed for samples, if there are any to be taken.
    pub(crate) fn samples(&self) -> Option<&Samples> {
        (self.seen.load(Relaxed) & SAMPLED != 0)
            .then(|| &**self.samples.get_or_init(|| Box::new(Samples::new())))
    }

    /// From now on workers sample how long polls and wake-ups take, or do so no more.
    pub(crate) fn sample(&self, on: bool) {
        if self.set_seen(SAMPLED, on) {
            self.changed();
        }
    }

    /// From now on what happens is recorded, on other tapes than before, or no more.
    pub(crate) fn record(&self, on: bool) {
        self.set_seen(RECORDED, on);
        self.lay_tapes(self.stations(), false);
        self.changed();
    }

    /// Tapes are made here, not by the workers, if something is recorded; and those that are of no use any more are freed.
    /// `new`: for workers that come.
    fn lay_tapes<'a>(&self, stations: impl Iterator<Item = &'a Arc<Station>>, new: bool) {
        stations.for_each(|station| drop(self.runtime.recorder.tape(&self.name, station, new)));
    }

    /// True: that is new.
    fn set_seen(&self, who: u8, on: bool) -> bool {
        let before = if on { self.seen.fetch_or(who, Relaxed) } else { self.seen.fetch_and(!who, Relaxed) };
        (before & who != 0) != on
    }

    /// A task is woken from outside, or was spawned there.
    #[inline(always)]
    fn see_woken<const NEW: bool>(&self, task: &Runnable) {
        if self.seen.load(Relaxed) != 0 {
            self.look_at_woken(task, NEW);
        }
    }

    #[cold]
    fn look_at_woken(&self, task: &Runnable, new: bool) {
        let seen = self.seen.load(Relaxed);
        if seen & SAMPLED != 0 {
            self.samples().into_iter().for_each(|samples| samples.woken_outside(task));
        }
        if seen & RECORDED != 0 {
            self.runtime.recorder.note(task.id().get(), Act::woken(task, new));
        }
    }

    fn changed(&self) {
        self.epoch.fetch_add(1, AcqRel);
        self.unpark_all();
    }

    /// Calls `waker` when the set of workers changes next, or the last tasks of a pool that drains have ended.
    pub(crate) fn watch_census(&self, waker: &Waker) {
        let waker = waker.clone(); // before the lock: it is the user's code
        let watchers = &mut self.census.lock().watchers;
        if !watchers.iter().any(|known| known.will_wake(&waker)) {
            watchers.push(waker);
        }
    }

    pub(crate) fn tell_watchers(&self) {
        let watchers = std::mem::take(&mut self.census.lock().watchers);
        watchers.into_iter().for_each(crate::runtime::wake_safely);
    }

    // ---- coming and going -------------------------------------------------------------------------------------

    /// Mans stations until `count` workers are active, or lets the last ones retire. `hire` starts a worker.
    pub(crate) fn resize(
        self: &Arc<Self>,
        count: usize,
        hire: impl Fn(Arc<Pool>, Arc<Station>) -> io::Result<()>,
    ) -> io::Result<()> {
        let _whole = self.resizing.lock();
        self.census.lock().asked_for = count;
        self.man(hire)
    }

    /// So many workers more than were asked for, because that many are stuck.
    pub(crate) fn reinforce(
        self: &Arc<Self>,
        stand_ins: usize,
        hire: impl Fn(Arc<Pool>, Arc<Station>) -> io::Result<()>,
    ) -> io::Result<()> {
        let _whole = self.resizing.lock();
        self.census.lock().stand_ins = stand_ins;
        self.man(hire)
    }

    /// Whether a worker is there for a while only.
    #[inline]
    pub(super) fn is_stand_in(&self, worker: usize) -> bool {
        self.reinforced.load(Relaxed) && worker >= self.regular.load(Relaxed)
    }

    /// Whether somebody comes for a worker that is stuck.
    pub(crate) fn may_be_rescued(&self) -> bool {
        !self.hosted && !self.config.rescue_threshold.is_zero()
    }

    /// What the worker at `station` has queued is open to others, although it believes that it is alone, if it is in a poll now.
    pub(crate) fn seize(&self, station: &Station) {
        let _census = self.census.lock(); // it does not find out meanwhile that it is alone
        station.seize();
    }

    /// While `resizing` is held.
    fn man(self: &Arc<Self>, hire: impl Fn(Arc<Pool>, Arc<Station>) -> io::Result<()>) -> io::Result<()> {
        let to_hire = self.reassign();
        self.lay_tapes(to_hire.iter(), true);
        let mut to_hire = to_hire.into_iter();
        let hired = to_hire.try_for_each(|station| {
            hire(self.clone(), station.clone()).inspect_err(|_| self.leave_unmanned(&station))
        });
        to_hire.for_each(|station| self.leave_unmanned(&station)); // those after one that could not be hired
        self.changed();
        hired
    }

    /// Gives every station its new status, all at once, so that new workers know each other from the start. Answers
    /// which stations need a worker. A pool that closes changes no more.
    fn reassign(&self) -> Vec<Arc<Station>> {
        let mut census = self.census.lock();
        self.regular.store(census.asked_for, Relaxed);
        let count = (census.asked_for + census.stand_ins).min(self.stations.len());
        let mut to_hire = Vec::new();
        let known = self.stations().count();
        if self.phase() != Phase::Open {
            return to_hire;
        }
        self.idle.reserve(count.max(known));
        for index in 0..count.max(known) {
            let station = self.station(index);
            match (index < count, station.status()) {
                (true, Status::Vacant) => {
                    census.manned += 1;
                    self.set_status(station, Status::Active);
                    to_hire.push(station.clone());
                }
                (true, Status::Retiring) => self.set_status(station, Status::Active),
                (false, Status::Active) => self.set_status(station, Status::Retiring),
                _ => {}
            }
        }
        to_hire
    }

    /// Under the census lock.
    fn set_status(&self, station: &Station, status: Status) {
        let before = station.status();
        station.post.set(status);
        match (before == Status::Active, status == Status::Active) {
            (false, true) => drop(self.active.fetch_add(1, Relaxed)),
            (true, false) => drop(self.active.fetch_sub(1, Relaxed)),
            _ => {}
        }
    }

    /// There is no worker to be had for a station that was to have one.
    fn leave_unmanned(self: &Arc<Self>, station: &Station) {
        let census = self.census.lock();
        self.set_status(station, Status::Retiring);
        drop(census);
        self.send_back(station);
        let wanted = self.vacate(station, false);
        debug_assert!(!wanted, "resizes come one after the other");
    }

    /// A worker has left its station. True: the station was made active again after its worker had turned to leave, and
    /// goes on with a new one, also if the pool closes now: something may have been sent there in between (PL1).
    #[must_use]
    fn vacate(self: &Arc<Self>, station: &Station, acknowledged: bool) -> bool {
        let mut census = self.census.lock();
        let closing = self.phase() != Phase::Open;
        // Once the closing is known, the status changes no more: what the worker saw when it turned to leave is still so.
        let may_leave = acknowledged || closing && self.hosted;
        if !may_leave && !station.post.may_leave() {
            return true;
        }
        self.set_status(station, Status::Vacant);
        let last = census.manned == 1 && closing;
        if last {
            self.runtime.forget_pool(self); // who waits until it is deserted may want its name
        }
        census.manned -= 1;
        drop(census);
        if closing && !acknowledged {
            self.acknowledge_closing(); // it was counted when the closing began, but had already turned to leave
        }
        if last {
            self.close_for_good();
        }
        self.changed();
        self.tell_watchers();
        false
    }

    /// The end of a worker: gives back what it holds, unless something pinned must stay behind. True: its station wants
    /// another one.
    #[must_use]
    pub(crate) fn dismiss(self: &Arc<Self>, worker: Box<Worker>) -> bool {
        let (station, acknowledged) = (worker.station.clone(), worker.is_closing());
        if worker.is_bound() || !context::as_worker(&worker, || worker.close_fibres()) {
            // What is parked here can neither go on nor be torn down: it stays, with all it holds.
            std::mem::forget(worker);
        } else {
            worker.retire();
        }
        self.vacate(&station, acknowledged)
    }

    /// Whether the last worker has left.
    pub(crate) fn is_deserted(&self) -> bool {
        self.census.lock().manned == 0
    }

    // ---- closing ----------------------------------------------------------------------------------------------

    /// A spawn from outside is counted, or refused because the pool closes (P2).
    #[must_use]
    pub(crate) fn admit(&self) -> bool {
        let admitted = self.gate.enter(|| self.runtime.is_inside());
        if !admitted {
            self.one_ended(); // somebody may have seen our count and gone back to sleep for it
        }
        admitted
    }

    /// The number of tasks of a pool that closes or drains is lower than before: wakes those who wait for that.
    pub(crate) fn one_ended(&self) {
        let live = self.live();
        if live == 0 {
            self.unpark_all();
        }
        if live <= self.runtime.callers() && self.gate.is_draining() {
            self.tell_watchers();
        }
    }

    /// The runtime waits for its tasks to end: workers tell when theirs have.
    pub(crate) fn drain(&self) {
        if !self.gate.is_draining() {
            self.gate.drain();
            self.changed();
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.gate.is_draining()
    }

    /// Tasks that are over, and (asked for later) those that were ever accepted.
    pub(crate) fn ended(&self) -> u64 {
        self.gate.ended(self.stations().map(|station| &station.counters))
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.gate.accepted(self.stations().map(|station| &station.counters))
    }

    /// Tasks that were accepted and are not over; see [`Gate::live`].
    pub(crate) fn live(&self) -> u64 {
        self.gate.live(self.stations().map(|station| &station.counters))
    }

    /// Starts to close: workers finish by dropping what is alive.
    pub(crate) fn close(self: &Arc<Self>) {
        let census = self.census.lock();
        if self.phase() != Phase::Open {
            return;
        }
        self.unacknowledged.store(census.manned, SeqCst);
        self.gate.advance(Phase::Closing);
        let deserted = census.manned == 0;
        drop(census);
        self.runtime.pool_closes(self);
        if deserted {
            self.close_for_good();
        }
        self.changed();
    }

    /// A worker has seen that the pool closes; the last one cancels what is alive (P3).
    pub(crate) fn acknowledge_closing(&self) {
        if self.unacknowledged.fetch_sub(1, SeqCst) == 1 {
            self.cancel_alive();
        }
        self.unpark_all();
    }

    /// Some worker of a closing pool is in a poll that does not end: what others can drop need not wait for that. (What it
    /// spawns before it acknowledges is cancelled when it does.)
    pub(crate) fn cancel_around_the_stuck(&self) {
        if self.unacknowledged.load(SeqCst) > 0 {
            self.cancel_alive();
        }
    }

    fn cancel_alive(&self) {
        self.depot.for_each(|task| {
            if task.kind() != Ticket::KIND {
                task.cancel_for(true);
            }
        });
    }

    fn close_for_good(self: &Arc<Self>) {
        self.gate.advance(Phase::Closed);
        fence(SeqCst); // between the phase and the look into the queue
        self.refuse_late();
        self.shards().for_each(Shard::close);
        self.runtime.forget_pool(self);
        self.depot.seal(self);
    }

    /// Spawns that were accepted came to the queue when nobody was left to take them: their owners are told. Whoever
    /// pushes and whoever closes both look, each after its barrier, so one of them sees the other.
    #[cold]
    fn refuse_late(&self) {
        while let Some(task) = self.injector.pop() {
            task.cancel(true);
            drop(task);
            self.gate.leave();
        }
    }
}
