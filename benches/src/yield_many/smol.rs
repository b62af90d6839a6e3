//! yield_many on smol.

use super::{TASKS, YIELDS};
use crate::meter::{Meter, Sample};
use crate::peers::SmolExecutor;
use smol::future::{block_on, yield_now};

pub fn run(ex: impl SmolExecutor, meter: Meter) -> Sample {
    meter.measure_fixed(TASKS * YIELDS, || {
        let parent = ex.spawn(async move {
            let tasks: Vec<_> = (0..TASKS).map(|_| ex.spawn(yields_in_turn())).collect();
            for task in tasks {
                task.await;
            }
        });
        block_on(parent);
    })
}

async fn yields_in_turn() {
    for _ in 0..YIELDS {
        yield_now().await;
    }
}
