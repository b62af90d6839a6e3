//! timer_lateness on may: coroutines instead of tasks.

use super::SECOND;
use crate::count;
use crate::late::{Watch, record, span};
use crate::meter::Sample;
use may::{coroutine, go};
use std::time::{Duration, Instant};

pub fn once(tasks: u64) -> Sample {
    let watch = Watch::start();
    let parent = go!(move || {
        for number in 0..tasks {
            let _detached = go!(move || {
                let span = span(number, SECOND);
                let due = Instant::now() + span;
                coroutine::sleep(span);
                record(due);
                count::done();
            });
        }
        while count::total() < tasks {
            coroutine::sleep(Duration::from_millis(20));
        }
    });
    parent.join().unwrap();
    watch.stop()
}
