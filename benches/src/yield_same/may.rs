//! yield_same on may.

use super::TASKS;
use crate::meter::{Meter, Sample};
use may::coroutine::yield_now;
use may::go;

pub fn run(meter: Meter) -> Sample {
    meter.measure(|yields| {
        let parent = go!(move || {
            let tasks: Vec<_> = (0..TASKS).map(|_| go!(move || yields_in_turn(yields / TASKS))).collect();
            for task in tasks {
                task.join().unwrap();
            }
        });
        parent.join().unwrap();
    })
}

fn yields_in_turn(yields: u64) {
    for _ in 0..yields {
        yield_now();
    }
}
