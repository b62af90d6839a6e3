//! semaphore on may, whose permits are given back by a call.

use crate::meter::{Meter, Sample};
use crate::mutex::Crowd;
use crate::units::{self, Coroutines, Units};
use may::sync::Semphore;
use std::sync::Arc;

pub fn run(workers: usize, crowd: Crowd, meter: Meter) -> Sample {
    let coroutines = Coroutines::new(workers);
    meter.measure(|acquisitions| {
        let semaphore = Arc::new(Semphore::new(1));
        units::all(coroutines, crowd.tasks, |_| {
            let semaphore = semaphore.clone();
            move || {
                for _ in 0..acquisitions / crowd.tasks {
                    semaphore.wait();
                    if crowd.yielding {
                        Coroutines::yield_now();
                    }
                    semaphore.post();
                }
            }
        });
    })
}
