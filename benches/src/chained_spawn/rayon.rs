//! chained_spawn on rayon.

use crate::meter::{Meter, Sample};
use rayon::ThreadPool;
use smol::channel::{Sender, bounded};

pub fn run(pool: &ThreadPool, meter: Meter) -> Sample {
    meter.measure(|links| {
        let (last, end) = bounded(1);
        pool.spawn(move || link(links, last));
        end.recv_blocking().unwrap();
    })
}

fn link(left: u64, last: Sender<()>) {
    if left == 0 {
        last.try_send(()).unwrap();
    } else {
        rayon::spawn(move || link(left - 1, last));
    }
}
