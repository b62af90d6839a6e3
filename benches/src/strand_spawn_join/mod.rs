//! strand_spawn_join: a strand starts an empty strand and joins it, again and again, on one worker or on two. One operation is
//! one such pair.

mod limit;
mod may;
mod ropewalk;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};

pub fn run(peer: Peer, workers: usize, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(workers), meter),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), meter),
        Peer::May => {
            peers::may(workers);
            may::run(meter)
        }
        Peer::Limit => limit::run(meter),
        _ => return None,
    })
}
