//! Stop: a job that computes, on threads of its own and on the worker, beside a ticker that wants the worker now and then.

use super::fair::{quantile, sorted};
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::time::{self, MissedTick};
use ropewalk::{Runtime, TaskError, TaskHandle, Wait, thread};
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::*};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Trouble = Box<dyn Error + Send + Sync>;

const TICK: Duration = Duration::from_millis(1);
/// How far the job's threads stand back for others.
const NICE: i32 = 10;

pub(crate) struct Threads;

impl Stop for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn title(&self) -> &'static str {
        "A computation beside a ticker"
    }

    fn about(&self) -> &'static str {
        "A matrix product on threads of its own, started and awaited by a task: a 1 ms\n\
         ticker on the only worker goes on. The same inside a task stops it."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Trouble> {
        let job = Job::new(guide.amount(512, 64), guide.amount(24, 2));
        let span = guide.amount(Duration::from_millis(1000), Duration::from_millis(20));
        let mut show = Show::new()?;

        guide.phase_of("the ticker alone", span);
        let alone = async move {
            time::sleep(span).await;
            Ok(0.0)
        };
        show.beside("nothing", |runtime| runtime.spawn(alone))?;
        let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
        guide.phase("the product on threads", job.progress());
        let there = job.clone();
        let threads = show.beside("product on threads", |runtime| runtime.spawn(there.on_threads(cores)))?;
        guide.phase("the product in a task", job.progress());
        let there = job.clone();
        let inside = async move { Ok(there.compute(0, 1)) };
        let inside = show.beside("product in a task", |runtime| runtime.spawn(inside))?;
        guide.pause();
        Ok(show.finish(threads, inside))
    }
}

/// A product of two matrices, several times over. Threads take turns at its rows.
#[derive(Clone)]
struct Job {
    size: usize,
    rounds: usize,
    left: Arc<[f64]>,
    right: Arc<[f64]>,
    /// Rows that are done, for the bar.
    done: Arc<AtomicU64>,
}

impl Job {
    fn new(size: usize, rounds: usize) -> Self {
        let fill = |seed: usize| (0..size * size).map(|at| (at * seed % 17) as f64).collect();
        Self { size, rounds, left: fill(7), right: fill(11), done: Arc::default() }
    }

    /// How far the computation is that starts now.
    fn progress(&self) -> impl Fn() -> f64 + Send + use<> {
        let (done, rows) = (self.done.clone(), (self.size * self.rounds) as f64);
        let before = done.load(Relaxed);
        move || (done.load(Relaxed) - before) as f64 / rows
    }

    /// Computes every `of`-th row, from row `first` on; the sum of all they hold. Whole numbers, so the order of adding
    /// does not matter.
    fn compute(&self, first: usize, of: usize) -> f64 {
        let mut sum = 0.0;
        let mut row = vec![0.0; self.size];
        for at in (first..self.size * self.rounds).step_by(of) {
            row.fill(0.0);
            let left = &self.left[at % self.size * self.size..][..self.size];
            for (factor, right) in left.iter().zip(self.right.chunks_exact(self.size)) {
                row.iter_mut().zip(right).for_each(|(sum, other)| *sum += factor * other);
            }
            sum += row.iter().sum::<f64>();
            self.done.fetch_add(1, Relaxed);
        }
        sum
    }

    /// The same by so many threads, which stand back for whoever else wants a core.
    async fn on_threads(self, count: usize) -> Result<f64, TaskError> {
        let start = |first| {
            let job = self.clone();
            let thread = thread::Builder::new().name(format!("product-{first}")).nice(NICE);
            thread.spawn(move || job.compute(first, count)).expect("the system gives threads")
        };
        let threads: Vec<_> = (0..count).map(start).collect();
        let mut sum = 0.0;
        for thread in threads {
            sum += thread.await?;
        }
        Ok(sum)
    }
}

/// Ticks of a ticker: how late each one was.
async fn ticker(over: Arc<AtomicBool>) -> Vec<Duration> {
    let mut interval = time::interval(TICK).with_missed_tick(MissedTick::Skip);
    let mut late = Vec::new();
    while !over.load(Relaxed) {
        let due = interval.tick().await;
        late.push(time::Instant::now().duration_since(due));
    }
    late
}

struct Show {
    runtime: Runtime,
    table: Table,
    ticked: Vec<usize>,
}

impl Show {
    fn new() -> Result<Self, Trouble> {
        let columns = [
            Column::new("beside", "beside"),
            Column::new("took_ns", "took"),
            Column::new("ticks", "ticks"),
            Column::new("late_median_ns", "median late"),
            Column::new("late_p99_ns", "p99"),
            Column::new("late_worst_ns", "worst"),
        ];
        let runtime = super::builder().worker_threads(1).build()?;
        let table = Table::new("A 1 ms ticker on 1 worker; missed ticks are skipped", columns);
        Ok(Self { runtime, table, ticked: Vec::new() })
    }

    /// Lets the ticker tick while a task does something; what the task answers.
    fn beside(
        &mut self,
        what: &'static str,
        start: impl FnOnce(&Runtime) -> TaskHandle<Result<f64, TaskError>>,
    ) -> Result<f64, Trouble> {
        let over = Arc::new(AtomicBool::new(false));
        let ticks = self.runtime.spawn(ticker(over.clone()));
        let from = Instant::now();
        let answer = start(&self.runtime).wait()??;
        let took = from.elapsed();
        over.store(true, Relaxed);
        let late = sorted(ticks.wait()?);
        let time = |share| quantile(&late, share).map_or(Value::Absent, Value::time);
        let ticks = Value::Count(late.len() as u64);
        self.table.row([Value::text(what), Value::time(took), ticks, time(0.5), time(0.99), time(1.0)]);
        self.ticked.push(late.len());
        Ok(answer)
    }

    fn finish(self, threads: f64, inside: f64) -> Findings {
        let mut findings = Findings::default();
        findings.table(self.table);
        findings.check(threads == inside && inside > 0.0, "threads and task computed the same product");
        findings.check(self.ticked.iter().all(|ticks| *ticks > 0), "the ticker went on");
        findings
    }
}
