//! Stop: two tasks that compute and never yield in time, and a clock that must tick beside them.
//!
//! They hold both workers for 8 ms at a time: four times as long as the watchdog puts up with, and not as long as it would report.

use super::fair::{quantile, sorted};
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use ropewalk::{PoolMetrics, Runtime, Wait};
use ropewalk_core::prim::real::{AtomicBool, Ordering::*};
use std::error::Error;
use std::hint::spin_loop;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
const HOLD: Duration = Duration::from_millis(8);
const TICK: Duration = Duration::from_millis(1);

pub(crate) struct Hogs;

impl Stop for Hogs {
    fn name(&self) -> &'static str {
        "hogs"
    }

    fn title(&self) -> &'static str {
        "A clock beside two hogs"
    }

    fn about(&self) -> &'static str {
        "Both workers are held by tasks that compute for 8 ms between yields.\n\
         A watchdog sees that, and stand-ins take over what waits behind them."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let ticks = guide.amount(1_500, 100);
        let columns = [
            Column::new("stand_ins", "stand-ins"),
            Column::new("ticks", "ticks"),
            Column::new("late_median_ns", "late, median"),
            Column::new("late_p99_ns", "p99"),
            Column::new("late_worst_ns", "worst"),
            Column::new("rescued", "workers rescued"),
        ];
        let mut table =
            Table::new("A tick is due every millisecond, whatever became of the last one", columns);
        let mut findings = Findings::default();
        let mut all_ticked = true;
        for stand_ins in [false, true] {
            let mut builder = Runtime::builder().thread_name("tour").worker_threads(WORKERS);
            if !stand_ins {
                builder = builder.rescue_threshold(Duration::ZERO);
            }
            let (label, answer) =
                if stand_ins { ("with stand-ins", "yes") } else { ("without stand-ins", "no") };
            guide.phase_of(label, TICK * ticks);
            let (late, metrics) = beside_hogs(&builder.build()?, ticks)?;
            let late = sorted(late);
            all_ticked &= late.len() == ticks as usize;
            let time = |share| quantile(&late, share).map_or(Value::Absent, Value::time);
            let rescued = Value::Count(metrics.rescues);
            table.row([
                Value::text(answer),
                Value::Count(late.len() as u64),
                time(0.5),
                time(0.99),
                time(1.0),
                rescued,
            ]);
            if stand_ins {
                findings.check(metrics.rescues > 0, "stand-ins came for workers that were held");
            }
        }
        guide.pause();
        findings.table(table);
        findings.check(all_ticked, "no tick was lost");
        Ok(findings)
    }
}

/// How late each tick was.
fn beside_hogs(
    runtime: &Runtime,
    ticks: u32,
) -> Result<(Vec<Duration>, PoolMetrics), Box<dyn Error + Send + Sync>> {
    let over = Arc::new(AtomicBool::new(false));
    let hogs: Vec<_> = (0..WORKERS).map(|_| runtime.spawn(hog(over.clone()))).collect();
    let clock = runtime.spawn(async move {
        let (from, mut late) = (ropewalk::time::Instant::now(), Vec::new());
        for tick in 1..=ticks {
            let due = from + TICK * tick;
            ropewalk::time::sleep_until(due).await;
            late.push(due.elapsed());
        }
        late
    });
    let late = clock.wait()?;
    over.store(true, Relaxed);
    hogs.into_iter().try_for_each(|hog| hog.wait())?;
    let pool = runtime.pool("main").expect("every runtime has it");
    Ok((late, pool.metrics()))
}

async fn hog(over: Arc<AtomicBool>) {
    while !over.load(Relaxed) {
        let from = Instant::now();
        while from.elapsed() < HOLD {
            spin_loop();
        }
        ropewalk::yield_now().await;
    }
}
