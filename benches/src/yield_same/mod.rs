//! yield_same: two tasks on one worker that do nothing but yield to each other. One operation is one yield, which is one
//! switch from task to task.

mod may;
mod ropewalk;
mod smol;
mod tokio;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};

/// How many tasks yield to each other.
const TASKS: u64 = 2;

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(1), meter),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), meter),
        Peer::TokioMt => tokio::run(&peers::tokio_mt(1), meter),
        Peer::TokioCt => tokio::run(&peers::tokio_ct(), meter),
        Peer::Smol => smol::run(peers::smol(1), meter),
        Peer::SmolStatic => smol::run(peers::smol_static(1), meter),
        Peer::May => {
            peers::may(1);
            may::run(meter)
        }
        _ => return None,
    })
}
