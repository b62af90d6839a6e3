//! strand_spawn_join on ropewalk.

use crate::meter::{Meter, Sample};
use ropewalk::Runtime;
use ropewalk::strand;

pub fn run(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|pairs| {
        rt.run(|| {
            strand::scope(|s| {
                for _ in 0..pairs {
                    s.spawn(|| {}).join();
                }
            });
        });
    })
}
