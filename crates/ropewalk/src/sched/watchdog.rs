//! One thread that looks how long each worker is in the same poll: once in one and a half [`preempt_threshold`](crate::Builder::preempt_threshold)s,
//! and when a poll that seems to be long will have been too long.
//!
//! | it lasts longer than | then |
//! |---|---|
//! | `preempt_threshold` | the worker is asked to yield (`hold.rs`): `preempt_point` does |
//! | `rescue_threshold`, and something waits behind it | a stand-in comes |
//! | five times that | it is reported, once |
//!
//! A thread that could run, but has hardly got a core, is not stuck.
//!
//! A stand-in is one more worker of the pool, at a station of its own. It needs no protocol to take over what the stuck one has: thieves
//! take what is in its ring, and in its LIFO slot if the owner makes no progress; whoever has the driver sees to everybody's timers. (If the
//! stuck one believes that it is alone, its queues are opened: `hold.rs`.)
//! While there are stand-ins, who leaves the driver sends somebody else there (`worker/alarm.rs`): it may be for a hog.
//! There are as many stand-ins as workers were stuck. They stay until nobody was held for so long for a while: who burnt once does so again.
//! Then they retire, as workers do when a pool shrinks.
//!
//! # When it sleeps
//!
//! It is called when something begins to wait: a task in a slot or queue of a worker, and nobody to take it at once; or timers and
//! sockets, and nobody asleep who would see to them. If that has not happened for some time, and it finds all workers asleep, it lies down until it
//! is called. Unless there are no polls at all, it gets up now and then, though: a poll may be long and delay nobody who could call, such as timers
//! that somebody who sleeps could see to, but does not know of. And if there were such polls lately, it does not lie down.
//! Where little runs, and nothing for long, it is called all the time for what is over when it comes: it then looks at its leisure (`ease.rs`).
//!
//! ```text
//! watchdog                                   worker
//!   1. asleep = true                           1. wakes up: its parker says so; then something waits
//!   2. SeqCst fence        <- barrier          2. SeqCst fence        <- barrier
//!   3. nobody is awake? sleep                  3. asleep? wake it
//! ```
//!
//! If the watchdog's barrier is first, the worker sees in 3 that it sleeps, however much later that is. If it is second, the watchdog sees
//! in 3 that the worker is awake.

mod ease;
pub(crate) mod longest;
mod look;
#[cfg(any(test, all(feature = "backtraces", target_os = "linux")))]
mod slate;
mod stall;
mod thread;
#[cfg(all(feature = "backtraces", target_os = "linux"))]
pub(crate) mod trace;

use super::park::{ThreadParker, WorkerState};
use super::station::{Station, Status};
use crate::runtime::Shared;
use ease::Ease;
use look::Look;
use ropewalk_core::prim::Ordering::*;
use ropewalk_core::prim::{AtomicBool, fence};
use std::io;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long it must not have been called before it lies down, and how long nobody must have done anything before it does not get up by itself.
const QUIET: Duration = Duration::from_millis(16);
/// When it gets up by itself.
const NAP: Duration = Duration::from_millis(4);
/// When it looks again if it is at ease.
const AT_EASE: Duration = Duration::from_millis(8);
const STACK: usize = 256 * 1024;

/// What everybody sees of it.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// It sleeps until it is called, or has not begun.
    asleep: AtomicBool,
    over: AtomicBool,
    /// It looks once in each tick, and not less often (`ease.rs`).
    prompt: AtomicBool,
    parker: ThreadParker,
}

impl Watchdog {
    /// With `on`, somebody is going to [`watch`].
    pub(crate) fn new(on: bool) -> Arc<Self> {
        Arc::new(Self {
            asleep: AtomicBool::new(on),
            over: AtomicBool::new(false),
            prompt: AtomicBool::new(false),
            parker: ThreadParker::new(),
        })
    }

    /// Something waits at a worker that has woken up since it last called: those who look see that it has.
    pub(crate) fn call_after_sleep(&self) {
        fence(SeqCst); // barrier of the worker
        self.call();
    }

    /// Something waits. Called after a SeqCst fence, or by a worker that has called since it woke up.
    #[inline(always)]
    pub(crate) fn call(&self) {
        if self.asleep.load(Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.asleep.swap(false, AcqRel) {
            self.parker.unpark();
        }
    }

    /// The poll that runs here wants to be seen to now.
    pub(crate) fn hurry(&self) {
        self.asleep.store(false, Relaxed);
        self.parker.unpark();
    }

    /// Whether a worker that has called it, and makes no look in a tick, is called to one.
    pub(crate) fn is_prompt(&self) -> bool {
        self.prompt.load(Relaxed)
    }

    /// The runtime goes down: the thread ends.
    pub(crate) fn end(&self) {
        self.over.store(true, Release);
        self.parker.unpark();
    }

    /// From now on it is to be called. False: somebody is awake, and might not have seen that.
    fn lie_down(&self, anybody_awake: impl FnOnce() -> bool) -> bool {
        self.asleep.store(true, Relaxed);
        fence(SeqCst); // barrier of the watchdog
        let may_sleep = !anybody_awake();
        if !may_sleep {
            self.asleep.store(false, Relaxed);
        }
        may_sleep
    }

    /// Sleeps until it is called, or for so long. Returns whether it was called.
    fn sleep(&self, limit: Option<Duration>) -> bool {
        let until = limit.map(|limit| Instant::now() + limit);
        while self.asleep.load(Acquire) && !self.over.load(Acquire) {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return !self.asleep.swap(false, AcqRel);
            }
            self.parker.park(left);
        }
        true
    }
}

/// Starts the thread.
pub(crate) fn start(runtime: &Arc<Shared>) -> io::Result<JoinHandle<()>> {
    let (watchdog, runtime) = (runtime.watchdog.clone(), Arc::downgrade(runtime));
    let name = "ropewalk-watch".to_owned();
    std::thread::Builder::new().name(name).stack_size(STACK).spawn(move || watch(&watchdog, &runtime))
}

fn watch(watchdog: &Watchdog, runtime: &Weak<Shared>) {
    crate::drive::time::sleep_precisely();
    thread::be_prompt(); // and so are those whom it sends
    let (mut looks, mut calm, mut ease): (Vec<Look>, _, _) = (Vec::new(), Calm::new(), Ease::default());
    watchdog.sleep(None);
    while !watchdog.over.load(Acquire) {
        let Some(runtime) = runtime.upgrade() else { return };
        let pools: Vec<_> = runtime.pools().into_iter().filter(|pool| !pool.hosted).collect();
        let (tick, now) = (runtime.config.tick(), Instant::now());
        looks.retain(|look| pools.iter().any(|pool| look.is_of(pool)));
        for pool in &pools {
            if !looks.iter().any(|look| look.is_of(pool)) {
                looks.push(Look::new(pool));
            }
        }
        for look in &mut looks {
            let of_this = pools.iter().find(|pool| look.is_of(pool));
            of_this.into_iter().for_each(|pool| look.look(pool, now));
        }
        let stations = || pools.iter().flat_map(|pool| pool.stations());
        let anybody_awake = || stations().any(|station| is_busy(station));
        let polls = stations().map(|station| station.counters.polls.get()).sum();
        calm.see(anybody_awake(), polls, now);
        ease.see(!calm.all_asleep, looks.iter().any(|look| look.has_long_poll()));
        watchdog.prompt.store(!ease.is_at_ease(), Relaxed);
        let due =
            pools.iter().flat_map(|pool| looks.iter().find(|look| look.is_of(pool))?.is_due(pool, now)).min();
        let (is_quiet, no_stand_ins) = (calm.is_quiet(now), looks.iter().all(|look| !look.has_stand_ins()));
        let may_nap = calm.may_lie_down(now) && looks.iter().all(|look| !look.had_hogs(now));
        let may_nap = may_nap && !ease.is_at_ease();
        let may_sleep = no_stand_ins && (is_quiet || may_nap) && watchdog.lie_down(anybody_awake);
        let tick = if ease.is_at_ease() { tick.max(AT_EASE) } else { tick };
        drop((pools, runtime)); // nothing is kept alive by who sleeps
        if may_sleep {
            let nap = (!is_quiet).then_some(NAP);
            if watchdog.sleep(nap) {
                calm = Calm::new();
                looks.iter_mut().for_each(Look::begin_anew);
            }
        } else {
            let due =
                due.map(|due| due.saturating_duration_since(Instant::now())).filter(|due| !due.is_zero());
            watchdog.parker.park(Some(due.map_or(tick, |due| due.min(tick))));
        }
    }
}

fn is_busy(station: &Station) -> bool {
    station.status() != Status::Vacant && station.parker.state() == WorkerState::Busy
}

/// For how long nobody does anything, or nothing waits.
struct Calm {
    called: Instant,
    polls: u64,
    since: Instant,
    /// Nobody was awake.
    all_asleep: bool,
}

impl Calm {
    fn new() -> Self {
        let now = Instant::now();
        Self { called: now, polls: 0, since: now, all_asleep: false }
    }

    fn see(&mut self, anybody_awake: bool, polls: u64, now: Instant) {
        self.all_asleep = !anybody_awake;
        if anybody_awake || polls != self.polls {
            (self.polls, self.since) = (polls, now);
        }
    }

    fn may_lie_down(&self, now: Instant) -> bool {
        self.all_asleep && now.saturating_duration_since(self.called) >= QUIET
    }

    fn is_quiet(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= QUIET
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_core::prim;

    #[cfg(not(any(loom, shuttle)))]
    #[test]
    fn it_lies_down_when_nothing_was_to_be_seen_for_a_while() {
        let (mut calm, start) = (Calm::new(), Instant::now() + Duration::from_secs(1));
        let after = |millis| start + Duration::from_millis(millis);
        calm.called = start;
        calm.see(true, 5, start);
        assert!(!calm.may_lie_down(after(20)), "somebody is awake");
        assert!(!calm.is_quiet(start));
        let mut is_quiet = |at, polls| {
            calm.see(false, polls, after(at));
            calm.is_quiet(after(at))
        };
        assert_eq!([is_quiet(1, 5), is_quiet(8, 5), is_quiet(12, 6)], [false; 3]);
        assert_eq!([is_quiet(27, 6), is_quiet(28, 6)], [false, true], "something ran at 12");
        assert!(
            !calm.may_lie_down(after(15)) && calm.may_lie_down(after(16)),
            "called at 0, and nobody is awake"
        );
        calm.see(true, 6, after(29));
        assert!(!calm.is_quiet(after(29)));
    }

    /// A worker wakes up, and finds that something waits, while the watchdog goes to sleep: it does not sleep through that.
    // mutation: the-watchdog-lies-down-without-barrier
    // - in crates/ropewalk/src/sched/watchdog.rs: `fence(SeqCst); // barrier of the watchdog`
    // + ``
    // mutation: a-worker-gets-up-without-barrier
    // - in crates/ropewalk/src/sched/watchdog.rs: `fence(SeqCst); // barrier of the worker`
    // + ``
    // mutation: the-watchdog-does-not-look-again
    // - in crates/ropewalk/src/sched/watchdog.rs: `let may_sleep = !anybody_awake();`
    // + `let may_sleep = true;`
    // mutation: the-watchdog-is-not-unparked
    // - in crates/ropewalk/src/sched/watchdog.rs: `if self.asleep.swap(false, AcqRel) {`
    // + `if self.asleep.swap(false, AcqRel) && false {`
    #[test]
    fn model_a_worker_gets_up_while_the_watchdog_lies_down() {
        prim::model(|| {
            let shared = Arc::new((Watchdog::new(false), AtomicBool::new(false)));
            let there = shared.clone();
            let worker = prim::thread::spawn(move || {
                let (watchdog, awake) = &*there;
                awake.store(true, Relaxed);
                watchdog.call_after_sleep();
            });
            let (watchdog, awake) = &*shared;
            if watchdog.lie_down(|| awake.load(Relaxed)) {
                watchdog.sleep(None); // a model that sleeps for ever has failed
            }
            worker.join().unwrap();
        });
    }
}
