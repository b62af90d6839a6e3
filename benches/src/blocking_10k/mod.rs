//! blocking_10k: a task hands 10,000 jobs that sleep for 1 ms each to a fresh blocking pool and awaits them all. The value
//! is how long that takes, threads being started meanwhile; beside it the same once more, when they are there.

mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Sample, Speed, Usage};
use crate::peers::{self, Peer};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

const WORKERS: usize = 2;

fn job() {
    thread::sleep(Duration::from_millis(1));
}

pub fn run(peer: Peer, speed: Speed) -> Option<Sample> {
    let jobs = speed.pick(10_000, 1_000);
    Some(match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(WORKERS), jobs),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), jobs),
        Peer::TokioMt => tokio::run(&peers::tokio_mt(WORKERS), jobs),
        Peer::TokioCt => tokio::run(&peers::tokio_ct(), jobs),
        Peer::Smol => smol::run(peers::smol(WORKERS), jobs),
        Peer::SmolStatic => smol::run(peers::smol_static(WORKERS), jobs),
        _ => return None,
    })
}

/// Runs `batch` cold, and once more warm.
fn measure(jobs: u64, mut batch: impl FnMut()) -> Sample {
    let (before, from) = (Usage::now(), Instant::now());
    batch();
    let (cold, usage) = (from.elapsed(), Usage::now().since(before));
    let (before, again) = (Usage::now(), Instant::now());
    batch();
    let (warm, again) = (again.elapsed(), Usage::now().since(before));
    Sample {
        value: cold.as_secs_f64() * 1e3,
        unit: "ms".into(),
        cpu_ns_per_op: Some(usage.cpu.as_secs_f64() * 1e9 / jobs as f64),
        ops: jobs,
        seconds: cold.as_secs_f64(),
        extra: BTreeMap::from([
            ("voluntary_switches_per_op".into(), usage.voluntary as f64 / jobs as f64),
            ("warm_ms".into(), warm.as_secs_f64() * 1e3),
            ("warm_cpu_ns_per_op".into(), again.cpu.as_secs_f64() * 1e9 / jobs as f64),
            ("warm_voluntary_switches_per_op".into(), again.voluntary as f64 / jobs as f64),
        ]),
    }
}
