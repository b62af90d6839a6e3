//! spawn_many_outside: a thread that is no worker spawns a million detached, empty tasks onto two workers; then a task
//! yields until all have run. One operation is one task, from its spawn to its end.

mod rayon;
mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};
use crate::spawn_many_inside::tasks;

const WORKERS: usize = 2;

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    let tasks = tasks(meter.speed);
    let sample = match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(WORKERS), meter, tasks),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), meter, tasks),
        Peer::TokioMt => tokio::run(&peers::tokio_mt(WORKERS), meter, tasks),
        Peer::TokioCt => tokio::run(&peers::tokio_ct(), meter, tasks),
        Peer::Smol => smol::run(peers::smol(WORKERS), meter, tasks),
        Peer::SmolStatic => smol::run(peers::smol_static(WORKERS), meter, tasks),
        Peer::Rayon => rayon::run(&peers::rayon(WORKERS), meter, tasks),
        _ => return None,
    };
    Some(sample.into_rate())
}
