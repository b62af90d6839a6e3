//! Variables that go to children.

use crate::kit::{ON_PURPOSE, guarded, on_every_kind, quiet, strand_in};
use ropewalk::{TaskGroup, Wait, spawn, spawn_blocking, strand, task, task_local, thread, yield_now};
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

task_local! {
    #[inherit]
    /// Documented, after the mark or before it.
    static TRACE: Arc<str>;
    /// Documented.
    #[inherit]
    #[allow(dead_code)]
    pub static LEVEL: u32;
    static OWN: u32;
}

/// What a child sees, by every way of starting one.
#[test]
fn every_kind_of_child_inherits() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let handle = runtime.handle();
        let pool = runtime.pool("main").unwrap();
        let scope = OWN.scope(
            1,
            LEVEL.scope(
                2,
                TRACE.scope("here".into(), async move {
                    let see = || (TRACE.get().to_string(), LEVEL.get(), OWN.try_get().is_err());
                    let mut seen = vec![
                        spawn(async move { see() }).await.unwrap(),
                        handle.spawn(async move { see() }).await.unwrap(),
                        pool.spawn(async move { see() }).await.unwrap(),
                        task::Builder::new().name("x").spawn(async move { see() }).await.unwrap(),
                        spawn_blocking(see).await.unwrap(),
                        handle.spawn_blocking(see).await.unwrap(),
                        task::Builder::new().name("y").spawn_blocking(see).await.unwrap(),
                        thread::spawn(see).unwrap().await.unwrap(),
                        thread::Builder::new().nice(1).spawn(see).unwrap().await.unwrap(),
                        thread::scope(|s| s.spawn(see).unwrap().join().unwrap()),
                    ];
                    let grandchild = spawn(async move {
                        yield_now().await;
                        spawn(async move { see() }).await.unwrap()
                    });
                    seen.push(grandchild.await.unwrap());
                    let mut group = TaskGroup::new();
                    group.spawn(async move { see() });
                    group.spawn_as(task::Builder::new().name("z"), async move { see() });
                    group.spawn_blocking(see);
                    seen.extend(group.join_all().await.into_iter().map(Result::unwrap));
                    seen
                }),
            ),
        );
        for seen in runtime.block_on(scope) {
            assert_eq!(seen, ("here".to_string(), 2, true));
        }
        assert!(runtime.block_on(spawn(async { TRACE.try_get() })).unwrap().is_err());
    });
}

#[test]
fn strands_inherit_and_pass_on() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let levels = strand_in(&runtime, || {
            LEVEL.sync_scope(5, || {
                let child = strand::spawn_local(|| {
                    yield_now().wait();
                    let deeper = spawn(async { LEVEL.get() }).wait().unwrap();
                    (LEVEL.get(), deeper)
                });
                child.unwrap().wait().unwrap()
            })
        });
        assert_eq!(runtime.block_on(levels).unwrap(), (5, 5));
    });
}

/// A child keeps what it got when it was started, whatever its parent does then.
#[test]
fn it_is_what_was_set_at_the_start() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let gate = crate::kit::Gate::new();
        let passed = gate.passed();
        runtime.block_on(async {
            let child = LEVEL.sync_scope(1, || {
                let child = spawn(async move {
                    passed.await;
                    let own = LEVEL.get();
                    let inner = LEVEL.scope(10, async { spawn(async { LEVEL.get() }).await.unwrap() }).await;
                    (own, inner, LEVEL.get())
                });
                LEVEL.sync_scope(2, || assert_eq!(LEVEL.get(), 2));
                child
            });
            assert!(LEVEL.try_get().is_err());
            gate.open();
            assert_eq!(child.await.unwrap(), (1, 10, 1));
        });
    });
}

/// The value lives as long as somebody may ask, and no longer; shadowed ones do not pile up over generations.
#[test]
fn nothing_is_kept() {
    task_local! { #[inherit] static HELD: Arc<AtomicUsize> }
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    task_local! { #[inherit] static COUNTED: Counts }
    type Found = std::sync::mpsc::Sender<usize>;
    fn generation(
        left: u32,
        alive: Arc<AtomicUsize>,
        found: Found,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        alive.fetch_add(1, SeqCst);
        Box::pin(COUNTED.scope(Counts(alive.clone()), async move {
            match left {
                0 => found.send(alive.load(SeqCst)).unwrap(),
                left => drop(spawn(generation(left - 1, alive, found))),
            }
        }))
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let alive = Arc::new(AtomicUsize::new(0));
        let (tell, found) = std::sync::mpsc::channel();
        runtime.block_on(async {
            drop(spawn(generation(200, alive.clone(), tell)));
            crate::kit::until_async("all generations are over", || alive.load(SeqCst) == 0).await;
        });
        // Some whose worker was interrupted just then, but not all that ever were.
        assert!(found.recv().unwrap() < 100);
        let value = Arc::new(AtomicUsize::new(0));
        runtime.block_on(HELD.scope(value.clone(), async { spawn(async { HELD.get() }).await.unwrap() }));
        let kept = || Arc::strong_count(&value) > 1;
        runtime.block_on(crate::kit::until_async("the task is freed", || !kept()));
    });
}

/// Destructors of a child see what it inherited: cancelled, panicked, refused.
#[test]
fn destructors_of_children_see_it() {
    quiet();
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    struct Asks;
    impl Drop for Asks {
        fn drop(&mut self) {
            SEEN.fetch_add(LEVEL.try_get().map_or(1000, |level| level as usize), SeqCst);
        }
    }
    let seen = || SEEN.swap(0, SeqCst);
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let waits = || {
                let asks = Asks;
                async move {
                    let _asks = asks;
                    pending::<()>().await
                }
            };
            let child = LEVEL.sync_scope(1, || spawn(waits()));
            yield_now().await;
            child.cancel();
            let _cancelled = child.await;
            let child = LEVEL.sync_scope(2, || {
                spawn(async {
                    let _asks = Asks;
                    panic!("{ON_PURPOSE}: as a child")
                })
            });
            let _panicked: Result<(), _> = child.await;
        });
        assert_eq!(seen(), 3, "cancelled, panicked");
        let asks = Asks;
        drop(LEVEL.sync_scope(8, || {
            thread::Builder::new().stack_size(0).spawn(move || drop(asks)).map(drop).unwrap_err()
        }));
        assert_eq!(seen(), 8, "a thread that was not started");
        let asks = Asks;
        let handle = runtime.handle();
        drop(runtime);
        let refused = LEVEL.sync_scope(4, || handle.spawn(async move { drop(asks) }));
        assert!(refused.wait().is_err());
        assert_eq!(seen(), 4, "refused");
    });
}

/// Many children at once, on all workers.
#[test]
fn many_children_see_their_own_parents_value() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let parents: Vec<_> = (0..32u32)
            .map(|me| {
                runtime.spawn(LEVEL.scope(me, async move {
                    for _ in 0..20 {
                        let children: Vec<_> = (0..4).map(|_| spawn(async { LEVEL.get() })).collect();
                        for child in children {
                            assert_eq!(child.await.unwrap(), me);
                        }
                        assert_eq!(LEVEL.get(), me);
                    }
                }))
            })
            .collect();
        runtime.block_on(async {
            for parent in parents {
                parent.await.unwrap();
            }
        });
    });
}

#[test]
fn from_a_plain_thread() {
    guarded("plain", || {
        let seen = LEVEL.sync_scope(3, || spawn(async { LEVEL.get() }));
        assert_eq!(seen.wait().unwrap(), 3);
    });
}
