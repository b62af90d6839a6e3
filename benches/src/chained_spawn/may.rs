//! chained_spawn on may.

use crate::meter::{Meter, Sample};
use may::go;
use smol::channel::{Sender, bounded};

pub fn run(meter: Meter) -> Sample {
    meter.measure(|links| {
        let (last, end) = bounded(1);
        drop(go!(move || link(links, last)));
        end.recv_blocking().unwrap();
    })
}

fn link(left: u64, last: Sender<()>) {
    if left == 0 {
        last.try_send(()).unwrap();
    } else {
        drop(go!(move || link(left - 1, last)));
    }
}
