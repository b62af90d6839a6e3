//! What a driver does, from when it has the seat of a runtime without threads until it gives that up.
//!
//! * **HD1** A driver that leaves bound workers leaves no strand there that borrows from a call on another thread, its *orphans*: that
//!   call could not be left before the strand has ended, which it could do on this thread only, and nobody knows when that drives
//!   again. A driver that waited itself goes on for them, for a second at most ([`STAYS`]). Then they are cancelled, and driven to
//!   their end ([`Driving::end_orphans`]). So it is with orphans in runtimes whose drivers sleep here, since they sleep on then.

use super::{Crew, Seat};
use crate::context;
use crate::runtime::{GRACE, NAP, NEVER_COMES};
use crate::sched::pool::{Phase, Pool};
use crate::sched::worker::Worker;
use crate::strand::{Scene, is_orphan};
use crate::wait::{Abort, Alarm};
use ropewalk_core::prim::real::Ordering::Relaxed;
use ropewalk_core::task::TaskRef;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// How long a driver whose own wait is over goes on for orphans.
const STAYS: Duration = Duration::from_secs(1);

/// Runs a worker; nothing but a hook of the user's can unwind there, and then nothing is left to rely on.
fn guarded(worker: &Worker, once: bool) {
    let abort = Abort("the scheduler, or a hook called by it, panicked");
    context::as_worker(worker, || worker.trampoline(once));
    std::mem::forget(abort);
}

/// Wakes the driver of the pool.
struct Bell(Arc<Pool>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.unpark_all();
    }
}

/// The right to drive, until it is dropped.
pub(crate) struct Driving<'a> {
    seat: &'a Seat,
    crew: Option<Crew>,
    /// The driver looks now and then whether it is interrupted.
    heeds: bool,
    /// It looks after each task, since some may be ready for ever, and what it waits for tells no worker to leave.
    by_turns: bool,
    /// How long it goes on for orphans.
    stays: Duration,
}

impl<'a> Driving<'a> {
    pub(super) fn new(seat: &'a Seat, crew: Crew) -> Self {
        crew.workers[0].pool.lodgers.back();
        context::with_worker(|host| host.into_iter().for_each(Worker::keep_strand)); // RO3
        Self { seat, crew: Some(crew), heeds: false, by_turns: false, stays: Duration::ZERO }
    }

    /// The worker that block_on's root runs on.
    pub(crate) fn first(&self) -> &Worker {
        &self.workers()[0]
    }

    /// Calls the driver back from where it sleeps.
    pub(crate) fn bell(&self) -> Waker {
        Waker::from(Arc::new(Bell(self.first().pool.clone())))
    }

    /// From now on the driver comes back, also from its sleep, when its own wait is interrupted; or not any more.
    pub(crate) fn heed(&mut self, heeds: bool) {
        self.heeds = heeds;
        self.by_turns |= heeds;
        self.first().pool.recalls_guest.store(heeds, Relaxed);
    }

    /// What it ran as a root is told to end, wherever it is.
    pub(crate) fn run_to_the_end(&mut self, done: impl Fn() -> bool) {
        self.heed(false);
        self.by_turns = true;
        self.run_until(done);
    }

    fn workers(&self) -> &[Box<Worker>] {
        &self.crew.as_ref().expect("held until drop").workers
    }

    /// Runs tasks until `done`, sleeping when there are none: as the guest of another runtime's worker, if this is one.
    pub(crate) fn run_until(&mut self, done: impl Fn() -> bool) {
        while !done() {
            if !self.run_while_ready(&done) && !done() && !self.first().skip_time() {
                context::with_worker(|host| match host {
                    Some(host) => self.first().sleep_at(host),
                    None => self.first().sleep(),
                });
                self.first().stop_searching(); // whoever is drawn next looks into every queue
            }
        }
    }

    /// The same for something that tells the worker to leave when it is over. Then the only worker may sleep where it is, in its loop: the way
    /// from there to here and back is long, for who does it for each event. A guest may not, nor one whose clock is to be moved before it sleeps.
    pub(crate) fn run_root_until(&mut self, done: impl Fn() -> bool) {
        self.stays = STAYS;
        let is_guest = context::with_worker(|host| host.is_some());
        let is_only = self.workers().len() == 1 && !self.first().pool.config.clock.is_own();
        self.first().at_home.set(is_only && !is_guest && !self.heeds);
        self.run_until(done);
        self.first().at_home.set(false);
    }

    /// The same, one task at a time, since some may be ready for ever; and not longer than `until`. What else may make it
    /// `done` is given a waker by `watch` before it is looked at for the last time.
    pub(crate) fn run_until_or(
        &mut self,
        until: Option<Instant>,
        watch: impl Fn(&Waker),
        done: impl Fn(&Waker) -> bool,
    ) {
        let bell = self.bell();
        let left = || until.map(|until| until.saturating_duration_since(Instant::now()));
        while !done(&bell) && left() != Some(Duration::ZERO) {
            if self.tick() || self.first().skip_time() {
                continue;
            }
            watch(&bell);
            if done(&bell) {
                return;
            }
            context::with_worker(|host| match host {
                Some(host) => {
                    let bell = bell.clone();
                    let Some(_alarm) = Alarm::set(left(), move || bell.wake()) else { return };
                    self.first().sleep_at(host);
                }
                None => self.first().sleep_at_most(left()),
            });
            self.first().stop_searching();
        }
    }

    /// Runs tasks as long as there are any, or until `done`. False: it stopped for lack of work.
    pub(crate) fn run_while_ready(&mut self, done: impl Fn() -> bool) -> bool {
        if let [only] = self.workers()
            && !self.by_turns
        {
            loop {
                guarded(only, false);
                if done() || !only.has_own() {
                    return done();
                } // else it has left for another reason, and there is more
            }
        }
        while self.tick() {
            if done() {
                return true;
            }
        }
        false
    }

    /// Runs one task. False: there is none.
    pub(crate) fn tick(&mut self) -> bool {
        let count = self.workers().len();
        let start = self.draw(count);
        for at in 0..count {
            let worker = &self.workers()[(start + at) % count];
            let before = worker.station.counters.polls.get();
            let single = worker.single.replace(true);
            guarded(worker, true);
            worker.single.set(single);
            if worker.station.counters.polls.get() != before {
                return true;
            }
        }
        false
    }

    fn polls(&self) -> u64 {
        self.workers().iter().map(|worker| worker.station.counters.polls.get()).sum()
    }

    fn draw(&mut self, count: usize) -> usize {
        let crew = self.crew.as_mut().expect("held until drop");
        crew.random ^= crew.random << 13;
        crew.random ^= crew.random >> 7;
        crew.random ^= crew.random << 17;
        (crew.random >> 32) as usize % count
    }

    /// Drives a closing pool to its end, as far as that depends on us, and dismisses the workers.
    fn finish(&mut self) {
        // One worker may send tasks home to another that has nothing left, so far; and one may have been told to leave.
        let unfinished = |worker: &Worker| worker.has_own() || worker.any_work();
        let mut patience = GRACE / NAP;
        loop {
            let polls = self.polls();
            while self.run_while_ready(|| false) || self.workers().iter().any(|worker| unfinished(worker)) {}
            if patience == 0 || !self.workers().iter().any(|worker| worker.is_bound()) {
                break;
            }
            // A pinned task may be on its way home from a thread that woke it; or it waits for the outside.
            patience = if self.polls() == polls { patience - 1 } else { GRACE / NAP };
            self.first().nap(Duration::from_millis(NAP.into()));
        }
        let Some(crew) = self.crew.take() else { return };
        if crew.workers.iter().any(|worker| worker.is_bound()) {
            let pool = &crew.workers[0].pool;
            pool.runtime.leave_behind(std::slice::from_ref(pool), NEVER_COMES, NEVER_COMES);
        }
        for worker in crew.workers {
            let pool = worker.pool.clone();
            let _wanted_no_more = pool.dismiss(worker);
        }
    }

    /// HD1: orphans end before this thread leaves what is bound to it.
    fn end_orphans(&mut self) {
        let (pool, until) = (self.first().pool.clone(), Instant::now() + self.stays);
        self.by_turns = true;
        let is_bound = |this: &Self| this.workers().iter().any(|worker| worker.is_bound());
        while pool.phase() == Phase::Open && is_bound(self) {
            let orphans = orphans(&pool);
            if orphans.is_empty() {
                return;
            }
            let over = || orphans.iter().all(Orphan::is_over) || pool.phase() != Phase::Open;
            if Instant::now() < until {
                self.run_until_or(Some(until), |_| (), |_| over());
            } else {
                orphans.iter().for_each(|orphan| orphan.strand.cancel());
                self.run_until(over);
            }
        }
    }

    /// Gives the crew back, unless the pool closes: false. (Who closes it takes the seat afterwards: the two meet here.)
    fn give_back(&mut self, bound: bool) -> bool {
        let home = bound.then(|| thread::current().id());
        let crew = self.crew.take();
        let pool = crew.as_ref().map(|crew| crew.workers[0].pool.clone());
        self.crew =
            self.seat.0.give_back(crew, home, || pool.is_some_and(|pool| pool.phase() != Phase::Open));
        self.crew.is_none()
    }
}

/// A strand that borrows from a call on another thread than its driver's.
struct Orphan {
    strand: TaskRef,
    pool: Arc<Pool>,
}

impl Orphan {
    /// Whether this thread is not needed any more. (Who closes a pool says what is left there.)
    fn is_over(&self) -> bool {
        self.strand.is_finished() || self.pool.phase() == Phase::Closed
    }
}

/// Those in `pool`, and in those whose drivers sleep there: all on this thread. If none has started, and so belongs to this thread, those in
/// `pool` that have not: they may be in a worker's queue, where nobody else gets them. (A driver that sleeps has nothing there.)
fn orphans(pool: &Arc<Pool>) -> Vec<Orphan> {
    let (mut started, mut queued) = (Vec::new(), Vec::new());
    let here = Scene::this_thread();
    let mut look = |pool: &Arc<Pool>, queued: &mut Vec<Orphan>| {
        if !pool.orphans.may_be() || pool.phase() == Phase::Closed {
            return;
        }
        pool.orphans.look(|| {
            let known = started.len() + queued.len();
            pool.depot.for_each(|strand| {
                // SAFETY: it is driven on this thread.
                let Some(has_started) = (unsafe { is_orphan(&strand, here) }) else { return };
                let found = if has_started { &mut started } else { &mut *queued };
                found.push(Orphan { strand, pool: pool.clone() });
            });
            started.len() + queued.len() > known
        });
    };
    look(pool, &mut queued);
    pool.lodgers.all().iter().for_each(|pool| look(pool, &mut Vec::new()));
    if started.is_empty() { queued } else { started }
}

/// A pool that is closed while somebody drives it is driven to its end before the seat is given up.
impl Drop for Driving<'_> {
    fn drop(&mut self) {
        let pool = self.first().pool.clone();
        self.heed(false);
        self.end_orphans();
        self.first().leave_thread();
        let bound = self.workers().iter().any(|worker| worker.is_bound());
        if !bound {
            for worker in self.workers() {
                context::as_worker(worker, || worker.close_fibres());
            }
        }
        if !self.give_back(bound) {
            self.finish();
            self.give_back(false);
        }
        pool.lodgers.away();
    }
}
