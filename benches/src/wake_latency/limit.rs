//! wake_latency without a runtime: a parked thread.

use super::{RECEIVER, arrived};
use crate::latency::Latencies;
use std::thread;

pub fn run(count: usize) -> Latencies {
    let mut latencies = Latencies::start(count);
    for _ in 0..count {
        let here = thread::current();
        *RECEIVER.lock() = Some(Box::new(move || here.unpark()));
        let took = loop {
            thread::park();
            if let Some(took) = arrived() {
                break took;
            }
        };
        latencies.note(took);
    }
    latencies
}
