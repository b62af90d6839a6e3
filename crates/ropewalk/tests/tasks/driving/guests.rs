//! Strands and tasks of another runtime that drive one without threads, or wait for its end, and are cancelled.

use super::{THREADLESS, driver, refusal, until_driven};
use crate::kit::{Gate, ON_PURPOSE, RuntimeKind, guarded, quiet, strand_in, until};
use ropewalk::{Runtime, TaskError, Wait, strand, time, yield_now};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Cancels a strand that drives, when `root` waits; what it is then.
fn cancelled_while_it_drives(root: impl FnOnce(&Runtime, Gate) + Send + 'static) {
    guarded("a guest", move || {
        let (runtime, inside) = (Arc::new(RuntimeKind::Caller.build()), Gate::new());
        let outer = RuntimeKind::Threads(1).build();
        let (there, waits) = (runtime.clone(), inside.clone());
        let guest = strand_in(&outer, move || root(&there, waits));
        until("it waits", || inside.waiting() > 0);
        guest.cancel();
        assert!(matches!(guest.wait(), Err(TaskError::Cancelled)));
        assert_eq!(refusal(&runtime), None, "it has given up the seat");
        assert_eq!(runtime.run(|| 5), 5);
    });
}

#[test]
fn a_cancelled_strand_that_drives_unwinds() {
    cancelled_while_it_drives(|runtime, inside| runtime.block_on(inside.passed()));
}

#[test]
fn also_in_a_wait_inside_its_root() {
    cancelled_while_it_drives(|runtime, inside| runtime.block_on(async move { inside.passed().wait() }));
}

#[test]
fn also_in_run() {
    cancelled_while_it_drives(|runtime, inside| runtime.run(|| inside.passed().wait()));
}

#[test]
fn also_while_the_runtime_is_busy() {
    cancelled_while_it_drives(|runtime, inside| {
        drop(runtime.spawn(async {
            loop {
                yield_now().await;
            }
        }));
        runtime.block_on(inside.passed());
    });
}

/// The root holds something; it is dropped before the strand goes on unwinding.
#[test]
fn the_root_has_ended_before() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    struct Held;
    impl Drop for Held {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }
    struct After;
    impl Drop for After {
        fn drop(&mut self) {
            assert_eq!(DROPPED.load(SeqCst), 1);
        }
    }
    cancelled_while_it_drives(|runtime, inside| {
        let _after = After;
        runtime.block_on(async move {
            let _held = Held;
            // In its destructors a root may wait: it is driven to its end.
            struct Waits;
            impl Drop for Waits {
                fn drop(&mut self) {
                    time::sleep(Duration::from_millis(5)).wait();
                }
            }
            let _waits = Waits;
            inside.passed().wait();
        });
    });
}

/// A shield holds as long as it is up.
#[test]
fn a_shielded_strand_drives_on() {
    guarded("shielded", || {
        let (runtime, inside) = (Arc::new(RuntimeKind::Caller.build()), Gate::new());
        let outer = RuntimeKind::Threads(1).build();
        let (there, waits) = (runtime.clone(), inside.clone());
        let guest = strand_in(&outer, move || strand::shield(|| there.block_on(waits.passed())));
        until("it waits", || inside.waiting() > 0);
        guest.cancel();
        assert!(refusal(&runtime).is_some());
        inside.open();
        guest.wait().unwrap();
    });
}

/// A nursery around the drive fails: on a strand, in a task, on a plain thread.
#[test]
fn a_failing_nursery_around_a_driver() {
    quiet();
    for place in 0..3 {
        guarded(format!("place {place}"), || {
            let (runtime, inside, fail) = (Arc::new(RuntimeKind::Caller.build()), Gate::new(), Gate::new());
            let outer = RuntimeKind::Threads(1).build();
            let (there, waits, fails) = (runtime.clone(), inside.clone(), fail.clone());
            let body = move || {
                strand::nursery(|n| {
                    drop(n.spawn(|| {
                        fails.passed().wait();
                        panic!("{ON_PURPOSE}: one for all");
                    }));
                    there.block_on(waits.passed())
                })
            };
            let failed = match place {
                0 => {
                    let strand = strand_in(&outer, body);
                    thread::spawn(move || strand.wait().is_err())
                }
                1 => {
                    let task = outer.spawn(async move { body() });
                    thread::spawn(move || task.wait().is_err())
                }
                _ => thread::spawn(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err()),
            };
            until("it waits", || inside.waiting() > 0);
            fail.open();
            assert!(failed.join().unwrap());
            assert_eq!(refusal(&runtime), None);
        });
    }
}

/// Strands of another runtime are candidates as threads are, also in a wait inside their root.
#[test]
fn a_strand_takes_over() {
    for (kind, nested) in THREADLESS.into_iter().flat_map(|kind| [false, true].map(|nested| (kind, nested))) {
        guarded(format!("{kind:?}, {nested}"), || {
            let (runtime, leave, left, inside) = (kind.build(), Gate::new(), Gate::new(), Gate::new());
            let outer = RuntimeKind::Threads(1).build();
            let (passed, open) = (left.passed(), inside.clone());
            let task = runtime.spawn(async move {
                passed.await;
                open.open();
            });
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let (handle, waits) = (runtime.handle(), inside.passed());
                let guest = strand_in(&outer, move || {
                    handle.block_on(async move { if nested { waits.wait() } else { waits.await } })
                });
                let (handle, waits) = (runtime.handle(), inside.passed());
                let in_task = outer.spawn(async move {
                    handle.block_on(async move { if nested { waits.wait() } else { waits.await } })
                });
                until("both wait", || inside.waiting() > 1);
                leave.open();
                first.join().unwrap();
                left.open();
                guest.wait().unwrap();
                in_task.wait().unwrap();
            });
            runtime.block_on(task).unwrap();
        });
    }
}

/// It sleeps as a guest by the timers of its host, not by those that nobody looks at while it sleeps.
#[test]
fn a_strand_that_takes_over_sleeps() {
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let (runtime, leave, begun) = (kind.build(), Gate::new(), Gate::new());
            let outer = RuntimeKind::Threads(1).build();
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let (handle, begins) = (runtime.handle(), begun.clone());
                let guest = strand_in(&outer, move || {
                    handle.block_on(async {
                        begins.open();
                        time::sleep(Duration::from_millis(50)).wait();
                    });
                });
                until("it has begun", || begun.is_open());
                leave.open();
                first.join().unwrap();
                guest.wait().unwrap();
            });
        });
    }
}

/// It waits for the end of another runtime, with threads or without: from then on it waits no longer, and unwinds in its next wait.
#[test]
fn a_cancelled_strand_does_not_wait_for_the_end_of_another_runtime() {
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Caller, RuntimeKind::Hosted(3)] {
        guarded(format!("{kind:?}"), || {
            let (runtime, begun) = (kind.build(), Gate::new());
            let waits = begun.clone();
            drop(runtime.spawn(async move {
                waits.open();
                pending::<()>().await;
            }));
            let outer = RuntimeKind::Threads(1).build();
            let guest = strand_in(&outer, move || {
                let account = runtime.shutdown(Duration::MAX).unwrap_err();
                assert_eq!((account.cancelled, account.left.len()), (1, 0));
                strand::yield_now();
                unreachable!("it is cancelled");
            });
            until("it waits", || begun.is_open() || kind.is_hosted());
            guest.cancel();
            assert!(matches!(guest.wait(), Err(TaskError::Cancelled)));
        });
    }
}

/// Another thread drives; a strand that waits for its end beside is cancelled, and the driver goes on to see it end.
#[test]
fn a_cancelled_strand_that_ends_what_another_thread_drives() {
    for kind in THREADLESS {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            let task = runtime.spawn(pending::<()>());
            let outer = RuntimeKind::Threads(1).build();
            thread::scope(|scope| {
                let first = scope.spawn(|| runtime.block_on(task));
                until_driven(&runtime);
                let (handle, begun) = (runtime.handle(), Gate::new());
                let begins = begun.clone();
                let guest = strand_in(&outer, move || {
                    begins.open();
                    handle.shutdown(Duration::MAX).is_err()
                });
                until("it has begun", || begun.is_open());
                guest.cancel();
                assert!(guest.wait().unwrap_or(true));
                drop(first.join().unwrap());
            });
        });
    }
}
