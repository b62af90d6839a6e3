//! spawn_many_inside on tokio.

use super::Unit;
use crate::count;
use crate::meter::{Meter, Sample};
use tokio::runtime::Runtime;
use tokio::task::yield_now;

pub fn run(rt: &Runtime, meter: Meter, tasks: u64, unit: impl Unit) -> Sample {
    meter.measure_fixed(tasks, || {
        let parent = rt.spawn(async move {
            let goal = count::total() + tasks;
            for _ in 0..tasks {
                drop(tokio::spawn(async move { unit() }));
            }
            while count::total() < goal {
                yield_now().await;
            }
        });
        rt.block_on(parent).unwrap();
    })
}
