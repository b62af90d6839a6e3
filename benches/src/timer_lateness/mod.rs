//! timer_lateness: so many tasks sleep once, for a time between zero and a second; how late does each go on? And
//! latency_under_load: so many tasks sleep for the same short time again and again; how late are they then, and how many
//! wake-ups are there in a second? One operation is one wake-up. Two workers.

mod may;

use crate::late::{Watch, record, span};
use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use crate::timed::Timed;
use crate::{count, with_timed};
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const WORKERS: usize = 2;
const SECOND: Duration = Duration::from_secs(1);

pub fn once(peer: Peer, tasks: u64, speed: Speed) -> Option<Sample> {
    let tasks = speed.pick(tasks, tasks / 10);
    if peer == Peer::May {
        peers::may(WORKERS);
        return Some(may::once(tasks));
    }
    with_timed!(peer, WORKERS, |runtime| once_on(runtime, tasks))
}

fn once_on<R: Timed>(runtime: R, tasks: u64) -> Sample {
    let watch = Watch::start();
    runtime.run(async move {
        for number in 0..tasks {
            runtime.detach(async move {
                let span = span(number, SECOND);
                let due = Instant::now() + span;
                R::sleep(span).await;
                record(due);
                count::done();
            });
        }
        while count::total() < tasks {
            R::sleep(Duration::from_millis(20)).await;
        }
    });
    watch.stop()
}

/// A load: so many tasks, each sleeping for so long.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub tasks: u64,
    pub span: Duration,
}

pub fn load(peer: Peer, load: Load, speed: Speed) -> Option<Sample> {
    let times = speed.pick((SECOND, 3 * SECOND), (SECOND / 10, SECOND / 4));
    with_timed!(peer, WORKERS, |runtime| load_on(runtime, load, times))
}

fn load_on<R: Timed>(runtime: R, load: Load, (warm, measured): (Duration, Duration)) -> Sample {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    runtime.run(async move {
        for number in 0..load.tasks {
            runtime.detach(async move {
                R::sleep(span(number, load.span)).await; // so that they do not march in step
                STARTED.fetch_add(1, Relaxed);
                loop {
                    let due = Instant::now() + load.span;
                    R::sleep(load.span).await;
                    record(due);
                }
            });
        }
        while STARTED.load(Relaxed) < load.tasks {
            R::sleep(Duration::from_millis(20)).await;
        }
        R::sleep(warm).await;
        let watch = Watch::start();
        let until = Instant::now() + measured;
        while Instant::now() < until {
            R::sleep(until - Instant::now()).await;
        }
        watch.stop()
    })
}
