//! Stop: a hundred thousand timers, and how late each of them was.

use super::fair::{quantile, sorted};
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::TaskHandle;
use ropewalk::time::{self, sleep, timeout};
use std::error::Error;
use std::future::{pending, poll_fn};
use std::task::Poll;
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

pub(crate) struct Timers;

impl Stop for Timers {
    fn name(&self) -> &'static str {
        "timers"
    }

    fn title(&self) -> &'static str {
        "A hundred thousand timers"
    }

    fn about(&self) -> &'static str {
        "Every task sleeps on a timer of its own, in the memory it has anyway, set and\n\
         cancelled at a fixed price. None is early; how late they are is measured."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let mut findings = Findings::default();
        sleep_at_once(guide, &mut findings)?;
        set_and_cancel(guide, &mut findings)?;
        stand_still(guide, &mut findings)?;
        Ok(findings)
    }
}

/// Many tasks sleep, each for a time of its own.
fn sleep_at_once(guide: &Guide, findings: &mut Findings) -> Result<(), Box<dyn Error + Send + Sync>> {
    let count = guide.amount(100_000_u64, 5_000);
    let longest = guide.amount(Duration::from_secs(2), Duration::from_millis(200));
    let runtime = super::builder().worker_threads(WORKERS).build()?;
    guide.phase_finishing(format!("{} tasks sleep", grouped(count)), &runtime, count);
    let tasks: Vec<TaskHandle<i64>> =
        (0..count).map(|number| runtime.spawn(late_by(span(number, longest)))).collect();
    let pending = runtime.metrics().pools[0].timers as u64;
    let late = runtime.block_on(async {
        let mut late = Vec::new();
        for task in tasks {
            late.extend(task.await);
        }
        late
    });
    let early = late.iter().filter(|late| **late < 0).count();
    let late = sorted(late);
    let columns = [
        Column::new("timers", "timers"),
        Column::new("pending", "pending at once"),
        Column::new("median_ns", "late: median"),
        Column::new("p99_ns", "p99"),
        Column::new("p999_ns", "p99.9"),
        Column::new("worst_ns", "worst"),
    ];
    let mut table = Table::new("Sleeps of up to two seconds: by how much each was late", columns);
    let time = |share| quantile(&late, share).map_or(Value::Absent, |late| Value::Nanos(late as f64));
    let times = [0.5, 0.99, 0.999, 1.0].map(time);
    table.row([Value::Count(count), Value::Count(pending)].into_iter().chain(times));
    findings.table(table);
    findings.check(late.len() as u64 == count, "every task woke up");
    findings.check(early == 0, "no task woke up early");
    Ok(())
}

/// By how many nanoseconds a sleep was late, as the system's clock sees it.
async fn late_by(span: Duration) -> i64 {
    let from = Instant::now();
    sleep(span).await;
    from.elapsed().as_nanos() as i64 - span.as_nanos() as i64
}

/// Spread over `longest`.
fn span(number: u64, longest: Duration) -> Duration {
    let mixed = u128::from((number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    Duration::from_nanos(((mixed * longest.as_nanos()) >> 64) as u64)
}

/// What most timers are for: a timeout that does not come to pass.
fn set_and_cancel(guide: &Guide, findings: &mut Findings) -> Result<(), Box<dyn Error + Send + Sync>> {
    let count = guide.amount(2_000_000_u64, 20_000);
    let runtime = super::builder().worker_threads(1).build()?;
    guide.phase_of("timeouts set and cancelled", Duration::from_secs(1));
    let task = runtime.spawn(async move {
        let from = Instant::now();
        for number in 0..count {
            let mut timeout =
                std::pin::pin!(timeout(Duration::from_secs(30) + span(number, YEAR), pending::<()>()));
            poll_fn(|cx| {
                let _registered = timeout.as_mut().poll(cx);
                Poll::Ready(()) // and dropped, it is cancelled
            })
            .await;
        }
        from.elapsed()
    });
    let took = runtime.block_on(task)?;
    let left = runtime.metrics().pools[0].timers;
    let columns = [
        Column::new("timeouts", "timeouts"),
        Column::new("took_ns", "in"),
        Column::new("each_ns", "each"),
        Column::new("size_bytes", "size of a sleep"),
    ];
    let mut table = Table::new("Timeouts set and cancelled, one clock read each", columns);
    let size = Value::Bytes(size_of::<time::Sleep>() as f64);
    table.row([Value::Count(count), Value::time(took), Value::share(took, count), size]);
    findings.table(table);
    findings.check(left == 0, "nothing of them is left behind");
    Ok(())
}

/// A clock that stands still jumps from deadline to deadline: how tests of a day's work take no time.
fn stand_still(guide: &Guide, findings: &mut Findings) -> Result<(), Box<dyn Error + Send + Sync>> {
    let count = guide.amount(10_000_u64, 1_000);
    let runtime = super::builder().paused(true).build()?;
    guide.phase_of("a year on a clock that stands still", Duration::from_secs(1));
    let from = Instant::now();
    let slept = runtime.block_on(async {
        let start = time::Instant::now();
        let tasks: Vec<_> = (0..count)
            .map(|number| {
                let span = span(number, YEAR);
                ropewalk::spawn(async move {
                    sleep(span).await;
                    start.elapsed() == span
                })
            })
            .collect();
        let mut exact = 0;
        for task in tasks {
            exact += u64::from(task.await.unwrap_or(false));
        }
        (exact, start.elapsed())
    });
    let columns = [
        Column::new("sleeps", "sleeps"),
        Column::new("exact", "to the nanosecond"),
        Column::new("clock_ns", "on the clock"),
        Column::new("took_ns", "took"),
    ];
    let mut table = Table::new("Sleeps of up to a year by a paused clock", columns);
    table.row([
        Value::Count(count),
        Value::Count(slept.0),
        Value::time(slept.1),
        Value::time(from.elapsed()),
    ]);
    findings.table(table);
    findings.check(slept.0 == count, "each ended exactly at its deadline");
    guide.pause();
    Ok(())
}
