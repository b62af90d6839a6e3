//! Cancelling on threads: operations are dropped after a few polls while others go on. The same on one thread, with every
//! step checked, is in `crates/core/tests/suite/cancel_anywhere.rs`.

use crate::kit::{RuntimeKind, guarded};
use ropewalk::sync::{Barrier, Condvar, Mutex, RwLock, Semaphore};
use ropewalk::{TaskHandle, yield_now};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::Poll;

/// What became of the operations of one storm. `ci/fuzz` adds it up.
#[derive(Default)]
struct Account {
    dropped: AtomicU64,
    completed: AtomicU64,
}

/// The operation's output, if it has one within so many polls.
async fn within<F: Future>(account: &Account, polls: u32, operation: F) -> Option<F::Output> {
    let (mut operation, mut left) = (pin!(operation), polls);
    let output = poll_fn(|cx| match operation.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
    let ended = if output.is_some() { &account.completed } else { &account.dropped };
    ended.fetch_add(1, Ordering::Relaxed);
    output
}

/// How often each task starts something; millions with `ROPEWALK_FUZZ_STEPS`.
fn rounds() -> u32 {
    let steps = std::env::var("ROPEWALK_FUZZ_STEPS").map_or(50_000, |text| text.parse().expect("a number"));
    steps / 16
}

fn storm(subject: &str, things: &str, work: impl Fn(u32, u32, Arc<Account>) -> TaskHandle<()>) {
    let account = Arc::<Account>::default();
    guarded("a storm", || {
        let tasks: Vec<_> = (0..16).map(|task| work(task, rounds(), account.clone())).collect();
        tasks.into_iter().for_each(|task| ropewalk::wait(task).unwrap());
    });
    let (dropped, completed) =
        (account.dropped.load(Ordering::Relaxed), account.completed.load(Ordering::Relaxed));
    // Whether one was chosen when it was dropped cannot be said here.
    println!(
        "account of {subject} on threads: made {} unpolled 0 waiting {dropped} chosen 0 completed {completed} \
         {things} {completed}",
        dropped + completed
    );
}

#[test]
fn mutex() {
    let runtime = RuntimeKind::Threads(4).build();
    let mutex = Arc::new(Mutex::new((0, 0)));
    storm("mutex", "locks", |task, rounds, account| {
        let mutex = mutex.clone();
        runtime.spawn(async move {
            for round in 0..rounds {
                if let Some(mut pair) = within(&account, (task + round) % 4, mutex.lock()).await {
                    pair.0 += 1;
                    if round % 8 == 0 {
                        yield_now().await;
                    }
                    pair.1 += 1;
                    assert_eq!(pair.0, pair.1);
                }
            }
        })
    });
    assert!(mutex.try_lock().unwrap().0 > 0);
}

#[test]
fn rwlock() {
    let runtime = RuntimeKind::Threads(4).build();
    let lock = Arc::new(RwLock::new((0, 0)));
    storm("rwlock", "locks", |task, rounds, account| {
        let lock = lock.clone();
        runtime.spawn(async move {
            for round in 0..rounds {
                let polls = (task + round) % 4;
                if round % 3 == 0 {
                    if let Some(mut pair) = within(&account, polls, lock.write()).await {
                        pair.0 += 1;
                        yield_now().await;
                        pair.1 += 1;
                    }
                } else if let Some(pair) = within(&account, polls, lock.read()).await {
                    assert_eq!(pair.0, pair.1);
                    if round % 8 == 1 {
                        yield_now().await;
                    }
                }
            }
        })
    });
    assert!(lock.try_write().unwrap().0 > 0);
}

#[test]
fn semaphore() {
    let runtime = RuntimeKind::Threads(4).build();
    let semaphore = Arc::new(Semaphore::new(5));
    storm("semaphore", "permits", |task, rounds, account| {
        let semaphore = semaphore.clone();
        runtime.spawn(async move {
            for round in 0..rounds {
                let (polls, many) = ((task + round) % 4, 1 + (task as usize + round as usize) % 5);
                if let Some(permits) = within(&account, polls, semaphore.acquire_many(many)).await {
                    assert_eq!(permits.unwrap().permits(), many);
                }
                if let Some(_permits) = within(&account, polls, semaphore.clone().acquire_owned()).await {
                    yield_now().await;
                }
            }
        })
    });
    assert_eq!(semaphore.available_permits(), 5);
}

/// Half of them put tickets in, one notification each; the others wait for one, and give up now and then.
#[test]
fn condvar() {
    let runtime = RuntimeKind::Threads(4).build();
    let shared = Arc::new((Mutex::new(0u32), Condvar::new()));
    storm("condvar", "tickets", |task, rounds, account| {
        let shared = shared.clone();
        runtime.spawn(async move {
            let (tickets, filled) = &*shared;
            for round in 0..rounds {
                if task % 2 == 0 {
                    *tickets.lock().await += 1;
                    filled.notify_one();
                    continue;
                }
                // What is given up is tried again, so that in the end all tickets are taken.
                let mut polls = round % 3;
                while within(&account, polls, async {
                    let guard = tickets.lock().await;
                    *filled.wait_while(guard, |tickets| *tickets == 0).await -= 1;
                })
                .await
                .is_none()
                {
                    polls += 1;
                }
            }
        })
    });
    assert_eq!(*shared.0.try_lock().unwrap(), 0);
}

/// Who gives up is not counted: so many rounds are over, each with one leader, and nobody passes without a round.
#[test]
fn barrier() {
    let runtime = RuntimeKind::Threads(4).build();
    let barrier = Arc::new(Barrier::new(3));
    let (led, followed) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    storm("barrier", "passages", |task, rounds, account| {
        let (barrier, led, followed) = (barrier.clone(), led.clone(), followed.clone());
        runtime.spawn(async move {
            let mut tries = task;
            while led.load(Ordering::SeqCst) < rounds {
                tries += 1;
                match within(&account, tries % 4, barrier.wait()).await {
                    Some(party) if party.is_leader() => led.fetch_add(1, Ordering::SeqCst),
                    Some(_) => followed.fetch_add(1, Ordering::SeqCst),
                    None => continue,
                };
            }
        })
    });
    assert!(followed.load(Ordering::SeqCst) <= 2 * led.load(Ordering::SeqCst));
}
