//! mem_strand on may. The parent sleeps instead of yielding: while it yields, its worker does not look at new coroutines.

use super::{Footprint, Table, WARM, WAVE};
use crate::meter::Sample;
use may::coroutine::{self, Coroutine};
use may::go;
use std::time::Duration;

static COROUTINES: Table<Coroutine> = Table::new();

pub fn run(strands: u64) -> Sample {
    COROUTINES.reserve(WARM + strands);
    let parent = go!(move || {
        park(WARM);
        let before = Footprint::now();
        park(strands);
        let sample = Footprint::now().since(before, strands);
        COROUTINES.take_all().iter().for_each(Coroutine::unpark);
        sample
    });
    parent.join().unwrap()
}

fn park(strands: u64) {
    for _ in 0..strands / WAVE {
        let goal = COROUTINES.kept() + WAVE;
        for _ in 0..WAVE {
            drop(go!(stay));
        }
        while COROUTINES.kept() < goal {
            coroutine::sleep(Duration::from_micros(100));
        }
    }
}

fn stay() {
    COROUTINES.keep(coroutine::current());
    coroutine::park();
}
