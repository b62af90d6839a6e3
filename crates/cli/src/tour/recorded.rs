//! Stop: a pipeline is recorded, and what held it up is found in the recording.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::trace::{Trace, Track, TrackKind, What, WokenBy, span};
use ropewalk::{Runtime, Wait, channel, spawn, task, yield_now};
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the middle stage holds its worker, once.
const MISTAKE: Duration = Duration::from_millis(20);
/// Events that each worker keeps.
const EVENTS: usize = 1 << 17;

pub(crate) struct Recorded;

impl Stop for Recorded {
    fn name(&self) -> &'static str {
        "trace"
    }

    fn title(&self) -> &'static str {
        "The flight recorder"
    }

    fn about(&self) -> &'static str {
        "Each worker keeps what it did last: polls, wake-ups, steals, sleep.\n\
         Written for Perfetto, it is a picture; `ropewalk trace FILE` sums it up."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let messages = guide.amount(5_000, 500);
        let runtime = super::builder().worker_threads(2).record(EVENTS).build()?;
        let passed = Arc::new(AtomicU64::new(0));
        let progress = passed.clone();
        guide.phase("three stages, one of them slow once", move || {
            progress.load(Relaxed) as f64 / messages as f64
        });
        let sum = runtime.spawn(pipeline(messages, passed)).wait()?;
        guide.phase("as a file for Perfetto", || 0.0);
        let trace = settled(&runtime);
        let from = Instant::now();
        let json = trace.to_chrome();
        let took = from.elapsed();
        guide.pause();
        let mut findings = Findings::default();
        findings.table(tracks(&trace));
        findings.table(outliers(&trace));
        findings.table(written(&trace, json.len(), took));
        findings.check(
            sum == (0..messages).map(|number| number * number).sum::<u64>(),
            format!("{} messages went through", grouped(messages)),
        );
        check(&trace, &runtime, messages, &mut findings);
        findings.check(
            serde_json::from_str::<serde_json::Value>(&json).is_ok_and(|json| json["traceEvents"].is_array()),
            "the file reads back",
        );
        Ok(findings)
    }
}

/// Three stages with a name each; the middle one makes a mistake.
async fn pipeline(messages: u64, passed: Arc<AtomicU64>) -> u64 {
    let (send, numbers) = channel::bounded(8);
    let (squared, squares) = channel::bounded(8);
    let source = task::Builder::new().name("source").spawn(async move {
        for number in 0..messages {
            let _gone = send.send(number).await;
        }
    });
    let square = task::Builder::new().name("square").spawn(async move {
        while let Ok(number) = numbers.recv().await {
            let _span = span("square one");
            if number == messages / 2 {
                std::thread::sleep(MISTAKE);
            }
            yield_now().await;
            let _gone = squared.send(number * number).await;
        }
    });
    let sum = task::Builder::new().name("sum").spawn(async move {
        let mut sum = 0;
        while let Ok(square) = squares.recv().await {
            sum += square;
            passed.fetch_add(1, Relaxed);
        }
        sum
    });
    let (_source, _square) = (source.await, square.await);
    let busy = spawn(async { (0..100).map(|_| spawn(yield_now())).collect::<Vec<_>>() }).await;
    for task in busy.into_iter().flatten() {
        let _done = task.await;
    }
    sum.await.unwrap_or_default()
}

/// Once every poll has ended: who joins a task goes on before the poll that ended it is over.
fn settled(runtime: &Runtime) -> Trace {
    loop {
        let trace = runtime.trace();
        if trace.polls().all(|(_, _, poll)| poll.took.is_some()) {
            return trace;
        }
    }
}

fn workers(trace: &Trace) -> impl Iterator<Item = &Track> {
    trace.tracks.iter().filter(|track| matches!(track.kind, TrackKind::Worker { .. }))
}

fn tracks(trace: &Trace) -> Table {
    let columns = [
        Column::new("track", ""),
        Column::new("polls", "polls"),
        Column::new("busy_ns", "busy"),
        Column::new("wakes", "wake-ups"),
        Column::new("steals", "steals"),
        Column::new("parks", "sleeps"),
        Column::new("slept_ns", "asleep"),
    ];
    let mut table = Table::new("What each worker has recorded", columns);
    for track in workers(trace) {
        let (mut counts, mut times) = ([0; 4], [Duration::ZERO; 2]);
        for event in &track.events {
            match &event.what {
                What::Poll(poll) => (counts[0] += 1, times[0] += poll.took.unwrap_or_default()),
                What::Wake { .. } => (counts[1] += 1, ()),
                What::Steal { .. } => (counts[2] += 1, ()),
                What::Park { took, .. } => (counts[3] += 1, times[1] += took.unwrap_or_default()),
                _ => ((), ()),
            };
        }
        let ([polls, wakes, steals, parks], [busy, slept]) =
            (counts.map(Value::Count), times.map(Value::time));
        table.row([Value::text(track.name.as_str()), polls, busy, wakes, steals, parks, slept]);
    }
    table
}

/// The longest poll, and the wake-up that took longest, with who is to blame.
fn outliers(trace: &Trace) -> Table {
    let columns = [
        Column::new("what", ""),
        Column::new("whose", "whose"),
        Column::new("took_ns", "took"),
        Column::new("woken_by", "woken by"),
    ];
    let name = |task| Value::text(trace.name(task).unwrap_or("(no name)"));
    let mut table = Table::new("What stands out", columns);
    if let Some((_, _, poll)) = trace.polls().max_by_key(|(_, _, poll)| poll.took) {
        let took = Value::time(poll.took.unwrap_or_default());
        table.row([Value::text("longest poll"), name(poll.task), took, Value::Absent]);
    }
    let wakes = trace.wakes();
    let slowest = wakes.iter().filter(|wake| !wake.new).filter_map(|wake| Some((wake.waited()?, wake)));
    if let Some((waited, wake)) = slowest.max_by_key(|(waited, _)| *waited) {
        let by = match wake.by {
            WokenBy::Task(task) => name(task),
            WokenBy::Io => Value::text("a file"),
            WokenBy::Timer => Value::text("a timer"),
            _ => Value::text("another thread"),
        };
        table.row([Value::text("slowest to run once woken"), name(wake.task), Value::time(waited), by]);
    }
    table
}

fn written(trace: &Trace, bytes: usize, took: Duration) -> Table {
    let columns = [
        Column::new("events", "events"),
        Column::new("spans", "spans"),
        Column::new("json_bytes", "as JSON"),
        Column::new("took_ns", "which took"),
    ];
    let mut table = Table::new("The recording", columns);
    let events = trace.tracks.iter().map(|track| track.events.len() as u64).sum();
    let spans = Value::Count(trace.spans.len() as u64);
    table.row([Value::Count(events), spans, Value::Bytes(bytes as f64), Value::time(took)]);
    table
}

fn check(trace: &Trace, runtime: &Runtime, messages: u64, findings: &mut Findings) {
    let longest = trace.polls().max_by_key(|(_, _, poll)| poll.took);
    let found = longest.is_some_and(|(_, _, poll)| {
        trace.name(poll.task) == Some("square") && poll.took.is_some_and(|took| took >= MISTAKE)
    });
    findings.check(found, "the stage that held a worker is found by its name");
    let (polls, lost) = (trace.polls().count() as u64, workers(trace).map(|track| track.lost).sum::<u64>());
    let counted = runtime.metrics().total(|worker| worker.polls);
    findings.check(
        lost == 0 && polls == counted,
        format!("every poll is in it: {} were counted", grouped(counted)),
    );
    let spans = trace.spans.iter().filter(|span| span.name == "square one").count() as u64;
    findings.check(spans == messages, "each message has its span, across tasks that were put off");
}
