//! Several pools side by side, and how they end.

use super::with_pool;
use crate::kit::{Probe, guarded, on_every_kind};
use ropewalk::{Pool, Runtime, TaskError, TaskHandle, Wait, spawn, yield_now};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn several_pools_side_by_side() {
    on_every_kind(|kind| {
        let runtime = kind.builder().thread_name("walk").build().unwrap();
        let pools: Vec<_> = ["a", "b", "c"]
            .map(|name| Pool::builder().name(name).workers(2).build(&runtime.handle()).unwrap())
            .into();
        let name = || std::thread::current().name().unwrap().to_owned();
        for pool in &pools {
            assert_eq!(runtime.pool(pool.name()).unwrap().name(), pool.name());
            let thread = runtime.block_on(pool.spawn(async move { name() })).unwrap();
            assert!(thread.starts_with(&format!("walk-{}-", pool.name())), "{thread}");
            // What a task spawns without further words stays in its pool.
            let child =
                runtime.block_on(pool.spawn(async move { spawn(async move { name() }).await.unwrap() }));
            assert!(child.unwrap().starts_with(&format!("walk-{}-", pool.name())));
            let named = ropewalk::task::Builder::new().name("guest").pool(pool).spawn(async move { name() });
            assert!(runtime.block_on(named).unwrap().starts_with(&format!("walk-{}-", pool.name())));
        }
        let listed: Vec<_> = runtime.metrics().pools.iter().map(|pool| pool.name.clone()).collect();
        assert_eq!(listed, ["main", "a", "b", "c"]);
    });
}

/// A chain of tasks that goes from pool to pool, each waiting for the next in its own way.
#[test]
fn handed_from_pool_to_pool() {
    fn hand_on(pools: Arc<Vec<Pool>>, left: usize) -> TaskHandle<usize> {
        let pool = pools[left % pools.len()].clone();
        pool.spawn(async move {
            match left {
                0 => 0,
                left if left % 3 == 0 => 1 + hand_on(pools, left - 1).wait().unwrap(),
                left => 1 + hand_on(pools, left - 1).await.unwrap(),
            }
        })
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let names = ["a", "b"];
        let made = names.map(|name| Pool::builder().name(name).build(&runtime.handle()).unwrap());
        let mut pools = vec![runtime.pool("main").unwrap()];
        pools.extend(made);
        assert_eq!(runtime.block_on(hand_on(Arc::new(pools), 100)).unwrap(), 100);
    });
}

/// A pool that was shut down is gone: its name may be used.
#[test]
fn a_pool_is_made_again_and_again() {
    guarded("the same name", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        for _ in 0..500 {
            let pool = Pool::builder().name("again").workers(2).build(&runtime.handle()).unwrap();
            pool.shutdown().wait().unwrap();
        }
    });
}

#[test]
fn a_pool_is_shut_down() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let pool = Pool::builder().name("other").workers(3).build(&runtime.handle()).unwrap();
        struct OnDrop(Arc<AtomicUsize>);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let dropped = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let guard = OnDrop(dropped.clone());
                pool.spawn(async move {
                    let _guard = guard;
                    if number % 2 == 0 {
                        pending::<()>().await;
                    }
                    loop {
                        yield_now().await;
                    }
                })
            })
            .collect();
        let survivor = runtime.spawn(async {
            yield_now().await;
            7
        });
        runtime.block_on(async { pool.shutdown().await.unwrap() });
        assert_eq!(dropped.load(SeqCst), 100, "all were dropped when it completes");
        for task in tasks {
            assert!(matches!(task.wait(), Err(TaskError::Shutdown)));
        }
        // Once more is the same as once.
        runtime.block_on(async { pool.shutdown().await.unwrap() });
        assert!(matches!(pool.spawn(async {}).wait(), Err(TaskError::Shutdown)));
        assert!(pool.resize(2).is_err());
        assert!(runtime.pool("other").is_none());
        assert_eq!(runtime.block_on(survivor).unwrap(), 7, "others are not concerned");
        // The name is free again.
        let again = Pool::builder().name("other").build(&runtime.handle()).unwrap();
        assert_eq!(runtime.block_on(again.spawn(async { 5 })).unwrap(), 5);
        drop((runtime, pool, again));
        probe.assert_freed();
    });
}

/// By a task of another pool, by two at once, and while others spawn into it.
#[test]
fn a_pool_is_shut_down_by_others() {
    guarded("shut down by others", || {
        for round in 0..30 {
            let (runtime, pool) = with_pool(1 + round % 3);
            let (ran, told) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                let spawner = scope.spawn(|| {
                    let mut tasks = Vec::new();
                    while pool.resize(2).is_ok() || tasks.len() < 10 {
                        let ran = ran.clone();
                        tasks.push(pool.spawn(async move { _ = ran.fetch_add(1, SeqCst) }));
                    }
                    tasks
                });
                let stoppers: Vec<_> = (0..2)
                    .map(|_| {
                        let pool = pool.clone();
                        runtime.spawn(async move { pool.shutdown().await.unwrap() })
                    })
                    .collect();
                stoppers.into_iter().for_each(|stopper| stopper.wait().unwrap());
                let tasks = spawner.join().unwrap();
                let total = tasks.len();
                for task in tasks {
                    match task.wait() {
                        Ok(()) => told.fetch_add(1, SeqCst),
                        Err(TaskError::Shutdown) => 0,
                        Err(other) => panic!("{other}"),
                    };
                }
                assert!(told.load(SeqCst) <= total);
                assert_eq!(told.load(SeqCst), ran.load(SeqCst), "who ran was told so");
            });
        }
    });
}

/// Resizing races with the runtime's end: no worker comes too late, none stays behind.
#[test]
fn resized_while_the_runtime_goes_down() {
    guarded("resize against drop", || {
        for round in 0..60 {
            let probe = Probe::new();
            let runtime = Runtime::builder().worker_threads(1).clock(probe.clock()).build().unwrap();
            let pool = runtime.pool("main").unwrap();
            let tasks: Vec<_> = (0..20).map(|_| pool.spawn(pending::<()>())).collect();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let pool = pool;
                    let mut workers = round % 4;
                    while pool.resize(workers + 1).is_ok() {
                        workers = (workers + 1) % 4;
                    }
                });
                for _ in 0..round % 20 {
                    std::thread::yield_now();
                }
                drop(runtime);
            });
            for task in tasks {
                assert!(matches!(task.wait(), Err(TaskError::Shutdown)));
            }
            probe.assert_freed();
        }
    });
}
