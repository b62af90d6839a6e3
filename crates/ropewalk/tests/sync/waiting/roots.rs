//! `block_on`, from inside and outside, and what wakes a runtime that sleeps there.

use crate::kit::{Gate, RuntimeKind, on_every_kind, until};
use ropewalk::{Wait, spawn, yield_now};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;

#[test]
fn block_on_inside_a_task() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let handle = runtime.handle();
        let task = runtime.spawn(async move {
            let by_name = ropewalk::block_on(async { spawn(async { 1 }).await.unwrap() });
            let by_handle = handle.block_on(async { spawn(async { 2 }).await.unwrap() });
            ropewalk::block_on(async { ropewalk::block_on(yield_now()) });
            (by_name, by_handle)
        });
        assert_eq!(runtime.block_on(task).unwrap(), (1, 2));
        // And inside block_on itself.
        let inside = runtime.block_on(async { ropewalk::block_on(spawn(async { 3 })).unwrap() });
        assert_eq!(inside, 3);
    });
}

/// A task is woken by a thread while everybody sleeps: also where several workers share one thread.
#[test]
fn a_wake_up_from_outside_reaches_a_sleeping_runtime() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for _ in 0..50 {
            let gates: Vec<_> = (0..6).map(|_| Gate::new()).collect();
            let tasks: Vec<_> = gates.iter().map(|gate| runtime.spawn(gate.passed())).collect();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for gate in &gates {
                        until("it waits", || gate.waiting() > 0);
                        gate.open();
                    }
                });
                runtime.block_on(async {
                    for task in tasks {
                        task.await.unwrap();
                    }
                });
            });
        }
    });
}

/// Tasks spawned by a thread are found by a runtime that sleeps in `block_on`.
#[test]
fn a_spawn_from_outside_reaches_a_sleeping_runtime() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for _ in 0..50 {
            let (handle, done) = (runtime.handle(), Gate::new());
            let (passed, ran) = (done.passed(), Arc::new(AtomicBool::new(false)));
            std::thread::scope(|scope| {
                let ran = ran.clone();
                scope.spawn(move || {
                    until("the root waits", || done.waiting() > 0);
                    drop(handle.spawn(async move {
                        ran.store(true, SeqCst);
                        done.open();
                    }));
                });
                runtime.block_on(passed);
            });
            assert!(ran.load(SeqCst));
        }
    });
}

/// Two threads in `block_on` of one runtime without threads: one drives, and the other goes on when it leaves.
#[test]
fn two_threads_share_a_runtime_without_threads() {
    for kind in [RuntimeKind::Caller, RuntimeKind::Hosted(4)] {
        let runtime = kind.build();
        for round in 0..20 {
            let (one, two) = (Gate::new(), Gate::new());
            std::thread::scope(|scope| {
                for (mine, other) in [(&one, &two), (&two, &one)] {
                    let runtime = &runtime;
                    scope.spawn(move || {
                        let passed = mine.passed();
                        let task = runtime.block_on(async move {
                            let inner = spawn(async move {
                                yield_now().await;
                                passed.await;
                                round
                            });
                            other.open();
                            inner.await.unwrap()
                        });
                        assert_eq!(task, round);
                    });
                }
            });
        }
    }
}

/// The root, on a thread that is no worker, and its tasks take turns.
#[test]
fn the_root_waits_too() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let total: usize = runtime.block_on(async {
            (0..10)
                .map(|number| {
                    spawn(async move {
                        yield_now().await;
                        number
                    })
                    .wait()
                    .unwrap()
                })
                .sum()
        });
        assert_eq!(total, 45);
        let polled = runtime.block_on(poll_fn(|_| Poll::Ready(spawn(async { 7 }).wait().unwrap())));
        assert_eq!(polled, 7);
    });
}
