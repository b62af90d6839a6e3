//! strand_yield on ropewalk.

use super::STRANDS;
use crate::meter::{Meter, Sample};
use ropewalk::Runtime;
use ropewalk::strand::{self, yield_now};

pub fn run(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|yields| {
        rt.run(|| {
            strand::scope(|s| {
                let strands: Vec<_> =
                    (0..STRANDS).map(|_| s.spawn(move || yields_in_turn(yields / STRANDS))).collect();
                for strand in strands {
                    strand.join();
                }
            });
        });
    })
}

fn yields_in_turn(yields: u64) {
    for _ in 0..yields {
        yield_now();
    }
}
