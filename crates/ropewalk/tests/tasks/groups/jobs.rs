//! Blocking jobs as children, and as parents.

use crate::kit::{Gate, ON_PURPOSE, Probe, on_every_kind, quiet, until_async};
use ropewalk::{TaskError, TaskGroup, Wait, spawn, spawn_blocking};
use std::future::pending;
use std::sync::Arc;
use std::sync::mpsc::channel;

/// When the parent ends, jobs that wait in the queue are removed, and the one that runs is waited for.
#[test]
fn queued_jobs_are_removed_and_running_ones_waited_for() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).blocking_threads(0, 1).build().unwrap();
        let (let_go, held) = channel::<()>();
        let (entered, begun) = (Gate::new(), Gate::new());
        let (there, ready, token) = (entered.clone(), begun.clone(), Arc::new(()));
        let inside = token.clone();
        let parent = runtime.spawn(async move {
            let mut group = TaskGroup::new();
            let running = inside.clone();
            group.spawn_blocking(move || {
                there.open();
                let _closed = held.recv();
                drop(running);
            });
            for _ in 0..10 {
                let queued = inside.clone();
                group.spawn_blocking(move || drop(queued));
            }
            drop(inside);
            ready.open();
            pending::<()>().await;
        });
        runtime.block_on(async {
            begun.passed().await;
            entered.passed().await;
            parent.cancel();
            until_async("those in the queue are gone", || Arc::strong_count(&token) == 2).await;
            assert!(!parent.is_finished(), "one runs");
            drop(let_go);
            assert!(matches!(parent.await, Err(TaskError::Cancelled)));
            assert_eq!(Arc::strong_count(&token), 1, "it was waited for");
        });
        drop(runtime);
        probe.assert_freed();
    });
}

/// Values, panics and failures of jobs are those of tasks.
#[test]
fn jobs_are_joined_as_tasks_are() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let mut group = TaskGroup::new();
            group.spawn_blocking(|| 1);
            group.spawn(async { 2 });
            group.spawn_blocking(|| panic!("{ON_PURPOSE}"));
            let results = group.join_all().await;
            assert!(matches!(results[..], [Ok(1), Ok(2), Err(TaskError::Panicked(_))]));
            group.fail_fast(true).fail_on(|n| *n == 5);
            group.spawn(pending());
            group.spawn_blocking(|| 5);
            let results = group.join_all().await;
            assert!(matches!(results[..], [Err(TaskError::Cancelled), Ok(5)]), "{results:?}");
        });
    });
}

/// One after the other needs one thread: it is free again before the group hears of the end.
#[test]
fn one_thread_is_enough_for_one_job_at_a_time() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let mut group = TaskGroup::new();
            for n in 0..200 {
                group.spawn_blocking(move || n);
                assert_eq!(group.join_next().await.unwrap().unwrap(), n);
            }
        });
        runtime.block_on(task).unwrap();
        assert_eq!(runtime.metrics().blocking.started, 1);
    });
}

/// A job that spawns into a group is a parent as a task is: its handle completes after its children.
#[test]
fn a_job_ends_after_its_children() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let token = Arc::new(());
        for forgotten in [false, true] {
            let inside = token.clone();
            let job = runtime.spawn_blocking(move || {
                let mut group = TaskGroup::new();
                for n in 0..3 {
                    let held = inside.clone();
                    group.spawn(async move {
                        let _held = held;
                        if n > 0 {
                            pending::<()>().await;
                        }
                    });
                }
                if forgotten {
                    std::mem::forget(group);
                }
                7
            });
            runtime.block_on(async {
                assert_eq!(job.await.unwrap(), 7);
                assert_eq!(Arc::strong_count(&token), 1);
            });
        }
        // A job in a task's group, which has a group of its own: cancelled at the root.
        let (entered, inside) = (Gate::new(), token.clone());
        let (there, begun) = (entered.clone(), entered.passed());
        let root = runtime.spawn(async move {
            let mut group = TaskGroup::new();
            group.spawn_blocking(move || {
                let mut group = TaskGroup::new();
                group.spawn(async move {
                    let _held = inside;
                    there.open();
                    pending::<()>().await;
                });
                begun.wait();
                std::mem::forget(group);
            });
            group.join_all().await;
        });
        runtime.block_on(async {
            entered.passed().await;
            root.cancel();
            let _cancelled_or_done = root.await;
            assert_eq!(Arc::strong_count(&token), 1);
        });
    });
}

/// A job that waits for the task it stems from.
#[test]
fn a_job_that_waits_for_its_ancestor() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (give, take) = channel();
        let (tell, told) = channel();
        let root = runtime.spawn(async move {
            let mut group = TaskGroup::new();
            group.spawn_blocking(move || {
                let handle: ropewalk::TaskHandle<()> = take.recv().unwrap();
                tell.send(handle.wait().unwrap_err()).unwrap();
            });
            group.join_all().await;
        });
        let abort = root.abort_handle();
        give.send(root).unwrap();
        runtime.block_on(until_async("the root has ended", || abort.is_finished()));
        assert!(matches!(told.recv().unwrap(), TaskError::Ancestor));
        assert_eq!(runtime.metrics().refused_waits, 1);
        // Others may wait, in jobs, too.
        let parent = runtime.spawn(async {
            let mut group = TaskGroup::new();
            group.spawn(async {});
            group.join_all().await;
        });
        runtime.block_on(spawn_blocking(move || parent.wait().unwrap())).unwrap();
        runtime.block_on(runtime.spawn(async { spawn(async {}).await.unwrap() })).unwrap();
    });
}
