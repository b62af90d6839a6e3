//! spawn_many_inside on rayon.

use super::Unit;
use crate::count;
use crate::meter::{Meter, Sample};
use rayon::{ThreadPool, yield_now};

pub fn run(pool: &ThreadPool, meter: Meter, tasks: u64, unit: impl Unit) -> Sample {
    meter.measure_fixed(tasks, || {
        pool.install(|| {
            let goal = count::total() + tasks;
            for _ in 0..tasks {
                rayon::spawn(unit);
            }
            while count::total() < goal {
                yield_now();
            }
        });
    })
}
