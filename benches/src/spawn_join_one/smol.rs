//! spawn_join_one on smol.

use super::BURST;
use crate::count;
use crate::meter::{Meter, Sample};
use crate::peers::SmolExecutor;
use smol::future::{block_on, yield_now};

pub fn join(ex: impl SmolExecutor, meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let parent = ex.spawn(async move {
            for _ in 0..pairs {
                ex.spawn(async {}).await;
            }
        });
        block_on(parent);
    })
}

pub fn poll(ex: impl SmolExecutor, meter: Meter) -> Sample {
    meter.measure(|tasks| {
        let parent = ex.spawn(async move {
            let goal = count::total() + tasks;
            for spawned in 1..=tasks {
                ex.spawn(async { count::done() }).detach();
                if spawned % BURST == 0 {
                    yield_now().await;
                }
            }
            while count::total() < goal {
                yield_now().await;
            }
        });
        block_on(parent);
    })
}
