//! Stop: what the workers count while they work.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::{Metrics, Runtime, TaskError, TaskHandle, Wait, WorkerMetrics};
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) struct Inside;

impl Stop for Inside {
    fn name(&self) -> &'static str {
        "inside"
    }

    fn title(&self) -> &'static str {
        "A look inside"
    }

    fn about(&self) -> &'static str {
        "Every worker always counts what it does, at the price of a plain store. One\n\
         snapshot tells whether work is spread, queues overflow, and who sleeps; and,\n\
         by samples, how long polls take and who is woken waits."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let rounds = guide.amount(100, 2);
        let runtime = super::builder().worker_threads(2).histograms(true).build()?;
        let (round, mut spawned) = (Arc::new(AtomicU64::new(0)), 0);
        let shown = round.clone();
        guide.phase("a little of everything", move || shown.load(Relaxed) as f64 / rounds as f64);
        for at in 0..rounds {
            round.store(at, Relaxed);
            for part in PARTS {
                spawned += part(&runtime)?;
            }
        }
        thread::sleep(Duration::from_millis(20)); // both fall asleep
        guide.pause();
        let metrics = runtime.metrics();
        let mut findings = Findings::default();
        findings.table(snapshot(&metrics));
        findings.table(times(&metrics));
        check(&metrics, spawned, &mut findings);
        Ok(findings)
    }
}

/// Sets the runtime to work and says how many tasks that were.
type Part = fn(&Runtime) -> Result<u64, TaskError>;

const PARTS: [Part; 5] = [fan_out, from_outside, greedy, wait_in_polls, trickle];

/// One task spawns many.
fn fan_out(runtime: &Runtime) -> Result<u64, TaskError> {
    const COUNT: u64 = 2000;
    let parent = runtime.spawn(async {
        let children: Vec<_> = (0..COUNT).map(|_| ropewalk::spawn(async { work() })).collect();
        for child in children {
            child.await?;
        }
        Ok(COUNT + 1)
    });
    parent.wait()?
}

/// Many come from this thread.
fn from_outside(runtime: &Runtime) -> Result<u64, TaskError> {
    const COUNT: u64 = 1000;
    let tasks: Vec<_> = (0..COUNT).map(|_| runtime.spawn(async { work() })).collect();
    tasks.into_iter().try_for_each(TaskHandle::wait)?;
    Ok(COUNT)
}

/// A task that would never suspend meets its budget.
fn greedy(runtime: &Runtime) -> Result<u64, TaskError> {
    let task = runtime.spawn(async {
        for _ in 0..10_000 {
            ropewalk::task::consume_budget().await;
        }
    });
    task.wait().map(|()| 1)
}

/// Tasks wait in their polls.
fn wait_in_polls(runtime: &Runtime) -> Result<u64, TaskError> {
    const COUNT: u64 = 50;
    let question = || async { ropewalk::spawn(async { work() }).wait() };
    let tasks: Vec<_> = (0..COUNT).map(|_| runtime.spawn(question())).collect();
    tasks.into_iter().try_for_each(|task| task.wait()?)?;
    Ok(2 * COUNT)
}

/// Now and then one; the workers sleep in between.
fn trickle(runtime: &Runtime) -> Result<u64, TaskError> {
    const COUNT: u64 = 20;
    for _ in 0..COUNT {
        thread::sleep(Duration::from_micros(200));
        runtime.spawn(async { work() }).wait()?;
    }
    Ok(COUNT)
}

/// A microsecond or two of arithmetic that no compiler can shorten.
fn work() {
    let mut x = black_box(1_u64);
    for _ in 0..1000 {
        x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) ^ 0xA5A5;
    }
    black_box(x);
}

type Figure = fn(&WorkerMetrics) -> u64;

/// What is shown of a worker.
const FIGURES: [(Column, Figure); 15] = [
    (Column::noted("polls", "polls", "turns given to tasks"), |worker| worker.polls),
    (Column::noted("spawned", "spawned", "tasks started on it"), |worker| worker.spawned),
    (Column::noted("finished", "finished", "tasks that ended on it"), |worker| worker.finished),
    (Column::noted("lifo_hits", "LIFO hits", "just woken, run next"), |worker| worker.lifo_hits),
    (Column::noted("injected", "injected", "batches from outside"), |worker| worker.injected),
    (Column::noted("overflows", "overflows", "own queue was full"), |worker| worker.overflows),
    (Column::noted("searches", "searches", "looked at the other"), |worker| worker.searches),
    (Column::noted("steals", "steals", "took half of its queue"), |worker| worker.steals),
    (Column::noted("lifo_steals", "LIFO steals", "took its stale next"), |worker| worker.lifo_steals),
    (Column::noted("spins", "spins", "spun before sleeping"), |worker| worker.spins),
    (Column::noted("spin_hits", "spin hits", "and found work"), |worker| worker.spin_hits),
    (Column::noted("parks", "parks", "went to sleep"), |worker| worker.parks),
    (Column::noted("wakes", "wakes", "was woken"), |worker| worker.wakes),
    (Column::noted("budget_yields", "budget yields", "greedy polls cut short"), |worker| {
        worker.budget_yields
    }),
    (Column::noted("waits_in_poll", "waits in poll", "stacks parked"), |worker| worker.waits_in_poll),
];

fn snapshot(metrics: &Metrics) -> Table {
    let workers = &metrics.pools[0].workers;
    let ends = [Column::new("worker", ""), Column::noted("state", "state", "at this moment")];
    let mut table =
        Table::new("The counters of each worker", ends.into_iter().chain(FIGURES.map(|(column, _)| column)));
    for (at, worker) in workers.iter().enumerate() {
        let state = format!("{:?}", worker.state).to_lowercase();
        let figures = FIGURES.map(|(_, figure)| Value::Count(figure(worker)));
        table.row([Value::Text(format!("worker {at}")), Value::Text(state)].into_iter().chain(figures));
    }
    let sums = FIGURES.map(|(_, figure)| Value::Count(workers.iter().map(figure).sum()));
    table.row([Value::text("both"), Value::Absent].into_iter().chain(sums));
    table.turned()
}

fn times(metrics: &Metrics) -> Table {
    let columns = [
        Column::new("what", ""),
        Column::new("count", "count"),
        Column::new("p50_ns", "p50"),
        Column::new("p99_ns", "p99"),
        Column::new("p999_ns", "p999"),
        Column::new("longest_ns", "longest"),
    ];
    let mut table = Table::new("How long that takes (few are timed, and stand for the others)", columns);
    for (what, times) in [("polls", metrics.poll_time()), ("from wake to run", metrics.wake_to_run())] {
        let quantiles = [0.5, 0.99, 0.999].map(|share| Value::time(times.quantile(share)));
        let [p50, p99, p999] = quantiles;
        table.row([Value::text(what), Value::Count(times.count()), p50, p99, p999, Value::time(times.max())]);
    }
    table
}

fn check(metrics: &Metrics, spawned: u64, findings: &mut Findings) {
    let total = |figure: fn(&WorkerMetrics) -> u64| metrics.total(figure);
    let (finished, alive) = (total(|worker| worker.finished), metrics.pools[0].alive);
    findings.check(
        finished == spawned && alive == 0,
        format!("{} tasks were spawned, as many finished, none is left", grouped(spawned)),
    );
    let sense = metrics.pools[0].workers.iter().all(|worker| {
        worker.lifo_hits <= worker.polls
            && worker.spin_hits <= worker.spins
            && worker.wakes <= worker.parks
            && worker.parks <= worker.wakes + 1
    });
    findings.check(sense, "each worker's counters agree with each other");
    findings.check(metrics.unhandled_panics == 0, "no task panicked unseen");
}
