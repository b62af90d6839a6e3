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
        "A task costs under a hundred bytes and a fraction of a microsecond: give every\n\
         request, timer or game object its own. Each of these is accounted for."
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
        let runtime = super::builder().build()?;
        for (place, spawn) in [("from a task", inside as Spawn), ("from outside", outside as Spawn)] {
            guide.phase_finishing(format!("{} tasks {place}", grouped(count as u64)), &runtime, count as u64);
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
    guide.pause(); // what shows the progress so far is freed before the counting starts
    let _counting = CountAllocations::start();
    let start = Heap::now();
    let label = format!("{} tasks wait for ever", grouped(count));
    guide.phase(label, move || PARKED.load(Relaxed) as f64 / count as f64);
    let runtime = super::builder().build()?;
    let (heap, alive) =
        runtime.block_on(runtime.spawn(fill(count))).expect("it neither panics nor is it cancelled");
    guide.pause();
    let from = Instant::now();
    drop(runtime);
    let (took, left) = (from.elapsed(), Heap::now().since(start).live);
    let dropped = DROPPED.load(Relaxed);
    let columns = [
        Column::new("waiting", "waiting"),
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
    // Whoever draws the progress may hold a line of text at this moment.
    findings.check(left.abs() <= 4096, "and gave all of its memory back");
    Ok(())
}

/// Spawns tasks that wait for ever: what they occupy, and how many are alive besides this one.
async fn fill(count: u64) -> (Heap, u64) {
    let before = Heap::now();
    for _ in 0..count {
        drop(ropewalk::spawn(waits_for_ever()));
    }
    while PARKED.load(Relaxed) < count {
        ropewalk::yield_now().await;
    }
    let heap = Heap::now().since(before);
    let alive: u64 = Handle::current().metrics().pools.iter().map(|pool| pool.alive).sum();
    (heap, alive - 1)
}
