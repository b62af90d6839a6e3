//! mem_base: what a runtime costs that does nothing: heap bytes as requested from the allocator, and resident memory beside
//! them. On the caller's thread, with two workers, and for each worker more (eight of them). The threads are up and asleep
//! when it is measured; their stacks, which are not in the heap, count as resident as far as they were touched.

use crate::alloc;
use crate::mem_task::Footprint;
use crate::meter::Sample;
use crate::peers::{self, Peer};
use std::any::Any;
use std::thread;
use std::time::Duration;

/// How large the runtime is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Caller,
    TwoWorkers,
    PerWorker,
}

const FEW: usize = 2;
const MORE: usize = 8;

pub fn run(peer: Peer, size: Size) -> Option<Sample> {
    alloc::count();
    let start = |workers: usize| -> Option<Box<dyn Any>> {
        Some(match (peer, workers) {
            (Peer::Ropewalk, _) => Box::new(peers::ropewalk(workers)),
            (Peer::TokioMt | Peer::TokioCt, 0) => Box::new(peers::tokio_ct()),
            (Peer::TokioMt, _) => Box::new(peers::tokio_mt(workers)),
            (Peer::Smol, _) => Box::new(peers::smol(workers)),
            (Peer::SmolStatic, _) => Box::new(peers::smol_static(workers)),
            _ => return None,
        })
    };
    if size != Size::PerWorker {
        return measure(|| start(if size == Size::Caller { 0 } else { FEW }));
    }
    measure(|| start(FEW))?; // what a process needs once is not charged to the rest
    let first = measure(|| start(FEW))?;
    let mut second = measure(|| start(FEW + MORE))?;
    let per_worker = |large: f64, small: f64| (large - small) / MORE as f64;
    second.value = per_worker(second.value, first.value);
    for (name, value) in &mut second.extra {
        *value = per_worker(*value, first.extra[name]);
    }
    Some(second)
}

/// The growth while `start` makes a runtime and its threads go to sleep.
fn measure(start: impl FnOnce() -> Option<Box<dyn Any>>) -> Option<Sample> {
    let _what_looking_needs_is_there = Footprint::now();
    let before = Footprint::now();
    let runtime = start()?;
    thread::sleep(Duration::from_millis(50));
    let sample = Footprint::now().since(before, 1);
    std::mem::forget(runtime);
    Some(sample)
}
