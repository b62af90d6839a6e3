//! spawn_many_inside on smol.

use super::Unit;
use crate::count;
use crate::meter::{Meter, Sample};
use crate::peers::SmolExecutor;
use smol::future::{block_on, yield_now};

pub fn run(ex: impl SmolExecutor, meter: Meter, tasks: u64, unit: impl Unit) -> Sample {
    meter.measure_fixed(tasks, || {
        let parent = ex.spawn(async move {
            let goal = count::total() + tasks;
            for _ in 0..tasks {
                ex.spawn(async move { unit() }).detach();
            }
            while count::total() < goal {
                yield_now().await;
            }
        });
        block_on(parent);
    })
}
