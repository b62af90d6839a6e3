//! spawn_join_one on tokio.

use super::BURST;
use crate::count;
use crate::meter::{Meter, Sample};
use tokio::runtime::Runtime;
use tokio::task::yield_now;

pub fn join(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let parent = rt.spawn(async move {
            for _ in 0..pairs {
                tokio::spawn(async {}).await.unwrap();
            }
        });
        rt.block_on(parent).unwrap();
    })
}

pub fn poll(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|tasks| {
        let parent = rt.spawn(async move {
            let goal = count::total() + tasks;
            for spawned in 1..=tasks {
                drop(tokio::spawn(async { count::done() }));
                if spawned % BURST == 0 {
                    yield_now().await;
                }
            }
            while count::total() < goal {
                yield_now().await;
            }
        });
        rt.block_on(parent).unwrap();
    })
}
