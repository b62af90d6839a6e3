//! spawn_join_one on ropewalk.

use super::BURST;
use crate::count;
use crate::meter::{Meter, Sample};
use ropewalk::Runtime;
use ropewalk::yield_now;

pub fn join(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let parent = rt.spawn(async move {
            for _ in 0..pairs {
                ropewalk::spawn(async {}).await.unwrap();
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
                drop(ropewalk::spawn(async { count::done() }));
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
