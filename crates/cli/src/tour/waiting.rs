//! Stop: one function that waits, called from everywhere.

use super::gate::Gate;
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::{Blocking, Pool, Runtime, TaskError, Wait, WorkerMetrics, strand, with_handler};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

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
        "Functions have no colour here: one that waits is written once and called from a task,\n\
         a strand or a thread. Waiting inside a task parks its stack, never the worker."
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

/// The same function at five places, and what the workers counted meanwhile.
fn places(guide: &Guide, findings: &mut Findings) -> Result<(), Trouble> {
    let runtime = Runtime::builder().worker_threads(1).thread_name("tour").build()?;
    let pool = runtime.pool("main").expect("every runtime has it");
    let other = Pool::builder().name("answers").workers(1).build(&runtime.handle())?;
    let columns = [
        Column::new("where", "where"),
        Column::new("waits", "waits"),
        Column::new("each_ns", "each"),
        Column::new("stacks_parked", "stacks parked"),
        Column::new("threads_held", "threads held"),
    ];
    let mut table = Table::new("One function that waits, called in five places (1 worker)", columns);
    let mut stop_at = |place: &str, count: u64, visit: &dyn Fn(u64) -> Result<bool, TaskError>| {
        guide.phase(place, || 0.5);
        let counted = |figure: fn(&WorkerMetrics) -> u64| runtime.metrics().total(figure);
        let figures = || [counted(|worker| worker.waits_in_poll), counted(|worker| worker.held)];
        let (before, from) = (figures(), Instant::now());
        let right = visit(count)?;
        let (took, after) = (from.elapsed(), figures());
        let counts = [0, 1].map(|at| Value::Count(after[at] - before[at]));
        table.row(
            [Value::text(place), Value::Count(count), Value::share(took, count)].into_iter().chain(counts),
        );
        findings.check(right, format!("{place}: {} answers, all right", grouped(count)));
        Ok::<_, TaskError>([after[0] - before[0], after[1] - before[1]])
    };
    let many = guide.amount(200_000, 1000);
    let few = guide.amount(20_000, 200);
    let at = pool.clone();
    stop_at(".await in a task", many, &|count| {
        let pool = at.clone();
        at.spawn(async move {
            let mut right = true;
            for question in 0..count {
                right &= ask(&pool, question).await? == question + 1;
            }
            Ok(right)
        })
        .wait()?
    })?;
    let [parked, _] = stop_at(".wait() in a task's poll", many, &|count| {
        let pool = at.clone();
        at.spawn(async move { interview(&pool, count) }).wait()
    })?;
    stop_at(".wait() on a strand", many, &|count| {
        let pool = at.clone();
        let strand =
            at.spawn(
                async move { strand::spawn(move || interview(&pool, count)).expect("tasks run on workers") },
            );
        strand.wait()?.wait()
    })?;
    stop_at(".wait() on a plain thread", few, &|count| Ok(interview(&at, count)))?;
    let [_, held] = stop_at("Blocking, in a task", few, &|count| {
        let answers = other.clone();
        at.spawn(async move { with_handler(&Blocking, || interview(&answers, count)) }).wait()
    })?;
    findings.table(table);
    findings.check(parked >= many, "every wait in a poll parked a stack, not the worker");
    findings.check(held >= few, "waits that held the thread itself, as Blocking does, were counted");
    Ok(())
}

/// More tasks than workers wait in their polls, for something that only a task of the same worker will do.
fn crowd(guide: &Guide, findings: &mut Findings) -> Result<(), Trouble> {
    let count = guide.amount(200, 20);
    guide.phase(format!("{count} tasks wait in their polls, 1 worker"), || 0.5);
    let runtime = Runtime::builder().worker_threads(1).thread_name("tour").build()?;
    let pool = runtime.pool("main").expect("every runtime has it");
    let gate = Arc::new(Gate::default());
    let from = Instant::now();
    let crowd: Vec<_> = (0..count)
        .map(|_| {
            let gate = gate.clone();
            runtime.spawn(async move { gate.pass().wait() })
        })
        .collect();
    let porter = runtime.spawn({
        let (pool, gate) = (pool.clone(), gate.clone());
        async move {
            let mut turns = 1_u64;
            while pool.metrics().workers[0].parked_stacks < count {
                ropewalk::yield_now().await;
                turns += 1;
            }
            let parked = pool.metrics().workers[0].parked_stacks;
            gate.open();
            (parked as u64, turns)
        }
    });
    let (parked, turns) = porter.wait()?;
    let through = crowd.into_iter().map(Wait::wait).filter(Result::is_ok).count() as u64;
    let took: Duration = from.elapsed();
    let columns = [
        Column::new("tasks", "tasks that wait"),
        Column::new("workers", "workers"),
        Column::new("stacks_parked", "stacks parked at once"),
        Column::new("porter_turns", "porter's turns"),
        Column::new("through", "came through"),
        Column::new("took_ns", "all in"),
    ];
    let mut table = Table::new("A crowd that waits in its polls for a porter on the same worker", columns);
    let [tasks, parked, turns, through] = [count as u64, parked, turns, through].map(Value::Count);
    table.row([tasks.clone(), Value::Count(1), parked.clone(), turns, through.clone(), Value::time(took)]);
    findings.table(table);
    findings.check(
        parked == tasks && through == tasks,
        "no deadlock: the one worker went on beside all those parked stacks",
    );
    Ok(())
}
