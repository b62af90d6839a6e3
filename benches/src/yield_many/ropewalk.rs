//! yield_many on ropewalk.

use super::{TASKS, YIELDS};
use crate::meter::{Meter, Sample};
use ropewalk::Runtime;
use ropewalk::yield_now;

pub fn run(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure_fixed(TASKS * YIELDS, || {
        let parent = rt.spawn(async {
            let tasks: Vec<_> = (0..TASKS).map(|_| ropewalk::spawn(yields_in_turn())).collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        rt.block_on(parent).unwrap();
    })
}

async fn yields_in_turn() {
    for _ in 0..YIELDS {
        yield_now().await;
    }
}
