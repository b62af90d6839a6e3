//! Stop: a flood of tasks, and three that must get their turns beside it.
//!
//! The bound is the scheduler's own (head of `sched/worker.rs`): with `p` tasks ahead of it in its worker's queues, a task
//! runs at the latest in poll `2·t + 2·G` of that worker, where `t = (p + 1)·(L + 1)`, `L` = 3 tasks in a row may come from the
//! LIFO slot, every `G` = 61 polls the worker looks outside, and what it finds there has half of the polls. (Half of the time,
//! rather: the runtime here is given a seed, so that polls stand for it.) A task pinned to its worker can count these polls
//! exactly: nobody steals it, and its worker's counters are in the metrics.

use super::gate::Baton;
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::{Pool, PoolMetrics, Runtime, TaskHandle, Wait, WorkerMetrics};
use ropewalk_core::prim::real::{AtomicBool, Ordering::*};
use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
/// `L`, which is fixed, and `G`, its default.
const STREAK: u64 = 3;
const INTERVAL: u64 = 61;
/// With one, polls stand for time.
const SEED: u64 = 1;
/// Tasks that spawn and yield without end, and how many each spawns in a turn.
const SPRINGS: usize = 96;
const DROPS: usize = 3;

pub(crate) struct Fair;

impl Stop for Fair {
    fn name(&self) -> &'static str {
        "fair"
    }

    fn title(&self) -> &'static str {
        "A flood beside a fair clock"
    }

    fn about(&self) -> &'static str {
        "Two workers drown in tasks that spawn, yield and wake each other without end.\n\
         A clock must still get its turns: nothing starves, by a formula, not by hope."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let span = guide.amount(Duration::from_millis(4000), Duration::from_millis(150));
        let builder = super::builder().worker_threads(WORKERS).global_queue_interval(INTERVAL as u32);
        let runtime = builder.seed(SEED).build()?;
        let pool = runtime.pool("main").expect("every runtime has it");
        guide.phase_of("a flood on two workers", span);
        let over = Arc::new(AtomicBool::new(false));
        let flood = flood(&runtime, &over);
        let pinned = runtime.spawn(pin_clock(pool.clone(), over.clone()));
        let free = runtime.spawn(free_clock(over.clone()));
        let from = Instant::now();
        let outside = knock(&runtime, from + span);
        let (metrics, lasted) = (pool.metrics(), from.elapsed());
        over.store(true, Relaxed);
        let ticks = pinned.wait()?.wait()?;
        let free = free.wait()?;
        flood.into_iter().try_for_each(TaskHandle::wait)?;
        guide.pause();

        let late = ticks.iter().filter(|tick| tick.polls > tick.bound()).count();
        let gaps = ticks.iter().map(|tick| tick.gap).collect();
        let mut findings = Findings::default();
        findings.table(turns(&ticks));
        findings.table(clocks([
            ("pinned clock", gaps),
            ("free clock", free),
            ("spawned from outside", outside),
        ]));
        findings.table(tide(&metrics, lasted));
        findings.check(!ticks.is_empty(), "the pinned clock got its turns");
        findings.check(late == 0, "each of its turns came within the bound for the tasks ahead of it");
        Ok(findings)
    }
}

/// Everything that makes the flood; it ends when `over` says so.
fn flood(runtime: &Runtime, over: &Arc<AtomicBool>) -> Vec<TaskHandle<()>> {
    let springs = (0..SPRINGS).map(|_| runtime.spawn(spring(over.clone())));
    let batons = [Arc::new(Baton::default()), Arc::new(Baton::default())];
    let pairs =
        batons.iter().flat_map(|baton| [0, 1].map(|me| runtime.spawn(pair(me, baton.clone(), over.clone()))));
    springs.chain(pairs).collect()
}

/// Spawns and yields.
async fn spring(over: Arc<AtomicBool>) {
    while !over.load(Relaxed) {
        for _ in 0..DROPS {
            drop(ropewalk::spawn(async {
                ropewalk::yield_now().await;
                ropewalk::yield_now().await;
            }));
        }
        ropewalk::yield_now().await;
    }
}

/// One of two that keep waking each other, and so would keep the LIFO slot for themselves.
async fn pair(me: usize, baton: Arc<Baton>, over: Arc<AtomicBool>) {
    loop {
        baton.receive(me).await;
        assert!(baton.pass(me), "a turn was taken by the wrong one");
        if over.load(Relaxed) {
            return;
        }
    }
}

/// One turn of the pinned clock.
struct Tick {
    /// Polls of its worker since its last turn, its own included.
    polls: u64,
    /// Tasks that were ahead of it then.
    ahead: u64,
    gap: Duration,
}

impl Tick {
    fn bound(&self) -> u64 {
        2 * (self.ahead + 1) * (STREAK + 1) + 2 * INTERVAL
    }
}

async fn pin_clock(pool: Pool, over: Arc<AtomicBool>) -> TaskHandle<Vec<Tick>> {
    ropewalk::spawn_local(pinned_clock(pool, over)).expect("tasks run on workers")
}

async fn pinned_clock(pool: Pool, over: Arc<AtomicBool>) -> Vec<Tick> {
    // Workers' threads are named after the runtime, the pool and the worker's number.
    let name = thread::current().name().unwrap_or_default().to_owned();
    let index: usize =
        name.rsplit('-').next().and_then(|number| number.parse().ok()).expect("a numbered worker");
    let look = || {
        let worker = pool.metrics().workers.swap_remove(index);
        // Ahead of it: the queue, the other pinned tasks and, counted in this one's stead, the one in the LIFO slot.
        (worker.polls, (worker.queued + worker.pinned) as u64)
    };
    let mut ticks = Vec::new();
    while !over.load(Relaxed) {
        let ((polls, ahead), from) = (look(), Instant::now());
        ropewalk::yield_now().await;
        ticks.push(Tick { polls: look().0 - polls, ahead, gap: from.elapsed() });
    }
    ticks
}

/// The times from one turn to the next of a task that may be stolen.
async fn free_clock(over: Arc<AtomicBool>) -> Vec<Duration> {
    let mut gaps = Vec::new();
    while !over.load(Relaxed) {
        let from = Instant::now();
        ropewalk::yield_now().await;
        gaps.push(from.elapsed());
    }
    gaps
}

/// Spawns from this thread, now and then, and asks each task how long it waited for its first turn.
fn knock(runtime: &Runtime, until: Instant) -> Vec<Duration> {
    let mut waits = Vec::new();
    while Instant::now() < until {
        let from = Instant::now();
        waits.extend(runtime.spawn(async move { from.elapsed() }).wait());
        thread::sleep(Duration::from_micros(500));
    }
    waits
}

fn turns(ticks: &[Tick]) -> Table {
    let columns = [
        Column::new("turns", "turns"),
        Column::new("ahead_median", "tasks ahead"),
        Column::new("polls_median", "polls between"),
        Column::new("polls_p99", "p99"),
        Column::new("polls_closest", "closest call"),
        Column::new("bound_then", "bound then"),
    ];
    let mut table =
        Table::new("Pinned clock: its worker's polls, turn to turn; bound (ahead + 1) x 8 + 122", columns);
    let nearest = ticks.iter().max_by(|a, b| (a.polls * b.bound()).cmp(&(b.polls * a.bound())));
    let counts = |figure: fn(&Tick) -> u64| sorted(ticks.iter().map(figure).collect());
    let count = |figure: Option<u64>| figure.map_or(Value::Absent, Value::Count);
    table.row([
        Value::Count(ticks.len() as u64),
        count(quantile(&counts(|tick| tick.ahead), 0.5)),
        count(quantile(&counts(|tick| tick.polls), 0.5)),
        count(quantile(&counts(|tick| tick.polls), 0.99)),
        count(nearest.map(|tick| tick.polls)),
        count(nearest.map(Tick::bound)),
    ]);
    table
}

fn clocks<const N: usize>(clocks: [(&str, Vec<Duration>); N]) -> Table {
    let columns = [
        Column::new("who", "who"),
        Column::new("turns", "turns"),
        Column::new("median_ns", "median"),
        Column::new("p99_ns", "p99"),
        Column::new("worst_ns", "worst"),
    ];
    let mut table =
        Table::new("Time to the next turn (the worst is when the OS takes the core away)", columns);
    for (who, gaps) in clocks {
        let gaps = sorted(gaps);
        let time = |share| quantile(&gaps, share).map_or(Value::Absent, Value::time);
        table.row([Value::text(who), Value::Count(gaps.len() as u64), time(0.5), time(0.99), time(1.0)]);
    }
    table
}

fn tide(metrics: &PoolMetrics, lasted: Duration) -> Table {
    let columns = [
        Column::new("alive", "alive"),
        Column::new("spawned", "spawned"),
        Column::new("polls", "polls"),
        Column::new("polls_per_s", "polls, rate"),
        Column::new("overflows", "queue overflows"),
    ];
    let mut table = Table::new("The flood meanwhile", columns);
    let total = |figure: fn(&WorkerMetrics) -> u64| metrics.workers.iter().map(figure).sum::<u64>();
    let polls = total(|worker| worker.polls);
    table.row([
        Value::Count(metrics.alive),
        Value::Count(total(|worker| worker.spawned)),
        Value::Count(polls),
        Value::rate(polls, lasted),
        Value::Count(total(|worker| worker.overflows)),
    ]);
    table
}

pub(super) fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values
}

/// The value below which `share` of the sorted values lie.
pub(super) fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * share).round() as usize).copied()
}
