//! chained_spawn on smol.

use crate::meter::{Meter, Sample};
use crate::peers::SmolExecutor;
use smol::channel::{Sender, bounded};
use smol::future::block_on;

pub fn run(ex: impl SmolExecutor, meter: Meter) -> Sample {
    meter.measure(|links| {
        let (last, end) = bounded(1);
        ex.spawn(async move { link(ex, links, last) }).detach();
        block_on(end.recv()).unwrap();
    })
}

fn link(ex: impl SmolExecutor, left: u64, last: Sender<()>) {
    if left == 0 {
        last.try_send(()).unwrap();
    } else {
        ex.spawn(async move { link(ex, left - 1, last) }).detach();
    }
}
