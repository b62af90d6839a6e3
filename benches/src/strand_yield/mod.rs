//! strand_yield: two strands on one worker that do nothing but yield to each other. One operation is one yield, which is one
//! switch from strand to strand.

mod limit;
mod may;
mod ropewalk;

use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer};

/// How many strands yield to each other.
const STRANDS: u64 = 2;

pub fn run(peer: Peer, meter: Meter) -> Option<Sample> {
    Some(match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(1), meter),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), meter),
        Peer::May => {
            peers::may(1);
            may::run(meter)
        }
        Peer::Limit => limit::run(meter),
        _ => return None,
    })
}
