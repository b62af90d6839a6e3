//! What all handles of a runtime share, and the order in which it goes down.
//!
//! Going down: the blocking pool and every other pool are closed (workers drop what is alive and leave), then a plain
//! thread waits for the last worker, and for a while for the last job of the blocking pool. A worker that cannot leave because stacks wait on it for something that no longer comes is left behind.

use super::config::{Config, UnhandledPanic};
use super::error::RuntimeError;
use crate::context;
use crate::sched::blocking::{self, Blocking};
use crate::sched::counters::Count;
use crate::sched::fibre::{Fibres, Stack};
use crate::sched::host::{Extra, Ticket};
use crate::sched::hosted::{Seat, Taken};
use crate::sched::park::{ThreadParker, WorkerState};
use crate::sched::pool::Pool;
use crate::sched::station::{Station, Status};
use crate::sched::worker::Worker;
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use ropewalk_core::task::{PanicInfo, TaskId, drop_payload};
use std::fmt;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The stack of a worker's thread itself: tasks run on fibres, so little happens here.
const THREAD_STACK: usize = 256 * 1024;

pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pools: Lock<Pools>,
    seat: OnceLock<Seat>,
    pub(crate) blocking: Blocking,
    /// Panics of detached tasks.
    pub(crate) panics: Count,
    /// Worker threads, to be joined in the end.
    threads: Lock<Vec<JoinHandle<()>>>,
    fatal: Lock<Option<Fatal>>,
    /// Threads in `block_on`, to be woken if a panic ends the runtime.
    roots: Lock<Vec<Waker>>,
}

/// The panic that ended the runtime: the first root that dies of it gets the payload, the others its message.
struct Fatal {
    message: String,
    panic: Option<PanicInfo>,
}

/// The pools that are not closed, and whether there will be more.
#[derive(Default)]
struct Pools {
    open: Vec<Arc<Pool>>,
    /// The runtime goes down: who closes the pools has seen all of them.
    complete: bool,
}

impl Shared {
    pub(crate) fn start(
        config: Config,
        workers: usize,
        hosted: bool,
    ) -> Result<(Arc<Self>, Arc<Pool>), RuntimeError> {
        let shared = Arc::new(Self {
            blocking: Blocking::new(&config),
            config: Arc::new(config),
            pools: Lock::new(Pools::default()),
            seat: OnceLock::new(),
            panics: Count::default(),
            threads: Lock::new(Vec::new()),
            fatal: Lock::new(None),
            roots: Lock::new(Vec::new()),
        });
        let most = if hosted { workers } else { super::MOST_WORKERS };
        let pool = Pool::new("main", &shared, most, hosted);
        shared.pools.lock().open.push(pool.clone());
        let started = if hosted {
            Seat::new(&pool, workers).map(|seat| drop(shared.seat.set(seat)))
        } else {
            pool.resize(workers, hire)
        };
        if let Err(error) = started {
            shared.shut_down();
            return Err(error.into());
        }
        Ok((shared, pool))
    }

    /// Adds a pool with threads of its own.
    pub(crate) fn add_pool(self: &Arc<Self>, name: &str, workers: usize) -> Result<Arc<Pool>, RuntimeError> {
        let pool = {
            let mut pools = self.pools.lock();
            if pools.complete {
                return Err(RuntimeError::Misuse("the runtime was shut down".to_owned()));
            }
            if pools.open.iter().any(|pool| pool.name == name) {
                return Err(RuntimeError::setting(
                    "name",
                    format!("{name:?}, which exists"),
                    "a name not in use",
                ));
            }
            let pool = Pool::new(name, self, super::MOST_WORKERS, false);
            pools.open.push(pool.clone());
            pool
        };
        if let Err(error) = pool.resize(workers, hire) {
            pool.close();
            return Err(error.into());
        }
        Ok(pool)
    }

    pub(crate) fn pool(&self, name: &str) -> Option<Arc<Pool>> {
        self.pools.lock().open.iter().find(|pool| pool.name == name).cloned()
    }

    pub(crate) fn pools(&self) -> Vec<Arc<Pool>> {
        self.pools.lock().open.clone()
    }

    pub(crate) fn forget_pool(&self, pool: &Arc<Pool>) {
        let gone = {
            let open = &mut self.pools.lock().open;
            let at = open.iter().position(|other| Arc::ptr_eq(other, pool));
            at.map(|at| open.remove(at))
        };
        drop(gone);
    }

    pub(crate) fn seat(&self) -> Result<&Seat, RuntimeError> {
        self.seat.get().ok_or_else(|| {
            RuntimeError::Misuse(
                "this runtime has threads of its own; build it with worker_threads(0)".to_owned(),
            )
        })
    }

    // ---- ids --------------------------------------------------------------------------------------------------

    pub(crate) fn take_ids(&self, count: u64) -> (u64, u64) {
        take_ids(count)
    }

    pub(crate) fn next_id(&self) -> TaskId {
        next_id()
    }

    // ---- panics -----------------------------------------------------------------------------------------------

    /// A panic nobody took: never silent.
    pub(crate) fn unhandled(&self, panic: PanicInfo) {
        self.panics.add_shared(1);
        complain(format_args!("detached {panic}"));
        let mut panic = Some(panic);
        if self.can_terminate() {
            let mut fatal = self.fatal.lock();
            if fatal.is_none() {
                let message = panic.as_ref().map(ToString::to_string).unwrap_or_default();
                *fatal = Some(Fatal { message, panic: panic.take() });
            }
            drop(fatal);
            self.close_all();
            let roots = self.roots.lock().clone();
            roots.into_iter().for_each(wake_safely);
            // A root without a thread of its own is told by the worker that goes back to it.
            context::with_worker(|worker| {
                let ours = |worker: &&Worker| std::ptr::eq(Arc::as_ptr(&worker.pool.runtime), self);
                if let Some(worker) = worker.filter(ours).filter(|worker| worker.pool.hosted) {
                    worker.leave.set(true);
                }
            });
        }
        if let Some(panic) = panic {
            drop_payload(panic.into_payload());
        }
    }

    /// Whether a panic that nobody takes ends the runtime.
    pub(crate) fn can_terminate(&self) -> bool {
        self.config.unhandled_panic == UnhandledPanic::Terminate
    }

    /// Whether a panic ended the runtime.
    pub(crate) fn is_terminated(&self) -> bool {
        self.can_terminate() && self.fatal.lock().is_some()
    }

    /// # Panics
    /// If a panic ended the runtime: with its payload the first time, with its message after that.
    pub(crate) fn raise_fatal(&self) {
        if !self.is_terminated() {
            return;
        }
        let (panic, message) = match &mut *self.fatal.lock() {
            Some(fatal) => (fatal.panic.take(), fatal.message.clone()),
            None => return,
        };
        match panic {
            Some(panic) => std::panic::resume_unwind(panic.into_payload()),
            None => panic!("ropewalk: the runtime was ended by a panic: {message}"),
        }
    }

    /// A thread in `block_on`, to be woken if a panic ends the runtime.
    pub(crate) fn add_root(&self, root: Waker) {
        self.roots.lock().push(root);
    }

    pub(crate) fn remove_root(&self, root: &Waker) {
        let gone = {
            let mut roots = self.roots.lock();
            let at = roots.iter().position(|known| known.will_wake(root));
            at.map(|at| roots.swap_remove(at))
        };
        drop(gone);
    }

    // ---- going down -------------------------------------------------------------------------------------------

    fn close_all(&self) {
        self.pools.lock().complete = true;
        self.blocking.close(&self.config);
        self.pools().iter().for_each(Pool::close);
    }

    /// Waits until nothing is alive, at most for `limit`; answers how much still is.
    pub(crate) fn drain(&self, limit: Duration) -> u64 {
        // A limit that the clock cannot hold is none.
        let inside = context::with_worker(|worker| {
            worker.is_some_and(|worker| std::ptr::eq(Arc::as_ptr(&worker.pool.runtime), self))
        }) || blocking::is_on_thread_of(self);
        let limit = if inside { Duration::ZERO } else { limit };
        let (until, mut nap) = (Instant::now().checked_add(limit), Duration::from_micros(50));
        let over = || until.is_some_and(|until| Instant::now() >= until);
        loop {
            if let Some(mut driving) = self.seat.get().and_then(|seat| seat.take().ok()) {
                while !over() && driving.tick() {} // one at a time: some may be ready for ever
            }
            let alive: u64 = self.pools().iter().map(|pool| pool.live()).sum::<u64>() + self.blocking.live();
            if alive == 0 || over() {
                return alive;
            }
            thread::sleep(nap);
            nap = (nap * 2).min(Duration::from_millis(5));
        }
    }

    pub(crate) fn shut_down(&self) {
        let pools = self.pools();
        self.close_all();
        if let Some(seat) = self.seat.get() {
            match seat.take() {
                Ok(driving) => drop(driving),
                Err(reason @ Taken::BoundTo(_)) => report_left(&pools[..1], &reason.to_string()),
                // Whoever drives it drives it to its end.
                Err(Taken::ByThisThread | Taken::ByAnother | Taken::Over) => {}
            }
        }
        if context::with_worker(|worker| worker.is_none()) && !blocking::is_on_thread_of(self) {
            // Every pool with threads is waited for, also after one that some cannot leave.
            let threaded = pools.iter().filter(|pool| !pool.hosted);
            let not_left = threaded.filter(|pool| !wait_for_workers(pool)).count();
            let threads = std::mem::take(&mut *self.threads.lock());
            if not_left == 0 {
                // A worker's thread may do this itself when its thread-locals are dropped.
                let others =
                    threads.into_iter().filter(|thread| thread.thread().id() != thread::current().id());
                others.for_each(|thread| drop(thread.join()));
            }
            self.blocking.wait_for_threads();
        }
    }
}

/// How long, in milliseconds, a runtime that is dropped waits for what only the outside can end, and how often it looks.
pub(crate) const GRACE: u32 = 100;
pub(crate) const NAP: u32 = 20;

/// Waits for the last worker of a closed pool. False: some do not leave.
fn wait_for_workers(pool: &Arc<Pool>) -> bool {
    let parker = Arc::new(ThreadParker::new());
    let waker = Waker::from(parker.clone());
    let (mut stuck_since, mut patience) = (None, GRACE / NAP);
    loop {
        pool.watch_census(&waker);
        if pool.is_deserted() {
            return true;
        }
        let stuck = stuck_at(pool);
        patience = if stuck.is_some() && stuck == stuck_since { patience - 1 } else { GRACE / NAP };
        if patience == 0 {
            report_left(std::slice::from_ref(pool), NEVER_COMES);
            return false;
        }
        stuck_since = stuck;
        parker.park(Some(Duration::from_millis(NAP.into())));
    }
}

/// If everybody is asleep and something is alive (a parked stack, a strand that waits while it unwinds), nobody is left to
/// wake it but the outside: how many polls there were. The same answer for a while means that nothing is under way.
fn stuck_at(pool: &Pool) -> Option<u64> {
    let manned = || pool.stations().filter(|station| station.status() != Status::Vacant);
    let asleep =
        manned().all(|station| station.parker.state() != WorkerState::Busy && station.inbox.is_empty());
    let alive = pool.live() > 0 || manned().any(|station| station.parked.load(Relaxed) > 0);
    let stuck = asleep && alive && pool.injector.is_empty();
    stuck.then(|| pool.stations().map(|station| station.counters.polls.get()).sum())
}

/// Why most that is left behind is left behind.
pub(crate) const NEVER_COMES: &str = "they waited for something outside that did not come within 100 ms";

/// Names the tasks that are still alive.
pub(crate) fn report_left(pools: &[Arc<Pool>], reason: &str) {
    let mut left = Vec::new();
    for pool in pools {
        pool.depot.for_each(|task| {
            if task.kind() != Ticket::KIND {
                left.push(format!("{task:?}"));
            }
        });
    }
    if !left.is_empty() {
        complain(format_args!("left behind at shutdown ({reason}): {}", left.join(", ")));
    }
}

/// Ids are unique in the process, whatever runtime they are for.
fn take_ids(count: u64) -> (u64, u64) {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let first = NEXT.fetch_add(count, Relaxed);
    (first, first + count)
}

/// An id for what belongs to no worker.
pub(crate) fn next_id() -> TaskId {
    TaskId::new(NonZeroU64::new(take_ids(1).0).expect("ids start at one"))
}

/// Says something on standard error; if nobody listens there, that is no reason to panic.
pub(crate) fn complain(what: fmt::Arguments<'_>) {
    let _nobody_listens = writeln!(io::stderr(), "ropewalk: {what}");
}

/// Calls a waker of the user's, which may panic: the others must be called all the same.
pub(crate) fn wake_safely(waker: Waker) {
    if let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waker.wake())) {
        drop_payload(payload);
    }
}

/// Starts a thread for a worker at `station`.
pub(crate) fn hire(pool: Arc<Pool>, station: Arc<Station>) -> io::Result<()> {
    let name = format!("{}-{}-{}", pool.config.thread_name, pool.name, station.index);
    let runtime = pool.runtime.clone();
    let stack = Fibres::first_stack(pool.config.thread_stack_size)?;
    let thread = thread::Builder::new().name(name).stack_size(THREAD_STACK);
    let thread = thread.spawn(move || serve(pool, station, stack))?;
    let mut threads = runtime.threads.lock();
    threads.retain(|thread| !thread.is_finished());
    threads.push(thread);
    Ok(())
}

/// The life of a worker thread: one worker, or several if it is called back on its way out.
fn serve(pool: Arc<Pool>, station: Arc<Station>, stack: Stack) {
    if pool.config.pin_workers {
        pin_to_core(station.index);
    }
    crate::drive::time::sleep_precisely();
    let abort = crate::wait::Abort("a worker, or a hook called by it, panicked");
    let hooks = pool.config.hooks.clone();
    if let Some(hook) = &hooks.on_thread_start {
        hook();
    }
    let mut stack = Some(stack);
    loop {
        // Boxed: what is parked on a worker that cannot leave stays where it is.
        let worker = Box::new(Worker::new(pool.clone(), station.clone(), true));
        if let Some(stack) = stack.take() {
            worker.fibres.keep(stack);
        }
        context::as_worker(&worker, || worker.trampoline(false));
        if !pool.dismiss(worker) {
            break;
        }
    }
    if let Some(hook) = &hooks.on_thread_stop {
        hook();
    }
    std::mem::forget(abort);
}

#[cfg(target_os = "linux")]
fn pin_to_core(index: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    let mut one = CpuSet::new();
    if let Some(core) = cores.get(index % cores.len().max(1)) {
        one.set(*core);
        // A container may refuse; the worker then runs wherever it is put.
        let _refused = sched_setaffinity(None, &one);
    }
}

#[cfg(not(target_os = "linux"))]
fn pin_to_core(_index: usize) {}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pools: Vec<String> = self.pools().iter().map(|pool| pool.name.clone()).collect();
        f.debug_struct("Runtime").field("pools", &pools).finish_non_exhaustive()
    }
}
