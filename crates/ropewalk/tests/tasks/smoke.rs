//! The shortest use of everything.

#![allow(clippy::async_yields_async)] // a task that starts another and hands out its handle

use ropewalk::{Runtime, TaskError, Wait};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};

fn runtimes() -> Vec<Runtime> {
    let threaded = [1, 2, 16].map(|n| Runtime::builder().worker_threads(n).build().unwrap());
    let hosted = [1, 4].map(|n| Runtime::builder().hosted_workers(n).build().unwrap());
    let mut all: Vec<_> = threaded.into_iter().chain(hosted).collect();
    all.push(Runtime::builder().worker_threads(0).build().unwrap());
    all
}

#[test]
fn spawn_and_join() {
    for rt in runtimes() {
        let total = rt.block_on(async {
            let parts: Vec<_> = (0..1000u64).map(|n| ropewalk::spawn(async move { n })).collect();
            let mut total = 0;
            for part in parts {
                total += part.await.unwrap();
            }
            total
        });
        assert_eq!(total, 499_500);
    }
}

#[test]
fn yields_and_nested_spawns() {
    for rt in runtimes() {
        let ran = Arc::new(AtomicUsize::new(0));
        let root = rt.spawn({
            let ran = ran.clone();
            async move {
                let handles: Vec<_> = (0..200)
                    .map(|_| {
                        let ran = ran.clone();
                        ropewalk::spawn(async move {
                            for _ in 0..100 {
                                ropewalk::yield_now().await;
                            }
                            ran.fetch_add(1, Relaxed);
                        })
                    })
                    .collect();
                for handle in handles {
                    handle.await.unwrap();
                }
            }
        });
        rt.block_on(root).unwrap();
        assert_eq!(ran.load(Relaxed), 200);
    }
}

#[test]
fn wait_inside_a_poll_parks_the_stack() {
    for rt in runtimes() {
        let task = rt.spawn(async {
            let inner = ropewalk::spawn(async {
                ropewalk::yield_now().await;
                7
            });
            inner.wait().unwrap()
        });
        assert_eq!(rt.block_on(task).unwrap(), 7);
    }
}

#[test]
fn local_tasks_need_not_be_send() {
    for rt in runtimes() {
        let task = rt.spawn(async {
            let shared = Rc::new(5);
            let there = shared.clone();
            let local = ropewalk::spawn_local(async move {
                ropewalk::yield_now().await;
                *there
            })
            .unwrap();
            drop(shared);
            local
        });
        let local = rt.block_on(task).unwrap();
        assert_eq!(rt.block_on(local).unwrap(), 5);
    }
}

#[test]
fn a_strand_yields_waits_and_is_cancelled_by_resumption() {
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            ropewalk::yield_now().wait(); // a destructor may wait while the strand unwinds
            self.0.fetch_add(1, Relaxed);
        }
    }
    for rt in runtimes() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let count = dropped.clone();
        let task = rt.spawn(async move {
            let good = ropewalk::strand::spawn_local(|| {
                ropewalk::yield_now().wait();
                ropewalk::spawn(async { 5 }).wait().unwrap()
            })
            .unwrap();
            let guard = OnDrop(count);
            let bad = ropewalk::strand::spawn_local(move || {
                let _guard = guard;
                std::future::pending::<()>().wait();
            })
            .unwrap();
            ropewalk::yield_now().await;
            bad.cancel();
            (good.await.unwrap(), matches!(bad.await, Err(TaskError::Cancelled)))
        });
        assert_eq!(rt.block_on(task).unwrap(), (5, true));
        assert_eq!(dropped.load(Relaxed), 1);
    }
}

#[test]
fn dropping_a_runtime_drops_what_is_alive() {
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    for rt in runtimes() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..100)
            .map(|_| {
                let guard = OnDrop(dropped.clone());
                rt.spawn(async move {
                    std::future::pending::<()>().await;
                    drop(guard);
                })
            })
            .collect();
        drop(rt);
        assert_eq!(dropped.load(Relaxed), 100);
        for handle in handles {
            assert!(matches!(handle.wait(), Err(TaskError::Shutdown)));
        }
    }
}

#[test]
fn a_worker_held_by_blocking_leaves_its_queue_to_the_others() {
    for _ in 0..100 {
        let rt = Runtime::builder().worker_threads(2).build().unwrap();
        let task = rt.spawn(async {
            ropewalk::with_handler(&ropewalk::Blocking, || ropewalk::spawn(async { 1 }).wait().unwrap())
        });
        assert_eq!(task.wait().unwrap(), 1);
    }
}

/// A task that is new or has yielded is queued, one that waits, in whatever way, is waiting, and one that runs, running.
#[test]
fn tasks_are_shown_as_what_they_do() {
    let runtime = Runtime::builder().hosted_workers(1).build().unwrap();
    let (handle, shown) = (runtime.handle(), Arc::new(Mutex::new(Vec::new())));
    let states = |runtime: &Runtime| -> Vec<_> { runtime.tasks().iter().map(|task| task.state).collect() };
    let gate = runtime.spawn(std::future::pending::<()>());
    let (stop, seen) = (gate.abort_handle(), shown.clone());
    let waiter = runtime.spawn(async move { gate.wait().is_err() }); // inside a poll: its stack is put away
    let yielder = runtime.spawn(async { ropewalk::yield_now().await });
    let looker = runtime.spawn(async move {
        *seen.lock().unwrap() = handle.tasks().iter().map(|task| task.state).collect();
    });
    assert_eq!(states(&runtime), ["queued"; 4], "new ones");
    for _ in 0..4 {
        assert!(runtime.try_tick().unwrap());
    }
    assert!(looker.is_finished());
    assert_eq!(*shown.lock().unwrap(), ["waiting", "waiting", "queued", "running"]);
    stop.cancel();
    assert!(runtime.block_on(waiter).unwrap());
    runtime.block_on(yielder).unwrap();
}
