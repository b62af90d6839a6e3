//! Tickers beside hogs: ten tickers are due every millisecond, and meanwhile somebody holds the workers for [`HOLD`] at a time. How late
//! are the ticks?
//!
//! When a tick is due does not depend on when the last one was: a stall of 50 ms is 50 late ticks, not one. And so everybody makes the
//! same number of them, which is checked.
//!
//! At first there are no hogs, so that it is not the start of threads that is measured. When they come, the ticks of the first half second
//! are apart: in that time a runtime may learn who its hogs are.

use crate::late::{self, Watch, span};
use crate::meter::{Sample, Speed};
use crate::timed::Timed;
use nix::time::{ClockId, clock_gettime};
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::*};
use std::hint::spin_loop;
use std::thread;
use std::time::{Duration, Instant};

pub const TICKERS: u64 = 10;
pub const TICK: Duration = Duration::from_millis(1);
/// How long a hog holds its worker.
pub const HOLD: Duration = Duration::from_millis(50);
/// How long it lets go, at most, where it does.
const PAUSE: Duration = Duration::from_millis(20);

/// The tickers have ended, or nobody waits for them any longer: hogs end.
static OVER: AtomicBool = AtomicBool::new(false);
static TICKED: AtomicU64 = AtomicU64::new(0);
static HOLDS: AtomicU64 = AtomicU64::new(0);
/// The latest tick of the hogs' first half second, in nanoseconds.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// From when on, and for how many ticks.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    from: Instant,
    /// Without hogs.
    calm: u32,
    /// After the hogs have come.
    first: u32,
    measured: u32,
}

/// One of a ticker's.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    pub due: Instant,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Calm,
    First,
    Measured,
}

impl Plan {
    fn now(speed: Speed) -> Self {
        let (calm, first, measured) = speed.pick((200, 500, 3_000), (20, 100, 200));
        Self { from: Instant::now(), calm, first, measured }
    }

    /// When ticker `number` is due. Tickers do not march in step.
    pub fn ticks(self, number: u64) -> impl Iterator<Item = Tick> + Send {
        let from = self.from + span(number, TICK);
        (0..self.each()).map(move |tick| Tick { due: from + TICK * (tick + 1), phase: self.phase(tick) })
    }

    fn phase(self, tick: u32) -> Phase {
        match tick {
            _ if tick < self.calm => Phase::Calm,
            _ if tick < self.calm + self.first => Phase::First,
            _ => Phase::Measured,
        }
    }

    /// The ticks of one.
    fn each(self) -> u32 {
        self.calm + self.first + self.measured
    }

    /// The ticks of all.
    fn total(self) -> u64 {
        u64::from(self.each()) * TICKERS
    }

    /// Who ticks no more by then does not get to it.
    fn patience(self) -> Duration {
        TICK * self.each() * 2
    }
}

impl Tick {
    /// How long to sleep; `None`: it is late.
    fn ahead(self) -> Option<Duration> {
        Some(self.due.saturating_duration_since(Instant::now())).filter(|ahead| !ahead.is_zero())
    }

    /// It happens now.
    pub fn happens(self) {
        self.counts_from(self.due);
    }

    /// The same, where it was due at another time.
    pub fn counts_from(self, due: Instant) {
        match self.phase {
            Phase::Calm => {}
            Phase::First => drop(FIRST.fetch_max(due.elapsed().as_nanos() as u64, Relaxed)),
            Phase::Measured => late::record(due),
        }
        TICKED.fetch_add(1, Release);
    }
}

/// A ticker that is a task.
pub async fn task<R: Timed>(plan: Plan, number: u64) {
    for tick in plan.ticks(number) {
        if let Some(ahead) = tick.ahead() {
            R::sleep(ahead).await;
        }
        tick.happens();
    }
}

/// A ticker that blocks.
pub fn unit(plan: Plan, number: u64, sleep: fn(Duration)) {
    for tick in plan.ticks(number) {
        tick.ahead().into_iter().for_each(sleep);
        tick.happens();
    }
}

/// How often somebody was held up. Where others take the cores, a hog may need longer for its first time than all ticks take: it is
/// waited for, since it began before they were over.
fn holds() -> u64 {
    let from = Instant::now();
    while HOLDS.load(Relaxed) == 0 && from.elapsed() < HOLD * 100 {
        thread::sleep(HOLD / 10);
    }
    HOLDS.load(Relaxed)
}

/// Starts tickers, and hogs somewhat later, and waits until all ticks are over: the median in microseconds, the tail beside it, and the
/// latest of the hogs' first half second.
pub fn measure(speed: Speed, start_tickers: impl FnOnce(Plan), start_hogs: impl FnOnce()) -> Sample {
    let (watch, plan) = (Watch::start(), Plan::now(speed));
    start_tickers(plan);
    thread::sleep(TICK * (plan.calm + 2)); // no calm tick is due any more
    start_hogs();
    while TICKED.load(Acquire) < plan.total() {
        thread::sleep(Duration::from_millis(20));
        if plan.from.elapsed() > plan.patience() {
            OVER.store(true, Relaxed); // whom the hogs let starve
        }
    }
    OVER.store(true, Relaxed);
    let (mut sample, holds) = (watch.stop(), holds());
    assert_eq!(sample.ops, u64::from(plan.measured) * TICKERS, "each tick is counted once");
    assert!(holds > 0, "nobody was held up");
    sample.cpu_ns_per_op = None; // the hogs'
    sample.extra.remove("rate"); // as planned
    sample.extra.insert("first".into(), FIRST.load(Relaxed) as f64 / 1e3);
    sample.extra.insert("holds".into(), holds as f64);
    sample
}

/// Whether hogs are to end.
pub fn is_over() -> bool {
    OVER.load(Relaxed)
}

/// A hog has held its worker once.
pub fn held() {
    HOLDS.fetch_add(1, Relaxed);
}

/// How long hog `number` lets go after it has held its worker so many times.
pub fn pause(number: u64, times: u64) -> Duration {
    span(number << 32 | times, PAUSE)
}

/// Holds the worker by computing. What counts is what this thread got of a core.
pub fn burn() {
    let from = cpu_time();
    while cpu_time() - from < HOLD {
        (0..1_000).for_each(|_| spin_loop());
    }
    held();
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a thread has a clock").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_due_at_their_time_whatever_became_of_the_last_one() {
        let plan = Plan { from: Instant::now(), calm: 1, first: 2, measured: 3 };
        let ticks: Vec<Tick> = plan.ticks(4).collect();
        let phases =
            [Phase::Calm, Phase::First, Phase::First, Phase::Measured, Phase::Measured, Phase::Measured];
        assert!(ticks.iter().map(|tick| tick.phase).eq(phases));
        assert!(ticks.windows(2).all(|pair| pair[1].due - pair[0].due == TICK));
        assert!(ticks[0].due >= plan.from + TICK && ticks[0].due < plan.from + 2 * TICK);
        assert_eq!(plan.total(), 60);
    }

    #[test]
    fn who_burns_gets_that_much_of_a_core() {
        let from = cpu_time();
        burn();
        assert!(cpu_time() - from >= HOLD);
    }
}
