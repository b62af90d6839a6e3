//! What all handles of a runtime share: its pools, ids, what becomes of panics, how workers start. How it goes down is in
//! `shutdown.rs`.

use super::config::{Config, RANDOM_STEP, Strands, UnhandledPanic, mixed};
use super::error::RuntimeError;
use super::shutdown::LeftBehind;
use crate::context;
use crate::drive::Driver;
use crate::drive::futex::FutexDriver;
#[cfg(unix)]
use crate::drive::io::{Io, IoBerth};
use crate::dump::traces::Traces;
use crate::group::kin::Families;
use crate::sched::blocking::{Blocking, is_on_thread_of};
use crate::sched::counters::Count;
use crate::sched::fibre::{Fibres, Stack};
use crate::sched::hosted::Seat;
use crate::sched::pool::Pool;
use crate::sched::recorder::Recorder;
use crate::sched::station::Station;
use crate::sched::watchdog::{self, Watchdog};
use crate::sched::worker::Worker;
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::*};
#[cfg(unix)]
use ropewalk_core::sync::CancellationToken;
use ropewalk_core::task::{PanicInfo, TaskId, drop_payload};
use std::fmt;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::thread::{self, JoinHandle};

/// The stack of a worker's thread itself: tasks run on fibres, so little happens here.
const THREAD_STACK: usize = 256 * 1024;

/// The pool that is made with the runtime.
const MAIN: &str = "main";

/// The random sequence of those who are no workers. (Workers have the low numbers, the hosted seat has the last.)
const OUTSIDE: u64 = u64::MAX - 1;

pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pools: Lock<Pools>,
    pub(super) seat: OnceLock<Seat>,
    pub(crate) blocking: Blocking,
    /// Polled by the main pool.
    #[cfg(unix)]
    pub(crate) io: Arc<Io>,
    /// Panics of detached tasks.
    pub(crate) panics: Count,
    /// Waits of a task for one that it stems from.
    pub(crate) refused_waits: Count,
    /// The tasks that have children.
    pub(crate) families: Families,
    /// Where strands write where they are.
    pub(crate) traces: Traces,
    /// Ends the thread that waits for a signal to dump.
    #[cfg(unix)]
    pub(super) dumps_end: CancellationToken,
    /// Where the random sequence is of those inside who are no workers.
    random: AtomicU64,
    /// What happened last, if somebody wants to know.
    pub(crate) recorder: Arc<Recorder>,
    /// Looks how long polls take.
    pub(crate) watchdog: Arc<Watchdog>,
    /// Worker threads, to be joined in the end.
    pub(super) threads: Lock<Vec<JoinHandle<()>>>,
    /// Its own tasks that shut it down, and wait for all others to end.
    pub(super) callers: AtomicU64,
    /// What could not be ended.
    pub(super) left: Lock<Vec<LeftBehind>>,
    /// Some workers cannot leave: nobody waits for them any more.
    pub(super) abandoned: AtomicBool,
    /// It waits for its tasks to end.
    drains: AtomicBool,
    fatal: Lock<Option<Fatal>>,
    /// Whether there is one: who has left its waker and finds that there is none will be woken.
    is_fatal: AtomicBool,
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
    /// It waits for its tasks to end.
    draining: bool,
    /// Their workers sample: somebody asked for that; and so many look on who want them to.
    sampled: bool,
    viewers: usize,
}

impl Pools {
    fn are_sampled(&self) -> bool {
        self.sampled || self.viewers > 0
    }
}

impl Shared {
    pub(crate) fn start(
        config: Config,
        workers: usize,
        hosted: bool,
    ) -> Result<(Arc<Self>, Arc<Pool>), RuntimeError> {
        let sampled = config.histograms;
        let shared = Arc::new(Self {
            blocking: Blocking::new(&config),
            #[cfg(unix)]
            io: Io::new(config.io_driver.clone()),
            random: AtomicU64::new(config.random(OUTSIDE)),
            recorder: Recorder::new(),
            watchdog: Watchdog::new(!hosted && config.has_watchdog()),
            config: Arc::new(config),
            pools: Lock::new(Pools { sampled, ..Pools::default() }),
            seat: OnceLock::new(),
            panics: Count::default(),
            refused_waits: Count::default(),
            families: Families::new(),
            traces: Traces::new(),
            #[cfg(unix)]
            dumps_end: CancellationToken::new(),
            threads: Lock::new(Vec::new()),
            callers: AtomicU64::new(0),
            left: Lock::new(Vec::new()),
            abandoned: AtomicBool::new(false),
            drains: AtomicBool::new(false),
            fatal: Lock::new(None),
            is_fatal: AtomicBool::new(false),
            roots: Lock::new(Vec::new()),
        });
        shared.recorder.switch(shared.config.record, |_| {});
        let most = if hosted { workers } else { super::MOST_WORKERS };
        let pool = Pool::new(MAIN, &shared, most, hosted, sampled, shared.config.strands);
        shared.pools.lock().open.push(pool.clone());
        let started = if hosted {
            Seat::new(&pool, workers).map(|seat| drop(shared.seat.set(seat)))
        } else {
            pool.resize(workers, hire).and_then(|()| shared.start_watchdog())
        };
        let started = started.map_err(RuntimeError::from).and_then(|()| shared.start_dumping());
        if let Err(error) = started {
            shared.shut_down(false);
            return Err(error);
        }
        Ok((shared, pool))
    }

    /// Somebody listens for the signal that asks for a dump, if there is one.
    fn start_dumping(self: &Arc<Self>) -> Result<(), RuntimeError> {
        #[cfg(unix)]
        if let Some((kind, target)) = self.config.dump_on_signal.clone() {
            let thread = crate::dump::on_signal::start(self, kind, target, self.dumps_end.clone())?;
            self.threads.lock().push(thread);
        }
        Ok(())
    }

    fn start_watchdog(self: &Arc<Self>) -> io::Result<()> {
        if self.config.has_watchdog() {
            let thread = watchdog::start(self)?;
            self.threads.lock().push(thread);
        }
        Ok(())
    }

    /// So many events are recorded for each worker from now on; 0: none.
    pub(crate) fn record(&self, events: usize) {
        self.recorder.switch(events, |on| self.pools().iter().for_each(|pool| pool.record(on)));
    }

    /// The workers sample how long polls and wake-ups take from now on, or do so for viewers only.
    pub(crate) fn sample(&self, on: bool) {
        self.change_sampling(|pools| pools.sampled = on);
    }

    /// Somebody looks on who wants histograms.
    #[cfg(all(unix, feature = "console"))]
    pub(crate) fn viewer_comes(&self) {
        self.change_sampling(|pools| pools.viewers += 1);
    }

    #[cfg(all(unix, feature = "console"))]
    pub(crate) fn viewer_goes(&self) {
        self.change_sampling(|pools| pools.viewers -= 1);
    }

    fn change_sampling(&self, change: impl FnOnce(&mut Pools)) {
        let mut pools = self.pools.lock();
        change(&mut pools);
        let on = pools.are_sampled();
        pools.open.iter().for_each(|pool| pool.sample(on));
    }

    /// Adds a pool with threads of its own.
    pub(crate) fn add_pool(
        self: &Arc<Self>,
        name: &str,
        workers: usize,
        strands: Strands,
    ) -> Result<Arc<Pool>, RuntimeError> {
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
            let pool = Pool::new(name, self, super::MOST_WORKERS, false, pools.are_sampled(), strands);
            if pools.draining {
                pool.drain();
            }
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

    /// Whether another thread than this one runs what has no threads of its own.
    #[cfg(all(feature = "backtraces", target_os = "linux"))]
    pub(crate) fn is_driven_elsewhere(&self) -> bool {
        self.seat.get().is_some_and(Seat::is_driven_elsewhere)
    }

    /// What the polling worker of a pool sleeps in.
    pub(crate) fn driver_for(&self, pool: &str) -> Box<dyn Driver> {
        #[cfg(unix)]
        if pool == MAIN {
            return Box::new(IoBerth(self.io.clone()));
        }
        let _ = pool;
        Box::new(FutexDriver::default())
    }

    /// The first file is watched, by the main pool.
    #[cfg(unix)]
    pub(crate) fn watch_begins(&self) {
        if let Some(pool) = self.pool(MAIN) {
            pool.watch_begins();
        }
    }

    /// With the main pool goes the I/O of the runtime: who waits for it is told.
    pub(crate) fn pool_closes(&self, pool: &Pool) {
        #[cfg(unix)]
        if pool.name == MAIN {
            self.io.end();
        }
        let _ = pool;
    }

    /// Whether its first pool has no threads, and is driven by those that wait.
    pub(crate) fn is_threadless(&self) -> bool {
        self.seat.get().is_some()
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

    /// The seeded generator for who is inside, but on no worker: a root beside worker threads, a job, a thread. One for all
    /// of them, because a root enters anew for each poll. So the seed alone determines the numbers while one of them asks.
    pub(crate) fn next_random(&self) -> u64 {
        mixed(self.random.fetch_add(RANDOM_STEP, Relaxed)) // each state once; nothing else depends on it
    }

    // ---- panics -----------------------------------------------------------------------------------------------

    /// A panic nobody took: never silent.
    pub(crate) fn unhandled(&self, panic: PanicInfo) {
        self.unhandled_by(self.config.unhandled_panic.unwrap_or(UnhandledPanic::Report), panic);
    }

    /// The same of a strand.
    pub(crate) fn unhandled_strand(&self, panic: PanicInfo) {
        self.unhandled_by(self.config.unhandled_panic.unwrap_or(UnhandledPanic::Terminate), panic);
    }

    fn unhandled_by(&self, policy: UnhandledPanic, panic: PanicInfo) {
        self.panics.add_shared(1);
        complain(format_args!("detached {panic}"));
        let message = panic.to_string();
        let left = match policy {
            UnhandledPanic::Report => Some(panic),
            UnhandledPanic::Terminate => self.terminate(message, Some(panic)),
        };
        if let Some(panic) = left {
            drop_payload(panic.into_payload());
        }
    }

    /// The same of a strand whose handle was forgotten.
    pub(crate) fn forgotten_strand(&self, panic: String) {
        self.panics.add_shared(1);
        complain(format_args!("{panic}; its handle was forgotten"));
        if self.can_terminate() {
            let _none = self.terminate(panic, None);
        }
    }

    /// Ends the runtime. Gives back the panic if another one was first.
    fn terminate(&self, message: String, mut panic: Option<PanicInfo>) -> Option<PanicInfo> {
        let mut fatal = self.fatal.lock();
        if fatal.is_none() {
            *fatal = Some(Fatal { message, panic: panic.take() });
        }
        self.is_fatal.store(true, Release);
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
        panic
    }

    /// A panic in a child of a task that is over, which its group was not asked for: the group was forgotten, it seems.
    /// Its payload is in the group, so only what it says is left.
    pub(crate) fn forgotten_panic(&self, panic: String) {
        self.panics.add_shared(1);
        complain(format_args!("{panic}; its parent has ended, and nobody asked its group for the result"));
        if self.config.unhandled_panic == Some(UnhandledPanic::Terminate) {
            let _none = self.terminate(panic, None);
        }
    }

    /// Whether there are panics that end the runtime if nobody takes them.
    pub(crate) fn can_terminate(&self) -> bool {
        self.config.unhandled_panic != Some(UnhandledPanic::Report)
    }

    /// Whether a panic ended the runtime.
    pub(crate) fn is_terminated(&self) -> bool {
        self.is_fatal.load(Acquire)
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

    pub(super) fn close_all(&self) {
        self.pools.lock().complete = true;
        self.blocking.close(&self.config);
        self.pools().iter().for_each(Pool::close);
    }

    /// Whether it waits for its tasks to end, and this is neither one of them nor one of its jobs.
    pub(crate) fn refuses_guests(&self) -> bool {
        self.drains.load(SeqCst) && !self.is_inside()
    }

    /// Whether this is on one of its workers, or in one of its jobs.
    pub(crate) fn is_inside(&self) -> bool {
        let ours = |worker: &Worker| std::ptr::eq(Arc::as_ptr(&worker.pool.runtime), self);
        context::with_worker(|worker| worker.is_some_and(ours)) || is_on_thread_of(self)
    }

    /// From now on only the runtime's own tasks spawn, in pools that are made later, too.
    pub(super) fn start_draining(&self) {
        self.pools.lock().draining = true;
        self.drains.store(true, SeqCst);
        self.pools().iter().for_each(|pool| pool.drain());
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

impl Drop for Shared {
    /// However the runtime went down: nobody is left to be watched.
    fn drop(&mut self) {
        self.watchdog.end();
        #[cfg(unix)]
        self.dumps_end.cancel();
    }
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

/// Calls what calls a subscriber of `tracing`, where a panic of that would leave a stack, or a worker, in the middle of something.
#[cfg(any(feature = "tracing", feature = "tokio-console"))]
#[inline]
pub(crate) fn unharmed<R: Default>(f: impl FnOnce() -> R) -> R {
    #[cold]
    fn has_panicked<R: Default>(payload: Box<dyn std::any::Any + Send>) -> R {
        drop_payload(payload);
        complain(format_args!(
            "a subscriber of tracing panicked while a task or a strand was put away or brought back"
        ));
        R::default()
    }
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_else(has_panicked)
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
    if cfg!(feature = "backtraces") {
        crate::strand::prepare(); // signals come before the first strand, too
    }
    crate::drive::time::sleep_precisely();
    let abort = crate::wait::Abort("a worker, or a hook called by it, panicked");
    let hooks = pool.config.hooks.clone();
    if let Some(hook) = &hooks.on_thread_start {
        hook();
    }
    let mut stack = Some(stack);
    loop {
        station.is_mine();
        // Boxed: what is parked on a worker that cannot leave stays where it is.
        let worker = Box::new(Worker::new(pool.clone(), station.clone(), true));
        if let Some(stack) = stack.take() {
            worker.fibres.keep(stack);
        }
        context::as_worker(&worker, || worker.trampoline(false));
        station.is_nobodys(); // before another one can be there
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
