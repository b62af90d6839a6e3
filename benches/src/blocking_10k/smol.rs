//! blocking_10k on smol, whose pool is that of the `blocking` crate.

use super::{job, measure};
use crate::meter::Sample;
use crate::peers::SmolExecutor;
use smol::future::block_on;

pub fn run(ex: impl SmolExecutor, jobs: u64) -> Sample {
    measure(jobs, || {
        let parent = ex.spawn(async move {
            let all: Vec<_> = (0..jobs).map(|_| smol::unblock(job)).collect();
            for one in all {
                one.await;
            }
        });
        block_on(parent);
    })
}
