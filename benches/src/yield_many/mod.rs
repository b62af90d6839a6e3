//! yield_many: 200 tasks on two workers, each of which yields 1000 times. One operation is one yield.

mod may;
mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};

const TASKS: u64 = 200;
const YIELDS: u64 = 1_000;
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
        _ => return None,
    })
}
