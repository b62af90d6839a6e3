//! Locks on a running runtime: tasks, strands and threads contend for the same ones; fairness; budget; cancelling.

mod cancel;
mod fairness;

use crate::kit::{self, RuntimeKind, guarded, on_every_kind, strand_in};
use ropewalk::sync::{Barrier, Condvar, Mutex, RwLock, Semaphore};
use ropewalk::{Wait, spawn, yield_now};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ROUNDS: u32 = 500;

/// A lock that was there at once goes back when the budget is used up, also if the waker that is told so panics.
#[test]
fn a_lock_refused_by_the_budget_is_free_whatever_the_waker_does() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new("by the waker"));
        }
    }
    RuntimeKind::Threads(1).build().block_on(async {
        let task = spawn(async {
            let (mutex, waker) = (Mutex::new(()), std::task::Waker::from(Arc::new(Panics)));
            let refused = (0..100_000).any(|_| {
                let poll = || {
                    let locked =
                        std::pin::pin!(mutex.lock()).poll(&mut std::task::Context::from_waker(&waker));
                    assert!(locked.is_ready());
                };
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(poll)).is_err()
            });
            assert!(refused, "the budget was never used up");
            assert!(mutex.try_lock().is_ok());
        });
        task.await.unwrap();
    });
}

/// The same lock, by `.await` in tasks and by `.wait()` on threads and strands, held across suspensions by some.
#[test]
fn tasks_strands_and_threads_contend_for_one_mutex() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let mutex = Arc::new(Mutex::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..ROUNDS).for_each(|_| *mutex.lock().wait() += 1));
            }
            let strand = {
                let mutex = mutex.clone();
                strand_in(&runtime, move || (0..ROUNDS).for_each(|_| *mutex.lock().wait() += 1))
            };
            let tasks: Vec<_> = (0..3)
                .map(|task| {
                    let mutex = mutex.clone();
                    runtime.spawn(async move {
                        for _ in 0..ROUNDS {
                            let mut guard = mutex.lock().await;
                            if task == 0 {
                                yield_now().await;
                            }
                            *guard += 1;
                        }
                    })
                })
                .collect();
            runtime.block_on(async {
                for task in tasks {
                    task.await.unwrap();
                }
                strand.await.unwrap();
            });
        });
        assert_eq!(*mutex.try_lock().unwrap(), 7 * ROUNDS);
    });
}

/// Readers see pairs that are whole, whoever they are; a semaphore never lets more in than it has permits.
#[test]
fn tasks_and_threads_share_the_other_locks() {
    guarded("the other locks", || {
        let runtime = RuntimeKind::Threads(2).build();
        let lock = Arc::new(RwLock::new((0, 0)));
        let (semaphore, inside) = (Arc::new(Semaphore::new(2)), Arc::new(Mutex::new(0)));
        let work = |lock: Arc<RwLock<(u32, u32)>>, semaphore: Arc<Semaphore>, inside: Arc<Mutex<u32>>| async move {
            for _ in 0..ROUNDS {
                let mut pair = lock.write().await;
                pair.0 += 1;
                yield_now().await;
                pair.1 += 1;
                drop(pair);
                let pair = lock.read().await;
                assert_eq!(pair.0, pair.1);
                drop(pair);
                let permit = semaphore.acquire().await.unwrap();
                *inside.lock().await += 1;
                yield_now().await;
                let mut inside = inside.lock().await;
                assert!(*inside <= 2);
                *inside -= 1;
                drop((inside, permit));
            }
        };
        std::thread::scope(|scope| {
            let work = || work(lock.clone(), semaphore.clone(), inside.clone());
            let tasks: Vec<_> = (0..4).map(|_| runtime.spawn(work())).collect();
            let work = work();
            scope.spawn(|| work.wait());
            tasks.into_iter().for_each(|task| task.wait().unwrap());
        });
        assert_eq!(*lock.try_write().unwrap(), (5 * ROUNDS, 5 * ROUNDS));
        assert_eq!((semaphore.available_permits(), *inside.try_lock().unwrap()), (2, 0));
    });
}

#[test]
fn tasks_and_threads_meet_and_signal_each_other() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let barrier = Arc::new(Barrier::new(3));
        let signal = Arc::new((Mutex::new(0), Condvar::new()));
        std::thread::scope(|scope| {
            let party = |turn: u32| {
                let (barrier, signal) = (barrier.clone(), signal.clone());
                async move {
                    let mut led = 0;
                    for round in 0..100 {
                        led += u32::from(barrier.wait().await.is_leader());
                        // One after the other, in order of their numbers.
                        let guard = signal.0.lock().await;
                        *signal.1.wait_while(guard, |next| *next != 3 * round + turn).await += 1;
                        signal.1.notify_all();
                    }
                    led
                }
            };
            let thread = party(0);
            let thread = scope.spawn(move || thread.wait());
            let tasks = [runtime.spawn(party(1)), runtime.spawn(party(2))];
            let led: u32 = runtime.block_on(async {
                let mut led = 0;
                for task in tasks {
                    led += task.await.unwrap();
                }
                led
            });
            assert_eq!(led + thread.join().unwrap(), 100, "one leader a round");
        });
    });
}

/// A task that always finds its lock free lets others run now and then.
#[test]
fn a_task_that_never_has_to_wait_yields_all_the_same() {
    yields(|stop| async move {
        let mutex = Mutex::new(());
        while !stop.load(Ordering::Relaxed) {
            drop(mutex.lock().await);
        }
    });
    yields(|stop| async move {
        let lock = RwLock::new(());
        while !stop.load(Ordering::Relaxed) {
            drop(lock.read().await);
            drop(lock.write().await);
        }
    });
    yields(|stop| async move {
        let semaphore = Arc::new(Semaphore::new(3));
        while !stop.load(Ordering::Relaxed) {
            drop(semaphore.acquire_many(2).await);
            drop(semaphore.clone().acquire_owned().await);
        }
    });
    yields(|stop| async move {
        let barrier = Barrier::new(1);
        while !stop.load(Ordering::Relaxed) {
            barrier.wait().await;
        }
    });
}

/// Two tasks on one worker: the second stops the first, if it ever runs.
fn yields<F: Future<Output = ()> + Send + 'static>(hog: impl FnOnce(Arc<AtomicBool>) -> F) {
    guarded("a hog", || {
        let runtime = RuntimeKind::Hosted(1).build();
        let stop = Arc::new(AtomicBool::new(false));
        let hog = runtime.spawn(hog(stop.clone()));
        let other = runtime.spawn(async move { stop.store(true, Ordering::Relaxed) });
        runtime.block_on(async {
            hog.await.unwrap();
            other.await.unwrap();
        });
        assert!(runtime.metrics().total(|worker| worker.budget_yields) > 0);
    });
}

/// What a panic leaves: the lock is free, and whoever waited for it goes on.
#[test]
fn a_task_that_panics_with_the_lock_lets_the_next_one_in() {
    kit::quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        let mutex = Arc::new(Mutex::new(0));
        runtime.block_on(async {
            let holder = mutex.clone();
            let failing = spawn(async move {
                let mut guard = holder.lock().await;
                *guard = 1;
                yield_now().await;
                panic!("on purpose");
            });
            let waiter = mutex.clone();
            let waiting = spawn(async move { *waiter.lock().await });
            assert!(failing.await.is_err());
            assert!(waiting.await.unwrap() <= 1, "it came first, or found what was left");
            assert_eq!(*mutex.lock().await, 1);
        });
    });
}
