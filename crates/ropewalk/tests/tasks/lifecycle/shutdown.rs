//! Graceful shutdowns, pools that go down with their runtime, and what is left to those who outlive it.

use super::crowd::{Crowd, inhabited};
use super::table::MAKINGS;
use crate::kit::{self, Probe, on_every_kind, until};
use ropewalk::{Handle, Pool, Runtime, TaskError, Wait};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn what_outlives_the_runtime_is_told_so() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let (handle, main) = (runtime.handle(), runtime.pool("main").unwrap());
        drop(runtime);
        crowd.assert_over();
        assert!(matches!(handle.spawn(async {}).wait(), Err(TaskError::Shutdown)));
        assert!(matches!(main.spawn(async { [0u8; 4096] }).wait(), Err(TaskError::Shutdown)));
        let named = ropewalk::task::Builder::new().name("late").pool(&main).spawn(async {});
        assert!(matches!(named.wait(), Err(TaskError::Shutdown)));
        assert!(handle.pool("main").is_none());
        assert!(main.resize(1).is_err());
        assert!(Pool::builder().name("late").build(&handle).is_err());
        assert_eq!(handle.block_on(async { 5 }), 5, "polling needs no worker");
        assert_eq!(handle.metrics().unhandled_panics, 0);
        drop((handle, main));
        probe.assert_freed();
    });
}

#[test]
fn a_graceful_shutdown_waits() {
    on_every_kind(|kind| {
        for deadline in [kit::DEADLINE, Duration::MAX] {
            let probe = Probe::new();
            let runtime = kind.builder().clock(probe.clock()).build().unwrap();
            let tasks: Vec<_> = (0..50)
                .map(|turns| {
                    runtime.spawn(async move {
                        for _ in 0..turns {
                            ropewalk::yield_now().await;
                        }
                        let child = ropewalk::spawn(async { ropewalk::yield_now().await });
                        child.await.unwrap();
                    })
                })
                .collect();
            runtime.shutdown(deadline).unwrap();
            tasks.into_iter().for_each(|task| task.wait().unwrap());
            probe.assert_freed();
        }
    });
}

#[test]
fn a_shutdown_past_its_deadline_says_how_many_were_cancelled() {
    on_every_kind(|kind| {
        for deadline in [Duration::ZERO, Duration::from_millis(2)] {
            let (runtime, crowd, probe) = inhabited(kind);
            let done = runtime.spawn(async {});
            runtime.block_on(done).unwrap();
            let cancelled = crowd.0.len() as u64;
            let alive = || runtime.metrics().pools[0].alive;
            until("what is over is counted", || alive() == cancelled);
            let error = runtime.shutdown(deadline).unwrap_err();
            assert_eq!((error.cancelled, error.finished, error.left.len()), (cancelled, 0, 0));
            assert_eq!(error.tasks.len() as u64, cancelled);
            assert!(error.to_string().contains(&cancelled.to_string()), "{error}");
            crowd.assert_over();
            probe.assert_freed();
        }
    });
}

#[test]
fn shut_down_by_a_task_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let others = crowd.0.len() as u64;
        let task = handle.spawn(async move { runtime.shutdown(Duration::from_millis(1)) });
        let error = handle.block_on(task).unwrap().unwrap_err();
        assert_eq!(error.cancelled, others, "all but itself");
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

/// The runtime is ended by a panic and then dropped: going down twice is the same as once.
#[test]
fn going_down_twice() {
    kit::quiet();
    on_every_kind(|kind| {
        let probe = Probe::new();
        let builder =
            kind.builder().unhandled_panic(ropewalk::UnhandledPanic::Terminate).clock(probe.clock());
        let runtime = builder.build().unwrap();
        let crowd = Crowd::gather(&runtime.handle(), &MAKINGS);
        drop(runtime.spawn(async { panic!("{}: the end", kit::ON_PURPOSE) }));
        let raised = kit::panic_of(|| runtime.block_on(pending::<()>())).unwrap();
        assert!(raised.contains("the end"), "{raised}");
        runtime.shutdown(kit::DEADLINE).expect("nothing was alive any more");
        crowd.assert_over();
        probe.assert_freed();
    });
}

/// Pools made by hand go down with their runtime.
#[test]
fn other_pools_go_down_too() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let pool = Pool::builder().name("other").workers(2).build(&runtime.handle()).unwrap();
        let tasks: Vec<_> = (0..20).map(|_| pool.spawn(pending::<()>())).collect();
        drop(runtime);
        for task in tasks {
            assert!(matches!(task.wait(), Err(TaskError::Shutdown)));
        }
        drop(pool);
        probe.assert_freed();
    });
}

/// A pool that is made while its runtime goes down either goes down with it or is refused.
#[test]
fn a_pool_made_while_the_runtime_goes_down() {
    for _ in 0..50 {
        let probe = Probe::new();
        let runtime = Runtime::builder().worker_threads(1).clock(probe.clock()).build().unwrap();
        let (handle, go) = (runtime.handle(), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let handle = handle;
                go.wait();
                if let Ok(pool) = Pool::builder().name("late").build(&handle) {
                    assert!(matches!(pool.spawn(pending::<()>()).wait(), Err(TaskError::Shutdown)));
                }
            });
            go.wait();
            drop(runtime);
        });
        probe.assert_freed();
    }
}

/// The destructor of a task makes a pool in the runtime that is going down.
#[test]
fn a_pool_made_by_a_destructor_while_the_runtime_goes_down() {
    struct MakePool(Handle, Arc<Mutex<Option<Pool>>>);
    impl Drop for MakePool {
        fn drop(&mut self) {
            *self.1.lock().unwrap() = Pool::builder().name("late").build(&self.0).ok();
        }
    }
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let made = Arc::new(Mutex::new(None));
        let guard = MakePool(runtime.handle(), made.clone());
        let task = runtime.spawn(async move {
            pending::<()>().await;
            drop(guard);
        });
        drop(runtime);
        assert!(task.wait().is_err());
        assert!(made.lock().unwrap().is_none(), "the runtime was going down already");
        probe.assert_freed();
    });
}
