//! steal and migration: how long a task that waits at a busy worker takes to run on another one that is awake.
//!
//! Two workers. The *boss* runs on one of them and never leaves it. The *thief's* worker is kept busy by a task that spins
//! until it is told to end. The boss spawns a task (or wakes one that is suspended), and another one, because the last
//! task is often reserved for its own worker; then it says *go*: the thief's worker finds nothing of its own and takes
//! the task. One operation: from *go* until the task runs. The limit is two threads that pass a cache line to and fro.

use crate::latency::{Latencies, since, stamp};
use crate::meter::{Meter, Sample};
use crate::peers::{self, Peer, SmolExecutor};
use ropewalk_core::prim::real::{AtomicBool, AtomicU64, Ordering::*};
use ropewalk_core::prim::{Lock, Padded};
use std::future::poll_fn;
use std::hint::spin_loop;
use std::pin::Pin;
use std::task::{Poll, Waker};
use std::thread;

const WORKERS: usize = 2;

/// Whether the task is new, or was suspended and is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Spawned,
    Woken,
}

pub fn run(peer: Peer, task: Task, meter: Meter) -> Option<Sample> {
    let rounds = meter.speed.pick(5_000, 200);
    let latencies = match peer {
        Peer::Ropewalk => {
            let rt = peers::ropewalk(WORKERS);
            let spawn = |task: Work| drop(ropewalk::spawn(task));
            rt.block_on(rt.spawn(boss(task, rounds, spawn, ropewalk::yield_now))).unwrap()
        }
        Peer::TokioMt => {
            let rt = peers::tokio_mt(WORKERS);
            let spawn = |task: Work| drop(tokio::spawn(task));
            rt.block_on(rt.spawn(boss(task, rounds, spawn, tokio::task::yield_now))).unwrap()
        }
        Peer::Smol => on_smol(peers::smol(WORKERS), task, rounds),
        Peer::SmolStatic => on_smol(peers::smol_static(WORKERS), task, rounds),
        Peer::Limit => return Some(line_round_trip(meter)),
        _ => return None,
    };
    Some(latencies.finish("ns", 1.0))
}

fn on_smol(ex: impl SmolExecutor, task: Task, rounds: u64) -> Latencies {
    let spawn = move |task: Work| ex.spawn(task).detach();
    smol::block_on(ex.spawn(boss(task, rounds, spawn, smol::future::yield_now)))
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The round whose keeper runs, the round that was told to go, when that was, and what the task found. Each has a line.
static KEPT: Padded<AtomicU64> = Padded(AtomicU64::new(0));
static GO: Padded<AtomicU64> = Padded(AtomicU64::new(0));
static AT: Padded<AtomicU64> = Padded(AtomicU64::new(0));
static TOOK: Padded<AtomicU64> = Padded(AtomicU64::new(0));
/// The suspended task.
static SUSPENDED: Lock<Option<Waker>> = Lock::new(None);
static CALLED: AtomicBool = AtomicBool::new(false);

fn spin_until(done: impl Fn() -> bool) {
    while !done() {
        spin_loop();
    }
}

/// Keeps the other worker busy until it is told to go.
async fn keeper(round: u64) {
    KEPT.store(round, Release);
    spin_until(|| GO.load(Acquire) >= round);
}

/// The task itself.
fn ran() {
    TOOK.store(since(AT.load(Acquire)).as_nanos().max(1) as u64, Release);
}

/// It runs each time it is called, and is suspended meanwhile.
async fn suspended(rounds: u64) {
    for _ in 0..rounds {
        poll_fn(|cx| {
            if CALLED.swap(false, AcqRel) {
                ran();
                return Poll::Ready(());
            }
            *SUSPENDED.lock() = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

async fn boss<Y: Future<Output = ()> + Send>(
    task: Task,
    rounds: u64,
    spawn: impl Fn(Work) + Send + 'static,
    yield_now: impl Fn() -> Y + Send + 'static,
) -> Latencies {
    if task == Task::Woken {
        spawn(Box::pin(suspended(rounds)));
    }
    let mut latencies = Latencies::start(rounds as usize);
    for round in 1..=rounds {
        let mut waker = None;
        while task == Task::Woken && waker.is_none() {
            yield_now().await;
            waker = SUSPENDED.lock().take();
        }
        spawn(Box::pin(keeper(round)));
        spawn(Box::pin(async {}));
        spin_until(|| KEPT.load(Acquire) == round);
        yield_now().await; // nothing else is left on this worker
        match waker {
            Some(waker) => {
                CALLED.store(true, Release);
                waker.wake();
            }
            None => spawn(Box::pin(async { ran() })),
        }
        spawn(Box::pin(async {}));
        AT.store(stamp(), Release);
        GO.store(round, Release);
        spin_until(|| TOOK.load(Acquire) != 0);
        latencies.note(std::time::Duration::from_nanos(TOOK.swap(0, AcqRel)));
        yield_now().await;
    }
    latencies
}

/// Two threads, one cache line.
fn line_round_trip(meter: Meter) -> Sample {
    meter.measure(pass_line)
}

/// Passes a cache line to another thread and back, so many times.
pub fn pass_line(trips: u64) {
    GO.store(0, Release);
    let other = thread::spawn(move || {
        for trip in 0..trips {
            spin_until(|| GO.load(Acquire) == 2 * trip + 1);
            GO.store(2 * trip + 2, Release);
        }
    });
    for trip in 0..trips {
        GO.store(2 * trip + 1, Release);
        spin_until(|| GO.load(Acquire) == 2 * trip + 2);
    }
    other.join().unwrap();
}
