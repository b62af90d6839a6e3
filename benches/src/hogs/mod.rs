//! hogs_*: somebody holds the workers for 50 ms, lets go for a moment, and holds them again; beside that are ten tickers of a millisecond.
//! Two workers. One operation is one tick; the figures say how late it was.
//!
//! | hog | what it does |
//! |---|---|
//! | spin | computes: two tasks, so that both workers are held |
//! | read | blocks in a read from a pipe, into which a thread writes 50 ms later: two tasks |
//! | lock | blocks in the lock of a standard mutex whose holder, a strand, sleeps for 50 ms: one task, on another worker than that strand, which could never wake up otherwise |
//!
//! | tickers | what is to be seen |
//! |---|---|
//! | tasks | somebody else takes them over |
//! | starting | strands, a new one for each tick: they are taken over as well. What counts is the time from their spawn on |
//! | strands | once started they cannot leave their worker: its hog is theirs, and the latest is as late as the hog is long |

mod lock;

use crate::meter::{Sample, Speed};
use crate::peers::Peer;
use crate::stalls::{self, HOLD, Plan, TICKERS, burn, held, is_over, pause};
use crate::timed::{self, Timed};
use ropewalk::{Pool, strand};
use std::io::{PipeReader, Read, Write, pipe};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

const WORKERS: usize = 2;

/// How a worker is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hog {
    Spin,
    Read,
    Lock,
}

/// What the tickers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tickers {
    Tasks,
    Starting,
    Strands,
}

pub fn run(peer: Peer, hog: Hog, tickers: Tickers, speed: Speed) -> Option<Sample> {
    match peer {
        Peer::Ropewalk => Some(on_ropewalk(hog, tickers, speed)),
        Peer::TokioMt if tickers == Tickers::Tasks && hog != Hog::Lock => Some(on_tokio(hog, speed)),
        _ => None,
    }
}

fn on_tokio(hog: Hog, speed: Speed) -> Sample {
    let runtime = timed::Tokio::multi_thread(WORKERS);
    stalls::measure(speed, |plan| start_tasks(runtime, plan), || start_hogs(runtime, hog))
}

fn on_ropewalk(hog: Hog, tickers: Tickers, speed: Speed) -> Sample {
    let runtime = timed::Ropewalk::new(WORKERS);
    let pool = &runtime.pool();
    let start_tickers = |plan| match tickers {
        Tickers::Tasks => start_tasks(runtime, plan),
        Tickers::Starting => drop(thread::spawn({
            let pool = pool.clone();
            move || start_strands(&pool, plan)
        })),
        Tickers::Strands => (0..TICKERS).for_each(|number| {
            let tick = move || stalls::unit(plan, number, strand::sleep);
            drop(strand::Builder::new().pool(pool).spawn(tick));
        }),
    };
    stalls::measure(speed, start_tickers, || match hog {
        Hog::Lock => drop(thread::spawn({
            let pool = pool.clone();
            move || lock::hold(runtime, &pool)
        })),
        _ => start_hogs(runtime, hog),
    })
}

fn start_tasks<R: Timed>(runtime: R, plan: Plan) {
    (0..TICKERS).for_each(|number| runtime.detach(stalls::task::<R>(plan, number)));
}

/// In place of each ticker's tick, a strand that begins.
fn start_strands(pool: &Pool, plan: Plan) {
    let mut ticks: Vec<_> = (0..TICKERS).flat_map(|number| plan.ticks(number)).collect();
    ticks.sort_unstable_by_key(|tick| tick.due);
    for tick in ticks {
        thread::sleep(tick.due.saturating_duration_since(Instant::now()));
        let spawned = Instant::now();
        drop(strand::Builder::new().pool(pool).spawn(move || tick.counts_from(spawned)));
    }
}

/// As many as there are workers.
fn start_hogs<R: Timed>(runtime: R, hog: Hog) {
    for number in 0..WORKERS as u64 {
        match hog {
            Hog::Spin => runtime.detach(hold::<R>(number, burn)),
            Hog::Read => {
                let (mut from, begins) = late_pipe();
                runtime.detach(hold::<R>(number, move || read(&mut from, &begins)));
            }
            Hog::Lock => unreachable!("it needs strands: lock.rs"),
        }
    }
}

async fn hold<R: Timed>(number: u64, mut once: impl FnMut()) {
    for times in 0.. {
        if is_over() {
            return;
        }
        once();
        R::sleep(pause(number, times)).await;
    }
}

fn read(from: &mut PipeReader, begins: &Sender<()>) {
    begins.send(()).expect("the writer is there");
    from.read_exact(&mut [0]).expect("it is written to");
    held();
}

/// A pipe with a byte in it that much later than one has begun to wait for it.
fn late_pipe() -> (PipeReader, Sender<()>) {
    let (from, mut to) = pipe().expect("there are pipes");
    let (begins, begun) = channel();
    thread::spawn(move || {
        for () in begun {
            thread::sleep(HOLD);
            to.write_all(&[1]).expect("there is a reader");
        }
    });
    (from, begins)
}
