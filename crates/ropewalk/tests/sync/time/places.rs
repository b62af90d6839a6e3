//! Where the future is, and what becomes of the worker or the runtime that has its timer.

use super::{Counter, pending, poll_with};
use crate::kit::{RuntimeKind, guarded, on_every_kind, strand_in, until};
use ropewalk::time::{Instant, sleep, sleep_until, timeout};
use ropewalk::{Runtime, Wait, spawn_local};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Wake, Waker};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_future_that_moves_keeps_its_timer() {
    on_every_kind(|kind| {
        let (runtime, elsewhere) = (kind.build(), RuntimeKind::Threads(1).build());
        let (old, waker) = Counter::new();
        let task = runtime.spawn(async move {
            let mut nap = Box::pin(sleep(HOUR));
            assert!(poll_with(nap.as_mut(), &waker).is_pending());
            nap
        });
        let mut nap = runtime.block_on(task).unwrap();
        assert_eq!(runtime.metrics().pools[0].timers, 1);
        let moved = elsewhere.spawn(async move {
            let from = Instant::now();
            nap.as_mut().reset(from + 3 * MS);
            nap.await;
            from
        });
        let handle = runtime.handle();
        // A runtime without threads keeps time only while it is driven.
        let driven = if kind.is_hosted() { runtime.block_on(moved) } else { moved.wait() };
        assert!(driven.unwrap().elapsed() >= 2 * MS);
        assert!(old.count() <= 1, "the task that polled last is woken");
        assert_eq!(handle.metrics().pools[0].timers, 0);
        let thread = std::thread::spawn(|| pending(MS, Waker::noop()));
        thread.join().unwrap().wait();
    });
}

#[test]
fn a_forgotten_sleep_fires_or_is_told_when_its_runtime_ends() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let ((soon, waker), (never, other)) = (Counter::new(), Counter::new());
        runtime.block_on(async {
            std::mem::forget(pending(MS, &waker));
            std::mem::forget(pending(HOUR, &other));
            while soon.count() == 0 {
                sleep(MS).await;
            }
        });
        drop(runtime);
        if kind.is_hosted() {
            assert_eq!(never.count(), 1, "its timer was in the runtime that is gone");
        }
    });
}

#[test]
fn a_sleep_goes_on_when_its_runtime_is_gone() {
    guarded("orphans", || {
        for kind in [RuntimeKind::Threads(2), RuntimeKind::Caller] {
            let runtime = kind.build();
            let from = std::time::Instant::now();
            let task =
                runtime.spawn(async { (0..100).map(|_| pending(5 * MS, Waker::noop())).collect::<Vec<_>>() });
            let naps = runtime.block_on(task).unwrap();
            let unpolled = runtime.block_on(async { sleep(5 * MS) });
            drop(runtime);
            naps.into_iter().for_each(|nap| nap.wait());
            Box::pin(unpolled).wait();
            assert!(from.elapsed() >= 5 * MS);
        }
    });
}

/// The waker of one timer, which tells a thread.
struct Tell(Sender<()>);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        let _nobody_waits = self.0.send(());
    }
}

/// A task holds its thread until a timer in that worker's own shard has fired, so somebody else must advance it. Whether
/// the worker came out of the driver, and the other one slept beside it, is different from round to round.
#[test]
fn the_timers_of_a_stuck_worker_fire_by_another_hand() {
    for workers in [2, 3, 16] {
        guarded(format!("stuck, {workers} workers"), || {
            let runtime = RuntimeKind::Threads(workers).build();
            for round in 0..40u32 {
                let stuck = runtime.spawn(async move {
                    sleep(Duration::from_micros(100 * u64::from(round % 7))).await;
                    let (tell, told) = channel();
                    let _nap = pending(Duration::from_micros(300), &Waker::from(Arc::new(Tell(tell))));
                    told.recv().unwrap();
                });
                runtime.block_on(stuck).unwrap();
            }
        });
    }
}

/// The same with the timer registered before, and the thread held by a later poll.
#[test]
fn sleepers_beside_a_stuck_worker_wake_up() {
    guarded("beside", || {
        let runtime = RuntimeKind::Threads(2).build();
        for _ in 0..10 {
            let (release, held) = channel::<()>();
            let sleepers: Vec<_> = (1..20).map(|number| runtime.spawn(sleep(number * MS / 4))).collect();
            let stuck = runtime.spawn(async move {
                sleep(MS).await;
                held.recv().unwrap();
            });
            sleepers.into_iter().for_each(|sleeper| sleeper.wait().unwrap());
            release.send(()).unwrap();
            stuck.wait().unwrap();
        }
    });
}

#[test]
fn the_timers_of_a_retiring_worker_fire() {
    guarded("retiring", || {
        let runtime = RuntimeKind::Threads(4).build();
        let pool = runtime.pool("main").unwrap();
        for _ in 0..5 {
            let tasks: Vec<_> = (0..200u32).map(|number| runtime.spawn(sleep(number * MS / 20))).collect();
            let local = runtime.spawn(async { spawn_local(async { sleep(8 * MS).await }).unwrap().await });
            let strand = strand_in(&runtime, || sleep(8 * MS).wait());
            let shrunk = pool.resize(1).unwrap();
            tasks.into_iter().for_each(|task| task.wait().unwrap());
            local.wait().unwrap().unwrap();
            strand.wait().unwrap();
            shrunk.wait();
            pool.resize(4).unwrap().wait();
        }
        assert_eq!(runtime.metrics().pools[0].timers, 0);
    });
}

#[test]
fn a_runtime_goes_down_with_timers_pending() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let tasks: Vec<_> = (0..500u32)
            .map(|number| {
                runtime.spawn(async move {
                    let span = if number % 2 == 0 { HOUR } else { number * MS / 50 };
                    let _ = timeout(HOUR, sleep(span)).await;
                    sleep(HOUR).await;
                })
            })
            .collect();
        runtime.block_on(sleep(2 * MS));
        drop(runtime);
        for task in tasks {
            assert!(matches!(task.wait(), Err(ropewalk::TaskError::Shutdown)));
        }
    });
}

/// Timers are dropped, moved and polled while they expire, on all workers at once; nothing is left over or lost.
#[test]
fn dropping_beside_expiring() {
    for kind in [RuntimeKind::Threads(2), RuntimeKind::Threads(4), RuntimeKind::Hosted(4)] {
        guarded("dropping", || {
            let runtime = kind.build();
            let tasks: Vec<_> = (0..200u64)
                .map(|number| {
                    runtime.spawn(async move {
                        let mut random = number;
                        for _ in 0..100 {
                            random =
                                random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                            let span = move |shift: u64| Duration::from_nanos((random >> shift) % 200_000);
                            let _ = timeout(span(20), sleep(span(22))).await;
                            let mut nap = Box::pin(sleep(span(30)));
                            let _ = timeout(span(25), nap.as_mut()).await;
                            let _moved = ropewalk::spawn(async move {
                                nap.as_mut().reset(Instant::now() + span(35));
                                nap.await;
                            });
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
            // Those that moved into tasks of their own are still to fire.
            while runtime.metrics().pools[0].alive > 0 {
                runtime.block_on(sleep(MS));
            }
            assert_eq!(runtime.metrics().pools[0].timers, 0);
        });
    }
}

/// A runtime without threads, driven on a worker of another: it sleeps as that one's guest, until its own deadlines.
#[test]
fn a_guest_wakes_for_its_own_timers() {
    guarded("guest", || {
        let host = RuntimeKind::Threads(1).build();
        let task = host.spawn(async {
            let guest = Arc::new(Runtime::builder().worker_threads(0).build().unwrap());
            let from = std::time::Instant::now();
            let beside = ropewalk::spawn(sleep(MS));
            let earlier = guest.clone();
            guest.block_on(async move {
                let late = ropewalk::spawn(sleep(4 * MS));
                // A timer from outside that is earlier than the one the guest sleeps for.
                std::thread::spawn(move || drop(earlier.spawn(async { sleep(MS).await })));
                late.await.unwrap();
                // Ends only if the host's worker goes on while the guest waits.
                beside.await.unwrap();
            });
            assert!(from.elapsed() >= 4 * MS);
            drop(guest);
        });
        task.wait().unwrap();
    });
}

#[test]
fn a_waker_that_panics_hurts_nobody_else() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("on purpose: a bad waker");
        }
    }
    crate::kit::quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let mut naps: Vec<Pin<Box<_>>> = (0..10).map(|_| Box::pin(sleep(HOUR))).collect();
            let (counter, good) = Counter::new();
            for (number, nap) in naps.iter_mut().enumerate() {
                let waker = if number % 2 == 0 { Waker::from(Arc::new(Bad)) } else { good.clone() };
                assert!(poll_with(nap.as_mut(), &waker).is_pending());
            }
            let deadline = Instant::now() + MS;
            naps.iter_mut().for_each(|nap| nap.as_mut().reset(deadline));
            sleep_until(deadline + MS).await;
            while counter.count() < 5 {
                sleep(MS).await;
            }
        });
    });
}

#[test]
fn a_shard_is_used_again_by_the_next_runtime() {
    for _ in 0..50 {
        let runtime = RuntimeKind::Threads(2).build();
        let task = runtime.spawn(async {
            let mut nap = Box::pin(sleep(HOUR));
            assert!(poll_with(nap.as_mut(), Waker::noop()).is_pending());
            nap
        });
        let stale = task.wait().unwrap();
        drop(runtime);
        let next = RuntimeKind::Threads(2).build();
        next.spawn(sleep(MS / 10)).wait().unwrap();
        drop(stale); // remembers a shard that is the next runtime's by now
        next.spawn(sleep(MS / 10)).wait().unwrap();
        until("its timers are gone", || next.metrics().pools[0].timers == 0);
    }
}
