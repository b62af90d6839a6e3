//! How evenly locks serve: counted over a fixed number of acquisitions, and over a second.

use crate::kit::{RuntimeKind, guarded};
use ropewalk::sync::{Barrier, Mutex, RwLock, Semaphore};
use ropewalk::{Wait, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const CONTENDERS: usize = 16;
/// Acquisitions of all contenders together: enough that a thread which the system holds up for a while does not matter.
const TOTAL: usize = 400_000;

/// Lets contenders acquire until there were `TOTAL` acquisitions, and returns how many each had.
fn contend<A: Future<Output = ()> + Send>(
    acquire: impl Fn(usize) -> A + Clone + Send + Sync + 'static,
) -> Vec<usize> {
    contend_while(|all| all < TOTAL, acquire)
}

/// The same for a second, and for at least `TOTAL` acquisitions: on a machine that is busy with other things a second may be
/// too short to be fair in.
fn contend_for_a_second<A: Future<Output = ()> + Send>(
    acquire: impl Fn(usize) -> A + Clone + Send + Sync + 'static,
) -> Vec<usize> {
    let from = Instant::now();
    let served = contend_while(move |all| all < TOTAL || from.elapsed() < Duration::from_secs(1), acquire);
    eprintln!("in {:?}:", from.elapsed());
    served
}

/// Lets contenders acquire as long as `more`, which is told how many acquisitions there were, says so.
fn contend_while<A: Future<Output = ()> + Send>(
    more: impl Fn(usize) -> bool + Clone + Send + 'static,
    acquire: impl Fn(usize) -> A + Clone + Send + Sync + 'static,
) -> Vec<usize> {
    guarded("contenders", || {
        let runtime = RuntimeKind::Threads(4).build();
        let (start, all) = (Arc::new(Barrier::new(CONTENDERS)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..CONTENDERS)
            .map(|number| {
                let (start, all) = (start.clone(), all.clone());
                let (more, acquire) = (more.clone(), acquire.clone());
                runtime.spawn(async move {
                    let mut served = 0;
                    start.wait().await;
                    while more(all.fetch_add(1, Ordering::Relaxed)) {
                        acquire(number).await;
                        served += 1;
                    }
                    served
                })
            })
            .collect();
        tasks.into_iter().map(|task| task.wait().unwrap()).collect()
    })
}

#[track_caller]
fn assert_even(served: &[usize]) {
    let (most, least) = (served.iter().max().unwrap(), served.iter().min().unwrap());
    eprintln!("most {most}, least {least}");
    assert!(*most < 2 * least, "most {most}, least {least}: {served:?}");
}

#[test]
fn mutex_held_across_a_yield() {
    static MUTEX: Mutex<()> = Mutex::new(());
    assert_even(&contend(|_| async {
        let _guard = MUTEX.lock().await;
        yield_now().await;
    }));
}

#[test]
fn semaphore_held_across_a_yield() {
    static SEMAPHORE: Semaphore = Semaphore::new(3);
    assert_even(&contend(|_| async {
        let _permit = SEMAPHORE.acquire().await;
        yield_now().await;
    }));
}

/// The figures in `docs/choosing.md` are from a run of this and the next two alone, optimised.
#[test]
fn mutex_over_a_second() {
    static MUTEX: Mutex<()> = Mutex::new(());
    assert_even(&contend_for_a_second(|_| async {
        let _guard = MUTEX.lock().await;
        yield_now().await;
    }));
}

#[test]
fn semaphore_over_a_second() {
    static SEMAPHORE: Semaphore = Semaphore::new(3);
    assert_even(&contend_for_a_second(|_| async {
        let _permit = SEMAPHORE.acquire().await;
        yield_now().await;
    }));
}

#[test]
fn rwlock_over_a_second() {
    static LOCK: RwLock<()> = RwLock::new(());
    assert_even_by_kind(&contend_for_a_second(|number| read_or_write(&LOCK, number)));
}

/// Readers among themselves and writers among themselves: readers get in together.
#[test]
fn rwlock_held_across_a_yield() {
    static LOCK: RwLock<()> = RwLock::new(());
    assert_even_by_kind(&contend(|number| read_or_write(&LOCK, number)));
}

/// Half of them read, half of them write.
async fn read_or_write(lock: &RwLock<()>, number: usize) {
    if number.is_multiple_of(2) {
        let _guard = lock.read().await;
        yield_now().await;
    } else {
        let _guard = lock.write().await;
        yield_now().await;
    }
}

#[track_caller]
fn assert_even_by_kind(served: &[usize]) {
    for kind in 0..2 {
        assert_even(&served.iter().skip(kind).step_by(2).copied().collect::<Vec<_>>());
    }
}

/// Short sections: who is running overtakes who has yet to wake up, and still all get about the same.
#[test]
fn mutex_held_for_a_moment() {
    static MUTEX: Mutex<usize> = Mutex::new(0);
    assert_even(&contend(|_| async {
        for _ in 0..10 {
            *MUTEX.lock().await += 1;
        }
    }));
}

/// Readers that overlap for ever, so that the lock is never free: a writer gets in all the same, again and again.
#[test]
fn a_writer_among_readers_is_not_starved() {
    guarded("a writer", || {
        let runtime = RuntimeKind::Threads(4).build();
        let (lock, done) = (Arc::new(RwLock::new(0)), Arc::new(AtomicUsize::new(0)));
        let readers: Vec<_> = (1..CONTENDERS)
            .map(|_| {
                let (lock, done) = (lock.clone(), done.clone());
                runtime.spawn(async move {
                    let mut held = lock.read().await;
                    let mut seen = *held;
                    while done.load(Ordering::Relaxed) == 0 {
                        drop(held);
                        held = lock.read().await;
                        assert!(*held >= seen);
                        seen = *held;
                        yield_now().await;
                    }
                })
            })
            .collect();
        let writer = runtime.spawn(async move {
            for _ in 0..2_000 {
                *lock.write().await += 1;
            }
            done.store(1, Ordering::Relaxed);
            assert_eq!(*lock.read().await, 2_000);
        });
        writer.wait().unwrap();
        readers.into_iter().for_each(|reader| reader.wait().unwrap());
    });
}
