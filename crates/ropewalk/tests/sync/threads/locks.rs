//! Locks that block the thread.

use crate::kit::{Gate, ON_PURPOSE, RuntimeKind, guarded, panic_of, quiet, until};
use ropewalk::Wait;
use ropewalk::thread::{self, Condvar, Mutex, Permit, RwLock, Semaphore};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

static MUTEX: Mutex<u32> = Mutex::new(1);
static RWLOCK: RwLock<u32> = RwLock::new(2);
static SEMAPHORE: Semaphore = Semaphore::new(3);
static CONDVAR: Condvar = Condvar::new();

#[test]
fn they_are_made_by_constants() {
    assert_eq!((*MUTEX.lock(), *RWLOCK.read(), SEMAPHORE.available()), (1, 2, 3));
    CONDVAR.notify_all();
}

#[test]
fn a_mutex_lets_one_in() {
    guarded("mutex", || {
        let mutex = Mutex::new(0u64);
        thread::scope(|s| {
            for _ in 0..4 {
                drop(s.spawn(|| (0..5_000).for_each(|_| *mutex.lock() += 1)).unwrap());
            }
        });
        let guard = mutex.lock();
        assert!(mutex.try_lock().is_none() && format!("{mutex:?}").contains("locked"));
        drop(guard);
        let mut mutex = mutex;
        *mutex.get_mut() += 1;
        assert_eq!((format!("{mutex:?}"), *mutex.try_lock().unwrap()), ("Mutex(20001)".into(), 20_001));
        assert_eq!(mutex.into_inner(), 20_001);
    });
}

#[test]
fn readers_share_and_a_writer_does_not() {
    guarded("rwlock", || {
        let mut lock = RwLock::new(vec![1]);
        let (one, two) = (lock.read(), lock.try_read().unwrap());
        assert!(lock.try_write().is_none() && *one == *two);
        drop((one, two));
        let mut writing = lock.try_write().unwrap();
        writing.push(2);
        assert!(lock.try_read().is_none() && lock.try_write().is_none());
        drop(writing);
        lock.write().push(3);
        lock.get_mut().push(4);
        assert_eq!(lock.into_inner(), [1, 2, 3, 4]);
    });
}

/// A panic under a lock unlocks it, and leaves the value as it was.
#[test]
fn they_are_never_poisoned() {
    quiet();
    guarded("poison", || {
        let (mutex, rwlock, semaphore) = (Mutex::new(0), RwLock::new(0), Semaphore::new(1));
        let crash = |what: &mut i32| {
            *what = 5;
            panic!("{ON_PURPOSE}: under a lock");
        };
        assert!(panic_of(|| crash(&mut mutex.lock())).is_some());
        assert!(panic_of(|| crash(&mut rwlock.write())).is_some());
        let permit = || {
            let _permit = semaphore.acquire();
            crash(&mut 0);
        };
        assert!(panic_of(permit).is_some());
        assert_eq!(*mutex.lock(), 5);
        assert_eq!(*mutex.try_lock().unwrap(), 5);
        assert_eq!((*rwlock.read(), *rwlock.try_read().unwrap()), (5, 5));
        assert_eq!(*rwlock.write(), 5);
        assert_eq!(*rwlock.try_write().unwrap(), 5);
        assert_eq!(semaphore.available(), 1);
        assert_eq!((mutex.into_inner(), rwlock.into_inner()), (5, 5));
    });
}

#[test]
fn a_condvar_waits_for_a_change() {
    guarded("condvar", || {
        let (turn, changed) = (Mutex::new(0), Condvar::new());
        thread::scope(|s| {
            for me in 0..2 {
                let (turn, changed) = (&turn, &changed);
                let pass = move || {
                    for round in 0..200 {
                        let mut now = changed.wait_while(turn.lock(), |now| *now != 2 * round + me);
                        *now += 1;
                        changed.notify_all();
                    }
                };
                drop(s.spawn(pass).unwrap());
            }
        });
        assert_eq!(*turn.lock(), 400);
        let (guard, notified) = changed.wait_timeout(turn.lock(), Duration::from_micros(1));
        assert!(!notified && *guard == 400);
    });
}

#[test]
fn a_semaphore_lets_so_many_in() {
    guarded("semaphore", || {
        let (semaphore, inside, most) = (Semaphore::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|s| {
            for _ in 0..6 {
                let enter = || {
                    for _ in 0..500 {
                        let _permit = semaphore.acquire();
                        most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, SeqCst);
                    }
                };
                drop(s.spawn(enter).unwrap());
            }
        });
        assert!(most.into_inner() <= 2);
        assert_eq!(semaphore.available(), 2);
    });
}

#[test]
fn permits_by_the_dozen() {
    guarded("permits", || {
        let semaphore = Semaphore::new(5);
        let many = semaphore.try_acquire_many(4).unwrap();
        assert_eq!((many.count(), semaphore.available()), (4, 1));
        assert!(semaphore.try_acquire_many(2).is_none());
        assert_eq!(semaphore.acquire_many(0).count(), 0);
        many.forget();
        drop(semaphore.acquire());
        assert_eq!(semaphore.available(), 1, "forgotten permits do not come back");
        semaphore.add_permits(4);
        assert_eq!(semaphore.acquire_many(5).count(), 5);
        assert!(panic_of(|| semaphore.add_permits(usize::MAX)).unwrap().contains("at most"));
        assert_eq!(semaphore.available(), 5, "and it still works");
        let permit = semaphore.acquire();
        semaphore.add_permits(usize::MAX - 4);
        drop(permit);
        assert_eq!(semaphore.available(), usize::MAX);
    });
}

/// First come, first served: one who wants many is not overtaken by those who want one.
#[test]
fn who_wants_many_gets_them_first() {
    guarded("fifo", || {
        let semaphore = Semaphore::new(1);
        let order = Mutex::new(Vec::new());
        thread::scope(|s| {
            let first = semaphore.acquire();
            let take = |count: usize| {
                let permit: Permit<'_> = semaphore.acquire_many(count);
                order.lock().push(count);
                drop(permit);
            };
            let waiting = |count| format!("{semaphore:?}").contains(&format!("waiting: {count}"));
            let many = s.spawn(move || take(2)).unwrap();
            until("the first one waits", || waiting(1));
            let one = s.spawn(move || take(1)).unwrap();
            until("both wait", || waiting(2));
            drop(first);
            assert!(semaphore.try_acquire().is_none(), "there is one, but somebody waits");
            semaphore.add_permits(1);
            many.join().unwrap();
            one.join().unwrap();
        });
        assert_eq!(order.into_inner(), [2, 1]);
    });
}

/// A worker that blocks leaves its queue to the others, and is counted.
#[test]
fn a_worker_that_blocks_is_counted() {
    guarded("held", || {
        let runtime = RuntimeKind::Threads(2).build();
        let (mutex, gate) = (std::sync::Arc::new(Mutex::new(())), Gate::new());
        let locked = mutex.lock();
        let (wanted, there) = (mutex.clone(), gate.clone());
        let blocks = runtime.spawn(async move {
            let queued = ropewalk::spawn(async move { there.open() });
            drop(wanted.lock());
            queued.await
        });
        gate.passed().wait(); // what it queued ran elsewhere
        drop(locked);
        blocks.wait().unwrap().unwrap();
        assert_eq!(runtime.metrics().total(|worker| worker.held), 1);
    });
}
