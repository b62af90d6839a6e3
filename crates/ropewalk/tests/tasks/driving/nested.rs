//! A root that is polled apart, and waits in the middle: when the driver leaves, that wait drives.

use super::{THREADLESS, driver, until_driven};
use crate::kit::{Gate, RuntimeKind, guarded, quiet, until};
use ropewalk::{Blocking, Handler, OnStrand, Runtime, Wait, select_wait, spawn, strand, time, with_handler};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::thread;
use std::time::Duration;

/// Runs `root` on a second thread; the first one leaves when the root waits for `inside`, which a task opens that runs after that.
fn takes_over(kind: RuntimeKind, root: impl FnOnce(&Runtime, Gate) + Send) {
    let (runtime, leave, left, inside) = (kind.build(), Gate::new(), Gate::new(), Gate::new());
    guarded(format!("{kind:?}"), || {
        thread::scope(|scope| {
            let first = driver(scope, &runtime, &leave);
            let (passed, open) = (left.passed(), inside.clone());
            let task = runtime.spawn(async move {
                passed.await;
                open.open();
            });
            let waits = inside.clone();
            let second = scope.spawn(|| root(&runtime, waits));
            until("it waits inside", || inside.waiting() > 0);
            leave.open();
            first.join().unwrap();
            left.open();
            second.join().unwrap();
            runtime.block_on(task).unwrap();
        });
    });
}

#[test]
fn a_wait_inside_drives() {
    THREADLESS.into_iter().for_each(|kind| {
        takes_over(kind, |runtime, inside| runtime.block_on(async move { inside.passed().wait() }));
    });
}

/// The example of the issue.
#[test]
fn a_sleep_inside_ends() {
    for kind in THREADLESS {
        let runtime = kind.build();
        guarded(format!("{kind:?}"), || {
            thread::scope(|scope| {
                scope.spawn(|| runtime.block_on(time::sleep(Duration::from_millis(30))));
                until_driven(&runtime);
                runtime.block_on(async { time::sleep(Duration::from_millis(80)).wait() });
            });
        });
    }
}

#[test]
fn a_wait_inside_a_wait_inside_drives() {
    THREADLESS.into_iter().for_each(|kind| {
        takes_over(kind, |runtime, inside| {
            runtime.block_on(async move { async { async { inside.passed().wait() }.wait() }.wait() });
        });
    });
}

#[test]
fn a_select_that_waits_drives() {
    THREADLESS.into_iter().for_each(|kind| {
        takes_over(kind, |runtime, inside| {
            runtime.block_on(async move {
                select_wait! {
                    () = inside.passed() => {}
                    () = time::sleep(Duration::from_secs(3600)) => unreachable!(),
                }
            });
        });
    });
}

/// Handlers that wait as we do. One that waits in its own way is on its own.
#[test]
fn a_wait_by_a_handler_drives() {
    struct Twice;
    impl Handler for Twice {
        fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>) {
            ropewalk::wait(future);
        }
    }
    let handlers: [&(dyn Handler + Sync); 3] = [&Blocking, &OnStrand, &Twice];
    for (kind, handler) in THREADLESS.into_iter().flat_map(|kind| handlers.map(|handler| (kind, handler))) {
        takes_over(kind, |runtime, inside| {
            runtime.block_on(async move { with_handler(handler, || inside.passed().wait()) });
        });
        takes_over(kind, |runtime, inside| {
            with_handler(handler, || runtime.block_on(async move { inside.passed().wait() }));
        });
    }
}

/// The child runs on the driver's thread, which stays for it.
#[test]
fn a_scope_inside_is_left() {
    for kind in THREADLESS {
        takes_over_by_a_strand(kind, |inside| strand::scope(|s| s.spawn(|| inside.passed().wait()).join()));
        takes_over_by_a_strand(kind, |inside| {
            strand::scope(|s| {
                drop(s.spawn(|| inside.passed().wait()));
                s.join_all();
            });
        });
    }
}

/// The driver's own wait is over while a strand that it has started belongs to another thread's call; then that one's wait.
fn takes_over_by_a_strand(kind: RuntimeKind, root: impl FnOnce(Gate) + Send) {
    let (runtime, leave, inside) = (kind.build(), Gate::new(), Gate::new());
    guarded(format!("{kind:?}"), || {
        thread::scope(|scope| {
            let first = driver(scope, &runtime, &leave);
            let waits = inside.clone();
            let second = scope.spawn(|| runtime.block_on(async move { root(waits) }));
            until("the strand waits", || inside.waiting() > 0);
            leave.open();
            inside.open();
            first.join().unwrap();
            second.join().unwrap();
        });
    });
}

/// A scope whose children are cancelled is left, although they are in the hands of another thread, which is about to leave.
#[test]
fn a_scope_inside_is_left_early() {
    quiet();
    for kind in THREADLESS {
        let (runtime, leave, inside) = (kind.build(), Gate::new(), Gate::new());
        guarded(format!("{kind:?}"), || {
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let root = async {
                    strand::scope(|s| {
                        drop(s.spawn(|| inside.passed().wait()));
                        until("the driver is about to leave", || leave.is_open());
                    });
                };
                let second =
                    scope.spawn(|| std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(root))));
                until("the strand waits", || inside.waiting() > 0);
                leave.open();
                first.join().unwrap();
                assert!(second.join().unwrap().unwrap_err().is::<strand::LiveStrands>());
            });
        });
    }
}

/// Inside two runtimes, the outer one of which has lost its driver: what it waits for in the inner one needs the outer one.
#[test]
fn the_runtime_around_is_driven_as_well() {
    for kind in THREADLESS {
        for inner in [RuntimeKind::Threads(1), RuntimeKind::Caller] {
            takes_over(kind, |runtime, inside| {
                let inner = inner.build();
                runtime.block_on(async { inner.block_on(inside.passed()) });
            });
            takes_over(kind, |runtime, inside| {
                let inner = inner.build();
                runtime.block_on(async { inner.block_on(async { inside.passed().wait() }) });
            });
        }
    }
}

/// Both have lost their driver, and what it waits for needs both.
#[test]
fn two_runtimes_around_are_driven() {
    for kind in THREADLESS {
        let other = kind.build();
        let leave_other = Gate::new();
        thread::scope(|scope| {
            let first_of_other = driver(scope, &other, &leave_other);
            takes_over(kind, |runtime, inside| {
                let (here, there) = (runtime.handle(), Gate::new());
                let open = there.clone();
                let relay = other.spawn(async move {
                    here.spawn(async move { inside.passed().await }).await.unwrap();
                    open.open();
                });
                let passed = there.passed();
                runtime.block_on(async {
                    other.block_on(async {
                        leave_other.open();
                        passed.wait();
                    });
                });
                other.block_on(relay).unwrap();
            });
            first_of_other.join().unwrap();
        });
    }
}

/// Waits for threads: of which one waits for the runtime.
#[test]
fn a_scope_of_threads_inside_drives() {
    THREADLESS.into_iter().for_each(|kind| {
        takes_over(kind, |runtime, inside| {
            let task = runtime.spawn(async move { inside.passed().await });
            runtime.block_on(async move {
                ropewalk::thread::scope(|s| drop(s.spawn(move || task.wait().unwrap())));
            });
        });
    });
}

#[test]
fn the_end_of_another_runtime_is_waited_for_while_driving() {
    THREADLESS.into_iter().for_each(|kind| {
        takes_over(kind, |runtime, inside| {
            let other = RuntimeKind::Threads(1).build();
            drop(other.spawn(inside.passed()));
            runtime.block_on(async move { other.shutdown(Duration::MAX).unwrap() });
        });
    });
}

/// A thread waits for its end, outside of it or inside: when the driver leaves it drives, until nothing else is alive.
#[test]
fn its_end_is_waited_for_while_driving() {
    for (kind, nested) in THREADLESS.into_iter().flat_map(|kind| [false, true].map(|nested| (kind, nested))) {
        let (runtime, begun) = (kind.build(), Gate::new());
        let (leave, left, inside) = (Gate::new(), Gate::new(), Gate::new());
        guarded(format!("{kind:?}, {nested}"), || {
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let (passed, ended) = (left.passed(), inside.clone());
                drop(runtime.spawn(async move {
                    passed.await;
                    ended.open();
                }));
                let second = scope.spawn(|| {
                    let end = || {
                        begun.open();
                        runtime.handle().shutdown(Duration::MAX).unwrap();
                    };
                    if nested { runtime.block_on(async { end() }) } else { end() }
                });
                until("it has begun", || begun.is_open());
                leave.open();
                first.join().unwrap();
                left.open();
                second.join().unwrap();
                assert!(inside.is_open());
            });
        });
    }
}

/// There are more than two. Each leaves in turn; the others go on.
#[test]
fn the_seat_goes_round() {
    for kind in THREADLESS {
        let runtime = kind.build();
        let gates: Vec<_> = (0..5).map(|_| Gate::new()).collect();
        guarded(format!("{kind:?}"), || {
            thread::scope(|scope| {
                let threads: Vec<_> = (gates.iter().zip(0..))
                    .map(|(gate, number)| {
                        let (runtime, passed) = (&runtime, gate.passed());
                        let thread = scope.spawn(move || match number % 2 {
                            0 => runtime.block_on(async move { passed.wait() }),
                            _ => runtime.block_on(passed),
                        });
                        until("it waits", || gate.waiting() > 0);
                        thread
                    })
                    .collect();
                for (thread, gate) in threads.into_iter().zip(&gates) {
                    let opened = gate.clone();
                    runtime.spawn(async move { opened.open() }).wait().unwrap();
                    thread.join().unwrap();
                }
            });
        });
    }
}

/// A task of its own awaits, and the root that is polled apart awaits it: nothing is nested, and that worked before.
#[test]
fn the_same_without_waiting_inside() {
    THREADLESS.into_iter().for_each(|kind| {
        takes_over(kind, |runtime, inside| {
            runtime.block_on(async move { spawn(inside.passed()).await.unwrap() });
        });
    });
}
