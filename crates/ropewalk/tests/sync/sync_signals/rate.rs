//! The rate limiter: never faster than said, first come first served, and a place in line that can be given up.

use crate::kit;
use ropewalk::sync::{RateError, RateLimited, RateLimiter};
use ropewalk::time::{Instant, advance, sleep, timeout};
use ropewalk::{Wait, spawn, yield_now};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn limiter(permits: u32, period: Duration, burst: u32) -> Arc<RateLimiter> {
    Arc::new(RateLimiter::new(permits, period).unwrap().with_burst(burst).unwrap())
}

#[ropewalk::test(paused)]
async fn a_burst_and_then_evenly() {
    let limiter = limiter(10, SECOND, 3);
    let (from, mut times) = (Instant::now(), Vec::new());
    for _ in 0..6 {
        limiter.acquire().await;
        times.push(from.elapsed().as_millis());
    }
    assert_eq!(times, [0, 0, 0, 100, 200, 300]);
    assert_eq!(limiter.available(), 0);
    sleep(250 * MS).await;
    assert_eq!(limiter.available(), 2);
    sleep(SECOND).await;
    assert_eq!(limiter.available(), 3, "no more than the burst is saved up");
}

#[ropewalk::test(paused)]
async fn lots_are_taken_whole_and_in_line() {
    let limiter = limiter(10, SECOND, 5);
    let (from, order) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let mut tasks = Vec::new();
    for permits in [4, 5, 1] {
        let (limiter, order) = (limiter.clone(), order.clone());
        tasks.push(spawn(async move {
            limiter.acquire_many(permits).await.unwrap();
            order.lock().unwrap().push((permits, from.elapsed().as_millis()));
        }));
        yield_now().await; // they come in this order
    }
    for task in tasks {
        task.await.unwrap();
    }
    // The one does not overtake the five, although a permit would be there for it at once.
    assert_eq!(*order.lock().unwrap(), [(4, 0), (5, 400), (1, 500)]);
}

#[ropewalk::test(paused)]
async fn who_goes_away_gives_its_place_back_and_takes_nothing() {
    let limiter = limiter(1, SECOND, 1);
    limiter.acquire().await;
    let from = Instant::now();
    let mut line = Vec::new();
    for _ in 0..4 {
        let limiter = limiter.clone();
        line.push(spawn(async move {
            limiter.acquire().await;
            from.elapsed().as_millis()
        }));
        yield_now().await; // they come in this order
    }
    sleep(500 * MS).await;
    line[0].cancel(); // the first, which sleeps
    line[2].cancel(); // one in the middle
    let mut times = Vec::new();
    for task in line {
        times.push(task.await.ok());
    }
    assert_eq!(times, [None, Some(1_000), None, Some(2_000)]);
}

#[ropewalk::test(paused)]
async fn a_timeout_is_a_place_given_up() {
    let limiter = limiter(1, SECOND, 1);
    limiter.acquire().await;
    for _ in 0..3 {
        assert!(timeout(100 * MS, limiter.acquire()).await.is_err());
    }
    let from = Instant::now();
    limiter.acquire().await;
    assert_eq!(from.elapsed(), 700 * MS);
}

#[ropewalk::test(paused)]
async fn trying_does_not_overtake() {
    let limiter = limiter(1, SECOND, 2);
    assert_eq!(limiter.try_acquire_many(2), Ok(()));
    assert_eq!(limiter.try_acquire(), Err(RateLimited::NotYet));
    advance(SECOND).await.unwrap();
    assert_eq!(limiter.try_acquire(), Ok(()));
    let waits = spawn({
        let limiter = limiter.clone();
        async move { limiter.acquire_many(2).await }
    });
    yield_now().await;
    advance(SECOND).await.unwrap();
    assert_eq!(limiter.available(), 1);
    assert_eq!(limiter.try_acquire(), Err(RateLimited::NotYet), "others stand in line");
    waits.cancel();
    assert!(waits.await.is_err());
    assert_eq!(limiter.try_acquire(), Ok(()));
}

/// Many ask, many give up at random moments: those who stay are let through in order, one per interval without a gap, and
/// nothing is left taken or promised.
#[ropewalk::test(paused)]
async fn giving_up_anywhere_leaves_no_gap() {
    let mut seed = 11_u64;
    let mut random = |n: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    for _ in 0..50 {
        let limiter = limiter(1, 10 * MS, 1);
        let (from, passed) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let mut tasks = Vec::new();
        for id in 0..20_u32 {
            let (limiter, passed) = (limiter.clone(), passed.clone());
            let patience = u32::try_from(1 + random(400)).unwrap() * MS;
            tasks.push(spawn(async move {
                if timeout(patience, limiter.acquire()).await.is_ok() {
                    passed.lock().unwrap().push((id, from.elapsed()));
                }
            }));
            yield_now().await;
        }
        for task in tasks {
            if random(10) == 0 {
                task.cancel();
            }
            let _it_may_be_cancelled = task.await;
        }
        let passed = std::mem::take(&mut *passed.lock().unwrap());
        assert!(passed.is_sorted_by_key(|(id, _)| *id), "{passed:?}");
        assert!((0..).zip(passed.iter()).all(|(turn, (_, when))| *when == turn * 10 * MS), "{passed:?}");
        sleep(10 * MS).await;
        assert_eq!(limiter.try_acquire(), Ok(()), "the line is empty and the bucket full");
    }
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    assert_eq!(RateLimiter::new(0, SECOND).unwrap_err(), RateError::Permits);
    let error = RateLimiter::new(3, Duration::from_nanos(2)).unwrap_err().to_string();
    assert!(error.contains("`period`") && error.contains("from 3 ns"), "{error}");
    assert!(RateLimiter::new(1, Duration::MAX).is_err());
    let hourly = || RateLimiter::new(1, Duration::from_secs(3600)).unwrap();
    let error = hourly().with_burst(0).unwrap_err().to_string();
    assert!(error.contains("`burst` is 0, but must be from 1 to"), "{error}");
    let RateError::Burst { burst: u32::MAX, most } = hourly().with_burst(u32::MAX).unwrap_err() else {
        panic!()
    };
    assert_eq!(hourly().with_burst(most).unwrap().burst(), most);
    assert_eq!(RateLimiter::new(3, SECOND).unwrap().interval(), Duration::from_nanos(333_333_334));

    let limiter = limiter(1, SECOND, 2);
    let error = limiter.acquire_many(3).wait().unwrap_err().to_string();
    assert!(error.contains("3 permits") && error.contains("`burst` is 2"), "{error}");
    assert!(matches!(limiter.try_acquire_many(3), Err(RateLimited::Never(_))));
    assert_eq!(limiter.acquire_many(0).wait(), Ok(()));
}

/// By the system's clock, from tasks and threads: never faster than said.
#[test]
fn tasks_and_threads_share_it() {
    kit::on_every_kind(|kind| {
        let runtime = kind.build();
        let limiter = limiter(10, 5 * MS, 2);
        let from = std::time::Instant::now();
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let limiter = limiter.clone();
                runtime.spawn(async move { limiter.acquire().await })
            })
            .collect();
        let thread = std::thread::spawn({
            let limiter = limiter.clone();
            move || (0..4).for_each(|_| limiter.acquire().wait())
        });
        runtime.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
        });
        thread.join().unwrap();
        assert!(from.elapsed() >= 5 * MS, "ten after the first two, one every half millisecond");
    });
}
