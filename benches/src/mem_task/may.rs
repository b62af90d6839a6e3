//! mem_task on may. The parent sleeps instead of yielding: while it yields, its worker does not look at new coroutines.

use super::{Footprint, Table, WARM, WAVE};
use crate::meter::Sample;
use may::coroutine::{self, Coroutine};
use may::go;
use std::time::Duration;

static COROUTINES: Table<Coroutine> = Table::new();

pub fn run(tasks: u64) -> Sample {
    COROUTINES.reserve(WARM + tasks);
    let parent = go!(move || {
        park(WARM);
        let before = Footprint::now();
        park(tasks);
        Footprint::now().since(before, tasks)
    });
    parent.join().unwrap()
}

fn park(tasks: u64) {
    for _ in 0..tasks / WAVE {
        let goal = COROUTINES.kept() + WAVE;
        for _ in 0..WAVE {
            drop(go!(parked));
        }
        while COROUTINES.kept() < goal {
            coroutine::sleep(Duration::from_micros(100));
        }
    }
}

fn parked() {
    COROUTINES.keep(coroutine::current());
    coroutine::park();
}
