//! Stop: a million tasks, with an exact account of each.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::heap::{CountAllocations, Heap};
use crate::show::grouped;
use ropewalk::{Handle, Runtime, RuntimeError, TaskHandle};
use ropewalk_core::prim::real::{AtomicU8, AtomicU64, Ordering::*};
use std::error::Error;
use std::future::{Future, pending};
use std::time::{Duration, Instant};

const MOST: usize = 1_000_000;

/// How often each task ran. A task that is lost, or run twice, shows.
static RUNS: [AtomicU8; MOST] = [const { AtomicU8::new(0) }; MOST];

pub(crate) struct Million;

impl Stop for Million {
    fn name(&self) -> &'static str {
        "million"
    }

    fn title(&self) -> &'static str {
        "A million tasks"
    }

    fn about(&self) -> &'static str {
        "A task costs less than a hundred bytes and a fraction of a microsecond, so give\n\
         every request, timer or game object its own. Each one is accounted for."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let count = guide.amount(MOST, 20_000);
        let mut findings = Findings::default();
        let columns = [
            Column::new("spawned_from", "spawned"),
            Column::new("tasks", "tasks"),
            Column::new("ran_once", "ran once"),
            Column::new("took_ns", "all done in"),
            Column::new("tasks_per_s", "rate"),
            Column::new("each_ns", "each"),
        ];
        let mut table = Table::new("Spawned, run and joined", columns);
        let runtime = Runtime::builder().thread_name("tour").build()?;
        for (place, spawn) in [("from a task", inside as Spawn), ("from outside", outside as Spawn)] {
            guide.phase(format!("{} tasks {place}", grouped(count as u64)), finished(&runtime, count));
            RUNS.iter().for_each(|runs| runs.store(0, Relaxed));
            let took = spawn(&runtime, count);
            let once = RUNS[..count].iter().filter(|runs| runs.load(Relaxed) == 1).count();
            let tasks = count as u64;
            table.row([
                Value::text(place),
                Value::Count(tasks),
                Value::Count(once as u64),
                Value::time(took),
                Value::rate(tasks, took),
                Value::share(took, tasks),
            ]);
            findings.check(once == count, format!("{place}: every task ran exactly once"));
        }
        drop(runtime);
        findings.table(table);
        park(guide, count as u64, &mut findings)?;
        Ok(findings)
    }
}

type Spawn = fn(&Runtime, usize) -> Duration;

/// How far a runtime is that has `count` more tasks to finish.
fn finished(runtime: &Runtime, count: usize) -> impl Fn() -> f64 + Send + 'static {
    let handle = runtime.handle();
    let so_far = move |handle: &Handle| handle.metrics().total(|worker| worker.finished) as f64;
    let before = so_far(&handle);
    move || (so_far(&handle) - before) / count as f64
}

/// One task spawns all the others and waits for them.
fn inside(runtime: &Runtime, count: usize) -> Duration {
    let parent = runtime.spawn(async move {
        let from = Instant::now();
        join((0..count).map(|at| ropewalk::spawn(unit(at))).collect()).await;
        from.elapsed()
    });
    runtime.block_on(parent).expect("it neither panics nor is it cancelled")
}

/// This thread, which is none of the runtime's, spawns them all and waits for them.
fn outside(runtime: &Runtime, count: usize) -> Duration {
    let from = Instant::now();
    let tasks = (0..count).map(|at| runtime.spawn(unit(at))).collect();
    runtime.block_on(join(tasks));
    from.elapsed()
}

async fn unit(at: usize) {
    RUNS[at].fetch_add(1, Relaxed);
}

async fn join(tasks: Vec<TaskHandle<()>>) {
    for task in tasks {
        task.await.expect("it neither panics nor is it cancelled");
    }
}

static PARKED: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Counts that the future it lives in was dropped; has no size.
struct Account;

impl Drop for Account {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
    }
}

fn waits_for_ever() -> impl Future<Output = ()> + Send {
    let account = Account;
    async move {
        let _account = account;
        PARKED.fetch_add(1, Relaxed);
        pending().await
    }
}

/// As many tasks that wait: what each of them occupies, and that none is left when their runtime is dropped.
fn park(guide: &Guide, count: u64, findings: &mut Findings) -> Result<(), RuntimeError> {
    guide.phase(format!("{} tasks wait for ever", grouped(count)), move || {
        PARKED.load(Relaxed) as f64 / count as f64
    });
    let _counting = CountAllocations::start();
    let start = Heap::now();
    let runtime = Runtime::builder().thread_name("tour").build()?;
    let parent = runtime.spawn(async move {
        let before = Heap::now();
        for _ in 0..count {
            drop(ropewalk::spawn(waits_for_ever()));
        }
        while PARKED.load(Relaxed) < count {
            ropewalk::yield_now().await;
        }
        Heap::now().since(before)
    });
    let heap = runtime.block_on(parent).expect("it neither panics nor is it cancelled");
    let alive = runtime.metrics().pools.iter().map(|pool| pool.alive).sum::<u64>();
    guide.pause();
    let from = Instant::now();
    drop(runtime);
    let (took, left) = (from.elapsed(), Heap::now().since(start).live);
    let dropped = DROPPED.load(Relaxed);
    let columns = [
        Column::new("parked", "waiting"),
        Column::new("bytes_per_task", "heap each"),
        Column::new("allocations_per_task", "mallocs each"),
        Column::new("dropped", "dropped"),
        Column::new("shutdown_ns", "shutdown in"),
        Column::new("left_bytes", "heap left"),
    ];
    let mut table = Table::new("Waiting for ever, until their runtime is dropped", columns);
    table.row([
        Value::Count(alive),
        Value::Bytes(heap.live as f64 / count as f64),
        Value::Ratio(heap.calls as f64 / count as f64),
        Value::Count(dropped),
        Value::time(took),
        Value::Bytes(left as f64),
    ]);
    findings.table(table);
    findings.check(alive == count, "every one of them was alive while it waited");
    findings.check(dropped == count, "dropping the runtime dropped every future, once");
    Ok(())
}
