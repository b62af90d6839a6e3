//! The problems: what `bench one` can measure, on whom. One problem gives one or more rows of the report (`targets.rs`).

pub mod group;
mod hogs;
pub mod io;
mod strand;
mod sync;

use crate::fair_short_hogs::{Shape, Span};
use crate::meter::{Meter, Sample, Speed};
use crate::peers::Peer::{
    self, Go, Java, Limit, May, Rayon, Ropewalk, RopewalkCt, Smol, SmolStatic, TokioCt, TokioMt,
};
use crate::{
    blocking_10k, blocking_round_trip, chained_spawn, fair_short_hogs, idle_cpu, matmul, mem_base, mem_task,
    spawn_join_one, spawn_many_inside, spawn_many_outside, steal, timer_churn, timer_lateness, wake_latency,
    yield_many, yield_same,
};
use crate::{count, go, java};
use std::time::Duration;
use timer_lateness::Load;

/// Something to measure.
#[derive(Debug)]
pub struct Problem {
    pub name: &'static str,
    /// The folder of its sources.
    pub dir: &'static str,
    pub about: &'static str,
    /// Worker threads of the peers that have a choice.
    pub workers: usize,
    pub peers: &'static [Peer],
    run: fn(Peer, Meter) -> Option<Sample>,
}

const TASK_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, May, Go];
/// may is missing: a million coroutines would need a million mapped stacks (and see `spawn_join_one/may.rs`).
const MANY_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, Rayon, Go];
const ALL_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, May, Rayon, Go];
/// Who has a pool for blocking closures.
const BLOCKING_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, Limit];
/// Who has workers that take tasks from each other.
const STEALING_PEERS: &[Peer] = &[Ropewalk, TokioMt, Smol, SmolStatic, Limit];
/// Who can run on two workers.
const PARALLEL_PEERS: &[Peer] = &[Ropewalk, TokioMt, Smol, SmolStatic, Rayon, Go, Limit];
/// Who starts threads, or has some for computing.
const THREAD_PEERS: &[Peer] = &[Ropewalk, Rayon, Limit];

/// Who can sleep in a task.
const TIMED_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, Go];
const LATENESS_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, May, Go];

/// Go's collector and monitor are never quite idle, and there is no way to ask them to be.
const IDLE_PEERS: &[Peer] = &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol];

const fn load(tasks: u64, millis: u64) -> Load {
    Load { tasks, span: Duration::from_millis(millis) }
}

const KERNEL: &[Problem] = &[
    Problem {
        name: "yield_same",
        dir: "yield_same",
        about: "2 tasks on 1 worker that yield to each other",
        workers: 1,
        peers: TASK_PEERS,
        run: yield_same::run,
    },
    Problem {
        name: "yield_many",
        dir: "yield_many",
        about: "200 tasks x 1000 yields on 2 workers",
        workers: 2,
        peers: TASK_PEERS,
        run: yield_many::run,
    },
    Problem {
        name: "spawn_join_one",
        dir: "spawn_join_one",
        about: "spawn an empty task and await it, 1 worker",
        workers: 1,
        peers: TASK_PEERS,
        run: |peer, meter| spawn_join_one::join(peer, 1, meter),
    },
    Problem {
        name: "spawn_join_one_2w",
        dir: "spawn_join_one",
        about: "spawn an empty task and await it, 2 workers",
        workers: 2,
        peers: TASK_PEERS,
        run: |peer, meter| spawn_join_one::join(peer, 2, meter),
    },
    Problem {
        name: "spawn_poll_one",
        dir: "spawn_join_one",
        about: "spawn an empty task, let it run, do not join it, 1 worker",
        workers: 1,
        peers: MANY_PEERS,
        run: spawn_join_one::poll,
    },
    Problem {
        name: "spawn_many_inside",
        dir: "spawn_many_inside",
        about: "1M empty tasks from a task, 2 workers",
        workers: 2,
        peers: MANY_PEERS,
        run: spawn_many_inside::empty,
    },
    Problem {
        name: "spawn_many_work_1w",
        dir: "spawn_many_inside",
        about: "tasks of about 1 us of work each, 1 worker",
        workers: 1,
        peers: PARALLEL_PEERS,
        run: |peer, meter| work(peer, 1, meter),
    },
    Problem {
        name: "spawn_many_work_2w",
        dir: "spawn_many_inside",
        about: "tasks of about 1 us of work each, 2 workers",
        workers: 2,
        peers: PARALLEL_PEERS,
        run: |peer, meter| work(peer, 2, meter),
    },
    Problem {
        name: "spawn_many_outside",
        dir: "spawn_many_outside",
        about: "1M empty tasks from a foreign thread, 2 workers",
        workers: 2,
        peers: MANY_PEERS,
        run: spawn_many_outside::run,
    },
    Problem {
        name: "chained_spawn",
        dir: "chained_spawn",
        about: "each task spawns the next, 2 workers",
        workers: 2,
        peers: ALL_PEERS,
        run: chained_spawn::run,
    },
    Problem {
        name: "mem_task",
        dir: "mem_task",
        about: "bytes per parked task: heap and resident",
        workers: 2,
        peers: TASK_PEERS,
        run: |peer, meter| mem_task::run(peer, meter.speed),
    },
    Problem {
        name: "timer_churn",
        dir: "timer_churn",
        about: "register and cancel a sleep beside 1 that is pending, 1 worker",
        workers: 1,
        peers: TIMED_PEERS,
        run: |peer, meter| timer_churn::churn(peer, 1, meter),
    },
    Problem {
        name: "timer_churn_1m",
        dir: "timer_churn",
        about: "register and cancel a sleep beside 1M (quick: 100k) that are pending, 1 worker",
        workers: 1,
        peers: TIMED_PEERS,
        run: |peer, meter| timer_churn::churn(peer, meter.speed.pick(1_000_000, 100_000), meter),
    },
    Problem {
        name: "timer_bytes",
        dir: "timer_churn",
        about: "bytes per pending sleep, future and wheel together",
        workers: 1,
        peers: TIMED_PEERS,
        run: |peer, meter| timer_churn::bytes(peer, meter.speed),
    },
    Problem {
        name: "timer_lateness_10k",
        dir: "timer_lateness",
        about: "10k tasks sleep for 0 to 1 s: how late they go on, 2 workers",
        workers: 2,
        peers: LATENESS_PEERS,
        run: |peer, meter| timer_lateness::once(peer, 10_000, meter.speed),
    },
    Problem {
        name: "timer_lateness_100k",
        dir: "timer_lateness",
        about: "100k tasks sleep for 0 to 1 s: how late they go on, 2 workers",
        workers: 2,
        peers: TIMED_PEERS,
        run: |peer, meter| timer_lateness::once(peer, 100_000, meter.speed),
    },
    Problem {
        name: "latency_under_load_10k",
        dir: "timer_lateness",
        about: "10k tasks loop over sleep(10 ms): how late, and wake-ups a second, 2 workers",
        workers: 2,
        peers: TIMED_PEERS,
        run: |peer, meter| timer_lateness::load(peer, load(10_000, 10), meter.speed),
    },
    Problem {
        name: "latency_under_load_100k",
        dir: "timer_lateness",
        about: "100k tasks loop over sleep(100 ms): how late, and wake-ups a second, 2 workers",
        workers: 2,
        peers: TIMED_PEERS,
        run: |peer, meter| timer_lateness::load(peer, load(100_000, 100), meter.speed),
    },
    Problem {
        name: "latency_under_overload",
        dir: "timer_lateness",
        about: "100k tasks loop over sleep(10 ms), more than can be done: wake-ups a second, 2 workers",
        workers: 2,
        peers: TIMED_PEERS,
        run: |peer, meter| timer_lateness::load(peer, load(100_000, 10), meter.speed),
    },
    Problem {
        name: "idle_cpu",
        dir: "idle_cpu",
        about: "CPU time of an idle runtime over 10 s; CPU time per wake-up at one a millisecond, 2 workers",
        workers: 2,
        peers: IDLE_PEERS,
        run: |peer, meter| idle_cpu::run(peer, meter.speed),
    },
    Problem {
        name: "mem_base_caller",
        dir: "mem_base",
        about: "bytes of an idle runtime on the caller's thread: heap and resident",
        workers: 0,
        peers: &[Ropewalk, TokioCt, Smol, SmolStatic],
        run: |peer, _| mem_base::run(peer, mem_base::Size::Caller),
    },
    Problem {
        name: "mem_base_2w",
        dir: "mem_base",
        about: "bytes of an idle runtime with 2 workers: heap and resident",
        workers: 2,
        peers: &[Ropewalk, TokioMt, Smol, SmolStatic],
        run: |peer, _| mem_base::run(peer, mem_base::Size::TwoWorkers),
    },
    Problem {
        name: "mem_base_worker",
        dir: "mem_base",
        about: "bytes of an idle runtime for each worker more: heap and resident",
        workers: 2,
        peers: &[Ropewalk, TokioMt, Smol, SmolStatic],
        run: |peer, _| mem_base::run(peer, mem_base::Size::PerWorker),
    },
    Problem {
        name: "blocking_round_trip",
        dir: "blocking_round_trip",
        about: "an empty closure in the blocking pool, awaited, 2 workers",
        workers: 2,
        peers: BLOCKING_PEERS,
        run: blocking_round_trip::run,
    },
    Problem {
        name: "blocking_10k",
        dir: "blocking_10k",
        about: "10,000 jobs of 1 ms each in a fresh blocking pool",
        workers: 2,
        peers: &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic],
        run: |peer, meter| blocking_10k::run(peer, meter.speed),
    },
    Problem {
        name: "wake_latency",
        dir: "wake_latency",
        about: "a foreign thread wakes a task of a sleeping runtime, 2 workers",
        workers: 2,
        peers: &[Ropewalk, RopewalkCt, TokioMt, TokioCt, Smol, SmolStatic, May, Go, Limit],
        run: |peer, meter| wake_latency::run(peer, meter.speed),
    },
    Problem {
        name: "steal",
        dir: "steal",
        about: "a new task at a busy worker runs on another one that is awake",
        workers: 2,
        peers: STEALING_PEERS,
        run: |peer, meter| steal::run(peer, steal::Task::Spawned, meter),
    },
    Problem {
        name: "migration",
        dir: "steal",
        about: "a task that is woken at a busy worker runs on another one that is awake",
        workers: 2,
        peers: STEALING_PEERS,
        run: |peer, meter| steal::run(peer, steal::Task::Woken, meter),
    },
    Problem {
        name: "matmul_1t",
        dir: "matmul",
        about: "a matrix product on 1 thread of its own",
        workers: 1,
        peers: THREAD_PEERS,
        run: |peer, meter| matmul::run(peer, 1, meter),
    },
    Problem {
        name: "matmul_2t",
        dir: "matmul",
        about: "a matrix product on 2 threads of its own",
        workers: 2,
        peers: THREAD_PEERS,
        run: |peer, meter| matmul::run(peer, 2, meter),
    },
    Problem {
        name: "matmul_echo",
        dir: "matmul",
        about: "an echo server beside 2 threads that compute: p99, as a multiple of the undisturbed one",
        workers: 2,
        peers: &[Ropewalk, TokioMt, TokioCt, Smol, Limit],
        run: |peer, meter| matmul::echo::run(peer, meter.speed),
    },
];

/// Every problem, in the order of the report.
pub fn all() -> impl Iterator<Item = &'static Problem> {
    KERNEL
        .iter()
        .chain(sync::PROBLEMS)
        .chain(io::PROBLEMS)
        .chain(strand::PROBLEMS)
        .chain(hogs::PROBLEMS)
        .chain(hogs::short::PROBLEMS)
}

/// The rows about hogs that give way often, and what each measures.
pub fn short_hogs() -> impl Iterator<Item = (&'static Problem, Shape)> {
    hogs::short::PROBLEMS.iter().zip(hogs::short::SHAPES.iter().copied())
}

/// The rows with work also say how long a unit of it takes alone.
fn work(peer: Peer, workers: usize, meter: Meter) -> Option<Sample> {
    let unit = meter.measure(|units| (0..units).for_each(|_| count::work()));
    let mut sample = spawn_many_inside::work(peer, workers, meter)?;
    sample.extra.insert("work_ns".into(), unit.value);
    Some(sample)
}

impl Problem {
    pub fn named(name: &str) -> Option<&'static Self> {
        all().find(|problem| problem.name == name)
    }

    /// Measures one peer here and now.
    pub fn measure(&'static self, peer: Peer, speed: Speed) -> Result<Sample, String> {
        if !self.peers.contains(&peer) {
            return Err("this problem does not fit this peer".into());
        }
        if io::is_served(self) {
            return crate::side::measure_one(self, peer, speed);
        }
        match peer {
            Go if self.dir == fair_short_hogs::DIR => {
                let shape = hogs::short::shape(self);
                fair_short_hogs::in_go(shape, Span::of(shape, speed))
            }
            Go => go::measure(self, speed),
            Java => java::measure(self, speed),
            _ => (self.run)(peer, Meter { speed }).ok_or_else(|| "no source for this peer".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for problem in all() {
            assert_eq!(all().filter(|other| other.name == problem.name).count(), 1, "{}", problem.name);
        }
    }

    #[test]
    fn a_peer_that_does_not_fit_is_an_error() {
        let problem = Problem::named("yield_same").unwrap();
        assert!(problem.measure(Rayon, Speed::Quick).is_err());
    }
}
