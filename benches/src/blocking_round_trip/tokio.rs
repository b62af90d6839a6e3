//! blocking_round_trip on tokio.

use crate::meter::{Meter, Sample};
use tokio::runtime::Runtime;

pub fn run(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let parent = rt.spawn(async move {
            for _ in 0..pairs {
                tokio::task::spawn_blocking(|| ()).await.unwrap();
            }
        });
        rt.block_on(parent).unwrap();
    })
}
