//! spawn_many_outside on smol.

use crate::count;
use crate::meter::{Meter, Sample};
use crate::peers::SmolExecutor;
use smol::future::{block_on, yield_now};

pub fn run(ex: impl SmolExecutor, meter: Meter, tasks: u64) -> Sample {
    meter.measure_fixed(tasks, || {
        let goal = count::total() + tasks;
        for _ in 0..tasks {
            ex.spawn(async { count::done() }).detach();
        }
        let drained = ex.spawn(async move {
            while count::total() < goal {
                yield_now().await;
            }
        });
        block_on(drained);
    })
}
