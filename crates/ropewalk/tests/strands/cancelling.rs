//! Cancellation: sticky, as a tree, postponed by a shield, and exact about what ran.

use crate::kit::{on_every_kind, until};
use crate::{AGES, thrown};
use ropewalk::Wait;
use ropewalk::strand::{self, Interrupted, StrandError};
use ropewalk::sync::Notify;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

#[test]
fn catching_it_does_not_help_the_next_wait_throws_again() {
    on_every_kind(|kind| {
        let (thrown_times, began) = (AtomicUsize::new(0), Notify::new());
        kind.build().run(|| {
            strand::scope(|s| {
                let (began, times) = (&began, &thrown_times);
                let child = s.spawn(move || {
                    began.notify_one();
                    for _ in 0..3 {
                        assert!(thrown(|| strand::sleep(AGES)).is::<Interrupted>());
                        times.fetch_add(1, SeqCst);
                    }
                    assert!(strand::is_cancelled());
                    "to its end"
                });
                began.notified().wait();
                child.cancel();
                assert_eq!(child.join(), "to its end");
            });
        });
        assert_eq!(thrown_times.into_inner(), 3);
    });
}

/// Something that is ready at once does not suspend, and so does not throw.
#[test]
fn what_need_not_wait_goes_on() {
    on_every_kind(|kind| {
        let child = kind.build().run(|| {
            strand::scope(|s| {
                s.spawn(|| {
                    strand::current().unwrap().cancel();
                    ropewalk::wait(async { 5 })
                })
                .join()
            })
        });
        assert_eq!(child, 5);
    });
}

#[test]
fn who_cancels_itself_is_interrupted_at_its_next_wait() {
    on_every_kind(|kind| {
        kind.build().run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| {
                    strand::current().unwrap().cancel();
                    assert!(strand::is_cancelled());
                    strand::sleep(AGES);
                });
                assert!(matches!(child.try_join(), Err(StrandError::Cancelled)));
            });
        });
    });
}

#[test]
fn a_child_that_was_cancelled_before_it_started_does_not_run() {
    on_every_kind(|kind| {
        let (ran, dropped) = (AtomicBool::new(false), AtomicBool::new(false));
        struct Noted<'a>(&'a AtomicBool);
        impl Drop for Noted<'_> {
            fn drop(&mut self) {
                self.0.store(true, SeqCst);
            }
        }
        let runtime = kind.build();
        // One worker is all there is that could start it, and that one is here until it waits.
        let alone = matches!(runtime.metrics().pools[0].workers.len(), 0 | 1);
        runtime.run(|| {
            strand::scope(|s| {
                let noted = Noted(&dropped);
                let child = s.spawn(|| {
                    let _noted = noted;
                    ran.store(true, SeqCst);
                    strand::sleep(AGES);
                });
                child.cancel();
                assert!(matches!(child.try_join(), Err(StrandError::Cancelled)));
            });
        });
        assert!(dropped.into_inner(), "what it was to have is gone");
        assert!(!ran.into_inner() || !alone);
    });
}

/// A whole tree ends when its root is cancelled, the leaves first.
#[test]
fn a_tree_is_cancelled_at_its_root() {
    fn grow(depth: u32, alive: &AtomicUsize) {
        struct Alive<'a>(&'a AtomicUsize);
        impl Drop for Alive<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, SeqCst);
            }
        }
        alive.fetch_add(1, SeqCst);
        let _alive = Alive(alive);
        if depth == 0 {
            return strand::sleep(AGES);
        }
        strand::scope(|s| {
            let children: Vec<_> = (0..3).map(|_| s.spawn(|| grow(depth - 1, alive))).collect();
            children.into_iter().for_each(|child| child.join());
        });
    }
    on_every_kind(|kind| {
        let alive = AtomicUsize::new(0);
        kind.build().run(|| {
            strand::scope(|s| {
                let root = s.spawn(|| grow(3, &alive));
                while alive.load(SeqCst) < 1 + 3 + 9 + 27 {
                    strand::yield_now();
                }
                root.cancel();
                assert!(matches!(root.try_join(), Err(StrandError::Cancelled)));
                assert_eq!(alive.load(SeqCst), 0, "nothing of it is left");
            });
        });
    });
}

#[test]
fn parent_and_child_may_cancel_each_other() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for _ in 0..20 {
            runtime.run(|| {
                strand::scope(|s| {
                    let parent = s.spawn(|| {
                        let me = strand::current().unwrap();
                        strand::scope(|t| {
                            let child = t.spawn(move || {
                                me.cancel();
                                strand::sleep(AGES);
                            });
                            strand::yield_now();
                            child.cancel();
                            child.try_join()
                        })
                    });
                    // The child may have ended before the parent waits again; then the parent is not interrupted any more.
                    match parent.try_join() {
                        Err(StrandError::Cancelled) | Ok(Err(StrandError::Cancelled)) => {}
                        other => panic!("{other:?}"),
                    }
                });
            });
        }
    });
}

#[test]
fn a_shield_postpones_it() {
    on_every_kind(|kind| {
        let (saved, after) = (AtomicBool::new(false), AtomicBool::new(false));
        let (began, may_go) = (Notify::new(), Notify::new());
        kind.build().run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| {
                    strand::shield(|| {
                        began.notify_one();
                        may_go.notified().wait();
                        strand::shield(strand::yield_now);
                        strand::sleep(Duration::from_micros(1));
                        saved.store(true, SeqCst);
                    });
                    strand::sleep(AGES);
                    after.store(true, SeqCst);
                });
                began.notified().wait();
                child.cancel();
                may_go.notify_one();
                assert!(matches!(child.try_join(), Err(StrandError::Cancelled)));
            });
        });
        assert!(saved.into_inner() && !after.into_inner());
    });
}

/// A panic out of a shield lowers it.
#[test]
fn a_shield_is_lowered_however_it_is_left() {
    on_every_kind(|kind| {
        kind.build().run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| {
                    drop(thrown(|| strand::shield(|| panic!("{}: in a shield", crate::kit::ON_PURPOSE))));
                    strand::current().unwrap().cancel();
                    strand::sleep(AGES);
                });
                assert!(matches!(child.try_join(), Err(StrandError::Cancelled)));
            });
        });
    });
}

/// The scope waits for its children, whatever interrupts it meanwhile.
#[test]
fn leaving_a_scope_cannot_be_interrupted() {
    on_every_kind(|kind| {
        let (ended, began, go) = (AtomicBool::new(false), Notify::new(), Notify::new());
        let runtime = kind.build();
        runtime.run(|| {
            strand::scope(|s| {
                let parent = s.spawn(|| {
                    strand::scope(|t| {
                        let _child = t.spawn(|| {
                            strand::shield(|| {
                                began.notify_one();
                                go.notified().wait();
                            });
                            ended.store(true, SeqCst);
                        });
                        strand::sleep(AGES);
                    });
                });
                began.notified().wait();
                parent.cancel();
                (0..50).for_each(|_| strand::yield_now());
                assert!(!parent.is_finished(), "its child has not ended");
                go.notify_one();
                let ended_as = parent.try_join();
                assert!(matches!(ended_as, Err(StrandError::Cancelled)), "{ended_as:?}");
            });
        });
        assert!(ended.into_inner());
    });
}

#[test]
fn a_runtime_that_goes_down_interrupts_its_strands() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (began, left) = (Notify::new(), std::sync::Arc::new(AtomicUsize::new(0)));
        let began = std::sync::Arc::new(began);
        struct Leaves(std::sync::Arc<AtomicUsize>);
        impl Drop for Leaves {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let (inner, counted) = (began.clone(), left.clone());
        let (give, take) = std::sync::mpsc::channel();
        runtime.block_on(async move {
            let strand = strand::spawn(move || {
                let _leaves = Leaves(counted.clone());
                strand::scope(|s| {
                    let child = s.spawn(|| {
                        let _leaves = Leaves(counted.clone());
                        inner.notify_one();
                        strand::sleep(AGES);
                    });
                    child.join();
                });
            });
            began.notified().await;
            give.send(strand).unwrap();
        });
        let strand = take.recv().unwrap();
        drop(runtime);
        until("both have left", || left.load(SeqCst) == 2);
        assert!(matches!(strand.wait(), Err(StrandError::Shutdown | StrandError::Cancelled)));
    });
}
