//! yield_many on may.

use super::{TASKS, YIELDS};
use crate::meter::{Meter, Sample};
use may::coroutine::yield_now;
use may::go;

pub fn run(meter: Meter) -> Sample {
    meter.measure_fixed(TASKS * YIELDS, || {
        let parent = go!(move || {
            let tasks: Vec<_> = (0..TASKS).map(|_| go!(yields_in_turn)).collect();
            for task in tasks {
                task.join().unwrap();
            }
        });
        parent.join().unwrap();
    })
}

fn yields_in_turn() {
    for _ in 0..YIELDS {
        yield_now();
    }
}
