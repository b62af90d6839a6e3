//! Sleeps and timeouts by themselves.

use super::{Counter, pending, poll_with};
use crate::kit::{KINDS, RuntimeKind, guarded, on_every_kind};
use ropewalk::time::{Elapsed, Instant, Sleep, sleep, sleep_until, timeout, timeout_at};
use ropewalk::{Wait, block_on, spawn};
use std::pin::{Pin, pin};
use std::task::{Poll, Waker};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_sleep_is_never_over_early() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let tasks: Vec<_> = (0..200u64)
            .map(|number| {
                runtime.spawn(async move {
                    for round in 0..3 {
                        let span = Duration::from_nanos(number * number * 97 + round * 1_234_567);
                        let (from, ours) = (std::time::Instant::now(), Instant::now());
                        sleep(span).await;
                        assert!(from.elapsed() >= span, "{:?} of {span:?}", from.elapsed());
                        assert!(ours.elapsed() >= span);
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        assert_eq!(runtime.metrics().pools[0].timers, 0);
        assert!(runtime.metrics().total(|worker| worker.timers_fired) > 0);
    });
}

#[test]
fn a_sleep_fits_into_a_cache_line() {
    assert!(size_of::<Sleep>() <= 64, "{}", size_of::<Sleep>());
}

#[test]
fn it_can_be_waited_for_anywhere() {
    guarded("anywhere", || {
        let from = std::time::Instant::now();
        sleep(MS).wait();
        ropewalk_core::block_on_simple(sleep(MS)); // an executor that knows nothing of us
        block_on(sleep(MS));
        std::thread::spawn(|| sleep(MS).wait()).join().unwrap();
        let strand =
            spawn(async { ropewalk::strand::spawn_local(|| sleep(MS).wait()).unwrap() }).wait().unwrap();
        strand.wait().unwrap();
        spawn(async { sleep(MS).wait() }).wait().unwrap(); // parks the stack inside the poll
        assert!(from.elapsed() >= 6 * MS);
    });
}

#[test]
fn no_time_and_past_deadlines_are_over_at_once() {
    let mut none = pin!(sleep(Duration::ZERO));
    assert_eq!(poll_with(none.as_mut(), Waker::noop()), Poll::Ready(()));
    assert_eq!(poll_with(none.as_mut(), Waker::noop()), Poll::Ready(()), "and again");
    let mut past = pin!(sleep_until(Instant::now()));
    assert_eq!(poll_with(past.as_mut(), Waker::noop()), Poll::Ready(()));
    assert!(past.is_elapsed());
    let mut late = pin!(timeout(Duration::ZERO, async { 5 }));
    assert_eq!(poll_with(late.as_mut(), Waker::noop()), Poll::Ready(Ok(5)), "who is ready wins");
}

#[test]
fn for_ever_is_for_ever() {
    for kind in KINDS {
        let runtime = kind.build();
        let pending = runtime.metrics().pools[0].timers;
        runtime.block_on(async {
            let (_, waker) = Counter::new();
            for mut never in [sleep(Duration::MAX), sleep_until(Instant::FAR_FUTURE)].map(Box::pin) {
                assert!(poll_with(never.as_mut(), &waker).is_pending());
                assert_eq!(never.deadline(), Instant::FAR_FUTURE);
                never.as_mut().reset(Instant::now() + MS);
                never.await;
            }
            assert_eq!(timeout(Duration::MAX, sleep(MS)).await, Ok(()));
            let mut far = pin!(sleep(Duration::from_secs(u64::MAX / 4_000_000_000)));
            assert!(poll_with(far.as_mut(), &waker).is_pending());
            far.as_mut().reset(Instant::FAR_FUTURE);
            sleep(MS).await;
            assert!(poll_with(far.as_mut(), &waker).is_pending());
        });
        assert_eq!(runtime.metrics().pools[0].timers, pending);
    }
}

#[test]
fn reset_moves_it_both_ways_and_revives_it() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let hour = Duration::from_secs(3600);
            let mut nap = Box::pin(sleep(hour));
            nap.as_mut().reset(Instant::now() + MS); // before its first poll
            nap.as_mut().await;
            assert!(nap.is_elapsed());
            nap.as_mut().reset(Instant::now() + hour); // after it was over
            assert!(!nap.is_elapsed());
            let (counter, waker) = Counter::new();
            assert!(poll_with(nap.as_mut(), &waker).is_pending());
            let to = Instant::now() + 2 * MS;
            nap.as_mut().reset(to); // earlier, while it waits: the same waker hears of it
            sleep_until(to + MS).await;
            while counter.count() == 0 {
                ropewalk::yield_now().await;
            }
            assert_eq!(poll_with(nap.as_mut(), &waker), Poll::Ready(()));
            let mut nap = pending(200 * MS, &waker);
            nap.as_mut().reset(Instant::now() + hour); // later, while it waits
            sleep(250 * MS).await;
            assert!(poll_with(nap.as_mut(), &waker).is_pending());
            assert_eq!(counter.count(), 1);
        });
        runtime.block_on(task).unwrap();
        assert_eq!(runtime.metrics().pools[0].timers, 0);
    });
}

#[test]
fn timeouts_end_what_takes_too_long_and_nothing_else() {
    on_every_kind(|kind| {
        kind.build().block_on(async {
            assert_eq!(timeout(MS, std::future::pending::<()>()).await, Err(Elapsed));
            assert_eq!(timeout(Duration::from_secs(60), async { 7 }).await, Ok(7));
            assert_eq!(timeout_at(Instant::now() + MS, std::future::pending::<()>()).await, Err(Elapsed));
            let from = std::time::Instant::now();
            assert_eq!(
                timeout(20 * MS, timeout(2 * MS, std::future::pending::<()>())).await,
                Ok(Err(Elapsed))
            );
            assert!(from.elapsed() >= 2 * MS);
            let error: std::io::Error = Elapsed.into();
            assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        });
    });
}

/// A future that always uses up the whole budget of its task does not keep its own timeout from ending it.
#[test]
fn a_timeout_sees_its_end_beside_a_future_that_uses_up_the_budget() {
    let greedy = |cx: &mut std::task::Context<'_>| {
        while ropewalk_core::budget::poll_proceed(cx).is_ready() {}
        Poll::<()>::Pending
    };
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Caller] {
        guarded("greedy", || {
            let runtime = kind.build();
            let task = runtime.spawn(timeout(MS, std::future::poll_fn(greedy)));
            assert_eq!(runtime.block_on(task).unwrap(), Err(Elapsed));
        });
    }
}

/// A task that finds one sleep after the other over lets others run.
#[test]
fn sleeps_that_are_over_spend_budget() {
    let runtime = RuntimeKind::Caller.build();
    runtime.block_on(async {
        let other = spawn(async {});
        for _ in 0..1_000 {
            sleep(Duration::ZERO).await;
        }
        assert!(other.is_finished());
    });
    assert!(runtime.metrics().total(|worker| worker.budget_yields) > 0);
}

#[test]
fn arithmetic_on_moments_saturates() {
    let now = Instant::now();
    assert_eq!(now + Duration::MAX, Instant::FAR_FUTURE);
    assert_eq!(now.checked_add(Duration::MAX), None);
    assert_eq!(now.checked_add(MS), Some(now + MS));
    assert_eq!((now + MS) - now, MS);
    assert_eq!(now - (now + MS), Duration::ZERO);
    assert_eq!((now - Duration::MAX).duration_since(now), Duration::ZERO);
    assert!(format!("{:?} {now:?}", Instant::FAR_FUTURE).starts_with("Instant(never) Instant("));
}

#[test]
fn futures_say_what_they_are() {
    let nap: Pin<Box<Sleep>> = Box::pin(sleep(MS));
    assert!(format!("{nap:?}").contains("elapsed: false"));
    assert!(Elapsed.to_string().contains("timeout"));
}
