//! mem_task: what one parked task costs. Each task has been polled exactly once, is pending, its handle is dropped and
//! its waker is kept in a table made before the measurement, as if it waited for a message: so every peer must keep it
//! alive, and can. The future itself has no bytes. Tasks arrive in waves, so that run queues stay short and are not what
//! is measured.
//!
//! The value is heap bytes per task as requested from the allocator; beside it resident memory (what the kernel says the
//! process grew by) and the number of allocations.

mod may;
mod ropewalk;
mod smol;
mod tokio;

use crate::alloc::{self, Heap};
use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use nix::unistd::{SysconfVar, sysconf};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub const WORKERS: usize = 2;
/// Tasks parked before the first look, so that what a runtime allocates once is not charged to the rest.
pub const WARM: u64 = 2_000;
/// Tasks spawned before waiting until all of them are parked.
pub const WAVE: u64 = 100;

/// may maps a guarded stack per coroutine and the kernel gives a process 65,530 mappings.
fn tasks(peer: Peer, speed: Speed) -> u64 {
    if peer == Peer::May { speed.pick(20_000, 5_000) } else { speed.pick(200_000, 20_000) }
}

pub fn run(peer: Peer, speed: Speed) -> Option<Sample> {
    let tasks = tasks(peer, speed);
    alloc::count();
    Some(match peer {
        Peer::Ropewalk => ropewalk::run(&peers::ropewalk(WORKERS), tasks),
        Peer::RopewalkCt => ropewalk::run(&peers::ropewalk(0), tasks),
        Peer::TokioMt => tokio::run(&peers::tokio_mt(WORKERS), tasks),
        Peer::TokioCt => tokio::run(&peers::tokio_ct(), tasks),
        Peer::Smol => smol::run(peers::smol(WORKERS), tasks),
        Peer::SmolStatic => smol::run(peers::smol_static(WORKERS), tasks),
        Peer::May => {
            peers::may(WORKERS);
            may::run(tasks)
        }
        _ => return None,
    })
}

/// The wakers of the futures' tasks.
static WAKERS: Table<Waker> = Table::new();

/// Keeps its task's waker and never completes.
struct Parked;

impl Future for Parked {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        WAKERS.keep(cx.waker().clone());
        Poll::Pending
    }
}

/// Where parked units leave what would wake them. Its memory is there, and touched, before anything is measured.
pub struct Table<T> {
    slots: Lock<Vec<Option<T>>>,
    kept: AtomicU64,
}

impl<T> Table<T> {
    pub const fn new() -> Self {
        Self { slots: Lock::new(Vec::new()), kept: AtomicU64::new(0) }
    }

    pub fn reserve(&self, slots: u64) {
        self.slots.lock().resize_with(slots as usize, || None);
    }

    pub fn keep(&self, value: T) {
        let mut slots = self.slots.lock();
        let slot = self.kept.fetch_add(1, Ordering::Release) as usize;
        assert!(slots[slot].replace(value).is_none());
    }

    /// How many units are parked.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Acquire)
    }

    /// What they have left, for those that go on.
    pub fn take_all(&self) -> Vec<T> {
        self.slots.lock().iter_mut().filter_map(Option::take).collect()
    }
}

/// The process's memory at one moment.
pub struct Footprint {
    heap: Heap,
    resident: u64,
}

impl Footprint {
    pub fn now() -> Self {
        Self { resident: resident_bytes(), heap: alloc::heap() }
    }

    /// The growth from `before` to `self`, per task.
    pub fn since(self, before: Self, tasks: u64) -> Sample {
        let per_task = |bytes: f64| bytes / tasks as f64;
        let resident = self.resident as f64 - before.resident as f64;
        Sample {
            value: per_task((self.heap.live - before.heap.live) as f64),
            unit: "B".into(),
            cpu_ns_per_op: None,
            ops: tasks,
            seconds: 0.0,
            extra: BTreeMap::from([
                ("rss".into(), per_task(resident)),
                ("allocations".into(), per_task((self.heap.calls - before.heap.calls) as f64)),
            ]),
        }
    }
}

/// Resident bytes. `statm` is what everybody has; the kernel keeps that figure per CPU and lets it lag by some 100 KiB,
/// so the exact sum over the mappings is taken where it can be read.
fn resident_bytes() -> u64 {
    exact_resident_bytes().unwrap_or_else(|| {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("/proc is mounted");
        let pages: u64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("statm's second field");
        pages * page_size()
    })
}

fn page_size() -> u64 {
    let size = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().expect("the page size is known");
    size as u64
}

fn exact_resident_bytes() -> Option<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = rollup.lines().find(|line| line.starts_with("Rss:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
