//! strand_spawn_join on may.

use crate::meter::{Meter, Sample};
use may::go;

pub fn run(meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let parent = go!(move || {
            for _ in 0..pairs {
                go!(|| {}).join().unwrap();
            }
        });
        parent.join().unwrap();
    })
}
