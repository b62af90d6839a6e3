//! Order, growth and shrinking.

use super::{KINDS, narrow, plug};
use crate::kit::{self, Gate, RuntimeKind, until};
use ropewalk::{BlockingMetrics, Runtime, TaskError, Wait};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[test]
fn jobs_run_in_the_order_in_which_they_came() {
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let (runtime, gate) = (narrow(kind, 1), Gate::new());
            let plug = plug(&runtime, &gate);
            let order = Arc::new(Mutex::new(Vec::new()));
            let jobs: Vec<_> = (0..100)
                .map(|number| {
                    let order = order.clone();
                    runtime.spawn_blocking(move || order.lock().unwrap().push(number))
                })
                .collect();
            // Those cancelled leave the others in their order.
            (0..100).step_by(7).for_each(|number| jobs[number].cancel());
            gate.open();
            plug.wait().unwrap();
            for (number, job) in jobs.into_iter().enumerate() {
                assert_eq!(matches!(job.wait(), Err(TaskError::Cancelled)), number % 7 == 0, "{number}");
            }
            let stayed: Vec<_> = (0..100).filter(|number| number % 7 != 0).collect();
            assert_eq!(*order.lock().unwrap(), stayed);
        });
    }
}

/// Each of `most` jobs waits until all of them run: there must be as many threads. One more waits.
#[test]
fn the_pool_grows_to_its_maximum_and_no_further() {
    for kind in KINDS {
        for most in [1, 2, 17] {
            kit::guarded(format!("{kind:?} {most}"), || {
                let (runtime, gate) = (narrow(kind, most), Gate::new());
                let running = Arc::new(AtomicUsize::new(0));
                let jobs: Vec<_> = (0..most + 5)
                    .map(|_| {
                        let (running, passed) = (running.clone(), gate.passed());
                        runtime.spawn_blocking(move || {
                            running.fetch_add(1, SeqCst);
                            passed.wait();
                        })
                    })
                    .collect();
                until("all threads are there", || running.load(SeqCst) == most);
                let BlockingMetrics { threads, idle, queued, running, .. } = runtime.metrics().blocking;
                assert_eq!((threads, idle, queued, running), (most, 0, 5, most));
                gate.open();
                jobs.into_iter().for_each(|job| job.wait().unwrap());
                until("all are idle", || runtime.metrics().blocking.idle == most);
                let blocking = runtime.metrics().blocking;
                assert_eq!((blocking.finished, blocking.started), (most as u64 + 5, most as u64));
            });
        }
    }
}

#[test]
fn the_pool_shrinks_to_its_minimum() {
    for least in [0, 1, 3] {
        kit::guarded(format!("{least}"), || {
            let keep_alive = Duration::from_millis(1);
            let builder = RuntimeKind::Threads(1).builder().blocking_threads(least, 8);
            let runtime = builder.blocking_keep_alive(keep_alive).build().unwrap();
            until("it starts with the minimum", || runtime.metrics().blocking.idle == least);
            for round in 1..4 {
                let gate = Gate::new();
                let jobs: Vec<_> = (0..8)
                    .map(|_| {
                        let passed = gate.passed();
                        runtime.spawn_blocking(move || passed.wait())
                    })
                    .collect();
                until("it has grown", || runtime.metrics().blocking.running == 8);
                gate.open();
                jobs.into_iter().for_each(|job| job.wait().unwrap());
                until("it has shrunk", || runtime.metrics().blocking.idle == least);
                let blocking = runtime.metrics().blocking;
                assert_eq!((blocking.threads, blocking.queued), (least, 0));
                assert_eq!(blocking.started - blocking.ended, least as u64, "in round {round}");
            }
        });
    }
}

/// By default it starts empty. One job after the other needs one thread, also when the next comes at once: a thread is back
/// before it wakes who waits. If nobody waits yet when a job ends, the next may come before the thread is back, and then
/// there is a second one; but never a third.
#[test]
fn one_job_after_the_other_needs_two_threads_at_most() {
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            assert_eq!(runtime.metrics().blocking.threads, 0);
            let there = runtime.handle();
            runtime.block_on(async move {
                for number in 0..1000 {
                    assert_eq!(there.spawn_blocking(move || number).await.unwrap(), number);
                }
            });
            let started = runtime.metrics().blocking.started;
            assert!((1..=2).contains(&started), "{started} threads");
        });
    }
}

#[test]
fn threads_have_names() {
    let builder = RuntimeKind::Threads(1).builder().thread_name("rope");
    let runtime = builder.blocking_threads(1, 1).build().unwrap();
    let name = runtime.spawn_blocking(|| thread::current().name().map(str::to_owned));
    assert_eq!(name.wait().unwrap().as_deref(), Some("rope-blocking-0"));
}

/// Ten thousand at once, in a pool of default size; each is run once.
#[test]
fn ten_thousand_jobs() {
    for kind in KINDS {
        kit::guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            let there = runtime.handle();
            let sum = runtime.block_on(async move {
                let jobs: Vec<_> =
                    (0..10_000u64).map(|number| there.spawn_blocking(move || number)).collect();
                let mut sum = 0;
                for job in jobs {
                    sum += job.await.unwrap();
                }
                sum
            });
            assert_eq!(sum, 9_999 * 10_000 / 2);
            until("all are counted", || runtime.metrics().blocking.finished == 10_000);
        });
    }
}

/// The system gives no thread of that size: the owner is told, and the runtime goes on.
#[test]
fn no_thread_to_be_had() {
    if !kit::is_child() {
        // A sanitizer reserves more address space than this leaves.
        let output = kit::run_as_small_child("blocking::growth::no_thread_to_be_had", 4 << 20);
        let text = kit::stderr_of(&output);
        assert!(output.status.success() || text.contains("Sanitizer"), "{text}");
        assert!(text.contains("no thread for the blocking pool") || text.contains("Sanitizer"), "{text}");
        return;
    }
    let builder = Runtime::builder().worker_threads(1).blocking_stack_size(1 << 40);
    let runtime = builder.clone().build().unwrap();
    let refused = runtime.spawn_blocking(|| unreachable!("it has no thread to run on"));
    assert!(matches!(refused.wait(), Err(TaskError::NoThread)));
    let blocking = runtime.metrics().blocking;
    assert_eq!((blocking.threads, blocking.queued, blocking.start_failures), (0, 0, 1));
    assert_eq!(runtime.spawn(async { 5 }).wait().unwrap(), 5);
    let error = builder.blocking_threads(1, 1).build().expect_err("it cannot start as it was asked to");
    assert!(matches!(error, ropewalk::RuntimeError::System(_)), "{error}");
}
