//! Stop: a pool that grows and shrinks while it works.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Timeline, Value};
use ropewalk::{Handle, Pool, RuntimeError, TaskError, TaskHandle, Wait, WorkerState};
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use ropewalk_core::wait_queue::WaitQueue;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The sizes it is given, one after the other.
const SIZES: [usize; 7] = [1, 3, 8, 4, 6, 2, 1];
/// Moments that are looked at for each size.
const LOOKS: usize = 9;
/// How many tasks are kept in flight: when there is much to do, and when there is little.
const MUCH: u64 = 64;
const LITTLE: u64 = 2;

pub(crate) struct Resized;

impl Stop for Resized {
    fn name(&self) -> &'static str {
        "pool"
    }

    fn title(&self) -> &'static str {
        "A pool resized while it works"
    }

    fn about(&self) -> &'static str {
        "A pool can be given more or fewer workers at any moment. Those too many\n\
         retire: they hand over their work, serve what is pinned to them, and leave."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let look = guide.amount(Duration::from_millis(60), Duration::from_millis(5));
        let runtime = super::builder().worker_threads(1).build()?;
        let pool = Pool::builder().name("walk").workers(SIZES[0]).build(&runtime.handle())?;
        guide.phase_of("the pool works and is resized", look * (SIZES.len() * LOOKS) as u32);
        let mut yard = Yard::new(pool);
        for size in SIZES {
            yard.resize(size, &runtime.handle())?;
            for at in 0..LOOKS {
                yard.work_for(look, if at < LOOKS * 2 / 3 { MUCH } else { LITTLE });
                yard.look();
            }
        }
        yard.close()
    }
}

/// The pool at work, and what was seen of it.
struct Yard {
    pool: Pool,
    ledger: Arc<Ledger>,
    tasks: Vec<TaskHandle<()>>,
    seen: Vec<Vec<WorkerState>>,
    resizes: Vec<Resize>,
}

/// What the tasks themselves count.
#[derive(Default)]
struct Ledger {
    done: AtomicU64,
    local: AtomicU64,
    local_done: AtomicU64,
    /// Local tasks wait here to be let go.
    bell: WaitQueue,
}

struct Resize {
    from: usize,
    to: usize,
    /// Which look came next.
    at: usize,
    done_before: u64,
    /// How long it took until those that were too many had left.
    settled: TaskHandle<Duration>,
}

impl Yard {
    fn new(pool: Pool) -> Self {
        Self { pool, ledger: Arc::default(), tasks: Vec::new(), seen: Vec::new(), resizes: Vec::new() }
    }

    fn resize(&mut self, to: usize, runtime: &Handle) -> Result<(), RuntimeError> {
        let (from, asked) = (self.pool.metrics().active, Instant::now());
        let left = self.pool.resize(to)?;
        let settled = runtime.spawn(async move {
            left.await;
            asked.elapsed()
        });
        let done_before = self.ledger.done.load(Relaxed);
        self.resizes.push(Resize { from, to, at: self.seen.len(), done_before, settled });
        Ok(())
    }

    /// Keeps `level` tasks in flight for a while.
    fn work_for(&mut self, span: Duration, level: u64) {
        let until = Instant::now() + span;
        while Instant::now() < until {
            while self.tasks.len() as u64 - self.ledger.done.load(Relaxed) < level {
                let number = self.tasks.len();
                self.tasks.push(self.pool.spawn(unit(number, self.ledger.clone())));
            }
            thread::sleep(Duration::from_micros(300));
        }
    }

    /// Notes what each worker is doing; now and then the local tasks are let go.
    fn look(&mut self) {
        self.seen.push(self.pool.metrics().workers.iter().map(|worker| worker.state).collect());
        if self.seen.len().is_multiple_of(4) {
            self.ledger.bell.wake_all();
        }
    }

    /// Waits for everything, shuts the pool down and draws up the account.
    fn close(self) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let (timeline, pool, ledger) = (self.timeline(), self.pool, self.ledger);
        let spawned = self.tasks.len() as u64;
        let joined = self.tasks.into_iter().map(Wait::wait).filter(Result::is_ok).count() as u64;
        while ledger.local_done.load(Relaxed) < ledger.local.load(Relaxed) {
            ledger.bell.wake_all();
            thread::yield_now();
        }
        let table = resize_table(self.resizes, spawned)?;
        let active = pool.metrics().active;
        pool.shutdown().wait()?;
        let deserted = pool.metrics().workers.iter().all(|worker| worker.state == WorkerState::Vacant);
        let [done, local, local_done] =
            [&ledger.done, &ledger.local, &ledger.local_done].map(|count| count.load(Relaxed));

        let mut findings = Findings { timeline: Some(timeline), ..Findings::default() };
        findings.table(table);
        findings.table(account(spawned, done, local, local_done));
        findings.check(joined == spawned && done == spawned, "no task was lost, none ran twice");
        findings.check(local_done == local, "the local tasks of retiring workers were served to their end");
        findings.check(active == SIZES[SIZES.len() - 1], "the pool ended with the size it was last given");
        findings.check(deserted, "after its shutdown nobody was left");
        Ok(findings)
    }

    fn timeline(&self) -> Timeline {
        let most = self.seen.iter().map(Vec::len).max().unwrap_or(0);
        let line = |worker: usize| {
            self.seen.iter().map(|states| *states.get(worker).unwrap_or(&WorkerState::Vacant)).collect()
        };
        Timeline {
            title: "What the workers were doing",
            workers: (0..most).map(line).collect(),
            marks: self.resizes.iter().map(|resize| (resize.at, format!("size {}", resize.to))).collect(),
        }
    }
}

fn resize_table(resizes: Vec<Resize>, spawned: u64) -> Result<Table, TaskError> {
    let columns = [
        Column::new("from", "from"),
        Column::new("to", "to"),
        Column::new("settled_ns", "settled in"),
        Column::new("tasks_done", "tasks done meanwhile"),
    ];
    let mut table = Table::new("Resizes (settled: those too many have left)", columns);
    let ends: Vec<u64> = resizes.iter().skip(1).map(|next| next.done_before).chain([spawned]).collect();
    for (resize, end) in resizes.into_iter().zip(ends) {
        let Resize { from, to, done_before, settled, .. } = resize;
        let [from, to, done] = [from as u64, to as u64, end - done_before].map(Value::Count);
        table.row([from, to, Value::time(settled.wait()?), done]);
    }
    Ok(table)
}

fn account(spawned: u64, done: u64, local: u64, local_done: u64) -> Table {
    let columns = [
        Column::new("spawned", "spawned"),
        Column::new("done", "done"),
        Column::new("local_spawned", "local spawned"),
        Column::new("local_done", "local done"),
        Column::new("lost", "lost"),
    ];
    let mut table = Table::new("The account", columns);
    table.row(
        [spawned, done, local, local_done, (spawned + local).saturating_sub(done + local_done)]
            .map(Value::Count),
    );
    table
}

/// Some work in two parts; now and then one leaves a local task behind, which stays where it was made.
async fn unit(number: usize, ledger: Arc<Ledger>) {
    work();
    ropewalk::yield_now().await;
    work();
    if number.is_multiple_of(256) {
        ledger.local.fetch_add(1, Relaxed);
        let ledger = ledger.clone();
        let local = async move {
            ledger.bell.wait().await.expect("the bell is never closed");
            ledger.local_done.fetch_add(1, Relaxed);
        };
        drop(ropewalk::spawn_local(local).expect("tasks run on workers"));
    }
    ledger.done.fetch_add(1, Relaxed);
}

/// Some microseconds of arithmetic that no compiler can shorten.
fn work() {
    let mut x = black_box(1_u64);
    for _ in 0..5_000 {
        x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) ^ 0xA5A5;
    }
    black_box(x);
}
