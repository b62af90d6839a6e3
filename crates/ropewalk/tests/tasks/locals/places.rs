//! Stacks that are parked, resumed and nested take their locals along.

use crate::kit::{Gate, KINDS, RuntimeKind, guarded, on_every_kind, quiet, strand_in};
use ropewalk::{
    Blocking, Wait, spawn, spawn_local, strand, task_local, thread, wait, with_handler, yield_now,
};

task_local! {
    static NUMBER: u32;
    #[inherit]
    static TRACE: u32;
}

/// Both kinds at once.
fn seen() -> (Option<u32>, Option<u32>) {
    (NUMBER.try_get().ok(), TRACE.try_get().ok())
}

fn both<R>(value: u32, f: impl FnOnce() -> R) -> R {
    NUMBER.sync_scope(value, || TRACE.sync_scope(value, f))
}

/// Waits in a poll park the stack; others that run on the worker meanwhile see their own values or none.
#[test]
fn over_a_wait_in_a_poll() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let root = async {
            let tasks: Vec<_> = (0..16u32)
                .map(|me| {
                    spawn(async move {
                        assert_eq!(seen(), (None, None));
                        both(me, || {
                            for _ in 0..10 {
                                yield_now().wait();
                                assert_eq!(seen(), (Some(me), Some(me)));
                                both(me + 100, || yield_now().wait());
                            }
                        });
                        assert_eq!(seen(), (None, None));
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        };
        runtime.block_on(root);
    });
}

#[test]
fn on_strands() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let strands: Vec<_> = (0..8u32)
            .map(|me| {
                strand_in(&runtime, move || {
                    both(me, || {
                        for _ in 0..10 {
                            wait(yield_now());
                            assert_eq!(seen(), (Some(me), Some(me)));
                        }
                    });
                    wait(yield_now());
                    seen()
                })
            })
            .collect();
        for strand in strands {
            assert_eq!(runtime.block_on(strand).unwrap(), (None, None));
        }
    });
}

/// A cancelled strand unwinds through its scopes.
#[test]
fn on_an_interrupted_strand() {
    quiet();
    for kind in KINDS {
        guarded(format!("{kind:?}"), || {
            struct Asks(std::sync::mpsc::Sender<(Option<u32>, Option<u32>)>);
            impl Drop for Asks {
                fn drop(&mut self) {
                    yield_now().wait();
                    self.0.send(seen()).unwrap();
                }
            }
            let runtime = kind.build();
            let (tell, told) = std::sync::mpsc::channel();
            let gate = Gate::new();
            let started = gate.clone();
            let strand = strand_in(&runtime, move || {
                let _outside = Asks(tell.clone());
                both(7, || {
                    let _inside = Asks(tell);
                    started.open();
                    std::future::pending::<()>().wait()
                })
            });
            let end = runtime.block_on(async {
                gate.passed().await;
                strand.cancel();
                strand.await
            });
            assert!(end.unwrap_err().is_cancelled());
            assert_eq!((told.recv().unwrap(), told.recv().unwrap()), ((Some(7), Some(7)), (None, None)));
        });
    }
}

/// What `block_on` runs is part of the caller, also where it becomes a task of a runtime without threads.
#[test]
fn in_a_nested_block_on() {
    for outer in KINDS {
        for inner in [RuntimeKind::Threads(1), RuntimeKind::Caller, RuntimeKind::Hosted(2)] {
            guarded(format!("{inner:?} in {outer:?}"), || {
                let (outer, inner) = (outer.build(), inner.build());
                let nested = || {
                    let root = inner.block_on(async {
                        let (before, child) = (seen(), spawn(async { seen() }));
                        yield_now().await;
                        let waited = both(3, || {
                            yield_now().wait();
                            seen()
                        });
                        (before, child.await.unwrap(), waited, seen())
                    });
                    (root, seen())
                };
                let expected = |own| {
                    let here = (Some(own), Some(own));
                    ((here, (None, Some(own)), (Some(3), Some(3)), here), here)
                };
                assert_eq!(both(1, nested), expected(1), "on a plain thread");
                assert_eq!(outer.block_on(async { both(2, nested) }), expected(2), "inside another runtime");
            });
        }
    }
}

/// A future may be polled inside one scope now and inside another later.
#[test]
fn a_scope_that_moves_to_another_task() {
    guarded("moves", || {
        task_local! { #[inherit] static OUTER: u32 }
        let gate = Gate::new();
        let passed = gate.passed();
        let mut scope = Box::pin(TRACE.scope(9, async move {
            let first = (OUTER.get(), spawn(async { (OUTER.get(), TRACE.get()) }).wait().unwrap());
            passed.await;
            (first, OUTER.get(), spawn(async { (OUTER.get(), TRACE.get()) }).wait().unwrap())
        }));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        OUTER.sync_scope(1, || assert!(scope.as_mut().poll(&mut cx).is_pending()));
        gate.open();
        let seen = OUTER.sync_scope(2, || scope.wait());
        assert_eq!(seen, ((1, (1, 9)), 2, (2, 9)));
    });
}

/// However the stack waits.
#[test]
fn with_handlers_and_on_threads() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let handle = runtime.handle();
        let waited = thread::spawn(move || {
            both(4, || {
                with_handler(&Blocking, || handle.spawn(async { seen() }).wait()).unwrap();
                seen()
            })
        });
        let waited = runtime.block_on(waited.unwrap());
        assert_eq!(waited.unwrap(), (Some(4), Some(4)));
    });
}

#[test]
fn local_tasks() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async {
            let scope = NUMBER.scope(
                1,
                TRACE.scope(2, async {
                    let child = spawn_local(async { seen() }).unwrap();
                    let strand = strand::spawn_local(|| {
                        yield_now().wait();
                        seen()
                    });
                    (child.await.unwrap(), strand.unwrap().await.unwrap())
                }),
            );
            scope.await
        });
        assert_eq!(runtime.block_on(task).unwrap(), ((None, Some(2)), (None, Some(2))));
    });
}
