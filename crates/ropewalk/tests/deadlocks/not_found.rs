//! What is not reported: whatever may still go on.

use crate::kit::{Gate, until};
use crate::{hosted, of, start};
use ropewalk::sync::{Mutex, RwLock, Semaphore};
use ropewalk::time::{sleep, timeout};
use ropewalk::{Runtime, Wait, join, select, task, yield_now};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

fn locks() -> &'static [Mutex<()>; 2] {
    Box::leak(Box::default())
}

/// Two tasks in different order, of which the second waits for its second lock by `wait`. Nothing must be found.
fn crossed<F: Future<Output = ()> + Send>(
    name: &str,
    wait: impl FnOnce(&'static Mutex<()>) -> F + Send + 'static,
) {
    let (runtime, [a, b]) = (hosted(), locks());
    start(&runtime, &format!("{name}-1"), async {
        let _a = a.lock().await;
        yield_now().await;
        drop(b.lock().await);
    });
    start(&runtime, &format!("{name}-2"), async {
        let _b = b.lock().await;
        yield_now().await;
        wait(a).await;
    });
    runtime.run_until_stalled().unwrap();
    assert!(runtime.tasks().iter().all(|task| task.state == "waiting"), "both wait");
    assert!(of(name).is_empty(), "{name}");
}

#[test]
fn a_wait_with_a_timeout() {
    crossed("crossed-timeout", |lock| async { drop(timeout(LONG, lock.lock()).await) });
    crossed("crossed-select-timeout", |lock| async {
        select! { _ = lock.lock() => {}, timeout(LONG) => {} }
    });
}

#[test]
fn a_wait_beside_others() {
    crossed("crossed-select", |lock| async {
        select! { _ = lock.lock() => {}, () = sleep(LONG) => {} }
    });
    crossed("crossed-join", |lock| async { drop(join!(lock.lock(), sleep(LONG))) });
}

/// It registers its waker once and says nothing of it; the lock comes later.
#[test]
fn a_wait_beside_a_foreign_future_that_has_the_waker() {
    let kept: &'static std::sync::Mutex<Option<Waker>> = Box::leak(Box::default());
    let foreign = move || {
        poll_fn(move |cx| {
            kept.lock().unwrap().get_or_insert_with(|| cx.waker().clone());
            Poll::<()>::Pending
        })
    };
    crossed("crossed-foreign", move |lock| async move {
        let late = async {
            yield_now().await;
            drop(lock.lock().await);
        };
        join!(foreign(), late);
    });
}

/// A combinator that gives its parts wakers of its own.
#[test]
fn a_wait_behind_a_foreign_waker() {
    struct Relay(Waker);
    impl Wake for Relay {
        fn wake(self: Arc<Self>) {
            self.0.wake_by_ref();
        }
    }
    crossed("crossed-relay", |lock| async {
        let mut wait = pin!(lock.lock());
        poll_fn(|cx| {
            let relay = Waker::from(Arc::new(Relay(cx.waker().clone())));
            wait.as_mut().poll(&mut Context::from_waker(&relay)).map(drop)
        })
        .await;
    });
}

/// Two runtimes, so that the one that was asked does not run before the other one waits.
#[test]
fn a_task_that_was_asked_to_stop() {
    let (runtime, other, [a, b], gate) = (hosted(), hosted(), locks(), Gate::new());
    let passed = gate.passed();
    start(&runtime, "stops-1", async {
        let _a = a.lock().await;
        passed.await;
        drop(b.lock().await);
    });
    runtime.run_until_stalled().unwrap();
    let asked = task::Builder::new().name("stops-2").spawn_on(&other.handle(), async {
        let _b = b.lock().await;
        drop(a.lock().await);
    });
    other.run_until_stalled().unwrap();
    asked.cancel();
    gate.open();
    runtime.run_until_stalled().unwrap();
    assert!(of("stops-1").is_empty(), "each waits for the other, but one of them is about to end");
    other.run_until_stalled().unwrap();
    runtime.run_until_stalled().unwrap();
    assert!(runtime.tasks().is_empty(), "it let the other one go on");
}

#[test]
fn a_chain_that_ends_at_somebody_who_can_go_on() {
    let (runtime, [a, b]) = (hosted(), locks());
    start(&runtime, "chain-end", async {
        let _a = a.lock().await;
        pending().await
    });
    start(&runtime, "chain-middle", async {
        let _b = b.lock().await;
        drop(a.lock().await);
    });
    start(&runtime, "chain-start", async { drop(b.lock().await) });
    runtime.run_until_stalled().unwrap();
    assert!(of("chain-").is_empty());
}

#[test]
fn owned_guards_may_be_anywhere() {
    let runtime = hosted();
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let cross = |first: Arc<Mutex<()>>, second: Arc<Mutex<()>>| async move {
        let _first = first.lock_owned().await;
        yield_now().await;
        drop(second.lock().await);
    };
    start(&runtime, "owned-1", cross(a.clone(), b.clone()));
    start(&runtime, "owned-2", cross(b, a));
    runtime.run_until_stalled().unwrap();
    assert!(of("owned-").is_empty());
}

#[test]
fn a_semaphore_with_more_permits_or_more_to_come() {
    for (name, permits) in [("permits-two", 2), ("permits-added", 1)] {
        let runtime = hosted();
        let (some, [other, _]): (&'static Semaphore, _) =
            (Box::leak(Box::new(Semaphore::new(permits))), locks());
        if permits == 1 {
            some.add_permits(1).unwrap();
            drop(some.try_acquire().unwrap());
        }
        start(&runtime, name, async {
            let _permits = some.acquire_many(2).await;
            yield_now().await;
            drop(other.lock().await);
        });
        start(&runtime, name, async {
            let _other = other.lock().await;
            let _permit = some.acquire().await;
        });
        runtime.run_until_stalled().unwrap();
        assert_eq!(
            runtime.tasks().len(),
            2,
            "they do wait for each other; but permits may come from anywhere"
        );
        assert!(of(name).is_empty());
    }
}

#[test]
fn readers_do_not_need_each_other() {
    let runtime = hosted();
    let (lock, [other, _]): (&'static RwLock<()>, _) = (Box::leak(Box::default()), locks());
    start(&runtime, "readers-1", async {
        let _read = lock.read().await;
        drop(other.lock().await);
    });
    start(&runtime, "readers-2", async {
        let _other = other.lock().await;
        drop(lock.read().await);
        pending().await
    });
    runtime.run_until_stalled().unwrap();
    assert!(of("readers-").is_empty());
}

/// Nobody is named where tasks lock and unlock all the time, in an order that cannot deadlock.
#[test]
fn busy_locks() {
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let locks: &'static [Mutex<u64>; 4] = Box::leak(Box::default());
    let tasks: Vec<_> = (0..8)
        .map(|n| {
            task::Builder::new().name(format!("busy-{n}")).spawn_on(&runtime.handle(), async move {
                for turn in 0..200 {
                    let (low, high) = ((n + turn) % 3, 3);
                    let mut first = locks[low].lock().await;
                    yield_now().await;
                    let mut second = locks[high].lock().await;
                    *first += 1;
                    *second += 1;
                }
            })
        })
        .collect();
    until("they are done", || {
        assert!(of("busy-").is_empty());
        tasks.iter().all(|task| task.is_finished())
    });
    assert_eq!(*locks[3].lock().wait(), 1600);
}
