//! Workers without threads: the same workers, driven by whoever calls `block_on`, `try_tick` or `run_until_stalled`.
//!
//! One thread at a time has the seat. As long as something belongs to a thread (local tasks, parked stacks: a worker is
//! *bound*), only that thread may take it again. With several workers the one to run next is drawn from the seeded
//! generator and runs one task, so a seed determines the whole interleaving. A single one that runs a root sleeps in its own loop.

use super::fibre::Fibres;
use super::pool::{Phase, Pool};
use super::station::Status;
use super::worker::Worker;
use crate::context;
use crate::runtime::{GRACE, NAP, NEVER_COMES};
use crate::wait::{Abort, Alarm};
use ropewalk_core::prim::Lock;
use std::fmt;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The workers of a hosted pool, and who drives them.
pub(crate) struct Seat(Lock<State>);

struct State {
    /// `None` while somebody drives.
    crew: Option<Crew>,
    driver: Option<ThreadId>,
    /// The thread to which bound workers belong.
    home: Option<ThreadId>,
    waiting: Vec<Waker>,
}

/// The workers, boxed so that fibres may point to them.
struct Crew {
    #[expect(clippy::vec_box, reason = "a worker keeps its address also when it is dismissed")]
    workers: Vec<Box<Worker>>,
    random: u64,
}

// SAFETY: a crew changes threads only through the seat, which passes a bound one to its home thread alone. An unbound
// one has no fibre with a frame of its own and no pinned task, so nothing in it belongs to a thread.
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
        Ok(Self(Lock::new(State { crew: Some(crew), driver: None, home: None, waiting: Vec::new() })))
    }

    /// Takes the seat.
    pub(crate) fn take(&self) -> Result<Driving<'_>, Taken> {
        let mut state = self.0.lock();
        let here = thread::current().id();
        match (state.driver, state.home) {
            (Some(driver), _) if driver == here => Err(Taken::ByThisThread),
            (Some(_), _) => Err(Taken::ByAnother),
            (None, Some(home)) if home != here => Err(Taken::BoundTo(home)),
            _ => {
                let crew = state.crew.take().ok_or(Taken::Over)?;
                state.driver = Some(here);
                Ok(Driving { seat: self, crew: Some(crew) })
            }
        }
    }

    /// Whether another thread than this one drives.
    #[cfg(all(feature = "backtraces", target_os = "linux"))]
    pub(crate) fn is_driven_elsewhere(&self) -> bool {
        self.0.lock().driver.is_some_and(|driver| driver != thread::current().id())
    }

    /// Calls `waker` when the seat is free. True: it is free now.
    pub(crate) fn watch(&self, waker: &Waker) -> bool {
        let waker = waker.clone(); // before the lock: it is the user's code
        let mut state = self.0.lock();
        if state.driver.is_some() && !state.waiting.iter().any(|known| known.will_wake(&waker)) {
            state.waiting.push(waker);
        }
        state.driver.is_none()
    }
}

/// Runs a worker; nothing but a hook of the user's can unwind there, and then nothing is left to rely on.
fn guarded(worker: &Worker, once: bool) {
    let abort = Abort("the scheduler, or a hook called by it, panicked");
    context::as_worker(worker, || worker.trampoline(once));
    std::mem::forget(abort);
}

/// Wakes whoever drives the pool.
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
}

impl Driving<'_> {
    /// The worker that block_on's root runs on.
    pub(crate) fn first(&self) -> &Worker {
        &self.workers()[0]
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
        let is_guest = context::with_worker(|host| host.is_some());
        let is_only = self.workers().len() == 1 && !self.first().pool.config.clock.is_own();
        self.first().at_home.set(is_only && !is_guest);
        self.run_until(done);
        self.first().at_home.set(false);
    }

    /// The same, one task at a time, since some may be ready for ever; and not longer than `until`. What else may make it
    /// `done` is given a waker by `watch` before it is looked at for the last time.
    pub(crate) fn run_until_or(
        &mut self,
        until: Option<Instant>,
        watch: impl Fn(&Waker),
        done: impl Fn() -> bool,
    ) {
        let pool = self.first().pool.clone();
        let bell = Waker::from(Arc::new(Bell(pool.clone())));
        let left = || until.map(|until| until.saturating_duration_since(Instant::now()));
        while !done() && left() != Some(Duration::ZERO) {
            if self.tick() || self.first().skip_time() {
                continue;
            }
            watch(&bell);
            if done() {
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
        if let [only] = self.workers() {
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

    /// Gives the crew back, unless the pool closes: false. (Who closes it takes the seat afterwards: the two meet here.)
    fn give_back(&mut self, bound: bool) -> bool {
        let mut state = self.seat.0.lock();
        if self.crew.is_some() && self.first().pool.phase() != Phase::Open {
            return false;
        }
        state.home = if bound { state.driver } else { None };
        state.driver = None;
        state.crew = self.crew.take();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        true
    }
}

/// A pool that is closed while somebody drives it is driven to its end before the seat is given up.
impl Drop for Driving<'_> {
    fn drop(&mut self) {
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
