//! blocking_round_trip without a runtime: two threads park and unpark each other.

use crate::meter::{Meter, Sample};
use ropewalk_core::prim::real::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

fn await_change(turn: &AtomicU64, mine: u64) {
    while turn.load(Ordering::Acquire) != mine {
        thread::park();
    }
}

pub fn run(meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let (turn, here) = (Arc::new(AtomicU64::new(0)), thread::current());
        let there = turn.clone();
        let other = thread::spawn(move || {
            for pair in 0..pairs {
                await_change(&there, 2 * pair + 1);
                there.store(2 * pair + 2, Ordering::Release);
                here.unpark();
            }
        });
        for pair in 0..pairs {
            turn.store(2 * pair + 1, Ordering::Release);
            other.thread().unpark();
            await_change(&turn, 2 * pair + 2);
        }
        other.join().unwrap();
    })
}
