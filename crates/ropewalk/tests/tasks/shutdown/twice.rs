//! More than once, at the same time, and from its own tasks.

use crate::kit::{DEADLINE, Gate, Probe, RuntimeKind, guarded, on_every_kind};
use ropewalk::{TaskError, Wait, yield_now};
use std::future::pending;
use std::time::Duration;

#[test]
fn one_after_the_other() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let task = runtime.spawn(pending::<()>());
        let handle = runtime.handle();
        assert_eq!(handle.shutdown(Duration::ZERO).unwrap_err().cancelled, 1);
        handle.shutdown(Duration::ZERO).unwrap();
        handle.shutdown_now();
        runtime.shutdown(Duration::ZERO).unwrap();
        assert!(matches!(task.wait(), Err(TaskError::Shutdown)));
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn by_several_threads() {
    on_every_kind(|kind| {
        for deadline in [Duration::ZERO, DEADLINE] {
            let probe = Probe::new();
            let runtime = kind.builder().clock(probe.clock()).build().unwrap();
            let tasks: Vec<_> = (0..20)
                .map(|n| {
                    runtime.spawn(async move {
                        for _ in 0..n {
                            yield_now().await;
                        }
                        if deadline == Duration::ZERO {
                            pending::<()>().await;
                        }
                    })
                })
                .collect();
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    let handle = runtime.handle();
                    scope.spawn(move || drop(handle.shutdown(deadline)));
                }
            });
            runtime.shutdown(deadline).unwrap();
            for task in tasks {
                let end = task.wait();
                assert_eq!(end.is_ok(), deadline != Duration::ZERO, "{end:?}");
            }
            probe.assert_freed();
        }
    });
}

/// Several of its own tasks shut it down: they wait for the others, and not for each other.
#[test]
fn by_several_of_its_own() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (gate, go, handle) = (Gate::new(), Gate::new(), runtime.handle());
        let passed = gate.passed();
        let work = runtime.spawn(async move {
            passed.await;
            5
        });
        let callers: Vec<_> = (0..4)
            .map(|n| {
                let (handle, gate, gone) = (handle.clone(), gate.clone(), go.passed());
                runtime.spawn(async move {
                    gone.await;
                    if n == 3 {
                        gate.open();
                    }
                    handle.shutdown(DEADLINE)
                })
            })
            .collect();
        go.open();
        runtime.block_on(async {
            for caller in callers {
                caller.await.unwrap().unwrap();
            }
        });
        assert_eq!(work.wait().unwrap(), 5);
    });
}

/// Two runtimes whose tasks shut down each other.
#[test]
fn each_other() {
    guarded("each other", || {
        for _ in 0..20 {
            let (one, two) = (RuntimeKind::Threads(1).build(), RuntimeKind::Threads(1).build());
            let (first, second) = (one.handle(), two.handle());
            let a = one.spawn(async move { second.shutdown(Duration::from_millis(5)).is_ok() });
            let b = two.spawn(async move { first.shutdown(Duration::from_millis(5)).is_ok() });
            let _either = (a.wait(), b.wait());
            drop((one, two));
        }
    });
}
