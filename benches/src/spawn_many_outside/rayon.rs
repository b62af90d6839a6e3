//! spawn_many_outside on rayon.

use crate::count;
use crate::meter::{Meter, Sample};
use rayon::{ThreadPool, yield_now};

pub fn run(pool: &ThreadPool, meter: Meter, tasks: u64) -> Sample {
    meter.measure_fixed(tasks, || {
        let goal = count::total() + tasks;
        for _ in 0..tasks {
            pool.spawn(count::done);
        }
        pool.install(|| {
            while count::total() < goal {
                yield_now();
            }
        });
    })
}
