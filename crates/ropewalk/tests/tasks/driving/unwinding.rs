//! `Runtime::run`, and scopes, whose wait unwinds: never a hang, and no borrow is left behind.

use super::{THREADLESS, driver, until_driven};
use crate::kit::{Gate, ON_PURPOSE, RuntimeKind, guarded, panic_of, quiet, strand_in, until};
use ropewalk::{Runtime, TaskHandle, Wait, spawn_local, strand};
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Binds it to this thread, until the gate opens.
fn bind(runtime: &Runtime, gate: &Gate) -> Option<TaskHandle<()>> {
    let passed = gate.passed();
    let mut bound = None;
    runtime.block_on(async { bound = Some(spawn_local(passed).unwrap()) });
    bound
}

#[test]
fn a_run_in_a_bound_runtime_panics() {
    quiet();
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, gate, ran) = (kind.build(), Gate::new(), AtomicU32::new(0));
            let bound = bind(&runtime, &gate);
            thread::scope(|scope| {
                let other = scope.spawn(|| panic_of(|| runtime.run(|| ran.fetch_add(1, SeqCst))));
                let message = other.join().unwrap().expect("documented panic");
                assert!(message.contains("can only be driven there"), "{message}");
            });
            assert_eq!(ran.load(SeqCst), 0);
            gate.open();
            runtime.block_on(bound.unwrap()).unwrap();
            assert_eq!(runtime.run(|| ran.fetch_add(1, SeqCst)), 0, "nothing was harmed");
        });
    }
}

/// What is taken out of the queue holds something that drives when it is dropped, and is told the same.
#[test]
fn what_was_not_run_waits_when_it_is_dropped() {
    quiet();
    struct Held<'a>(&'a Runtime, &'a Gate);
    impl Drop for Held<'_> {
        fn drop(&mut self) {
            let message = panic_of(|| self.0.block_on(pending::<()>())).expect("documented panic");
            assert!(message.contains("can only be driven there"), "{message}");
            self.1.open();
        }
    }
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, gate, dropped) = (kind.build(), Gate::new(), Gate::new());
            let _bound = bind(&runtime, &gate);
            thread::scope(|scope| {
                let held = Held(&runtime, &dropped);
                let other = scope.spawn(|| panic_of(|| runtime.run(move || drop(held))));
                assert!(other.join().unwrap().is_some());
            });
            assert!(dropped.is_open());
        });
    }
}

/// The same of a scope in a root that was polled apart, and of a wait.
#[test]
fn what_waits_in_a_runtime_that_becomes_bound_panics() {
    quiet();
    for (kind, nested) in THREADLESS.into_iter().flat_map(|kind| [false, true].map(|nested| (kind, nested))) {
        guarded(format!("{kind:?}"), || {
            let (runtime, leave, gate, inside) = (kind.build(), Gate::new(), Gate::new(), Gate::new());
            let is_bound = Gate::new();
            thread::scope(|scope| {
                let home = scope.spawn(|| {
                    let _bound = bind(&runtime, &gate);
                    is_bound.open();
                    runtime.block_on(leave.passed());
                });
                until("it is bound", || is_bound.is_open());
                until_driven(&runtime);
                let other = scope.spawn(|| {
                    let root = async { if nested { inside.passed().wait() } else { inside.passed().await } };
                    panic_of(|| runtime.block_on(root))
                });
                until("it waits", || inside.waiting() > 0);
                leave.open();
                home.join().unwrap();
                let message = other.join().unwrap().expect("documented panic");
                assert!(message.contains("can only be driven there"), "{message}");
            });
        });
    }
}

#[test]
fn two_threads_run_at_once() {
    const CALLS: u32 = 200;
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, sum) = (kind.build(), AtomicU32::new(0));
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for call in 0..CALLS {
                            let given = runtime.run(|| {
                                strand::yield_now();
                                sum.fetch_add(1, SeqCst);
                                strand::scope(|s| s.spawn(|| call).join())
                            });
                            assert_eq!(given, call);
                        }
                    });
                }
            });
            assert_eq!(sum.load(SeqCst), 2 * CALLS);
        });
    }
}

/// One strand waits for the other, in either order of the threads.
#[test]
fn two_threads_run_what_meets() {
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, here, there) = (kind.build(), Gate::new(), Gate::new());
            thread::scope(|scope| {
                scope.spawn(|| runtime.run(|| (here.open(), there.passed().wait())));
                scope.spawn(|| runtime.run(|| (there.open(), here.passed().wait())));
            });
        });
    }
}

/// A strand that has begun on the first thread waits for what that does when it has left: it is cancelled, and its caller is told.
#[test]
fn a_run_that_waits_for_the_driver_to_leave_is_told() {
    quiet();
    for kind in [RuntimeKind::Caller, RuntimeKind::Hosted(3)] {
        guarded(format!("{kind:?}"), || {
            let (runtime, leave, after) = (kind.build(), Gate::new(), Gate::new());
            thread::scope(|scope| {
                let first = scope.spawn(|| {
                    runtime.block_on(leave.passed());
                    after.open();
                });
                until_driven(&runtime);
                let second = scope.spawn(|| panic_of(|| runtime.run(|| after.passed().wait())));
                until("the strand waits", || after.waiting() > 0);
                leave.open();
                first.join().unwrap();
                let message = second.join().unwrap().expect("documented panic");
                assert!(message.contains("does not drive"), "{message}");
            });
            assert_eq!(runtime.run(|| 5), 5);
        });
    }
}

/// A host that runs what there is, now and then, does not stay: what it has begun for another thread is cancelled.
#[test]
fn a_host_that_ticks_leaves_no_borrow_behind() {
    quiet();
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, leave, begun, inside) = (kind.build(), Gate::new(), Gate::new(), Gate::new());
            let apart = Gate::new();
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let other = scope.spawn(|| {
                    let body = || {
                        begun.open();
                        inside.passed().wait();
                    };
                    let root = async {
                        apart.open();
                        until("there is no driver", || leave.is_open());
                        strand::scope(|s| {
                            let child = s.spawn(body);
                            until("the host has begun it", || begun.is_open());
                            child.join();
                        });
                    };
                    panic_of(|| runtime.block_on(root))
                });
                until("it is polled apart", || apart.is_open());
                leave.open();
                first.join().unwrap();
                while !begun.is_open() {
                    runtime.run_until_stalled().unwrap();
                }
                other.join().unwrap().expect("it is told");
            });
        });
    }
}

/// A strand queues behind another driver and is cancelled there, in `run`.
#[test]
fn a_cancelled_strand_in_line() {
    quiet();
    for (kind, begun) in THREADLESS.into_iter().flat_map(|kind| [false, true].map(|begun| (kind, begun))) {
        guarded(format!("{kind:?}, {begun}"), || {
            let (runtime, leave, inside) = (kind.build(), Gate::new(), Gate::new());
            let outer = RuntimeKind::Threads(1).build();
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let (handle, waits) = (runtime.handle(), inside.clone());
                let queued = strand_in(&outer, move || {
                    if begun {
                        handle.run(|| waits.passed().wait())
                    } else {
                        handle.block_on(async { waits.passed().wait() })
                    }
                });
                until("it waits", || inside.waiting() > 0);
                queued.cancel();
                assert!(queued.wait().is_err());
                leave.open();
                first.join().unwrap();
            });
            assert_eq!(runtime.run(|| 5), 5);
        });
    }
}

/// The same behind a driver that leaves without having looked at what was cancelled.
#[test]
fn a_cancelled_strand_behind_a_busy_driver() {
    quiet();
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, leave, drives) = (kind.build(), Gate::new(), Gate::new());
            let outer = RuntimeKind::Threads(1).build();
            thread::scope(|scope| {
                let first = scope.spawn(|| {
                    runtime.block_on(async {
                        drives.open();
                        until("it may leave", || leave.is_open());
                    });
                });
                until("it drives", || drives.is_open());
                let handle = runtime.handle();
                let queued = strand_in(&outer, move || handle.run(|| unreachable!("it is cancelled before")));
                until("it waits", || runtime.tasks().iter().any(|task| task.to_string().contains("strand")));
                queued.cancel();
                leave.open();
                first.join().unwrap();
                assert!(queued.wait().is_err());
            });
            assert_eq!(runtime.run(|| 5), 5);
        });
    }
}

/// A nursery fails while its owner queues behind another driver; then that one leaves.
#[test]
fn a_failing_nursery_in_line() {
    quiet();
    for (kind, on_strand) in THREADLESS.into_iter().flat_map(|kind| [false, true].map(|here| (kind, here))) {
        guarded(format!("{kind:?}, {on_strand}"), || {
            let (runtime, leave, inside, fail) = (kind.build(), Gate::new(), Gate::new(), Gate::new());
            let outer = RuntimeKind::Threads(1).build();
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let (handle, waits, fails) = (runtime.handle(), inside.clone(), fail.clone());
                let body = move || {
                    strand::nursery(|n| {
                        drop(n.spawn(|| {
                            fails.passed().wait();
                            panic!("{ON_PURPOSE}: one for all");
                        }));
                        handle.run(|| waits.passed().wait())
                    })
                };
                let queued = if on_strand {
                    let strand = strand_in(&outer, body);
                    scope.spawn(move || strand.wait().is_err())
                } else {
                    scope.spawn(|| catch_unwind(AssertUnwindSafe(body)).is_err())
                };
                until("it waits", || inside.waiting() > 0);
                fail.open();
                assert!(queued.join().unwrap());
                leave.open();
                first.join().unwrap();
            });
            assert_eq!(runtime.run(|| 5), 5);
        });
    }
}

/// The driver panics, and hands over all the same.
#[test]
fn a_driver_that_panics_hands_over() {
    quiet();
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, leave, inside, left) = (kind.build(), Gate::new(), Gate::new(), Gate::new());
            let (passed, open) = (left.passed(), inside.clone());
            let task = runtime.spawn(async move {
                passed.await;
                open.open();
            });
            thread::scope(|scope| {
                let first = scope.spawn(|| {
                    let root = async {
                        leave.passed().await;
                        panic!("{ON_PURPOSE}: a driver");
                    };
                    panic_of(|| runtime.block_on(root)).unwrap()
                });
                until_driven(&runtime);
                let second = scope.spawn(|| runtime.block_on(async { inside.passed().wait() }));
                until("it waits", || inside.waiting() > 0);
                leave.open();
                assert!(first.join().unwrap().starts_with(ON_PURPOSE));
                left.open();
                second.join().unwrap();
            });
            runtime.block_on(task).unwrap();
        });
    }
}

/// It goes down while one drives and others wait inside.
#[test]
fn shut_down_in_the_middle() {
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, leave, inside) = (kind.build(), Gate::new(), Gate::new());
            let task = runtime.spawn(pending::<()>());
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let waits = inside.clone();
                let second = scope.spawn(|| {
                    runtime.block_on(async move {
                        waits.passed().wait();
                        task.wait().unwrap_err()
                    })
                });
                until("it waits", || inside.waiting() > 0);
                runtime.handle().shutdown_now();
                inside.open();
                leave.open();
                first.join().unwrap();
                second.join().unwrap();
            });
            assert!(runtime.shutdown(Duration::from_secs(60)).is_ok());
        });
    }
}
