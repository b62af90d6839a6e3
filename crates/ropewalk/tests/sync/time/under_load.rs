//! Timers beside a flood: a bound in polls, with a clock that the test moves; and silence when there is nothing to do.

use crate::kit::{RuntimeKind, guarded};
use ropewalk::time::{Instant, sleep, sleep_until};
use ropewalk::{ManualClock, Runtime, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// How many tasks in a row may come from the LIFO slot, and how often a worker looks outside.
const STREAK: u64 = 3;
const INTERVAL: u64 = 61;

/// With `before` tasks before it in the ring: the formula at the head of `sched/worker.rs`.
fn queued(before: u64) -> u64 {
    let turns = (before + 1) * (STREAK + 1);
    turns + turns.div_ceil(INTERVAL - 1)
}

/// A timer is found due in the next look, at most `INTERVAL` polls away, and its task then goes behind what is queued.
#[test]
fn a_timer_fires_within_the_bound_beside_a_flood() {
    const FLOOD: u64 = 150;
    let clock = ManualClock::new();
    let runtime = Runtime::builder()
        .hosted_workers(1)
        .clock(clock.clone())
        .global_queue_interval(INTERVAL as u32)
        .build()
        .unwrap();
    for _ in 0..FLOOD {
        drop(runtime.spawn(async {
            loop {
                yield_now().await;
            }
        }));
    }
    let fired = Arc::new(AtomicU64::new(0));
    let sleeper = fired.clone();
    drop(runtime.spawn(async move {
        loop {
            sleep(Duration::from_millis(1)).await;
            sleeper.fetch_add(1, SeqCst);
        }
    }));
    for _ in 0..10 * FLOOD {
        assert!(runtime.try_tick().unwrap());
    }
    for round in 0..200 {
        assert_eq!(runtime.metrics().pools[0].timers, 1, "it waits");
        clock.advance(Duration::from_millis(1));
        let mut ticks = 0;
        while fired.load(SeqCst) == round {
            assert!(runtime.try_tick().unwrap());
            ticks += 1;
            assert!(ticks <= INTERVAL + queued(FLOOD), "round {round}: not by tick {ticks}");
        }
    }
}

/// More timers than a queue holds are due at once: all fire, by deadline, and nothing else starves.
#[test]
fn a_burst_of_timers_fires_in_order_beside_a_flood() {
    let clock = ManualClock::new();
    let runtime = Runtime::builder().hosted_workers(1).clock(clock.clone()).build().unwrap();
    let (order, turns) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let busy = turns.clone();
    drop(runtime.spawn(async move {
        loop {
            busy.fetch_add(1, SeqCst);
            yield_now().await;
        }
    }));
    let start = runtime.block_on(async { Instant::now() });
    let tasks: Vec<_> = (0..3_000)
        .map(|number| {
            let order = order.clone();
            runtime.spawn(async move {
                sleep_until(start + Duration::from_nanos(1 + number * 1_000)).await;
                assert_eq!(order.fetch_add(1, SeqCst), number, "fires in its turn");
            })
        })
        .collect();
    while runtime.metrics().pools[0].timers < 3_000 {
        runtime.try_tick().unwrap();
    }
    clock.advance(Duration::from_secs(1));
    let before = turns.load(SeqCst);
    while !tasks.iter().all(|task| task.is_finished()) {
        runtime.try_tick().unwrap();
    }
    assert!(turns.load(SeqCst) - before >= 3_000 / 300, "the other one had its turns");
    tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
}

/// Ten thousand sleepers on every kind of runtime, again and again.
#[test]
fn many_sleepers_all_wake_up() {
    for kind in
        [RuntimeKind::Threads(1), RuntimeKind::Threads(2), RuntimeKind::Caller, RuntimeKind::Hosted(4)]
    {
        guarded("many", || {
            let runtime = kind.build();
            let tasks: Vec<_> = (0..10_000u64)
                .map(|number| {
                    runtime.spawn(async move {
                        for round in 0..3 {
                            sleep(Duration::from_micros((number * 7 + round * 13) % 5_000)).await;
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
            assert_eq!(runtime.metrics().pools[0].timers, 0);
        });
    }
}

/// A runtime whose only timer is far away sleeps through: a lone timer is waited for exactly, with no wake-ups on the way.
#[cfg(target_os = "linux")]
#[test]
fn a_far_timer_wakes_nobody_meanwhile() {
    let runtime = Runtime::builder().worker_threads(2).thread_name("farsleep").build().unwrap();
    let nap = runtime.spawn(sleep(Duration::from_secs(3600)));
    let parks = || runtime.metrics().total(|worker| worker.parks);
    // When nothing was parked anew for a while, all is quiet.
    let mut before = parks();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        if std::mem::replace(&mut before, parks()) == parks() && runtime.metrics().pools[0].sleeping == 2 {
            break;
        }
    }
    let quiet = parks();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(parks(), quiet, "somebody got up for nothing");
    assert!(!nap.is_finished());
}
