//! spawn_join_one on rayon: without the join only, since a rayon job has no handle to wait for.

use super::BURST;
use crate::count;
use crate::meter::{Meter, Sample};
use rayon::{ThreadPool, Yield, yield_now};

pub fn poll(pool: &ThreadPool, meter: Meter) -> Sample {
    meter.measure(|tasks| {
        pool.install(|| {
            let goal = count::total() + tasks;
            for spawned in 1..=tasks {
                rayon::spawn(count::done);
                if spawned % BURST == 0 {
                    while yield_now() == Some(Yield::Executed) {}
                }
            }
            while count::total() < goal {
                yield_now();
            }
        });
    })
}
