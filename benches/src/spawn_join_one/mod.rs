//! spawn_join_one: a task spawns an empty task and waits for its result, again and again, on one worker or on two. One
//! operation is one such pair. And without the join: a task spawns empty, detached tasks in bursts that fit into every
//! peer's local queue, and lets them run by yielding once per burst.

mod may;
mod rayon;
mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};

/// Tasks spawned between two yields.
const BURST: u64 = 64;

pub fn join(peer: Peer, workers: usize, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => ropewalk::join(&peers::ropewalk(workers), meter),
        Peer::RopewalkCt => ropewalk::join(&peers::ropewalk(0), meter),
        Peer::TokioMt => tokio::join(&peers::tokio_mt(workers), meter),
        Peer::TokioCt => tokio::join(&peers::tokio_ct(), meter),
        Peer::Smol => smol::join(peers::smol(workers), meter),
        Peer::SmolStatic => smol::join(peers::smol_static(workers), meter),
        Peer::May => {
            peers::may(workers);
            may::join(meter)
        }
        _ => return None,
    })
}

pub fn poll(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => ropewalk::poll(&peers::ropewalk(1), meter),
        Peer::RopewalkCt => ropewalk::poll(&peers::ropewalk(0), meter),
        Peer::TokioMt => tokio::poll(&peers::tokio_mt(1), meter),
        Peer::TokioCt => tokio::poll(&peers::tokio_ct(), meter),
        Peer::Smol => smol::poll(peers::smol(1), meter),
        Peer::SmolStatic => smol::poll(peers::smol_static(1), meter),
        Peer::Rayon => rayon::poll(&peers::rayon(1), meter),
        _ => return None,
    })
}
