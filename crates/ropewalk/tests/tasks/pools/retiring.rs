//! Workers that retire serve what is pinned to them, and are seen to do so.

use super::{count, here, on_each_worker, with_pool};
use crate::kit::{Gate, guarded, until, until_async};
use ropewalk::{Pool, TaskHandle, Wait, WorkerMetrics, WorkerState, spawn, spawn_local, strand, yield_now};
use std::collections::HashSet;
use std::future::Future;
use std::thread::ThreadId;

/// What is pinned to a worker holds it there while it retires.
struct Pinned {
    gate: Gate,
    home: ThreadId,
    tasks: Vec<TaskHandle<ThreadId>>,
}

/// Pins a local task, a strand and a waiting stack to each of the workers.
fn pin_to_each(pool: &Pool, workers: usize) -> Vec<Pinned> {
    let pinned = on_each_worker(pool, workers, || {
        let gate = Gate::new();
        let (local, on_strand) = (gate.passed(), gate.passed());
        let local = spawn_local(async move {
            local.await;
            here()
        });
        let strand = strand::spawn_local(move || {
            on_strand.wait();
            here()
        });
        let in_poll = gate.passed();
        let stack = spawn_local(async move {
            in_poll.wait();
            here()
        });
        (gate, vec![local.unwrap(), strand.unwrap(), stack.ok().unwrap()])
    });
    let pinned: Vec<_> =
        pinned.into_iter().map(|(home, (gate, tasks))| Pinned { gate, home, tasks }).collect();
    until("all wait", || pinned.iter().all(|pinned| pinned.gate.waiting() == 3));
    pinned
}

#[test]
fn a_retiring_worker_serves_what_is_pinned_to_it() {
    guarded("retiring", || {
        let (runtime, pool) = with_pool(4);
        let pinned = pin_to_each(&pool, 4);
        let mut resized = Box::pin(pool.resize(1).unwrap());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(resized.as_mut().poll(&mut cx).is_pending());
        assert_eq!(count(&pool, WorkerState::Retiring), 3);
        assert_eq!((pool.metrics().active, pool.metrics().retiring), (1, 3));
        let held = |worker: &WorkerMetrics| worker.pinned == 3 && worker.parked_stacks == 1;
        until("what holds them is seen", || pool.metrics().workers.iter().all(held));
        // They take no new work.
        until("they have noticed", || {
            let threads: HashSet<_> = (0..50).map(|_| pool.spawn(async { here() }).wait().unwrap()).collect();
            threads.len() == 1
        });
        for _ in 0..200 {
            let thread = pool.spawn(async { here() }).wait().unwrap();
            assert_eq!(thread, pool.spawn(async { here() }).wait().unwrap());
        }
        assert!(resized.as_mut().poll(&mut cx).is_pending(), "they are still there");
        for pinned in pinned {
            assert_eq!(pinned.gate.waiting(), 3);
            pinned.gate.open();
            for task in pinned.tasks {
                assert_eq!(runtime.block_on(task).unwrap(), pinned.home, "they end where they began");
            }
        }
        runtime.block_on(resized);
        assert_eq!((pool.metrics().active, pool.metrics().retiring), (1, 0));
        assert_eq!(count(&pool, WorkerState::Vacant), 3);
    });
}

#[test]
fn a_retiring_worker_is_taken_back() {
    guarded("taken back", || {
        let (runtime, pool) = with_pool(3);
        let pinned = pin_to_each(&pool, 3);
        let retired = pool.resize(1).unwrap();
        assert_eq!(count(&pool, WorkerState::Retiring), 2);
        let back = pool.resize(3).unwrap();
        assert_eq!(count(&pool, WorkerState::Retiring), 0);
        runtime.block_on(back);
        runtime.block_on(retired);
        let homes: HashSet<_> = pinned.iter().map(|pinned| pinned.home).collect();
        let workers: HashSet<_> =
            on_each_worker(&pool, 3, || ()).into_iter().map(|(thread, ())| thread).collect();
        assert_eq!(workers, homes, "the same threads, with what is pinned to them");
        for pinned in pinned {
            pinned.gate.open();
            pinned
                .tasks
                .into_iter()
                .for_each(|task| assert_eq!(runtime.block_on(task).unwrap(), pinned.home));
        }
    });
}

/// What is pinned may go on to spawn, wait and pin more while its worker retires.
#[test]
fn life_goes_on_on_a_retiring_worker() {
    guarded("life goes on", || {
        let (runtime, pool) = with_pool(2);
        let gate = Gate::new();
        let there = gate.clone();
        let pinned = on_each_worker(&pool, 2, move || {
            let passed = there.passed();
            spawn_local(async move {
                passed.await;
                let home = here();
                for _ in 0..20 {
                    yield_now().await;
                    spawn(yield_now()).wait().unwrap();
                    assert_eq!(spawn_local(async { here() }).unwrap().await.unwrap(), home);
                    assert_eq!(strand::spawn_local(here).unwrap().await.unwrap(), home);
                    assert_eq!(here(), home);
                }
                home
            })
            .ok()
            .unwrap()
        });
        let resized = pool.resize(1).unwrap();
        gate.open();
        for (home, task) in pinned {
            assert_eq!(runtime.block_on(task).unwrap(), home);
        }
        runtime.block_on(resized);
        assert_eq!(pool.metrics().active, 1);
    });
}

#[test]
fn what_workers_do_is_visible() {
    guarded("visible", || {
        let (runtime, pool) = with_pool(4);
        until("all sleep, one in the driver", || {
            (count(&pool, WorkerState::Polling), count(&pool, WorkerState::Idle)) == (1, 3)
        });
        assert_eq!(pool.metrics().sleeping, 4);
        let (let_go, held) = std::sync::mpsc::channel::<()>();
        let task = pool.spawn(async move { _ = held.recv() });
        until("one is busy", || count(&pool, WorkerState::Busy) == 1);
        assert_eq!(pool.metrics().alive, 1);
        until("one polls still", || {
            (count(&pool, WorkerState::Polling), count(&pool, WorkerState::Idle)) == (1, 2)
        });
        let_go.send(()).unwrap();
        runtime.block_on(task).unwrap();
        until("all sleep again", || count(&pool, WorkerState::Busy) == 0);
        let pinned = pin_to_each(&pool, 4);
        let resized = pool.resize(2).unwrap();
        assert_eq!((count(&pool, WorkerState::Retiring), pool.metrics().retiring), (2, 2));
        pinned.iter().for_each(|pinned| pinned.gate.open());
        runtime.block_on(resized);
        assert_eq!((count(&pool, WorkerState::Vacant), pool.metrics().workers.len()), (2, 4));
        until("the others sleep", || count(&pool, WorkerState::Busy) == 0);
        assert_eq!(pool.metrics().sleeping, 2);
    });
}

/// A resize waited for by a task is completed by the last worker that leaves, whoever that is.
#[test]
fn many_wait_for_one_resize() {
    guarded("many wait", || {
        let (runtime, pool) = with_pool(3);
        let pinned = pin_to_each(&pool, 3);
        let first = pool.resize(1).unwrap();
        let more: Vec<_> = (0..5).map(|_| runtime.spawn(pool.resize(1).unwrap())).collect();
        pinned.iter().for_each(|pinned| pinned.gate.open());
        runtime.block_on(async {
            first.await;
            for task in more {
                task.await.unwrap();
            }
            until_async("nobody retires", || pool.metrics().retiring == 0).await;
        });
    });
}
