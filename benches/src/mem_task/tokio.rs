//! mem_task on tokio.

use super::{Footprint, Parked, WAKERS, WARM, WAVE};
use crate::meter::Sample;
use tokio::runtime::Runtime;
use tokio::task::yield_now;

pub fn run(rt: &Runtime, tasks: u64) -> Sample {
    WAKERS.reserve(WARM + tasks);
    let parent = rt.spawn(async move {
        park(WARM).await;
        let before = Footprint::now();
        park(tasks).await;
        Footprint::now().since(before, tasks)
    });
    rt.block_on(parent).unwrap()
}

async fn park(tasks: u64) {
    for _ in 0..tasks / WAVE {
        let goal = WAKERS.kept() + WAVE;
        for _ in 0..WAVE {
            drop(tokio::spawn(Parked));
        }
        while WAKERS.kept() < goal {
            yield_now().await;
        }
    }
}
