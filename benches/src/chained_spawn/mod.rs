//! chained_spawn: each task spawns the next, detached, and ends; two workers. One operation is one link of the chain.

mod may;
mod rayon;
mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};

const WORKERS: usize = 2;

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(WORKERS), meter),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), meter),
        Peer::TokioMt => tokio::run(&peers::tokio_mt(WORKERS), meter),
        Peer::TokioCt => tokio::run(&peers::tokio_ct(), meter),
        Peer::Smol => smol::run(peers::smol(WORKERS), meter),
        Peer::SmolStatic => smol::run(peers::smol_static(WORKERS), meter),
        Peer::May => {
            peers::may(WORKERS);
            may::run(meter)
        }
        Peer::Rayon => rayon::run(&peers::rayon(WORKERS), meter),
        _ => return None,
    })
}
