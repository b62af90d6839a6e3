//! The problems about strands. (The echo server on strands is a peer of `tcp_echo`.)

use super::Problem;
use crate::peers::Peer::{self, Go, Java, Limit, May, Rayon, Ropewalk, RopewalkCt};
use crate::{fork_fib, forks, mem_strand, strand_spawn_join, strand_yield};

/// Who has stacks, and a scheduler for them; and a bare stack.
const SWITCHING_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, May, Go, Java, Limit];
const PARKING_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, May, Go, Java];
/// Who forks.
const FORKING_PEERS: &[Peer] = &[Ropewalk, Rayon, Limit];

pub const PROBLEMS: &[Problem] = &[
    Problem {
        name: "strand_yield",
        dir: "strand_yield",
        about: "2 strands on 1 worker that yield to each other",
        workers: 1,
        peers: SWITCHING_PEERS,
        run: strand_yield::run,
    },
    Problem {
        name: "strand_spawn_join",
        dir: "strand_spawn_join",
        about: "start an empty strand from a strand and join it, 1 worker",
        workers: 1,
        peers: SWITCHING_PEERS,
        run: |peer, meter| strand_spawn_join::run(peer, 1, meter),
    },
    Problem {
        name: "strand_spawn_join_2w",
        dir: "strand_spawn_join",
        about: "start an empty strand from a strand and join it, 2 workers",
        workers: 2,
        peers: SWITCHING_PEERS,
        run: |peer, meter| strand_spawn_join::run(peer, 2, meter),
    },
    Problem {
        name: "mem_strand",
        dir: "mem_strand",
        about: "bytes per parked strand: heap and resident",
        workers: 2,
        peers: PARKING_PEERS,
        run: |peer, meter| mem_strand::run(peer, meter.speed),
    },
    Problem {
        name: "fork_fib25",
        dir: "fork_fib",
        about: "fib(25), forking down to 2: a fork, 2 workers",
        workers: 2,
        peers: FORKING_PEERS,
        run: |peer, meter| fork_fib::per_fork(peer, fork_fib::FORKS, meter),
    },
    Problem {
        name: "fork_fib32",
        dir: "fork_fib",
        about: "fib(32), forking down to 12: all of it, 2 workers",
        workers: 2,
        peers: FORKING_PEERS,
        run: |peer, meter| fork_fib::in_all(peer, fork_fib::WORK, meter),
    },
    Problem {
        name: "fork_nqueens",
        dir: "forks",
        about: "12 queens that do not attack each other, by forks: all of it, 2 workers",
        workers: 2,
        peers: FORKING_PEERS,
        run: forks::nqueens::run,
    },
    Problem {
        name: "fork_quicksort",
        dir: "forks",
        about: "500k numbers sorted by forks: all of it, 2 workers",
        workers: 2,
        peers: FORKING_PEERS,
        run: forks::quicksort::run,
    },
    Problem {
        name: "fork_skynet",
        dir: "forks",
        about: "1M leaves of a tree are summed up: a fork, 2 workers",
        workers: 2,
        peers: FORKING_PEERS,
        run: forks::skynet::run,
    },
    Problem {
        name: "fork_matmul",
        dir: "forks",
        about: "a matrix product by blocks and forks, 2 workers",
        workers: 2,
        peers: FORKING_PEERS,
        run: forks::matmul::run,
    },
];
