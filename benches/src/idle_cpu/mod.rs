//! idle_cpu: what the threads of a runtime use that has nothing to do, over ten seconds, in microseconds of CPU time; and what
//! a wake-up costs when a task sleeps for a millisecond again and again.

use crate::meter::{Sample, Speed, Usage};
use crate::peers::Peer;
use crate::timed::Timed;
use crate::with_timed;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

const WORKERS: usize = 2;

pub fn run(peer: Peer, speed: Speed) -> Option<Sample> {
    with_timed!(peer, WORKERS, |runtime| run_on(runtime, speed))
}

fn run_on<R: Timed>(runtime: R, speed: Speed) -> Sample {
    let (idle, ticking) = speed.pick((10, 3), (1, 1));
    runtime.run(async {
        R::sleep(Duration::from_millis(5)).await;
    });
    thread::sleep(Duration::from_millis(300)); // until it has come to rest
    let (from, before) = (Instant::now(), Usage::now());
    let before_others = Usage::of_other_threads();
    thread::sleep(Duration::from_secs(idle));
    let used_by_others = Usage::of_other_threads().saturating_sub(before_others);
    let (took, used) = (from.elapsed(), Usage::now().since(before));
    let wakes = ticking * 1000;
    let before = Usage::now();
    runtime.run(async move {
        for _ in 0..wakes {
            R::sleep(Duration::from_millis(1)).await;
        }
    });
    let ticking = Usage::now().since(before);
    Sample {
        value: used_by_others.as_secs_f64() * 1e6,
        unit: "us".into(),
        cpu_ns_per_op: None,
        ops: 1,
        seconds: took.as_secs_f64(),
        extra: BTreeMap::from([
            ("voluntary_switches".into(), used.voluntary as f64),
            ("cpu_per_wake_ns".into(), ticking.cpu.as_secs_f64() * 1e9 / wakes as f64),
        ]),
    }
}
