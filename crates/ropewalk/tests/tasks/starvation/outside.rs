//! What comes from outside, what goes out when the ring is full, and what is pinned and woken from elsewhere.

use super::rig::{Bounds, Deadlines, Flood, Rig, draw, id, self_waking_pair, yield_for_ever};
use ropewalk::time::sleep;
use ropewalk::{ManualClock, TaskHandle, Wait, spawn, spawn_local};
use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
#[cfg(unix)]
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

#[test]
fn a_flood_of_local_spawns_beside_an_injected_task() {
    let floods =
        [(256, 61, 1, 300), (256, 61, 3, 1_000), (4, 2, 2, 50), (16, 7, 40, 300), (256, 61, 300, 1_000)];
    for (capacity, interval, width, limit) in floods {
        let bounds = Bounds { interval, capacity };
        let mut rig = Rig::new(1, bounds.builder());
        let flood = Flood { width, limit, alive: Arc::new(AtomicU64::new(1)) };
        drop(rig.runtime.spawn(flood.clone().run()));
        for round in 0..20 {
            rig.tick_times(50);
            let before = rig.outside();
            let injected = rig.runtime.spawn(async {});
            let by = rig.ticks + bounds.injected(before);
            while !injected.is_finished() {
                rig.tick();
                assert!(rig.ticks <= by, "{before} before it, round {round}, {bounds:?}, width {width}");
            }
        }
        assert!(width == 1 || flood.alive.load(Relaxed) >= limit / 2, "it was a flood");
    }
}

/// A socket that becomes ready under full load is seen in the next look at the driver, and its task is behind what is in the ring then.
#[cfg(unix)]
#[test]
fn a_socket_that_becomes_ready_beside_busy_tasks() {
    for driver in crate::kit::drivers() {
        for (interval, crowd) in [(2, 1), (7, 10), (61, 3), (61, 200)] {
            let bounds = Bounds::with_interval(interval);
            let mut rig = Rig::new(1, bounds.builder().io_driver(driver));
            let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
            let seen = Arc::new(AtomicU64::new(0));
            let sees = seen.clone();
            drop(rig.runtime.spawn(async move {
                let theirs = ropewalk::net::UnixStream::from_std(theirs).unwrap();
                while theirs.read(&mut [0]).await.unwrap() > 0 {
                    sees.fetch_add(1, Relaxed);
                }
            }));
            (0..crowd).for_each(|_| drop(rig.runtime.spawn(yield_for_ever())));
            rig.tick_times(bounds.injected(crowd)); // all of them run
            for round in 0..2 * interval {
                rig.tick_times(round % interval); // at any point between two looks
                ours.write_all(b"x").unwrap();
                let by = rig.ticks + interval + bounds.queued(crowd);
                while seen.load(Relaxed) == round {
                    rig.tick();
                    assert!(rig.ticks <= by, "{driver}, round {round}, {crowd} busy, {bounds:?}");
                }
            }
        }
    }
}

/// How many strangers are under way at a time.
const STRANGERS: usize = 4;

/// More yielding tasks than the ring holds, beside a stream of injected ones: half of the ring keeps moving out and back.
#[test]
fn overflow_of_the_ring_beside_injected_tasks() {
    for (capacity, interval) in [(4, 2), (4, 3), (4, 61), (8, 5), (16, 7), (64, 13), (256, 61)] {
        for more in [1, capacity / 2, capacity, capacity + 1, 2 * capacity, 5 * capacity] {
            overflow(Bounds { interval, capacity }, capacity + more);
        }
    }
}

fn overflow(bounds: Bounds, crowd: u64) {
    let mut rig = Rig::new(1, bounds.builder());
    let mut deadlines = Deadlines::default();
    let tasks: Vec<_> = (0..crowd).map(|_| rig.runtime.spawn(yield_for_ever())).collect();
    let ids: BTreeSet<u64> = tasks.iter().map(id).collect();
    ids.iter().for_each(|task| deadlines.set(*task, bounds.injected(crowd)));
    let mut strangers = Vec::new();
    while rig.ticks < (3 * bounds.injected(crowd)).min(20_000) {
        strangers.retain(|stranger: &TaskHandle<()>| !stranger.is_finished());
        if strangers.len() < STRANGERS {
            let stranger = rig.runtime.spawn(async {});
            deadlines.set(id(&stranger), rig.ticks + bounds.injected(rig.outside() - 1));
            strangers.push(stranger);
        }
        let overflows = rig.worker(0).overflows;
        let ran = rig.tick();
        deadlines.ran(ran, rig.ticks);
        if ids.contains(&ran) {
            let bound = match rig.worker(0).overflows - overflows {
                0 => bounds.moved_out(rig.queued() - 1, crowd + STRANGERS as u64),
                _ => bounds.injected(rig.outside() - 1), // it went out itself, as the newest of all
            };
            deadlines.set(ran, rig.ticks + bound);
        }
    }
}

/// With room for a quarter of them in the ring, yielding tasks still take turns: those in the ring have half of all, at most.
#[test]
fn a_thousand_yielding_tasks_go_round() {
    let mut rig = Rig::new(1, Bounds::DEFAULT.builder());
    let tasks: Vec<_> = (0..1_000).map(|_| rig.runtime.spawn(yield_for_ever())).collect();
    let mut last: HashMap<u64, u64> = tasks.iter().map(|task| (id(task), 0)).collect();
    while rig.ticks < 20_000 {
        let ran = rig.tick();
        let before = last.insert(ran, rig.ticks).expect("one of them");
        assert!(rig.ticks - before <= 2 * 1_000, "{before}, then {}", rig.ticks);
    }
}

/// A pinned task that a foreign thread or another worker wakes joins its worker's queue at the next look outside.
#[test]
fn pinned_tasks_woken_from_elsewhere() {
    for (workers, interval) in [(1, 2), (1, 61), (4, 5)] {
        let bounds = Bounds::with_interval(interval);
        let mut rig = Rig::new(workers, bounds.builder().work_stealing(false));
        let (bells, polled) = (Arc::<Mutex<Vec<Waker>>>::default(), Arc::new(AtomicU64::new(0)));
        let (bell, count) = (bells.clone(), polled.clone());
        let starter = rig.runtime.spawn(async move {
            for _ in 0..5 {
                let (bell, count, mut known) = (bell.clone(), count.clone(), false);
                let wait = poll_fn(move |cx| {
                    if !std::mem::replace(&mut known, true) {
                        bell.lock().unwrap().push(cx.waker().clone());
                    }
                    count.fetch_add(1, Relaxed);
                    Poll::<()>::Pending
                });
                drop(spawn_local(wait).unwrap());
            }
            (0..20).for_each(|_| drop(spawn(yield_for_ever())));
        });
        rig.tick_until_done(&starter);
        let home = (0..workers).find(|worker| rig.worker(*worker).pinned == 5).expect("they are somewhere");
        let _pair = self_waking_pair(&rig.runtime);
        rig.tick_times(200);
        for _ in 0..50 {
            let (woken, polls) = (polled.load(Relaxed), rig.worker(home).polls);
            // The last of the five has before it the other four, the ring, and the pair if it gets into the ring.
            let before = rig.worker(home).queued as u64 + 2 + 4;
            bells.lock().unwrap().iter().for_each(Waker::wake_by_ref);
            while polled.load(Relaxed) < woken + 5 {
                rig.tick();
                let waited = rig.worker(home).polls - polls;
                assert!(waited <= interval + bounds.queued(before), "{waited} polls of the home worker");
            }
            let pause = draw(&mut { rig.ticks }, 2 * interval);
            rig.tick_times(pause);
        }
    }
}

/// The same bounds where workers have threads: each thread's polls are numbered by the hook.
#[test]
fn bounds_hold_on_threads() {
    for workers in [1, 2] {
        let bounds = Bounds::with_interval(11);
        let log: Arc<Mutex<HashMap<ThreadId, Vec<u64>>>> = Arc::default();
        let polls = log.clone();
        let hook = move |id: ropewalk::TaskId| {
            polls.lock().unwrap().entry(thread::current().id()).or_default().push(id.get());
        };
        let builder = bounds.builder().worker_threads(workers).work_stealing(false);
        let runtime = builder.before_poll(hook).build().unwrap();
        let longest = || log.lock().unwrap().values().map(Vec::len).max().unwrap_or(0);
        let pair = self_waking_pair(&runtime);
        let crowd: Vec<_> = (0..30).map(|_| runtime.spawn(yield_for_ever())).collect();
        let inject = |_| {
            let stranger = runtime.spawn(async {});
            let (name, injected_by) = (id(&stranger), longest());
            stranger.wait().unwrap();
            (name, injected_by)
        };
        let strangers: Vec<(u64, usize)> = (0..200).map(inject).collect();
        while longest() < 5_000 {
            thread::yield_now();
        }
        drop(runtime);
        for polls in log.lock().unwrap().values() {
            // Before one of the crowd: the rest of it, the pair, and a stranger.
            let bound = bounds.queued(30 - 1 + 2 + 1) as usize;
            let mut last = HashMap::new();
            for (tick, task) in polls.iter().enumerate() {
                let before = last.insert(*task, tick).unwrap_or(tick);
                let is_cancelled = tick + crowd.len() + 2 >= polls.len();
                assert!(tick - before <= bound || is_cancelled, "task {task}: {before}, then {tick}");
            }
            for (stranger, from) in &strangers {
                let ran = polls.iter().position(|task| task == stranger);
                let by = from + bounds.injected(0) as usize;
                assert!(ran.is_none_or(|ran| ran <= by), "injected by {from}, ran in {ran:?}, not by {by}");
            }
        }
        drop((pair, crowd));
    }
}

/// However much waits outside, who is woken by the clock is behind at most a ring of others, and stays there.
#[test]
fn a_flood_from_outside_does_not_overtake_a_due_timer() {
    for (capacity, interval, flood) in [(256, 61, 5_000), (16, 7, 2_000), (4, 2, 1_000)] {
        let bounds = Bounds { interval, capacity };
        let clock = ManualClock::new();
        let mut rig = Rig::new(1, bounds.builder().clock(clock.clone()));
        let sleeper = rig.runtime.spawn(async { sleep(Duration::from_millis(1)).await });
        rig.tick();
        let crowd: Vec<_> = (0..flood).map(|_| rig.runtime.spawn(yield_for_ever())).collect();
        rig.tick_times(3 * interval);
        clock.advance(Duration::from_millis(1));
        let by = rig.ticks + bounds.interval + bounds.queued(capacity);
        while !sleeper.is_finished() {
            rig.tick();
            assert!(rig.ticks <= by, "{bounds:?}, a flood of {flood}");
        }
        assert!(rig.outside() > flood / 2, "it was a flood");
        drop(crowd);
    }
}
