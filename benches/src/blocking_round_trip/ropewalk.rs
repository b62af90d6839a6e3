//! blocking_round_trip on ropewalk.

use crate::meter::{Meter, Sample};
use ropewalk::Runtime;

pub fn run(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let parent = rt.spawn(async move {
            for _ in 0..pairs {
                ropewalk::spawn_blocking(|| ()).await.unwrap();
            }
        });
        rt.block_on(parent).unwrap();
    })
}
