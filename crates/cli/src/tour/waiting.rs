//! Stop: one function that waits, called from everywhere.

use super::gate::Gate;
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::{Blocking, Pool, Runtime, TaskError, Wait, strand, with_handler};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

type Trouble = Box<dyn Error + Send + Sync>;

pub(crate) struct Waiting;

impl Stop for Waiting {
    fn name(&self) -> &'static str {
        "waiting"
    }

    fn title(&self) -> &'static str {
        "Waiting from anywhere"
    }

    fn about(&self) -> &'static str {
        "Functions have no colour here: one that waits is written once and called from\n\
         a task, a strand or a thread. A wait inside a task never blocks the worker."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Trouble> {
        let mut findings = Findings::default();
        places(guide, &mut findings)?;
        crowd(guide, &mut findings)?;
        Ok(findings)
    }
}

/// The question, as a library would offer it to async code.
async fn ask(pool: &Pool, question: u64) -> Result<u64, TaskError> {
    pool.spawn(async move {
        ropewalk::yield_now().await; // so that there is something to wait for
        question + 1
    })
    .await
}

/// And to everybody else: the same, waited for. How it waits is not its business.
fn ask_and_wait(pool: &Pool, question: u64) -> Result<u64, TaskError> {
    ask(pool, question).wait()
}

/// Asks `count` times. True: every answer was right.
fn interview(pool: &Pool, count: u64) -> bool {
    (0..count).all(|question| ask_and_wait(pool, question).is_ok_and(|answer| answer == question + 1))
}

/// As [`interview`], by async code.
async fn interview_async(pool: Pool, count: u64) -> Result<bool, TaskError> {
    let mut right = true;
    for question in 0..count {
        right &= ask(&pool, question).await? == question + 1;
    }
    Ok(right)
}

/// The same function at five places, and what the workers counted meanwhile.
fn places(guide: &Guide, findings: &mut Findings) -> Result<(), Trouble> {
    let runtime = super::builder().worker_threads(1).build()?;
    let pool = runtime.pool("main").expect("every runtime has it");
    let answers = Pool::builder().name("answers").workers(1).build(&runtime.handle())?;
    let [many, few] = [guide.amount(1_000_000, 1000), guide.amount(60_000, 200)];
    let mut survey = Survey::new(guide, &runtime);

    let here = pool.clone();
    survey.ask_in(".await in a task", many, || pool.spawn(interview_async(here, many)).wait()?)?;
    let here = pool.clone();
    let in_a_poll = async move { interview(&here, many) };
    let [parked, _] = survey.ask_in(".wait() in a task's poll", many, || pool.spawn(in_a_poll).wait())?;
    let here = pool.clone();
    let on_a_strand = async move {
        strand::spawn_local(move || interview(&here, many)).expect("tasks run on workers").await
    };
    survey.ask_in(".wait() on a strand", many, || pool.spawn(on_a_strand).wait()?)?;
    survey.ask_in(".wait() on a plain thread", few, || Ok(interview(&pool, few)))?;
    // A held worker runs nothing: the answers come from another pool.
    let blocking = async move { with_handler(&Blocking, || interview(&answers, few)) };
    let [_, held] = survey.ask_in("Blocking, in a task", few, || pool.spawn(blocking).wait())?;

    survey.finish(findings);
    findings.check(parked >= many, "every wait in a poll parked a stack, not the worker");
    findings.check(held >= few, "waits that held the thread itself, as Blocking does, were counted");
    Ok(())
}

/// What is found at each place.
struct Survey<'a> {
    guide: &'a Guide,
    runtime: &'a Runtime,
    table: Table,
    wrong: Vec<&'static str>,
}

impl<'a> Survey<'a> {
    fn new(guide: &'a Guide, runtime: &'a Runtime) -> Self {
        let columns = [
            Column::new("where", "where"),
            Column::new("waits", "waits"),
            Column::new("each_ns", "each"),
            Column::new("stacks_parked", "parked"),
            Column::new("threads_held", "held"),
        ];
        let title = "One function, five places, 1 worker (parked: stacks; held: OS threads)";
        Self { guide, runtime, table: Table::new(title, columns), wrong: Vec::new() }
    }

    /// How many stacks were parked and threads held while `visit` asked `count` times.
    fn ask_in(
        &mut self,
        place: &'static str,
        count: u64,
        visit: impl FnOnce() -> Result<bool, TaskError>,
    ) -> Result<[u64; 2], TaskError> {
        self.guide.phase_finishing(place, self.runtime, count);
        let (before, from) = (self.counters(), Instant::now());
        let right = visit()?;
        let (took, after) = (from.elapsed(), self.counters());
        let counted = [after[0] - before[0], after[1] - before[1]];
        let row = [Value::text(place), Value::Count(count), Value::share(took, count)];
        self.table.row(row.into_iter().chain(counted.map(Value::Count)));
        self.wrong.extend((!right).then_some(place));
        Ok(counted)
    }

    fn counters(&self) -> [u64; 2] {
        let metrics = self.runtime.metrics();
        [metrics.total(|worker| worker.waits_in_poll), metrics.total(|worker| worker.held)]
    }

    fn finish(self, findings: &mut Findings) {
        findings.table(self.table);
        findings.check(self.wrong.is_empty(), "every answer was right, at all five places");
        for place in self.wrong {
            findings.check(false, format!("{place}: an answer was wrong"));
        }
    }
}

/// More tasks than workers wait in their polls, for something that only a task of the same worker will do.
fn crowd(guide: &Guide, findings: &mut Findings) -> Result<(), Trouble> {
    let count = guide.amount(200, 20);
    let runtime = super::builder().worker_threads(1).build()?;
    let pool = runtime.pool("main").expect("every runtime has it");
    let parked = move || pool.metrics().workers[0].parked_stacks as u64;
    let seen = parked.clone();
    guide.phase(format!("{count} tasks wait in their polls"), move || seen() as f64 / count as f64);
    let gate = Arc::new(Gate::default());
    let from = Instant::now();
    let crowd: Vec<_> = (0..count).map(|_| runtime.spawn(wait_at(gate.clone()))).collect();
    let porter = runtime.spawn(async move {
        while parked() < count {
            ropewalk::yield_now().await;
        }
        let most = parked();
        gate.open();
        most
    });
    let most = porter.wait()?;
    let through = crowd.into_iter().map(Wait::wait).filter(Result::is_ok).count() as u64;
    let took = from.elapsed();
    let columns = [
        Column::new("tasks", "tasks that wait"),
        Column::new("workers", "workers"),
        Column::new("stacks_parked", "parked at once"),
        Column::new("through", "came through"),
        Column::new("took_ns", "all in"),
    ];
    let mut table = Table::new("A crowd that waits in its polls for a porter on the same worker", columns);
    table.row([count, 1, most, through].map(Value::Count).into_iter().chain([Value::time(took)]));
    findings.table(table);
    findings
        .check(most == count && through == count, "no deadlock: the worker went on beside all those stacks");
    Ok(())
}

/// Waits in its poll: the stack it runs on is parked.
async fn wait_at(gate: Arc<Gate>) {
    gate.pass().wait();
}
