//! A runtime driven one poll at a time, the formulas, and tasks that behave badly.

use ropewalk::{Builder, ManualClock, Runtime, TaskHandle, WorkerMetrics, spawn, yield_now};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// `L`: how many tasks in a row may come from the LIFO slot.
pub const STREAK: u64 = 3;

/// The formulas at the head of `sched/worker.rs`, with `G` and `C` of the runtime under test.
///
/// Each says in which poll of its worker a task runs at the latest, the next poll being number 1.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub interval: u64,
    pub capacity: u64,
}

impl Bounds {
    pub const DEFAULT: Bounds = Bounds { interval: 61, capacity: 256 };

    pub fn with_interval(interval: u64) -> Self {
        Self { interval, ..Self::DEFAULT }
    }

    /// With a clock that stands still: only polls count.
    pub fn builder(self) -> Builder {
        let builder = Runtime::builder().clock(ManualClock::new());
        builder.global_queue_interval(self.interval as u32).queue_capacity(self.capacity as usize)
    }

    /// With `before` tasks before it in the ready lane, while nothing is due: `t(p)`.
    pub fn ready(self, before: u64) -> u64 {
        (before + 1) * (STREAK + 1)
    }

    /// The same, if each look finds one task at most: `R(p)`.
    pub fn queued(self, before: u64) -> u64 {
        let turns = self.ready(before);
        turns + turns.div_ceil(self.interval - 1)
    }

    /// The same, whatever looks find: the lanes have as many polls each.
    pub fn shared(self, before: u64) -> u64 {
        2 * self.ready(before) + 2 * self.interval
    }

    /// In the LIFO slot, as long as nothing puts it out.
    pub fn in_slot(self) -> u64 {
        2
    }

    /// How many the due lane holds: `D`.
    pub fn due(self) -> u64 {
        (self.capacity / 4).max(16)
    }

    /// With `before` tasks before it in the injection queue, those that were due before, and nothing pinned to the worker.
    pub fn injected(self, before: u64) -> u64 {
        // Of each `G` polls one takes it nearer; of the due lane's own, which are half of all, one in `L + 1` does.
        let each = self.interval.max(2 * (STREAK + 1));
        (before + self.due() + 1) * each + self.shared(self.capacity / 2 - 1)
    }

    /// With `before` tasks before it in the ready lane, from where it may go out, behind at most `outside` others.
    pub fn moved_out(self, before: u64, outside: u64) -> u64 {
        self.shared(before) + self.injected(outside)
    }
}

/// A runtime whose workers are driven by the test.
pub struct Rig {
    pub runtime: Runtime,
    last: Arc<AtomicU64>,
    pub ticks: u64,
}

impl Rig {
    pub fn new(workers: usize, builder: Builder) -> Self {
        let last = Arc::new(AtomicU64::new(0));
        let seen = last.clone();
        let hook = move |id: ropewalk::TaskId| seen.store(id.get(), Relaxed);
        let runtime = builder.hosted_workers(workers).before_poll(hook).build().unwrap();
        Self { runtime, last, ticks: 0 }
    }

    /// Polls one task and says which.
    pub fn tick(&mut self) -> u64 {
        assert!(self.runtime.try_tick().unwrap(), "nothing is runnable");
        self.ticks += 1;
        self.last.load(Relaxed)
    }

    pub fn tick_times(&mut self, times: u64) {
        for _ in 0..times {
            self.tick();
        }
    }

    pub fn tick_until_done<T>(&mut self, handle: &TaskHandle<T>) {
        while !handle.is_finished() {
            self.tick();
        }
    }

    /// Sees to it that no look outside is in vain.
    pub fn keep_injecting(&self) {
        if self.outside() == 0 {
            drop(self.runtime.spawn(async {}));
        }
    }

    pub fn worker(&self, index: usize) -> WorkerMetrics {
        self.runtime.metrics().pools[0].workers[index].clone()
    }

    /// Tasks in the ring of the first worker.
    pub fn queued(&self) -> u64 {
        self.worker(0).queued as u64
    }

    /// Tasks in the injection queue.
    pub fn outside(&self) -> u64 {
        self.runtime.metrics().pools[0].injected as u64
    }
}

/// By which tick each task must have run.
#[derive(Default)]
pub struct Deadlines {
    of: BTreeMap<u64, u64>,
    in_order: BTreeSet<(u64, u64)>,
}

impl Deadlines {
    pub fn set(&mut self, task: u64, tick: u64) {
        self.of.insert(task, tick);
        self.in_order.insert((tick, task));
    }

    /// `task` ran in this tick; everybody else is still to run by theirs.
    pub fn ran(&mut self, task: u64, tick: u64) {
        if let Some(due) = self.of.remove(&task) {
            self.in_order.remove(&(due, task));
            assert!(tick <= due, "task {task} ran in tick {tick}, not by {due}");
        }
        if let Some((due, task)) = self.in_order.first() {
            assert!(tick <= *due, "task {task} did not run by tick {due}; now {tick}");
        }
    }

    pub fn len(&self) -> usize {
        self.of.len()
    }
}

pub fn id<T>(handle: &TaskHandle<T>) -> u64 {
    handle.id().expect("not joined yet").get()
}

/// Two tasks that wake each other for ever: whenever one runs, it puts the other into the LIFO slot.
pub fn self_waking_pair(runtime: &Runtime) -> [TaskHandle<()>; 2] {
    let bells: Arc<[Mutex<Option<Waker>>; 2]> = Arc::default();
    [0, 1].map(|me| {
        let bells = bells.clone();
        runtime.spawn(poll_fn(move |cx| {
            *bells[me].lock().unwrap() = Some(cx.waker().clone());
            if let Some(other) = &*bells[1 - me].lock().unwrap() {
                other.wake_by_ref();
            }
            Poll::Pending
        }))
    })
}

pub async fn yield_for_ever() {
    loop {
        yield_now().await;
    }
}

/// Tasks that spawn tasks that spawn tasks, `width` in each poll, as long as there are less than `limit`.
#[derive(Clone)]
pub struct Flood {
    pub width: u64,
    pub limit: u64,
    pub alive: Arc<AtomicU64>,
}

impl Flood {
    pub fn run(self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let alive = self.alive.load(Relaxed);
            let more = self.width.min(self.limit - alive);
            self.alive.store(alive + more - 1, Relaxed);
            (0..more).for_each(|_| drop(spawn(self.clone().run())));
        })
    }
}

/// A chain of tasks, each of which spawns the next, so that the LIFO slot is never empty. Says how many links ran; the
/// link that runs next after `extra` was set spawns that many empty tasks first, which thus become the last of the ring.
#[derive(Clone, Default)]
pub struct Chain {
    pub links: Arc<AtomicU64>,
    pub extra: Arc<AtomicU64>,
    pub spawned: Arc<Mutex<Vec<TaskHandle<()>>>>,
}

impl Chain {
    pub fn run(self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            self.links.fetch_add(1, Relaxed);
            let extra = self.extra.swap(0, Relaxed);
            let spawned = (0..extra).map(|_| spawn(async {}));
            self.spawned.lock().unwrap().extend(spawned);
            drop(spawn(self.run()));
        })
    }
}

/// A seeded random number below `below`.
pub fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ mixed >> 31) % below
}
