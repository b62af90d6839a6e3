//! Standing aside: a worker leaves the work to the others for some microseconds, where two get less done than one.
//!
//! Tasks that do little but talk to each other (a stream through a channel) are fastest on one worker, where what they share
//! stays in its caches. But a thief takes each one that becomes runnable, and from then on every operation waits for a line
//! from another core. Two things make a worker suspect that (`cores.rs` has a third reason to stand aside):
//!
//! - **Fights** Exchanges of the same word are lost again and again (`ropewalk_core::contention`): [`LOSSES`] of them within
//!   [`WITHIN`].
//! - **Poor thefts** After [`SMALL`] thefts that brought few tasks, [`POOR`] in a row brought less than [`WORTH`] of work, while
//!   the victim went on to other tasks: it would have come to the stolen ones soon, and with warm data.
//!
//! A suspicion is put to the test: the worker gives away what it has, stands aside for [`FIRST`], and sees how many operations
//! the others complete in that time. Then it is back, on trial: after [`TRIAL`], or when it suspects again, it knows how many
//! all of them completed since. If those were not [`GAIN`] times as many per second, it goes for twice as long as the last
//! time, up to [`LONGEST`]. If they were, one more worker is worth it, and there is no new test before [`PATIENCE`] is over. So a
//! wrong suspicion costs a worker a two-hundredth of its time.
//!
//! To everybody else standing aside looks like one long poll: the worker is neither asleep nor searching, so nobody relies
//! on it, and the proof of the sleep protocol need not mention it. What else keeps it from doing harm:
//!
//! 1. One worker always stays.
//! 2. Who has [`BACKLOG`] tasks and more in its ring calls back those who are on call, at once: there is work to share.
//! 3. A deadline that comes meanwhile keeps it from standing aside; one that is set meanwhile may be missed by the rest of
//!    [`LONGEST`].
//! 4. A pinned task that is sent to the worker wakes it; one that is queued there keeps it from standing aside at all.

use super::super::pool::Pool;
use super::super::recorder::Slept;
use super::super::station::Station;
use super::Worker;
use super::cores::Stay;
use crate::context;
use ropewalk_core::prim::{AtomicU64, Lock, Ordering::*};
use std::cell::Cell;
use std::time::{Duration, Instant};

const LOSSES: u32 = 8;
const WITHIN: Duration = Duration::from_micros(64);
const SMALL: u32 = 4;
const POOR: u32 = 4;
const WORTH: Duration = Duration::from_micros(10);
const TRIAL: Duration = Duration::from_micros(50);
const FIRST: Duration = Duration::from_micros(50);
const LONGEST: Duration = Duration::from_micros(1000);
const PATIENCE: Duration = Duration::from_millis(10);
const GAIN: f64 = 1.25;
/// Who brings home that many tasks or more has not made a poor theft.
const FEW: u64 = 8;
const BACKLOG: usize = 16;

/// The workers of a pool that stand aside.
#[derive(Debug)]
pub(crate) struct Aside {
    /// A bit each. Those beyond the last bit never do.
    who: AtomicU64,
    /// Those of them who come back when they are called.
    on_call: AtomicU64,
    last_stay: Lock<Option<Stay>>,
}

impl Aside {
    pub(crate) fn new() -> Self {
        Self { who: AtomicU64::new(0), on_call: AtomicU64::new(0), last_stay: Lock::new(None) }
    }

    /// One of `active` workers leaves, unless it is the last.
    pub(super) fn leave(&self, worker: usize, active: usize) -> bool {
        let bit = 1_u64.checked_shl(worker as u32).unwrap_or(0);
        let go = |now: u64| (bit != 0 && (now.count_ones() as usize) + 1 < active).then_some(now | bit);
        self.who.fetch_update(Relaxed, Relaxed, go).is_ok()
    }

    pub(super) fn come_back(&self, worker: usize) {
        self.who.fetch_and(!(1 << worker), Relaxed);
    }

    /// One who has left may be called back.
    fn be_on_call(&self, worker: usize) {
        self.on_call.fetch_or(1 << worker, Relaxed);
    }

    fn on_call_no_more(&self, worker: usize) {
        self.on_call.fetch_and(!(1 << worker), Relaxed);
    }

    /// Whether somebody is on call.
    #[inline(always)]
    fn any_on_call(&self) -> bool {
        self.on_call.load(Relaxed) != 0
    }

    /// Those who are on call; they are not any more.
    fn call(&self) -> impl Iterator<Item = usize> {
        let all = self.on_call.swap(0, Relaxed);
        (0..u64::BITS as usize).filter(move |worker| all >> worker & 1 != 0)
    }

    /// The last time that one stood aside for want of a core (`cores.rs`).
    pub(super) fn last_stay(&self) -> Option<Stay> {
        *self.last_stay.lock()
    }

    pub(super) fn note_stay(&self, stay: Stay) {
        *self.last_stay.lock() = Some(stay);
    }
}

/// What a thief remembers of its last theft.
#[derive(Clone, Copy, Debug)]
struct Theft {
    victim: usize,
    /// How many polls the thief had made.
    polls: u64,
    /// When it was, and how many polls the victim had made. That costs a moment, in which the stolen task waits: so it is
    /// written down only after some thefts brought little.
    seen: Option<(Instant, u64)>,
}

/// How far a pool had come, and when.
#[derive(Clone, Copy, Debug)]
struct Milestone {
    at: Instant,
    operations: u64,
}

impl Milestone {
    fn now(pool: &Pool) -> Self {
        let operations = pool.stations().map(|station| station.counters.operations.get()).sum();
        Self { at: Instant::now(), operations }
    }

    /// Operations per second since an earlier one.
    fn rate_since(self, earlier: Self) -> f64 {
        (self.operations - earlier.operations) as f64 / (self.at - earlier.at).as_secs_f64()
    }
}

/// The last time a worker stood aside.
#[derive(Clone, Copy, Debug)]
struct Absence {
    took: Duration,
    /// What the others did meanwhile, per second.
    rate: f64,
    back: Milestone,
}

/// What speaks for standing aside, as one worker saw it. What is looked at between any two tasks comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Crowd {
    /// There is a suspicion.
    suspected: Cell<bool>,
    /// It is back, and has not shown yet that it is of use.
    on_trial: Cell<bool>,
    losses: Cell<u32>,
    since: Cell<Option<Instant>>,
    theft: Cell<Option<Theft>>,
    /// How many thefts in a row brought few tasks, and were poor.
    small: Cell<u32>,
    poor: Cell<u32>,
    last: Cell<Option<Absence>>,
}

impl Crowd {
    #[cold]
    fn is_trial_over(&self) -> bool {
        self.last.get().is_none_or(|last| last.back.at.elapsed() >= TRIAL)
    }

    /// The worker goes to sleep: there is no crowd.
    pub(super) fn disperse(&self) {
        self.on_trial.set(false);
    }

    /// How long to stand aside now; `None`: not at all.
    fn verdict(&self, now: Milestone) -> Option<Duration> {
        let Some(last) = self.last.get() else { return Some(FIRST) };
        if now.at - last.back.at >= PATIENCE {
            return Some(FIRST);
        }
        let worth_it = now.rate_since(last.back) > GAIN * last.rate;
        (!worth_it).then(|| (2 * last.took).min(LONGEST))
    }
}

/// Makes this runtime the one that hears `ropewalk_core::contention::lost`.
pub(crate) fn install() {
    ropewalk_core::contention::install(lost);
}

fn lost() {
    context::with_worker(|worker| {
        worker.filter(|worker| worker.may_have_rivals()).inspect(|worker| worker.lost_an_exchange());
    });
}

impl Worker {
    fn may_have_rivals(&self) -> bool {
        self.threaded && !self.alone.get() && self.frame.current.get().is_some()
    }

    fn lost_an_exchange(&self) {
        let crowd = &self.crowd;
        crowd.losses.set(crowd.losses.get() + 1);
        if crowd.losses.get() < LOSSES {
            return;
        }
        crowd.losses.set(0);
        let now = Instant::now();
        if crowd.since.replace(Some(now)).is_some_and(|since| now - since < WITHIN) {
            crowd.suspected.set(true);
        }
    }

    /// Something was stolen from there.
    pub(super) fn note_theft(&self, victim: &Station) {
        let suspicious = self.threaded && self.crowd.small.get() >= SMALL;
        let seen = suspicious.then(|| (Instant::now(), victim.counters.polls.get()));
        let polls = self.station.counters.polls.get();
        self.crowd.theft.set(Some(Theft { victim: victim.index, polls, seen }));
    }

    /// What was stolen is done, or waits: was it worth it?
    pub(super) fn weigh_theft(&self) {
        let crowd = &self.crowd;
        let Some(theft) = crowd.theft.take() else { return };
        self.mind_cores();
        if self.station.counters.polls.get() - theft.polls >= FEW {
            crowd.small.set(0);
            return crowd.poor.set(0);
        }
        let Some((at, polls)) = theft.seen else { return crowd.small.set(crowd.small.get() + 1) };
        let went_on = self.pool.station(theft.victim).counters.polls.get() > polls;
        if !went_on || at.elapsed() >= WORTH {
            crowd.small.set(0);
            return crowd.poor.set(0);
        }
        crowd.poor.set(crowd.poor.get() + 1);
        if crowd.poor.get() >= POOR {
            crowd.suspected.set(true);
        }
    }

    /// Between two tasks: is there a suspicion, or is a trial over?
    #[inline]
    pub(super) fn mind_crowd(&self) {
        if self.crowd.suspected.get() || self.crowd.on_trial.get() && self.crowd.is_trial_over() {
            self.leave_crowd();
        }
    }

    /// Stands aside, if it may and if that is better for all.
    #[cold]
    fn leave_crowd(&self) {
        let crowd = &self.crowd;
        crowd.suspected.set(false);
        crowd.on_trial.set(false);
        let left = Milestone::now(&self.pool);
        let Some(at_most) = crowd.verdict(left) else { return };
        let bound = self.leave.get() || self.retiring.get() || self.closing.get() || !self.threaded;
        let due = self.pool.has_deadline_within(at_most);
        if bound
            || due
            || self.has_runnable_pinned()
            || !self.pool.aside.leave(self.index(), self.pool.active())
        {
            return;
        }
        self.call_homes();
        self.hand_over();
        self.station.counters.asides.bump();
        self.pool.aside.be_on_call(self.index());
        self.note_sleep(|| {
            self.station.parker.doze(at_most);
            Slept::Aside
        });
        self.is_back();
        self.pool.aside.on_call_no_more(self.index());
        self.pool.aside.come_back(self.index());
        let back = Milestone::now(&self.pool);
        crowd.last.set(Some(Absence { took: at_most, rate: back.rate_since(left), back }));
        crowd.on_trial.set(true);
        crowd.since.set(None);
        self.look_next();
    }

    /// A task was queued in the ring: is there work to share with those who stand aside?
    #[inline]
    pub(super) fn mind_backlog(&self) {
        if self.pool.aside.any_on_call() && self.free_tasks() >= BACKLOG {
            self.call_back();
        }
    }

    #[cold]
    fn call_back(&self) {
        self.pool.aside.call().for_each(|worker| self.pool.unpark(worker));
    }
}

#[cfg(test)]
mod tests;
