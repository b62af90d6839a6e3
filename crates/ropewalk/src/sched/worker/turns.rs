//! Workers that take turns, because there is one core for them.
//!
//! What is pinned cannot go to where the core is. If events come for strands of two workers, whoever takes them from the driver calls the
//! other one, and both run. Where the other core is taken, by whoever sends the events or by another program, that is three threads on two
//! cores: each is interrupted again and again, and waits for the kernel's next tick. So where a worker has waited too long for a core (as
//! `cores.rs` judges that), whoever takes a batch from the driver runs its own part of it first, then calls the others, and leaves the
//! driver to them, as one does who has no part in it (`batch.rs`). So one of them runs at a time, and a batch costs one switch.
//!
//! Echo on strands beside the load that it gets, on two cores, ratios to the same on tasks: 0.82 of the rate and 3.8 times the p99 before; with
//! turns 0.95 to 0.96, and 1.25 to 1.4 times (6 rounds). That is what turns cost at the end: what comes for a strand just after its worker has
//! looked waits for the rest of that turn, for the whole turn of the other worker, and for those before it in the next.
//!
//! They go on for a quarter of a second, and for longer each time that it is so again (`Stay`). After that, and as soon as there is a core for
//! one more, both run at once. What keeps them from doing harm:
//!
//! 1. A call is owed by who is awake, and is made before that one sleeps, stands aside or leaves the loop.
//! 2. It is owed until the next look, at the latest (AG1).
//! 3. A poll may take long. Then the watchdog calls whoever sleeps although something is in its inbox; where there is no watchdog, nobody
//!    takes turns.

use super::Worker;
use super::cores::{FREE, LONGEST_NAP, Stay, runnable};
use crate::sched::park::WorkerState;
use crate::sched::pool::Pool;
use ropewalk_core::prim::{AtomicU64, Lock, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// They are looked after while they go on, so they may: each time that both run at once, to see how that is, takes some milliseconds.
const FIRST: Duration = Duration::from_millis(256);
const LONGEST: Duration = Duration::from_secs(8);

/// Whether the workers of a pool take turns.
#[derive(Debug)]
pub(crate) struct Turns {
    made: Instant,
    /// Until when they do, in nanoseconds since then; 0: they do not.
    until: AtomicU64,
    history: Lock<History>,
}

#[derive(Debug, Default)]
struct History {
    last: Option<Stay>,
    /// When it was last looked for a free core, and what the last looks found, a bit each.
    looked: Option<Instant>,
    free: u8,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { made: Instant::now(), until: AtomicU64::new(0), history: Lock::new(History::default()) }
    }

    #[inline]
    fn are_on(&self) -> bool {
        let until = self.until.load(Relaxed);
        until != 0 && (self.made.elapsed().as_nanos() as u64) < until
    }

    /// From now on, for longer than the last time if that was not long ago.
    fn begin(&self, now: Instant) {
        let mut history = self.history.lock();
        if self.are_on() {
            return; // somebody else has found the same
        }
        let stay = Stay::beginning(history.last, now, FIRST, LONGEST);
        *history = History { last: Some(stay), looked: Some(now), free: 0 };
        self.until.store((stay.until() - self.made).as_nanos() as u64, Relaxed);
    }

    /// Now and then: is there a core for one more? `is_free` finds it out.
    fn mind_cores(&self, now: Instant, is_free: impl FnOnce() -> bool) {
        let lately = |looked: Instant| now.saturating_duration_since(looked) < LONGEST_NAP;
        {
            let mut history = self.history.lock();
            if history.looked.is_some_and(lately) {
                return;
            }
            history.looked = Some(now);
        }
        let is_free = is_free(); // a system call
        let mut history = self.history.lock();
        history.free = history.free << 1 | u8::from(is_free);
        if history.free.count_ones() >= FREE {
            history.last = history.last.map(|last| last.cut_short(now));
            self.until.store(0, Relaxed);
        }
    }

    /// They take turns for so long, whatever the cores do.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn begin_for(&self, long: Duration) {
        self.history.lock().looked = Some(Instant::now() + long);
        self.until.store((self.made.elapsed() + long).as_nanos() as u64, Relaxed);
    }
}

impl Worker {
    /// Whether calls are made when one's own part of a batch is done.
    pub(super) fn takes_turns(&self) -> bool {
        let bound = self.leave.get() || self.single.get() || self.retiring.get() || self.closing.get();
        self.pool.turns.are_on() && self.threaded && !bound && self.pool.may_be_rescued()
    }

    /// Calls have been made, to workers that run now beside this one: is there a core for that?
    pub(super) fn mind_turns(&self) {
        if self.is_time_to_ask(&self.calls) {
            self.look_for_a_second_core();
        }
    }

    #[cold]
    fn look_for_a_second_core(&self) {
        let (now, turns) = (Instant::now(), &self.pool.turns);
        if turns.are_on() {
            self.calls.begin_anew();
            let cores = self.pool.config.cores;
            turns.mind_cores(now, || runnable().is_some_and(|all| all < cores)); // this one is among them
        } else if self.has_lacked_a_core(&self.calls, now) {
            turns.begin(now);
        }
    }
}

impl Pool {
    /// Somebody is held, and may owe calls: they are made.
    pub(in super::super) fn make_owed_calls(&self) {
        let sleeps = |state| state != WorkerState::Busy;
        let waits = self.stations().filter(|station| !station.inbox.is_empty());
        waits.filter(|station| sleeps(station.parker.state())).for_each(|station| self.call(station.index));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{Runtime, strand};
    use std::collections::HashSet;
    use std::sync::{Mutex, mpsc};
    use std::thread;

    #[test]
    fn they_end_when_there_is_a_core_again() {
        let (turns, start) = (Turns::new(), Instant::now());
        assert!(!turns.are_on());
        turns.begin(start);
        assert!(turns.are_on());
        turns.begin_for(Duration::from_secs(100));
        turns.history.lock().looked = None;
        let look = |number: u32, is_free| turns.mind_cores(start + number * LONGEST_NAP, || is_free);
        (1..6).for_each(|number| look(number, true));
        turns.mind_cores(start + 5 * LONGEST_NAP, || unreachable!("it has just been looked for"));
        look(6, false);
        assert!(turns.are_on());
        look(7, true);
        assert!(!turns.are_on(), "six of the last eight");
    }

    /// One worker takes all wake-ups from the wheel, runs its own strand, and that holds the thread: the others are not kept waiting.
    #[test]
    fn who_is_held_keeps_nobody_waiting() {
        const WORKERS: usize = 4; // the one that stands by gets up by itself
        let runtime = Runtime::builder().worker_threads(WORKERS).build().unwrap();
        let long = Duration::from_secs(20);
        runtime.pool("main").unwrap().inner().turns.begin_for(long);
        let ((up, ups), (end, ended)) = (mpsc::channel(), mpsc::channel::<()>());
        let ended = Mutex::new(ended);
        let watcher = thread::spawn(move || {
            let all: HashSet<_> =
                (0..WORKERS).map(|_| ups.recv_timeout(long).expect("it was called")).collect();
            assert_eq!(all.len(), WORKERS, "they are on different workers");
            drop(end);
        });
        runtime.run(|| {
            let at = Instant::now() + Duration::from_millis(50);
            strand::scope(|s| {
                let body = || {
                    strand::sleep(at.saturating_duration_since(Instant::now()));
                    up.send(thread::current().id()).unwrap();
                    ended.lock().unwrap().recv().unwrap_err(); // the thread is held until all are up
                };
                let strands: Vec<_> = (0..WORKERS).map(|_| s.spawn(body)).collect();
                strands.into_iter().for_each(|strand| strand.join());
            });
        });
        watcher.join().unwrap();
    }
}
