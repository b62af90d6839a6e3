//! The same units in plain loops on plain threads: what this machine gives without any runtime.

use super::Unit;
use crate::meter::{Meter, Sample};
use std::thread;

pub fn run(threads: usize, meter: Meter, units: u64, unit: impl Unit) -> Sample {
    let share = units / threads as u64;
    meter.measure_fixed(share * threads as u64, || {
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| (0..share).for_each(|_| unit()));
            }
        });
    })
}
