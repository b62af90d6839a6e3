//! strand_yield on may.

use super::STRANDS;
use crate::meter::{Meter, Sample};
use may::coroutine::yield_now;
use may::go;

pub fn run(meter: Meter) -> Sample {
    meter.measure(|yields| {
        let parent = go!(move || {
            let strands: Vec<_> =
                (0..STRANDS).map(|_| go!(move || yields_in_turn(yields / STRANDS))).collect();
            for strand in strands {
                strand.join().unwrap();
            }
        });
        parent.join().unwrap();
    })
}

fn yields_in_turn(yields: u64) {
    for _ in 0..yields {
        yield_now();
    }
}
