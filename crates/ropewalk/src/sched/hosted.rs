//! Workers without threads: the same workers, driven by whoever calls `block_on`, `try_tick` or `run_until_stalled`.
//!
//! One thread at a time has the seat; `seat.rs` says who is next. As long as something belongs to a thread (local tasks, parked
//! stacks: a worker is *bound*), only that thread may take it again. With several workers the one to run next is drawn from the
//! seeded generator and runs one task, so a seed determines the whole interleaving. A single one that runs a root sleeps in its own loop.
//!
//! * **HD1** A driver that leaves bound workers leaves no strand there that borrows from a call on another thread, its *orphans*: that
//!   call could not be left before the strand has ended, which it could do on this thread only, and nobody knows when that drives
//!   again. A driver that waited itself goes on for them, for a second at most ([`STAYS`]). Then they are cancelled, and driven to
//!   their end ([`Driving::end_orphans`]).

use super::fibre::Fibres;
use super::pool::{Phase, Pool};
use super::seat::{Line, Origin, Turn};
use super::station::Status;
use super::worker::Worker;
use crate::context;
use crate::runtime::{GRACE, NAP, NEVER_COMES};
use crate::strand::{Scene, is_orphan};
use crate::wait::{Abort, Alarm};
use ropewalk_core::prim::real::Ordering::Relaxed;
use ropewalk_core::task::TaskRef;
use std::fmt;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How long a driver whose own wait is over goes on for orphans.
const STAYS: Duration = Duration::from_secs(1);

/// The workers of a hosted pool, and who drives them.
pub(crate) struct Seat(Line<Crew, ThreadId>);

/// The workers, boxed so that fibres may point to them.
struct Crew {
    #[expect(clippy::vec_box, reason = "a worker keeps its address also when it is dismissed")]
    workers: Vec<Box<Worker>>,
    random: u64,
}

// SAFETY: a crew changes threads only through the line for the seat, which passes a bound one to its home thread alone (SQ1, SQ2).
// An unbound one has no fibre with a frame of its own and no pinned task, so nothing in it belongs to a thread.
unsafe impl Send for Crew {}

/// Why the seat cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// This thread drives already: the caller is inside the runtime.
    ByThisThread,
    /// Another thread drives.
    ByAnother,
    /// Local tasks or waiting stacks belong to another thread.
    BoundTo(ThreadId),
    /// The runtime is over.
    Over,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Taken::ByThisThread => f.write_str("this thread is driving the runtime already"),
            Taken::ByAnother => f.write_str("another thread is driving the runtime"),
            Taken::BoundTo(home) => {
                write!(
                    f,
                    "the runtime holds local tasks or waiting stacks of {home:?} and can only be driven there"
                )
            }
            Taken::Over => f.write_str("the runtime was shut down"),
        }
    }
}

impl Seat {
    /// Workers for all stations of `pool`.
    pub(crate) fn new(pool: &Arc<Pool>, count: usize) -> std::io::Result<Self> {
        let mut workers = Vec::new();
        let stacks = (0..count).map(|_| Fibres::first_stack(pool.config.thread_stack_size));
        let stacks: Vec<_> = stacks.collect::<Result<_, _>>()?; // before there is anybody to dismiss
        pool.resize(count, |_, _| Ok(()))?;
        let active = pool.stations().filter(|station| station.status() == Status::Active);
        for (station, stack) in active.zip(stacks) {
            let worker = Box::new(Worker::new(pool.clone(), station.clone(), false));
            worker.fibres.keep(stack);
            worker.single.set(count > 1);
            workers.push(worker);
        }
        let crew = Crew { workers, random: pool.config.random(u64::MAX) };
        Ok(Self(Line::new(crew)))
    }

    /// Takes the seat, if it can be had at once.
    pub(crate) fn take(&self) -> Result<Driving<'_>, Taken> {
        let here = thread::current().id();
        match self.0.take(here) {
            Ok(Turn::Yours(crew)) => Ok(self.driving(crew)),
            Ok(Turn::BoundTo(home)) => Err(Taken::BoundTo(home)),
            Ok(_) => Err(Taken::Over),
            Err(holder) if holder == here => Err(Taken::ByThisThread),
            Err(_) => Err(Taken::ByAnother),
        }
    }

    /// A candidate asks for it; see [`Line::ask`].
    pub(crate) fn ask(
        &self,
        number: &mut Option<u64>,
        stays: bool,
        waker: &Waker,
    ) -> Turn<Driving<'_>, ThreadId> {
        let by_itself = context::with_worker(|worker| worker.is_none());
        let from = Origin { thread: thread::current().id(), by_itself, stays };
        match self.0.ask(number, from, waker) {
            Turn::Yours(crew) => Turn::Yours(self.driving(crew)),
            Turn::NotYet => Turn::NotYet,
            Turn::BoundTo(home) => Turn::BoundTo(home),
            Turn::Over => Turn::Over,
        }
    }

    /// A candidate leaves the line; see [`Line::leave`].
    pub(crate) fn leave(&self, number: u64) -> Option<Driving<'_>> {
        self.0.leave(number, thread::current().id()).map(|crew| self.driving(crew))
    }

    /// Calls `f`, which must not wait, if nobody drives and only another thread may: what it looks at is not changed by a driver meanwhile.
    pub(crate) fn while_bound<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        self.0.while_bound(thread::current().id(), f)
    }

    fn driving(&self, crew: Crew) -> Driving<'_> {
        Driving { seat: self, crew: Some(crew), heeds: false, by_turns: false, stays: Duration::ZERO }
    }

    /// Whether another thread than this one drives.
    #[cfg(all(feature = "backtraces", target_os = "linux"))]
    pub(crate) fn is_driven_elsewhere(&self) -> bool {
        self.0.holder().is_some_and(|driver| driver != thread::current().id())
    }
}

/// A candidate that is left to itself: it stays in line although the workers are bound elsewhere, and what it waits for is nested in nothing.
pub(crate) struct Standing<'a> {
    seat: &'a Seat,
    number: Option<u64>,
}

impl<'a> Standing<'a> {
    pub(crate) fn new(seat: &'a Seat) -> Self {
        Self { seat, number: None }
    }

    /// The seat, if it was handed to this candidate, or is free. If not, `waker` is called when it is worth to ask again.
    pub(crate) fn ask(&mut self, waker: &Waker) -> Option<Driving<'a>> {
        if let Some(driving) = self.number.and_then(|number| self.seat.leave(number)) {
            return Some(driving);
        }
        match self.seat.ask(&mut self.number, true, waker) {
            Turn::Yours(driving) => Some(driving),
            Turn::NotYet | Turn::BoundTo(_) | Turn::Over => None,
        }
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        drop(self.number.and_then(|number| self.seat.leave(number))); // hands over
    }
}

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

impl Driving<'_> {
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
        while pool.phase() == Phase::Open && is_bound(self) && pool.may_have_orphans.load(Relaxed) {
            let orphans = self.orphans();
            let over = || orphans.iter().all(TaskRef::is_finished) || pool.phase() != Phase::Open;
            if Instant::now() < until {
                self.run_until_or(Some(until), |_| (), |_| over());
            } else {
                orphans.iter().for_each(TaskRef::cancel);
                self.run_until(over);
            }
        }
    }

    /// Those strands. If none has started, and so belongs to this thread, all of them: nobody else may start them.
    fn orphans(&self) -> Vec<TaskRef> {
        let pool = &self.first().pool;
        pool.may_have_orphans.store(false, Relaxed);
        let (mut started, mut queued) = (Vec::new(), Vec::new());
        let here = Scene::this_thread();
        // SAFETY: this is the driver.
        pool.depot.for_each(|task| match unsafe { is_orphan(&task, here) } {
            Some(true) => started.push(task),
            Some(false) => queued.push(task),
            None => {}
        });
        if !started.is_empty() || !queued.is_empty() {
            pool.may_have_orphans.store(true, Relaxed); // look again
        }
        if started.is_empty() { queued } else { started }
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

/// A pool that is closed while somebody drives it is driven to its end before the seat is given up.
impl Drop for Driving<'_> {
    fn drop(&mut self) {
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
    }
}
