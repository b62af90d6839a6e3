//! blocking_10k on ropewalk.

use super::{job, measure};
use crate::meter::Sample;
use ropewalk::Runtime;

pub fn run(rt: &Runtime, jobs: u64) -> Sample {
    measure(jobs, || {
        let parent = rt.spawn(async move {
            let all: Vec<_> = (0..jobs).map(|_| ropewalk::spawn_blocking(job)).collect();
            for one in all {
                one.await.unwrap();
            }
        });
        rt.block_on(parent).unwrap();
    })
}
