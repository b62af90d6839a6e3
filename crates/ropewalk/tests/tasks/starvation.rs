//! Nothing starves: the bounds at the head of `sched/worker.rs`, asserted in ticks. A tick is one poll of a task, seen by
//! the `before_poll` hook; nothing here sleeps or looks at a clock.
//!
//! Most tests drive one logical worker by hand, so that the length of every queue is known at every tick.

#![allow(clippy::async_yields_async)] // a task that starts another and hands out its handle

mod in_time;
mod outside;
mod rig;
mod yields;

use rig::{Bounds, Chain, Deadlines, Rig, id, self_waking_pair, yield_for_ever};
use ropewalk::{TaskHandle, Wait, spawn, strand, task};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// How many operations a task may complete in one poll.
const BUDGET: u64 = 128;

#[test]
fn a_self_waking_pair_in_the_lifo_slot_beside_ring_tasks() {
    for (interval, ring_tasks) in [(2, 1), (2, 9), (3, 4), (61, 1), (61, 30)] {
        let bounds = Bounds::with_interval(interval);
        let mut rig = Rig::new(1, bounds.builder());
        let pair = self_waking_pair(&rig.runtime);
        let tasks: Vec<_> = (0..ring_tasks).map(|_| rig.runtime.spawn(yield_for_ever())).collect();
        let ids: BTreeSet<u64> = tasks.iter().map(id).collect();
        let mut deadlines = Deadlines::default();
        for _ in 0..4_000 {
            rig.keep_injecting();
            let ran = rig.tick();
            deadlines.ran(ran, rig.ticks);
            if ids.contains(&ran) {
                // It is the last of the ring now.
                deadlines.set(ran, rig.ticks + bounds.queued(rig.queued() - 1));
            }
        }
        assert_eq!(deadlines.len(), ring_tasks, "everybody ran");
        drop((pair, tasks));
    }
}

/// The bound is not only kept: it is reached, while nothing is due.
#[test]
fn the_last_of_the_ring_may_wait_exactly_as_long_as_the_formula_says() {
    for (interval, before) in [(2, 0), (5, 6), (5, 0), (61, 40)] {
        let bounds = Bounds::with_interval(interval);
        let waited = |phase: u64, shift: u64, inject: bool| {
            let mut rig = Rig::new(1, bounds.builder());
            let chain = Chain::default();
            drop(rig.runtime.spawn(chain.clone().run()));
            rig.tick_times(shift + phase);
            chain.extra.store(before + 1, Relaxed);
            while chain.spawned.lock().unwrap().is_empty() {
                rig.tick();
            }
            let from = rig.ticks;
            let last = chain.spawned.lock().unwrap().pop().expect("spawned");
            while !last.is_finished() {
                if inject {
                    rig.keep_injecting();
                }
                rig.tick();
            }
            rig.ticks - from
        };
        // Every position of the streak and of the next look, relative to each other.
        let phases = (0..4).flat_map(|phase| (0..=interval).map(move |shift| (phase, shift)));
        let longest =
            |inject| phases.clone().map(|(phase, shift)| waited(phase, shift, inject)).max().unwrap();
        assert_eq!(longest(false), bounds.ready(before), "{bounds:?}, nothing is due");
        assert!(longest(true) <= bounds.queued(before), "{bounds:?}, each look finds one");
    }
}

/// What is in the slot is put back by one turn of the ring at most, unless a look finds something due.
#[test]
fn the_lifo_slot_itself_does_not_wait() {
    for interval in [2, 3, 62] {
        let bounds = Bounds::with_interval(interval);
        for inject in [false, true] {
            let mut rig = Rig::new(1, bounds.builder());
            let chain = Chain::default();
            drop(rig.runtime.spawn(chain.clone().run()));
            rig.tick_times(100);
            let (mut since, mut worst) = (0, 0);
            for tick in 0..3_000 {
                if tick % 100 == 0 {
                    chain.extra.store(20, Relaxed);
                }
                if inject {
                    rig.keep_injecting();
                }
                let links = chain.links.load(Relaxed);
                rig.tick();
                since += 1;
                if chain.links.load(Relaxed) > links {
                    worst = worst.max(std::mem::take(&mut since));
                }
            }
            match inject {
                false => assert_eq!(worst, bounds.in_slot(), "{bounds:?}"),
                true => {
                    assert!(worst <= bounds.queued(20), "{worst}, {bounds:?}: it was the last of the ring")
                }
            }
        }
    }
}

/// Three ways never to suspend by itself.
#[derive(Clone, Copy, Debug)]
enum Hog {
    Awaits,
    WaitsInAPoll,
    WaitsOnAStrand,
}

impl Hog {
    fn start(self, done: Arc<AtomicU64>) -> TaskHandle<()> {
        match self {
            Hog::Awaits => spawn(async move {
                loop {
                    task::consume_budget().await;
                    done.fetch_add(1, Relaxed);
                }
            }),
            Hog::WaitsInAPoll => spawn(async move {
                while !task::is_cancelled() {
                    task::consume_budget().wait();
                    done.fetch_add(1, Relaxed);
                }
            }),
            Hog::WaitsOnAStrand => strand::spawn_local(move || {
                loop {
                    task::consume_budget().wait();
                    done.fetch_add(1, Relaxed);
                }
            })
            .expect("on a worker"),
        }
    }
}

#[test]
fn a_task_that_never_has_to_wait_gives_way_after_its_budget() {
    for hog in [Hog::Awaits, Hog::WaitsInAPoll, Hog::WaitsOnAStrand] {
        let bounds = Bounds::DEFAULT;
        let mut rig = Rig::new(1, bounds.builder());
        let operations = Arc::new(AtomicU64::new(0));
        let count = operations.clone();
        let neighbour = rig.runtime.spawn(yield_for_ever());
        let starter = rig.runtime.spawn(async move { hog.start(count) });
        rig.tick_until_done(&starter);
        let task = starter.wait().unwrap();
        let mut deadlines = Deadlines::default();
        for _ in 0..1_000 {
            let before = operations.load(Relaxed);
            let ran = rig.tick();
            let done = operations.load(Relaxed) - before;
            assert!(done <= BUDGET, "{hog:?}: {done} operations in one poll");
            deadlines.ran(ran, rig.ticks);
            if ran == id(&neighbour) {
                deadlines.set(ran, rig.ticks + bounds.queued(1));
            }
        }
        assert!(operations.load(Relaxed) > 100 * BUDGET, "{hog:?} got on as well");
        task.cancel();
        rig.tick_until_done(&task);
    }
}

/// The resource that is always ready is a task that is over: joining it spends budget as well.
#[test]
fn joining_finished_tasks_gives_way_after_the_budget() {
    let mut rig = Rig::new(1, Bounds::DEFAULT.builder());
    let joined = Arc::new(AtomicU64::new(0));
    let neighbour = rig.runtime.spawn(yield_for_ever());
    let finished: Vec<_> = (0..20 * BUDGET).map(|_| rig.runtime.spawn(async {})).collect();
    finished.iter().for_each(|task| rig.tick_until_done(task));
    let count = joined.clone();
    let joiner = rig.runtime.spawn(async move {
        for task in finished {
            task.await.unwrap();
            count.fetch_add(1, Relaxed);
        }
    });
    let mut polls = 0;
    while !joiner.is_finished() {
        let before = joined.load(Relaxed);
        polls += u64::from(rig.tick() == id(&joiner));
        assert!(joined.load(Relaxed) - before <= BUDGET);
    }
    assert_eq!(polls, 20, "twenty budgets of joins");
    drop(neighbour);
}
