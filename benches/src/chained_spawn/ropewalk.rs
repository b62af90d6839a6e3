//! chained_spawn on ropewalk.

use crate::meter::{Meter, Sample};
use ropewalk::Runtime;
use smol::channel::{Sender, bounded};

pub fn run(rt: &Runtime, meter: Meter) -> Sample {
    meter.measure(|links| {
        let (last, end) = bounded(1);
        drop(rt.spawn(async move { link(links, last) }));
        rt.block_on(end.recv()).unwrap();
    })
}

fn link(left: u64, last: Sender<()>) {
    if left == 0 {
        last.try_send(()).unwrap();
    } else {
        drop(ropewalk::spawn(async move { link(left - 1, last) }));
    }
}
