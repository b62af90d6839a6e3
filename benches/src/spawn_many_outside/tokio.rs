//! spawn_many_outside on tokio.

use crate::count;
use crate::meter::{Meter, Sample};
use tokio::runtime::Runtime;
use tokio::task::yield_now;

pub fn run(rt: &Runtime, meter: Meter, tasks: u64) -> Sample {
    meter.measure_fixed(tasks, || {
        let goal = count::total() + tasks;
        for _ in 0..tasks {
            drop(rt.spawn(async { count::done() }));
        }
        let drained = rt.spawn(async move {
            while count::total() < goal {
                yield_now().await;
            }
        });
        rt.block_on(drained).unwrap();
    })
}
