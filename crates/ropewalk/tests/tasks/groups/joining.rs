//! Joining, cancelling and failing: what a group does for who has it.

use crate::kit::{Gate, ON_PURPOSE, Probe, RuntimeKind, on_every_kind, quiet, until_async};
use ropewalk::{Pool, TaskError, TaskGroup, Wait, spawn, task, task_group, yield_now};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn results_in_the_order_of_spawning() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let results = runtime.block_on(task_group(|group| {
            for n in 0..100_u32 {
                group.spawn(async move {
                    for _ in 0..(100 - n) % 7 {
                        yield_now().await;
                    }
                    n
                });
            }
            assert_eq!(group.len(), 100);
        }));
        let results: Vec<_> = results.into_iter().map(Result::unwrap).collect();
        assert_eq!(results, (0..100).collect::<Vec<_>>());
        assert!(runtime.block_on(task_group::<()>(|_| {})).is_empty());
    });
}

#[test]
fn the_next_that_ends() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let gates: Vec<_> = (0..5).map(|_| Gate::new()).collect();
            let mut group = TaskGroup::new();
            for (n, gate) in gates.iter().enumerate() {
                let passed = gate.passed();
                group.spawn(async move {
                    passed.await;
                    n
                });
            }
            assert!(group.try_join_next().is_none());
            for n in [3, 0, 4, 1, 2] {
                gates[n].open();
                assert_eq!(group.join_next().await.unwrap().unwrap(), n);
            }
            assert!(
                group.is_empty() && group.join_next().await.is_none() && group.join_all().await.is_empty()
            );
            // It can be used again; seats are given again, the order of spawning is kept.
            let gate = Gate::new();
            for n in [10, 11, 12] {
                let passed = gate.passed();
                group.spawn(async move {
                    passed.await;
                    n
                });
            }
            gate.open();
            let first = group.join_next().await.unwrap().unwrap();
            let rest: Vec<_> = group.join_all().await.into_iter().map(Result::unwrap).collect();
            let expected: Vec<_> = [10, 11, 12].into_iter().filter(|n| *n != first).collect();
            assert_eq!(rest, expected);
        });
    });
}

/// Joining is given up and taken up again: nothing is lost.
#[test]
fn joining_is_cancel_safe() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let gate = Gate::new();
            let mut group = TaskGroup::new();
            let passed = gate.passed();
            let first = group.spawn(async { 1 });
            group.spawn(async move {
                passed.await;
                2
            });
            until_async("the first has ended", || first.is_finished()).await;
            {
                let mut all = Box::pin(group.join_all());
                let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(all.as_mut().poll(cx))).await;
                assert!(polled.is_pending());
            }
            gate.open();
            let results: Vec<_> = group.join_all().await.into_iter().map(Result::unwrap).collect();
            assert_eq!(results, [1, 2]);
        });
    });
}

#[test]
fn all_are_cancelled() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let mut group = TaskGroup::new();
            for _ in 0..20 {
                group.spawn(pending::<u32>());
            }
            group.spawn(async { 5 });
            group.cancel_all();
            group.cancel_all();
            // Those spawned later are not concerned.
            group.spawn(async { 6 });
            let mut results = group.join_all().await;
            assert_eq!(results.pop().unwrap().unwrap(), 6);
            let _cancelled_or_not = results.pop();
            assert!(results.iter().all(|result| matches!(result, Err(TaskError::Cancelled))));
            // One alone.
            let one = group.spawn(pending());
            group.spawn(async { 7 });
            one.cancel();
            let results = group.join_all().await;
            assert!(matches!(results[..], [Err(TaskError::Cancelled), Ok(7)]));
        });
    });
}

#[test]
fn a_dropped_group_cancels_its_tasks() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let counted = Arc::new(());
        runtime.block_on(async {
            let mut group = TaskGroup::new();
            for n in 0..20 {
                let held = counted.clone();
                group.spawn(async move {
                    let _held = held;
                    if n % 2 == 0 {
                        pending::<()>().await;
                    }
                });
            }
            drop(group);
            until_async("all are dropped", || Arc::strong_count(&counted) == 1).await;
            // The same if only the future that joins is dropped.
            let held = counted.clone();
            let mut joining = Box::pin(task_group(move |group| {
                group.spawn(async move {
                    let _held = held;
                    pending::<()>().await;
                });
            }));
            let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(joining.as_mut().poll(cx))).await;
            assert!(polled.is_pending());
            drop(joining);
            until_async("it is dropped", || Arc::strong_count(&counted) == 1).await;
        });
        drop(runtime);
        probe.assert_freed();
    });
}

/// The first panic, cancellation or value that counts as failure ends the others, and whoever comes later.
#[test]
fn the_first_failure_cancels_the_rest() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        for failure in 0..3 {
            runtime.block_on(async {
                let mut group = TaskGroup::new();
                group.fail_fast(true).fail_on(|value: &Result<u32, ()>| value.is_err());
                for _ in 0..5 {
                    group.spawn(pending());
                }
                let fine = group.spawn(async { Ok(1) });
                until_async("a value is no failure", || fine.is_finished()).await;
                let failing = group.spawn(async move {
                    match failure {
                        0 => panic!("{ON_PURPOSE}"),
                        1 => pending().await,
                        _ => Err(()),
                    }
                });
                if failure == 1 {
                    failing.cancel();
                }
                let results = group.join_all().await;
                assert!(results[..5].iter().all(|result| matches!(result, Err(TaskError::Cancelled))));
                assert_eq!(*results[5].as_ref().unwrap(), Ok(1));
                match failure {
                    0 => assert!(results[6].as_ref().unwrap_err().is_panic()),
                    1 => assert!(matches!(results[6], Err(TaskError::Cancelled))),
                    _ => assert_eq!(*results[6].as_ref().unwrap(), Err(())),
                }
                group.spawn(pending());
                assert!(
                    matches!(group.join_next().await, Some(Err(TaskError::Cancelled))),
                    "spawned too late"
                );
            });
        }
        // Without it, failures concern nobody.
        runtime.block_on(async {
            let mut group = TaskGroup::new();
            group.spawn(async { panic!("{ON_PURPOSE}") });
            assert!(group.join_next().await.unwrap().unwrap_err().is_panic());
            group.spawn(async { 5 });
            assert_eq!(group.join_next().await.unwrap().unwrap(), 5);
        });
    });
}

/// Failing fast needs nobody who joins.
#[test]
fn failing_fast_while_nobody_joins() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        let held = Arc::new(());
        runtime.block_on(async {
            let mut group = TaskGroup::new();
            group.fail_fast(true);
            let inner = held.clone();
            group.spawn(async move {
                let _held = inner;
                pending::<()>().await;
            });
            group.spawn(async { panic!("{ON_PURPOSE}") });
            until_async("the other is dropped", || Arc::strong_count(&held) == 1).await;
            assert_eq!(group.len(), 2);
        });
    });
}

/// In other pools, in other runtimes, on this worker, with names.
#[test]
fn tasks_of_all_kinds() {
    on_every_kind(|kind| {
        let (runtime, other) = (kind.build(), RuntimeKind::Threads(1).build());
        let pool = Pool::builder().name("other").build(&runtime.handle()).unwrap();
        let far = other.handle();
        let task = runtime.spawn(async move {
            let mut group = TaskGroup::new();
            let thread = || std::thread::current().name().unwrap_or_default().to_owned();
            group.spawn(async move { thread() });
            group.spawn_as(task::Builder::new().pool(&pool).name("a name"), async move { thread() });
            group.spawn_on(&far, async move { thread() });
            let here = std::rc::Rc::new(5);
            group
                .spawn_local(async move {
                    let _not_send = here;
                    thread()
                })
                .unwrap();
            let names: Vec<_> = group.join_all().await.into_iter().map(Result::unwrap).collect();
            assert!(names[1].contains("-other-"), "{names:?}");
            names.len()
        });
        assert_eq!(runtime.block_on(task).unwrap(), 4);
        let off = TaskGroup::<()>::new().spawn_local(async {});
        assert!(off.is_err());
    });
}

/// Many tasks, joined one by one while they end: each exactly once.
#[test]
fn many_are_joined_while_they_end() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let ran = Arc::new(AtomicUsize::new(0));
            let (mut group, mut seen) = (TaskGroup::new(), vec![false; 3000]);
            for n in 0..3000 {
                let ran = ran.clone();
                group.spawn(async move {
                    if n % 3 == 0 {
                        yield_now().await;
                    }
                    ran.fetch_add(1, SeqCst);
                    n
                });
                while group.len() > 100 {
                    let n: usize = group.join_next().await.unwrap().unwrap();
                    assert!(!std::mem::replace(&mut seen[n], true));
                }
            }
            while let Some(n) = group.join_next().await {
                assert!(!std::mem::replace(&mut seen[n.unwrap()], true));
            }
            assert!(seen.iter().all(|seen| *seen));
            ran.load(SeqCst)
        });
        assert_eq!(runtime.block_on(task).unwrap(), 3000);
    });
}

/// A group is joined by others than those who spawned, and by `wait`.
#[test]
fn joined_elsewhere() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let gate = Gate::new();
        let passed = gate.passed();
        let mut group = runtime.block_on(async {
            let mut group = TaskGroup::new();
            group.spawn(async move {
                passed.await;
                5
            });
            group
        });
        let joiner = runtime.spawn(async move { group.join_next().await.unwrap().unwrap() });
        let opener = runtime.spawn(async move { gate.open() });
        runtime.block_on(opener).unwrap();
        assert_eq!(runtime.block_on(joiner).unwrap(), 5);
        let in_poll = runtime.spawn(async {
            let mut group = TaskGroup::new();
            group.spawn(async { spawn(async { 6 }).await.unwrap() });
            group.join_next().wait().unwrap().unwrap()
        });
        assert_eq!(runtime.block_on(in_poll).unwrap(), 6);
    });
}
