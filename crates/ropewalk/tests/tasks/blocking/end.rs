//! A runtime goes down with jobs in its blocking pool.

use super::{KINDS, narrow, plug};
use crate::kit::{self, Gate, Probe, RuntimeKind, until};
use ropewalk::{TaskError, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// It does not wait for itself, and what it does after that is its own business.
#[test]
fn a_runtime_is_dropped_in_a_job_of_its_own() {
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let probe = Probe::new();
            let runtime = kind.builder().blocking_threads(0, 1).clock(probe.clock()).build().unwrap();
            let handle = runtime.handle();
            let (gate, there) = (Gate::new(), runtime.handle());
            let passed = gate.passed();
            let job = handle.spawn_blocking(move || {
                passed.wait();
                drop(runtime);
                there.spawn_blocking(|| ()).wait()
            });
            let queued = handle.spawn_blocking(|| ());
            gate.open();
            assert!(matches!(job.wait(), Ok(Err(TaskError::Shutdown))));
            assert!(matches!(queued.wait(), Err(TaskError::Shutdown)));
            drop(handle);
            probe.assert_freed();
        });
    }
}

#[test]
fn a_runtime_is_shut_down_in_a_job_of_its_own() {
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let runtime = narrow(kind, 2);
            let handle = runtime.handle();
            let job = handle.spawn_blocking(move || runtime.shutdown(Duration::MAX));
            job.wait().unwrap().expect("there was nobody but itself");
        });
    }
}

#[test]
fn a_runtime_is_dropped_in_a_task_while_jobs_run_and_wait() {
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let (runtime, gate) = (narrow(kind, 1), Gate::new());
            let plug = plug(&runtime, &gate);
            let (queued, handle) = (runtime.spawn_blocking(|| ()), runtime.handle());
            let task = handle.spawn(async move { drop(runtime) });
            let _ended = handle.block_on(task);
            assert!(matches!(queued.wait(), Err(TaskError::Shutdown)));
            assert!(!plug.is_finished());
            gate.open();
            plug.wait().unwrap();
        });
    }
}

/// A graceful shutdown counts what it had to cancel, and waits for what it can wait for.
#[test]
fn a_deadline_that_passes_cancels_what_is_queued() {
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let (runtime, gate) = (narrow(kind, 1), Gate::new());
            let plug = plug(&runtime, &gate);
            let queued: Vec<_> = (0..3).map(|_| runtime.spawn_blocking(|| ())).collect();
            let opener = std::thread::spawn(move || {
                for job in queued {
                    assert!(matches!(job.wait(), Err(TaskError::Shutdown)));
                }
                gate.open();
            });
            let error = runtime.shutdown(Duration::ZERO).unwrap_err();
            assert_eq!(error.cancelled, 4);
            opener.join().unwrap();
            plug.wait().unwrap();
        });
    }
}

/// A job that does not end is left behind, with a word to say so; its thread goes on and its handle gets its value.
#[test]
fn a_job_that_does_not_end_is_left_behind_and_named() {
    if !kit::is_child() {
        let output =
            kit::run_as_child("blocking::end::a_job_that_does_not_end_is_left_behind_and_named", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let reports: Vec<_> = text.lines().filter(|line| line.contains("left behind at shutdown")).collect();
        assert_eq!(reports.len(), KINDS.len(), "{text}");
        for report in reports {
            assert!(report.contains("\"endless\"") && report.contains("blocking/end.rs"), "{report}");
            assert!(!report.contains("src/sched"), "shows nothing internal: {report}");
        }
        return;
    }
    for kind in KINDS {
        let (runtime, gate) = (narrow(kind, 1), Gate::new());
        let (started, passed) = (Arc::new(AtomicBool::new(false)), gate.passed());
        let (here, pool) = (started.clone(), runtime.pool("main").unwrap());
        let job = ropewalk::task::Builder::new().name("endless").pool(&pool).spawn_blocking(move || {
            here.store(true, SeqCst);
            passed.wait();
            5
        });
        drop(pool);
        until("it runs", || started.load(SeqCst));
        drop(runtime);
        gate.open();
        assert_eq!(job.wait().unwrap(), 5);
    }
}

/// A panic that ends the runtime ends the blocking pool, too.
#[test]
fn a_detached_panic_ends_a_runtime_that_is_built_so() {
    kit::quiet();
    kit::guarded("ends", || {
        let builder = RuntimeKind::Threads(1).builder().unhandled_panic(ropewalk::UnhandledPanic::Terminate);
        let runtime = builder.blocking_threads(0, 1).build().unwrap();
        drop(runtime.spawn_blocking(|| panic!("on purpose")));
        until("it is closed", || matches!(runtime.spawn_blocking(|| ()).wait(), Err(TaskError::Shutdown)));
        assert!(kit::panic_of(|| runtime.block_on(async {})).unwrap().starts_with("on purpose"));
        assert_eq!(runtime.metrics().unhandled_panics, 1);
    });
}
