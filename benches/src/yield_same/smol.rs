//! yield_same on smol.

use super::TASKS;
use crate::meter::{Meter, Sample};
use crate::peers::SmolExecutor;
use smol::future::{block_on, yield_now};

pub fn run(ex: impl SmolExecutor, meter: Meter) -> Sample {
    meter.measure(|yields| {
        let parent = ex.spawn(async move {
            let tasks: Vec<_> = (0..TASKS).map(|_| ex.spawn(yields_in_turn(yields / TASKS))).collect();
            for task in tasks {
                task.await;
            }
        });
        block_on(parent);
    })
}

async fn yields_in_turn(yields: u64) {
    for _ in 0..yields {
        yield_now().await;
    }
}
