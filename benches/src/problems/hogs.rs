//! The problems about tasks that hold their worker.

pub mod short;

use super::Problem;
use crate::fair_burner;
use crate::hogs::{self, Hog, Tickers};
use crate::peers::Peer::{self, Go, May, Ropewalk, Smol, Std, TokioMt};

/// Who has strands, and who is measured beside it where there are none.
const STRAND_PEERS: &[Peer] = &[Ropewalk];
const TASK_PEERS: &[Peer] = &[Ropewalk, TokioMt];

pub const PROBLEMS: &[Problem] = &[
    Problem {
        name: "fair_burner",
        dir: "fair_burner",
        about: "1 ms tickers beside 2 tasks that burn 50 ms between yields: how late, 2 workers",
        workers: 2,
        peers: &[Ropewalk, TokioMt, Smol, May, Go, Std],
        run: |peer, meter| fair_burner::run(peer, meter.speed),
    },
    Problem {
        name: "hogs_spin_tasks",
        dir: "hogs",
        about: "tasks that tick every ms beside 2 that spin for 50 ms: how late, 2 workers",
        workers: 2,
        peers: TASK_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Spin, Tickers::Tasks, meter.speed),
    },
    Problem {
        name: "hogs_spin_starting",
        dir: "hogs",
        about: "a new strand for each tick, every ms, beside 2 that spin for 50 ms: how late, 2 workers",
        workers: 2,
        peers: STRAND_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Spin, Tickers::Starting, meter.speed),
    },
    Problem {
        name: "hogs_spin_strands",
        dir: "hogs",
        about: "started strands that tick every ms beside 2 that spin for 50 ms: how late, 2 workers",
        workers: 2,
        peers: STRAND_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Spin, Tickers::Strands, meter.speed),
    },
    Problem {
        name: "hogs_read_tasks",
        dir: "hogs",
        about: "tasks that tick every ms beside 2 that block in a read for 50 ms: how late, 2 workers",
        workers: 2,
        peers: TASK_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Read, Tickers::Tasks, meter.speed),
    },
    Problem {
        name: "hogs_read_starting",
        dir: "hogs",
        about: "a new strand for each tick, every ms, beside 2 that block in a read for 50 ms: how late, 2 workers",
        workers: 2,
        peers: STRAND_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Read, Tickers::Starting, meter.speed),
    },
    Problem {
        name: "hogs_read_strands",
        dir: "hogs",
        about: "started strands that tick every ms beside 2 that block in a read for 50 ms: how late, 2 workers",
        workers: 2,
        peers: STRAND_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Read, Tickers::Strands, meter.speed),
    },
    Problem {
        name: "hogs_lock_tasks",
        dir: "hogs",
        about: "tasks that tick every ms beside one that blocks in a lock for 50 ms: how late, 2 workers",
        workers: 2,
        peers: STRAND_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Lock, Tickers::Tasks, meter.speed),
    },
    Problem {
        name: "hogs_lock_starting",
        dir: "hogs",
        about: "a new strand for each tick, every ms, beside one that blocks in a lock for 50 ms: how late, 2 workers",
        workers: 2,
        peers: STRAND_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Lock, Tickers::Starting, meter.speed),
    },
    Problem {
        name: "hogs_lock_strands",
        dir: "hogs",
        about: "started strands that tick every ms beside one that blocks in a lock for 50 ms: how late, 2 workers",
        workers: 2,
        peers: STRAND_PEERS,
        run: |peer, meter| hogs::run(peer, Hog::Lock, Tickers::Strands, meter.speed),
    },
];
