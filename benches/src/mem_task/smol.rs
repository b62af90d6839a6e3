//! mem_task on smol.

use super::{Footprint, Parked, WAKERS, WARM, WAVE};
use crate::meter::Sample;
use crate::peers::SmolExecutor;
use smol::future::{block_on, yield_now};

pub fn run(ex: impl SmolExecutor, tasks: u64) -> Sample {
    WAKERS.reserve(WARM + tasks);
    let parent = ex.spawn(async move {
        park(ex, WARM).await;
        let before = Footprint::now();
        park(ex, tasks).await;
        Footprint::now().since(before, tasks)
    });
    block_on(parent)
}

async fn park(ex: impl SmolExecutor, tasks: u64) {
    for _ in 0..tasks / WAVE {
        let goal = WAKERS.kept() + WAVE;
        for _ in 0..WAVE {
            ex.spawn(Parked).detach();
        }
        while WAKERS.kept() < goal {
            yield_now().await;
        }
    }
}
