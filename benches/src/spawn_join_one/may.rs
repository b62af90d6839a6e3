//! spawn_join_one on may: with the join only. A coroutine that yields on may's only worker keeps that worker's local queue
//! filled, and the queue that new coroutines go to is looked at when the local one is empty: they would never run.

use crate::meter::{Meter, Sample};
use may::go;

pub fn join(meter: Meter) -> Sample {
    meter.measure(|pairs| {
        let parent = go!(move || {
            for _ in 0..pairs {
                go!(|| {}).join().unwrap();
            }
        });
        parent.join().unwrap();
    })
}
