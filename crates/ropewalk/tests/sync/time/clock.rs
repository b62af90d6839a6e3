//! Clocks that stand still, are moved by hand, or jump.

use crate::kit::{Probe, guarded, until};
use ropewalk::time::{self, Instant, NotManual, sleep, sleep_until};
use ropewalk::{Builder, ManualClock, Runtime, RuntimeError, Wait, spawn, yield_now};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

/// What happened when: the number of a task, its step, the time in nanoseconds.
type Trace = Vec<(u64, u32, Duration)>;

/// Tasks that sleep, yield, time out and reset, on `workers` logical workers.
fn program(workers: usize, seed: u64) -> Trace {
    let runtime = Runtime::builder().hosted_workers(workers).paused(true).seed(seed).build().unwrap();
    let trace: Arc<Mutex<Trace>> = Arc::default();
    let shared = trace.clone();
    runtime.block_on(async move {
        let from = Instant::now();
        let tasks: Vec<_> = (0..40)
            .map(|number| {
                let trace = shared.clone();
                spawn(async move {
                    let mut random = number;
                    for step in 0..20 {
                        match draw(&mut random) % 4 {
                            0 => sleep(Duration::from_nanos(draw(&mut random) % 5_000_000)).await,
                            1 => yield_now().await,
                            2 => drop(time::timeout(MS, sleep(2 * MS * (number % 2) as u32)).await),
                            _ => {
                                let mut nap = std::pin::pin!(sleep(HOUR));
                                nap.as_mut().reset(from + Duration::from_micros(draw(&mut random) % 90_000));
                                nap.await;
                            }
                        }
                        trace.lock().unwrap().push((number, step, from.elapsed()));
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    std::mem::take(&mut *trace.lock().unwrap())
}

#[test]
fn one_seed_one_trace_with_timers() {
    for workers in [1, 4] {
        let trace = program(workers, 1);
        assert_eq!(trace.len(), 40 * 20);
        assert!(trace.is_sorted_by_key(|(.., at)| *at), "time does not go back");
        assert_eq!(program(workers, 1), trace);
    }
    assert_ne!(program(4, 1), program(4, 2), "another seed is another run");
}

#[test]
fn things_happen_in_the_order_of_their_deadlines() {
    for workers in [1, 4] {
        let runtime = Runtime::builder().hosted_workers(workers).paused(true).build().unwrap();
        let order: Arc<Mutex<Vec<Duration>>> = Arc::default();
        let mut random = 9;
        let from = std::time::Instant::now();
        runtime.block_on(async {
            let start = Instant::now();
            let tasks: Vec<_> = (0..2_000)
                .map(|_| {
                    // Of every order of magnitude, from nanoseconds to years.
                    let after = Duration::from_nanos(draw(&mut random) << (draw(&mut random) % 28));
                    let order = order.clone();
                    spawn(async move {
                        sleep_until(start + after).await;
                        assert_eq!(start.elapsed(), after, "it jumps to the deadline, not past it");
                        order.lock().unwrap().push(after);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        assert!(order.lock().unwrap().is_sorted());
        assert!(from.elapsed() < HOUR, "years of sleep take no time");
    }
}

#[test]
fn equal_deadlines_fire_in_the_order_of_registration() {
    let runtime = Runtime::builder().paused(true).build().unwrap();
    let order: Arc<Mutex<Vec<u32>>> = Arc::default();
    runtime.block_on(async {
        let deadline = Instant::now() + HOUR;
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let order = order.clone();
                spawn(async move {
                    sleep_until(deadline).await;
                    order.lock().unwrap().push(number);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    // The task in the LIFO slot ran first at the start, so it registered first; after that it is first in, first out.
    let mut seen = order.lock().unwrap().clone();
    assert_eq!(seen.len(), 100);
    seen.retain(|number| *number != 99);
    assert!(seen.is_sorted(), "{seen:?}");
}

/// A job of the blocking pool goes by real time: the clock does not jump over it.
#[test]
fn the_clock_waits_for_blocking_jobs() {
    guarded("blocking jobs", || {
        let runtime = Runtime::builder().paused(true).build().unwrap();
        for _ in 0..100 {
            runtime.block_on(async {
                let from = Instant::now();
                let alarm = spawn(sleep(HOUR));
                let job = ropewalk::spawn_blocking(|| std::thread::sleep(Duration::from_micros(200)));
                job.await.unwrap();
                assert_eq!(from.elapsed(), Duration::ZERO);
                assert!(!alarm.is_finished());
                alarm.await.unwrap();
                assert_eq!(from.elapsed(), HOUR);
            });
        }
    });
}

/// A pool with threads beside a paused one: its timers go by the same clock, which jumps when both have nothing to do.
#[test]
fn the_clock_jumps_for_the_pools_beside_it_too() {
    guarded("side pool", || {
        let runtime = Runtime::builder().paused(true).build().unwrap();
        let side = ropewalk::Pool::builder().name("side").workers(2).build(&runtime.handle()).unwrap();
        for _ in 0..50 {
            let from = runtime.block_on(async { Instant::now() });
            let there = side.spawn(async {
                sleep(HOUR).await;
                std::thread::sleep(Duration::from_micros(100));
                Instant::now()
            });
            let reached = runtime.block_on(there).unwrap();
            assert_eq!(reached - from, HOUR);
        }
    });
}

#[test]
fn driven_by_hand_it_never_jumps() {
    let runtime = Runtime::builder().paused(true).build().unwrap();
    let nap = runtime.spawn(async { sleep(MS).await });
    runtime.run_until_stalled().unwrap();
    for _ in 0..5 {
        assert!(!runtime.try_tick().unwrap());
    }
    assert!(!nap.is_finished());
    runtime.block_on(async { time::advance(MS).await.unwrap() });
    runtime.run_until_stalled().unwrap();
    assert!(nap.is_finished());
}

#[test]
fn try_tick_honours_timers_by_the_real_clock() {
    for builder in [Runtime::builder().worker_threads(0), Runtime::builder().hosted_workers(4)] {
        let runtime = builder.build().unwrap();
        let from = std::time::Instant::now();
        let naps: Vec<_> =
            (0..20u32).map(|number| runtime.spawn(async move { sleep(number * MS / 10).await })).collect();
        until("all are over", || {
            runtime.try_tick().unwrap();
            naps.iter().all(|nap| nap.is_finished())
        });
        assert!(from.elapsed() >= 19 * MS / 10);
    }
}

/// Threads that sleep until a deadline of a clock that stands still are told when it is moved, paused and resumed.
#[test]
fn a_manual_clock_drives_a_runtime_with_threads() {
    guarded("manual", || {
        for workers in [1, 2, 4] {
            let clock = ManualClock::new();
            let runtime = Runtime::builder().worker_threads(workers).clock(clock.clone()).build().unwrap();
            let naps: Vec<_> =
                (1..=10).map(|number| runtime.spawn(async move { sleep(number * HOUR).await })).collect();
            until("all sleep", || runtime.metrics().pools[0].timers == 10);
            for (number, nap) in (1..).zip(naps) {
                assert!(!nap.is_finished());
                clock.advance(HOUR);
                nap.wait().unwrap();
                assert_eq!(runtime.metrics().pools[0].timers, 10 - number);
            }
            let nap = runtime.spawn(async { sleep(2 * MS).await });
            clock.resume();
            nap.wait().unwrap();
            clock.pause();
            assert!(clock.is_paused());
        }
    });
}

#[test]
fn the_current_clock_can_be_moved_if_it_is_manual() {
    assert_eq!(time::pause(), Err(NotManual));
    assert_eq!(time::resume(), Err(NotManual));
    assert_eq!(ropewalk::block_on(time::advance(MS)), Err(NotManual));
    assert!(NotManual.to_string().contains("paused(true)"));
    let runtime = Runtime::builder().paused(true).build().unwrap();
    runtime.block_on(async {
        let from = Instant::now();
        time::advance(HOUR).await.unwrap();
        assert_eq!(from.elapsed(), HOUR);
        time::resume().unwrap();
        let real = std::time::Instant::now();
        sleep(MS).await;
        assert!(real.elapsed() >= MS);
        time::pause().unwrap();
        let then = Instant::now();
        assert_eq!(then, Instant::now());
    });
}

#[test]
fn a_timer_of_a_clock_that_ended_with_its_runtime_is_over() {
    guarded("ended", || {
        let runtime = Runtime::builder().paused(true).build().unwrap();
        let nap = runtime.block_on(async {
            let mut nap = Box::pin(sleep(HOUR));
            assert!(super::poll_with(nap.as_mut(), std::task::Waker::noop()).is_pending());
            nap
        });
        drop(runtime);
        nap.wait();
    });
}

/// A sleep is made by one clock and awaited where another one is used.
#[test]
fn a_sleep_goes_by_the_clock_it_was_made_by() {
    guarded("two clocks", || {
        let clock = ManualClock::new();
        let by_hand = Runtime::builder().worker_threads(1).clock(clock.clone()).build().unwrap();
        let nap = by_hand.block_on(async { sleep(HOUR) });
        let waiting = ropewalk::spawn(nap); // in the default runtime
        until("it waits", || by_hand.metrics().pools[0].timers == 1);
        clock.advance(HOUR);
        waiting.wait().unwrap();
    });
}

#[test]
fn nothing_of_a_runtime_with_timers_is_left() {
    let probe = Probe::new();
    let runtime = Runtime::builder().worker_threads(2).clock(probe.clock()).build().unwrap();
    runtime.spawn(async { sleep(MS).await }).wait().unwrap();
    let pending = runtime.spawn(async { sleep(HOUR).await });
    drop(runtime);
    drop(pending);
    probe.assert_freed();
}

#[test]
fn what_does_not_go_with_paused_is_refused_by_name() {
    let refused = |builder: Builder| match builder.paused(true).build() {
        Err(error @ RuntimeError::Setting { knob: "paused", .. }) => error.to_string(),
        other => panic!("not refused: {other:?}"),
    };
    assert!(refused(Runtime::builder().worker_threads(2)).contains("worker_threads(0) or hosted_workers"));
    assert!(refused(Runtime::builder().clock(ManualClock::new())).contains("ManualClock::skipping"));
    assert!(Runtime::builder().worker_threads(0).paused(true).build().is_ok());
    assert!(Runtime::builder().paused(false).build().is_ok());
}

#[ropewalk::test(paused)]
async fn the_test_macro_gives_a_paused_clock() {
    let from = Instant::now();
    sleep(HOUR).await;
    assert_eq!(from.elapsed(), HOUR);
}
