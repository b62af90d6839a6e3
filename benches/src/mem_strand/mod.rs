//! mem_strand: what one parked strand costs. Each has started, waits for what does not come until the end, and its handle is
//! dropped. Strands arrive in waves, as the tasks of `mem_task` do, and are measured in the same way: heap bytes per strand as
//! requested from the allocator (stacks are not among them), and beside it resident memory and the number of allocations.

mod may;
mod ropewalk;

use crate::alloc;
use crate::mem_task::{Footprint, Table, WARM, WAVE, WORKERS};
use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};

/// may maps a guarded stack per coroutine and the kernel gives a process 65,530 mappings. (Before Linux 6.13, Ropewalk takes
/// two of them for each strand, too, and says so when they have run out.)
fn strands(peer: Peer, speed: Speed) -> u64 {
    if peer == Peer::May { speed.pick(20_000, 5_000) } else { speed.pick(100_000, 10_000) }
}

pub fn run(peer: Peer, speed: Speed) -> Option<Sample> {
    let strands = strands(peer, speed);
    alloc::count();
    Some(match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(WORKERS), strands),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), strands),
        Peer::May => {
            peers::may(WORKERS);
            may::run(strands)
        }
        _ => return None,
    })
}
