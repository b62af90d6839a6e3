//! yield_same on tokio.

use super::TASKS;
use crate::meter::{Meter, Sample};
use tokio::runtime::Runtime;
use tokio::task::yield_now;

pub fn run(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|yields| {
        let parent = rt.spawn(async move {
            let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(yields_in_turn(yields / TASKS))).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        rt.block_on(parent).unwrap();
    })
}

async fn yields_in_turn(yields: u64) {
    for _ in 0..yields {
        yield_now().await;
    }
}
