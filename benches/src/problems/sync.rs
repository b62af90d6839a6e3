//! The problems about locks, channels and events.

use super::Problem;
use crate::channel::{self, Flow};
use crate::mutex::{self, Crowd};
use crate::peers::Peer::{
    self, Crossbeam, Flume, Go, Kanal, Limit, May, ParkingLot, Ropewalk, RopewalkCt, Smol, SmolStatic, Std,
    StdEach, Stm, TokioCt, TokioMt,
};
use crate::{event_hop, fair_recv_loop, oneshot, pingpong, semaphore, stm};

const LOCK_PEERS: &[Peer] =
    &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, May, Go, Std, ParkingLot];
const TASK_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, May, Go];
const FUTURE_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic];
/// may has no channel with a bound; Go none without.
const BOUNDED_PEERS: &[Peer] =
    &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, Go, Flume, Kanal, Crossbeam, Std];
const UNBOUNDED_PEERS: &[Peer] =
    &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, May, Flume, Kanal, Crossbeam, Std];
/// Neither tokio nor std has a channel whose receivers share the messages.
const SHARED_BOUNDED_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, Smol, SmolStatic, Go, Flume, Kanal, Crossbeam];
const SHARED_UNBOUNDED_PEERS: &[Peer] =
    &[Ropewalk, RopewalkCt, Smol, SmolStatic, May, Flume, Kanal, Crossbeam];
const PINGPONG_PEERS: &[Peer] =
    &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, May, Go, Flume, Kanal];

const ALONE: Crowd = Crowd { tasks: 1, yielding: false };
const EIGHT: Crowd = Crowd { tasks: 8, yielding: false };
const EIGHT_YIELDING: Crowd = Crowd { tasks: 8, yielding: true };

const BOUND: usize = 128;
const SPSC: Flow = Flow { senders: 1, receivers: 1 };
const MPSC: Flow = Flow { senders: 4, receivers: 1 };
const MPMC: Flow = Flow { senders: 4, receivers: 4 };

pub const PROBLEMS: &[Problem] = &[
    Problem {
        name: "pingpong_same",
        dir: "pingpong",
        about: "a message to and fro over two channels of capacity 1, 1 worker",
        workers: 1,
        peers: PINGPONG_PEERS,
        run: |peer, meter| pingpong::placed(peer, 1, meter),
    },
    Problem {
        name: "pingpong_2w",
        dir: "pingpong",
        about: "a message to and fro over two channels of capacity 1, 2 workers, placed by the runtime",
        workers: 2,
        peers: PINGPONG_PEERS,
        run: |peer, meter| pingpong::placed(peer, 2, meter),
    },
    Problem {
        name: "pingpong_cross",
        dir: "pingpong",
        about: "a message to and fro over two channels of capacity 1, forced onto 2 workers",
        workers: 2,
        peers: &[Ropewalk, TokioMt, TokioCt, Smol, SmolStatic, Go, Flume, Kanal, Crossbeam, Std, Limit],
        run: pingpong::cross,
    },
    Problem {
        name: "fair_recv_loop",
        dir: "fair_recv_loop",
        about: "a 1 ms ticker beside a task whose channel is never empty: how late, 1 worker",
        workers: 1,
        peers: &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, May, Go, Std],
        run: |peer, meter| fair_recv_loop::run(peer, meter.speed),
    },
    Problem {
        name: "mutex_free",
        dir: "mutex",
        about: "lock and unlock a mutex that nobody else wants",
        workers: 1,
        peers: LOCK_PEERS,
        run: |peer, meter| mutex::run(peer, 1, ALONE, meter),
    },
    Problem {
        name: "mutex_shared",
        dir: "mutex",
        about: "8 tasks lock the same mutex, 2 workers",
        workers: 2,
        peers: LOCK_PEERS,
        run: |peer, meter| mutex::run(peer, 2, EIGHT, meter),
    },
    Problem {
        name: "mutex_yielding",
        dir: "mutex",
        about: "8 tasks lock the same mutex and hold it across a yield, 2 workers",
        workers: 2,
        peers: TASK_PEERS,
        run: |peer, meter| mutex::run(peer, 2, EIGHT_YIELDING, meter),
    },
    Problem {
        name: "semaphore_free",
        dir: "semaphore",
        about: "take and give back a permit that nobody else wants",
        workers: 1,
        peers: TASK_PEERS,
        run: |peer, meter| semaphore::run(peer, 1, ALONE, meter),
    },
    Problem {
        name: "semaphore_shared",
        dir: "semaphore",
        about: "8 tasks take the only permit, 2 workers",
        workers: 2,
        peers: TASK_PEERS,
        run: |peer, meter| semaphore::run(peer, 2, EIGHT, meter),
    },
    Problem {
        name: "semaphore_yielding",
        dir: "semaphore",
        about: "8 tasks take the only permit and hold it across a yield, 2 workers",
        workers: 2,
        peers: TASK_PEERS,
        run: |peer, meter| semaphore::run(peer, 2, EIGHT_YIELDING, meter),
    },
    Problem {
        name: "oneshot",
        dir: "oneshot",
        about: "make a oneshot channel, send, receive, 1 worker",
        workers: 1,
        peers: FUTURE_PEERS,
        run: oneshot::run,
    },
    Problem {
        name: "event_hop",
        dir: "event_hop",
        about: "2 tasks wake each other through events, 1 worker",
        workers: 1,
        peers: FUTURE_PEERS,
        run: event_hop::run,
    },
    Problem {
        name: "spsc_bounded",
        dir: "channel",
        about: "one task sends to one, capacity 128, 2 workers",
        workers: 2,
        peers: BOUNDED_PEERS,
        run: |peer, meter| channel::run::<BOUND>(peer, SPSC, meter),
    },
    Problem {
        name: "spsc_unbounded",
        dir: "channel",
        about: "one task sends to one, no bound, 2 workers",
        workers: 2,
        peers: UNBOUNDED_PEERS,
        run: |peer, meter| channel::run::<0>(peer, SPSC, meter),
    },
    Problem {
        name: "mpsc_bounded",
        dir: "channel",
        about: "4 tasks send to one, capacity 128, 2 workers",
        workers: 2,
        peers: BOUNDED_PEERS,
        run: |peer, meter| channel::run::<BOUND>(peer, MPSC, meter),
    },
    Problem {
        name: "mpsc_unbounded",
        dir: "channel",
        about: "4 tasks send to one, no bound, 2 workers",
        workers: 2,
        peers: UNBOUNDED_PEERS,
        run: |peer, meter| channel::run::<0>(peer, MPSC, meter),
    },
    Problem {
        name: "mpmc_bounded",
        dir: "channel",
        about: "4 tasks send to 4 that share the messages, capacity 128, 2 workers",
        workers: 2,
        peers: SHARED_BOUNDED_PEERS,
        run: |peer, meter| channel::run::<BOUND>(peer, MPMC, meter),
    },
    Problem {
        name: "mpmc_unbounded",
        dir: "channel",
        about: "4 tasks send to 4 that share the messages, no bound, 2 workers",
        workers: 2,
        peers: SHARED_UNBOUNDED_PEERS,
        run: |peer, meter| channel::run::<0>(peer, MPMC, meter),
    },
    Problem {
        name: "stm_counter",
        dir: "stm",
        about: "2 threads add to one number",
        workers: 2,
        peers: &[Ropewalk, Stm, Std],
        run: stm::counter,
    },
    Problem {
        name: "stm_bank",
        dir: "stm",
        about: "2 threads move money between 1000 accounts",
        workers: 2,
        peers: &[Ropewalk, Stm, Std, StdEach],
        run: stm::bank,
    },
];
