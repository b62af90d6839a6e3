//! A child that is joined before anything else came in between runs at once, while its parent stands by (`run_at_once`).

use crate::kit::{guarded, on_every_kind};
use crate::{text, thrown};
use ropewalk::strand::{self, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{Blocking, Runtime, Wait, with_handler};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// A sum over a tree: each node is a strand, and joins its children one after the other.
fn sum(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    strand::scope(|s| s.spawn(|| sum(depth - 1)).join() + s.spawn(|| sum(depth - 1)).join())
}

#[test]
fn a_tree_of_joins() {
    on_every_kind(|kind| assert_eq!(kind.build().run(|| sum(9)), 1 << 9));
}

/// Each stands by on a stack of its own, and the last one waits for somebody else: then all of them are suspended in turn.
#[test]
fn a_chain_of_joins_down_to_one_that_waits() {
    fn chain(depth: u32, end: &(dyn Fn() -> u32 + Sync)) -> u32 {
        if depth == 0 { end() } else { strand::scope(|s| s.spawn(|| chain(depth - 1, end)).join() + 1) }
    }
    on_every_kind(|kind| {
        let (asked, answered) = (Notify::new(), Notify::new());
        let length = kind.build().run(|| {
            strand::scope(|s| {
                let other = s.spawn(|| {
                    asked.notified().wait();
                    answered.notify_one();
                });
                let length = chain(300, &|| {
                    asked.notify_one();
                    answered.notified().wait();
                    strand::yield_now();
                    0
                });
                other.join();
                length
            })
        });
        assert_eq!(length, 300);
    });
}

/// Who joins in a loop and is never suspended for lack of a value still lets others run: strands, tasks and timers.
#[test]
fn who_joins_without_end_lets_others_run() {
    for workers in [1, 2] {
        guarded(format!("{workers} workers"), || {
            let runtime = Runtime::builder().worker_threads(workers).build().unwrap();
            let ran = [const { AtomicBool::new(false) }; 2];
            runtime.run(|| {
                strand::scope(|s| {
                    let strand = s.spawn(|| ran[0].store(true, SeqCst));
                    let sleeper = s.spawn(|| {
                        strand::sleep(Duration::from_millis(1));
                        ran[1].store(true, SeqCst);
                    });
                    let task = ropewalk::spawn(ropewalk::yield_now());
                    while !s.spawn(|| ran.iter().all(|ran| ran.load(SeqCst))).join() || !task.is_finished() {}
                    strand.join();
                    sleeper.join();
                });
            });
        });
    }
}

ropewalk::task_local! { static BOUND: u32; }

/// What is on the parent's stack is not seen by the child, and there again afterwards.
#[test]
fn the_child_sees_nothing_of_the_parents_stack() {
    on_every_kind(|kind| {
        kind.build().run(|| {
            let parent = strand::id();
            BOUND.sync_scope(7, || {
                let child = || (strand::id(), BOUND.try_get().is_err(), strand::panicking());
                let (child, unbound, unwinds) = strand::shield(|| strand::scope(|s| s.spawn(child).join()));
                assert!(child.is_some() && child != parent && unbound && !unwinds);
                assert_eq!((strand::id(), BOUND.get()), (parent, 7));
            });
        });
    });
}

/// A shield of the parent is not the child's.
#[test]
fn the_child_is_cancelled_for_itself() {
    on_every_kind(|kind| {
        let ended = kind.build().run(|| {
            strand::shield(|| {
                strand::scope(|s| {
                    let child = s.spawn(|| {
                        strand::current().expect("it runs on a strand").cancel();
                        strand::yield_now(); // from here on it knows
                        strand::yield_now();
                    });
                    child.try_join()
                })
            })
        });
        assert!(matches!(ended, Err(StrandError::Cancelled)), "{ended:?}");
    });
}

/// A child that does not run is dropped on the stack of the one that stands by. That one is interrupted afterwards, not in the midst.
#[test]
fn what_a_child_held_that_does_not_run_may_wait() {
    struct Waits<'a>(&'a Notify, &'a Notify);
    impl Drop for Waits<'_> {
        fn drop(&mut self) {
            self.0.notify_one();
            self.1.notified().wait();
        }
    }
    on_every_kind(|kind| {
        let (began, go) = (Notify::new(), Notify::new());
        kind.build().run(|| {
            strand::scope(|s| {
                let parent = s.spawn(|| {
                    let ended = strand::scope(|t| {
                        let held = Waits(&began, &go);
                        let child = t.spawn(move || drop(held));
                        child.cancel();
                        child.try_join()
                    });
                    assert!(matches!(ended, Err(StrandError::Cancelled)), "{ended:?}");
                    strand::yield_now();
                    unreachable!("it was cancelled");
                });
                began.notified().wait();
                parent.cancel();
                (0..50).for_each(|_| strand::yield_now());
                assert!(!parent.is_finished());
                go.notify_one();
                let ended = parent.try_join();
                assert!(matches!(ended, Err(StrandError::Cancelled)), "{ended:?}");
            });
        });
    });
}

#[test]
fn a_panic_is_the_childs() {
    on_every_kind(|kind| {
        kind.build().run(|| {
            strand::scope(|s| {
                let payload = thrown(|| s.spawn(|| panic!("on purpose: at once")).join());
                assert_eq!(text(payload), "on purpose: at once");
                assert!(!strand::panicking() && !std::thread::panicking());
                strand::yield_now();
                assert_eq!(s.spawn(|| 1).join(), 1);
            });
        });
    });
}

/// Who unwinds does not stand by: the child could not know that it is not itself who does.
#[test]
fn a_child_of_one_that_unwinds_does_not_unwind() {
    struct Joins;
    impl Drop for Joins {
        fn drop(&mut self) {
            assert!(strand::panicking());
            let child = || {
                let before = strand::panicking();
                strand::yield_now();
                before || strand::panicking()
            };
            assert!(!strand::scope(|s| s.spawn(child).join()));
            assert!(strand::panicking());
        }
    }
    on_every_kind(|kind| {
        kind.build().run(|| {
            let payload = thrown(|| {
                let _joins = Joins;
                panic!("on purpose: joins");
            });
            assert_eq!(text(payload), "on purpose: joins");
        });
    });
}

/// A handler decides how the parent waits.
#[test]
fn handlers_are_asked_first() {
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    runtime.run(|| {
        strand::scope(|s| {
            let child = s.spawn(|| std::thread::current().id());
            let thread = with_handler(&Blocking, || child.join());
            assert_ne!(thread, std::thread::current().id(), "this one was blocked meanwhile");
        });
    });
}
