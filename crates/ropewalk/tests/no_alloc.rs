//! What the runtime does not allocate for: wakers, also by the thousand; joins; spawns that find memory left by others.
//!
//! Every allocation of an enlisted thread is counted: the runtime's workers enlist when they start, so what a worker does
//! between two polls counts as well. A program of its own: it has the allocator that counts.

#![allow(clippy::waker_clone_wake)] // waking by value is what is measured

use ropewalk::{Builder, Runtime, TaskHandle, Wait, WorkerMetrics, spawn, spawn_local, yield_now};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

struct Counting;

thread_local!(static METER: Cell<Option<&'static AtomicUsize>> = const { Cell::new(None) });

// SAFETY: everything is passed on to the system's allocator; the thread-local has no destructor and needs no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(meter) = METER.get() {
            meter.fetch_add(1, Relaxed);
        }
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The allocations of the threads of one test.
#[derive(Clone, Copy)]
struct Meter(&'static AtomicUsize);

impl Meter {
    fn new() -> Self {
        let meter = Self(Box::leak(Box::default()));
        meter.enlist();
        meter
    }

    /// This thread counts from now on.
    fn enlist(self) {
        METER.set(Some(self.0));
    }

    /// A runtime whose workers count, and have arrived: each of them has fallen asleep once. Stand-ins would count, too, and some
    /// tests take their time.
    fn runtime(self, builder: Builder) -> Runtime {
        let builder = builder.rescue_threshold(Duration::ZERO);
        let runtime = builder.on_thread_start(move || self.enlist()).build().unwrap();
        let asleep = |worker: &WorkerMetrics| worker.parks > 0;
        while !runtime.metrics().pools.iter().all(|pool| pool.workers.iter().all(asleep)) {
            thread::yield_now();
        }
        runtime
    }

    /// How often the enlisted threads allocate while `f` runs.
    fn during<R>(self, f: impl FnOnce() -> R) -> usize {
        let before = self.0.load(Relaxed);
        let _result = f();
        self.0.load(Relaxed) - before
    }
}

/// Tasks that count their polls and wait to be woken.
#[derive(Clone, Default)]
struct Sleepers {
    bells: Arc<Mutex<Vec<Waker>>>,
    polls: Arc<AtomicUsize>,
}

impl Sleepers {
    fn sleep(&self) -> impl Future<Output = ()> + Send + use<> {
        let (this, mut known) = (self.clone(), false);
        poll_fn(move |cx| {
            if !std::mem::replace(&mut known, true) {
                this.bells.lock().unwrap().push(cx.waker().clone());
            }
            this.polls.fetch_add(1, Relaxed);
            Poll::Pending
        })
    }

    fn wait_for_polls(&self, polls: usize) {
        while self.polls.load(Relaxed) < polls {
            thread::yield_now();
        }
    }

    /// Wakes each of them by a clone, and goes on when all of them have run.
    fn wake_all(&self) {
        let (bells, before) = (self.bells.lock().unwrap(), self.polls.load(Relaxed));
        for bell in &*bells {
            let clone = bell.clone();
            bell.wake_by_ref();
            clone.wake();
            drop(bell.clone());
        }
        let count = bells.len();
        drop(bells);
        self.wait_for_polls(before + count);
    }
}

const MANY: usize = 5_000;

/// `MANY` tasks that wait, free ones or local ones.
fn many_sleepers(runtime: &Runtime, local: bool) -> Sleepers {
    let sleepers = Sleepers::default();
    for _ in 0..MANY {
        if local {
            // One after the other, so that they are never queued all at once before they are woken.
            let sleep = sleepers.sleep();
            runtime.spawn(async move { drop(spawn_local(sleep).unwrap()) }).wait().unwrap();
        } else {
            drop(runtime.spawn(sleepers.sleep()));
        }
    }
    sleepers.wait_for_polls(MANY);
    sleepers
}

#[test]
fn waking_from_a_foreign_thread() {
    for (workers, local) in [(1, false), (2, false), (1, true), (2, true)] {
        let meter = Meter::new();
        let runtime = meter.runtime(Runtime::builder().worker_threads(workers));
        let sleepers = many_sleepers(&runtime, local);
        let count = meter.during(|| (0..3).for_each(|_| sleepers.wake_all()));
        assert_eq!(count, 0, "{workers} workers, local tasks: {local}");
    }
}

/// They fill the slot, the ring and the injection queue.
#[test]
fn waking_from_a_worker() {
    for (workers, local) in [(1, false), (2, false), (1, true), (2, true)] {
        let meter = Meter::new();
        let runtime = meter.runtime(Runtime::builder().worker_threads(workers));
        let sleepers = many_sleepers(&runtime, local);
        let awake = sleepers.clone();
        let waker = runtime.spawn(async move {
            for _ in 0..3 {
                let before = awake.polls.load(Relaxed);
                for bell in &*awake.bells.lock().unwrap() {
                    bell.clone().wake();
                }
                while awake.polls.load(Relaxed) < before + MANY {
                    yield_now().await;
                }
            }
        });
        let count = meter.during(|| {
            while !waker.is_finished() {
                thread::yield_now()
            }
        });
        assert_eq!(count, 0, "{workers} workers, local tasks: {local}");
    }
}

/// Runs `f` in a task often enough that all caches are warm, and says how often a run allocates then: the least of five,
/// because now and then more is in use at the same time than ever before.
fn steady<F>(meter: Meter, runtime: &Runtime, f: impl Fn() -> F) -> usize
where
    F: Future<Output = ()> + Send + 'static,
{
    let run = |future: F| {
        let task = runtime.spawn(future);
        while !task.is_finished() {
            thread::yield_now();
        }
    };
    (0..5).for_each(|_| run(f()));
    let measured = || {
        let futures = [f()];
        meter.during(|| futures.map(run))
    };
    (0..5).map(|_| measured()).min().unwrap()
}

#[test]
fn spawning_joining_and_cancelling_small_tasks_in_the_steady_state() {
    for workers in [1, 2] {
        let meter = Meter::new();
        let runtime = meter.runtime(Runtime::builder().worker_threads(workers));
        let count = steady(meter, &runtime, || async {
            for number in 0..2_000_u64 {
                let task = spawn(async move { number });
                assert_eq!(task.await.unwrap(), number);
                drop(spawn(yield_now()));
                let endless = spawn(std::future::pending::<()>());
                endless.cancel();
                assert!(endless.await.is_err());
            }
        });
        assert_eq!(count, 0, "{workers} workers");
    }
}

#[test]
fn local_tasks_in_the_steady_state() {
    let meter = Meter::new();
    let runtime = meter.runtime(Runtime::builder().worker_threads(2));
    let count = steady(meter, &runtime, || async {
        for number in 0..2_000_u64 {
            let task = spawn_local(async move { number }).unwrap();
            assert_eq!(task.await.unwrap(), number);
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn spawning_from_a_foreign_thread_in_the_steady_state() {
    let meter = Meter::new();
    let runtime = meter.runtime(Runtime::builder().worker_threads(2));
    let round = || {
        for _ in 0..2_000 {
            let task = runtime.spawn(yield_now());
            while !task.is_finished() {
                std::hint::spin_loop();
            }
        }
    };
    (0..5).for_each(|_| round());
    assert_eq!((0..5).map(|_| meter.during(round)).min(), Some(0));
}

#[test]
fn a_big_task_is_one_allocation() {
    let meter = Meter::new();
    let runtime = meter.runtime(Runtime::builder().worker_threads(1));
    let count = steady(meter, &runtime, || async {
        for _ in 0..1_000 {
            let luggage = [1_u8; 2_000];
            let task = spawn(async move {
                yield_now().await;
                luggage.iter().map(|byte| u64::from(*byte)).sum::<u64>()
            });
            assert_eq!(task.await.unwrap(), 2_000);
        }
    });
    assert!(count <= 1_000, "{count}");
}

/// A task of one runtime waits for one of another.
#[test]
fn joining_across_runtimes() {
    let meter = Meter::new();
    let runtimes = [1, 2].map(|workers| meter.runtime(Runtime::builder().worker_threads(workers)));
    let other = runtimes[1].handle();
    let count = steady(meter, &runtimes[0], || {
        let other = other.clone();
        async move {
            for _ in 0..300 {
                let task: TaskHandle<()> = other.spawn(async { yield_now().await });
                task.await.unwrap();
            }
        }
    });
    assert_eq!(count, 0);
}
