//! wake_latency on may: a parked coroutine.

use super::{RECEIVER, arrived};
use crate::latency::Latencies;
use crate::peers;
use may::{coroutine, go};

pub fn run(workers: usize, count: usize) -> Latencies {
    peers::may(workers);
    let receiver = go!(move || {
        let mut latencies = Latencies::start(count);
        for _ in 0..count {
            let here = coroutine::current();
            *RECEIVER.lock() = Some(Box::new(move || here.unpark()));
            let took = loop {
                coroutine::park();
                if let Some(took) = arrived() {
                    break took;
                }
            };
            latencies.note(took);
        }
        latencies
    });
    receiver.join().unwrap()
}
