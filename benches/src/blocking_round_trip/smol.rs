//! blocking_round_trip on smol, whose pool is that of the `blocking` crate.

use crate::meter::{Meter, Sample};
use crate::peers::SmolExecutor;
use smol::future::block_on;

pub fn run(ex: impl SmolExecutor, meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let parent = ex.spawn(async move {
            for _ in 0..pairs {
                smol::unblock(|| ()).await;
            }
        });
        block_on(parent);
    })
}
