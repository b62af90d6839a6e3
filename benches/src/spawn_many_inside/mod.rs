//! spawn_many_inside: one task spawns a million detached tasks on two workers and yields until all have run. One
//! operation is one task, from its spawn to its end. The tasks are empty but for the count that they ran, or do about
//! 1 us of real work each: then two workers against one is the speed-up.

mod limit;
mod rayon;
mod ropewalk;
mod smol;
mod tokio;

use crate::count;
use crate::meter::{Meter, Sample, Speed};
use crate::peers::{self, Peer};

/// What one of the many does.
pub trait Unit: Fn() + Copy + Send + Sync + 'static {}
impl<F: Fn() + Copy + Send + Sync + 'static> Unit for F {}

/// How many empty tasks are spawned in one go.
pub fn tasks(speed: Speed) -> u64 {
    speed.pick(1_000_000, 100_000)
}

/// How many tasks with work in them.
fn working_tasks(speed: Speed) -> u64 {
    speed.pick(200_000, 20_000)
}

pub fn empty(peer: Peer, meter: Meter) -> Option<Sample> {
    let tasks = tasks(meter.speed);
    run(peer, 2, tasks, count::done, meter)
}

pub fn work(peer: Peer, workers: usize, meter: Meter) -> Option<Sample> {
    let tasks = working_tasks(meter.speed);
    let unit = || {
        count::work();
        count::done();
    };
    if peer == Peer::Limit {
        return Some(limit::run(workers, meter, tasks, unit).into_rate());
    }
    run(peer, workers, tasks, unit, meter)
}

fn run(peer: Peer, workers: usize, tasks: u64, unit: impl Unit, meter: Meter) -> Option<Sample> {
    let sample = match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(workers), meter, tasks, unit),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), meter, tasks, unit),
        Peer::TokioMt => tokio::run(&peers::tokio_mt(workers), meter, tasks, unit),
        Peer::TokioCt => tokio::run(&peers::tokio_ct(), meter, tasks, unit),
        Peer::Smol => smol::run(peers::smol(workers), meter, tasks, unit),
        Peer::SmolStatic => smol::run(peers::smol_static(workers), meter, tasks, unit),
        Peer::Rayon => rayon::run(&peers::rayon(workers), meter, tasks, unit),
        _ => return None,
    };
    Some(sample.into_rate())
}
