//! blocking_round_trip: a task hands an empty closure to the blocking pool and awaits it, again and again. One operation is
//! one such pair. The limit is what two bare threads need to wake each other in turn.

mod limit;
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
        Peer::Limit => limit::run(meter),
        _ => return None,
    })
}
