//! How a scope is left: by return, by `?`, by a panic, by interruption; with children that ended, that live, that panicked.

use crate::kit::{ON_PURPOSE, on_every_kind};
use crate::{AGES, text, thrown};
use ropewalk::strand::{self, Builder, Interrupted, LiveStrands, Scope, Strand, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{UnhandledPanic, Wait};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Counts those who left.
struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A child that sleeps until it is cancelled.
fn sleeper<'scope>(
    s: &'scope Scope<'scope, '_>,
    name: &str,
    left: &'scope AtomicUsize,
) -> Strand<'scope, ()> {
    Builder::new().name(name).spawn_in(s, move || {
        let _leaves = Leaves(left);
        strand::sleep(AGES);
    })
}

/// The same; it has begun.
fn begun_sleeper<'scope>(
    s: &'scope Scope<'scope, '_>,
    began: &'scope Notify,
    left: &'scope AtomicUsize,
) -> Strand<'scope, ()> {
    let child = s.spawn(move || {
        let _leaves = Leaves(left);
        began.notify_one();
        strand::sleep(AGES);
    });
    began.notified().wait();
    child
}

#[test]
fn children_borrow_from_the_parents_frame_and_give_values() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let words = ["hawser".to_owned(), "cable".to_owned(), "twine".to_owned()];
        let lengths = runtime.run(|| {
            strand::scope(|s| {
                let children: Vec<_> = words.iter().map(|word| s.spawn(|| word.len())).collect();
                children.into_iter().map(Strand::join).collect::<Vec<_>>()
            })
        });
        assert_eq!(lengths, [6, 5, 5]);
    });
}

#[test]
fn a_child_may_change_what_it_borrows_and_start_siblings() {
    on_every_kind(|kind| {
        let (mut sum, other) = (0, AtomicUsize::new(0));
        kind.build().run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| {
                    sum += 5;
                    s.spawn(|| other.fetch_add(7, SeqCst)).join()
                });
                child.join();
            });
        });
        assert_eq!((sum, other.into_inner()), (5, 7));
    });
}

#[test]
fn live_children_are_cancelled_waited_for_and_named() {
    on_every_kind(|kind| {
        let (runtime, left) = (kind.build(), AtomicUsize::new(0));
        let payload = thrown(|| {
            runtime.run(|| {
                strand::scope(|s| {
                    drop(sleeper(s, "one", &left));
                    std::mem::forget(sleeper(s, "two", &left)); // a handle that is forgotten changes nothing
                    while left.load(SeqCst) == 0 && s.len() < 2 {
                        strand::yield_now();
                    }
                });
            });
        });
        let LiveStrands { names } = *payload.downcast().expect("which ones");
        assert_eq!(names, ["one", "two"]);
        assert!(left.into_inner() <= 2, "those that began have left");
    });
}

#[test]
fn leaving_early_by_an_error_cancels_the_children() {
    on_every_kind(|kind| {
        let (began, left) = (Notify::new(), AtomicUsize::new(0));
        let try_it = |s: &Scope<'_, '_>| -> Result<(), std::num::ParseIntError> {
            assert_eq!(s.len(), 1);
            "rope".parse::<u32>()?;
            Ok(())
        };
        let payload = thrown(|| {
            kind.build().run(|| {
                let result = strand::scope(|s| {
                    drop(begun_sleeper(s, &began, &left));
                    try_it(s)?;
                    unreachable!("a rope is no number")
                });
                let _: Result<(), std::num::ParseIntError> = result;
            })
        });
        assert!(payload.is::<LiveStrands>());
        assert_eq!(left.into_inner(), 1, "the child has left before the scope is");
    });
}

#[test]
fn a_panic_of_the_parent_cancels_the_children_and_goes_on() {
    on_every_kind(|kind| {
        let (began, left) = (Notify::new(), AtomicUsize::new(0));
        let payload = thrown(|| {
            kind.build().run(|| {
                strand::scope(|s| {
                    drop(begun_sleeper(s, &began, &left));
                    panic!("{ON_PURPOSE}: parent")
                })
            })
        });
        assert_eq!(text(payload), format!("{ON_PURPOSE}: parent"));
        assert_eq!(left.into_inner(), 1, "the child has left before the scope is");
    });
}

/// Children may start siblings, also while their scope is being left: those do not run, or nobody would ever wait long enough.
#[test]
fn who_is_started_while_the_scope_is_left_is_cancelled() {
    fn lives_on<'scope>(s: &'scope Scope<'scope, '_>, began: &'scope Notify, late: &'scope AtomicUsize) {
        drop(s.spawn(move || {
            strand::shield(|| {
                began.notify_one();
                while !strand::is_cancelled() {
                    strand::yield_now();
                }
                // The scope has looked who is there, and this strand was.
                let sibling = s.spawn(|| strand::sleep(AGES));
                late.fetch_add(
                    usize::from(matches!(sibling.try_join(), Err(StrandError::Cancelled))),
                    SeqCst,
                );
            });
        }));
        began.notified().wait();
    }
    on_every_kind(|kind| {
        let (began, late) = (Notify::new(), AtomicUsize::new(0));
        let runtime = kind.build();
        let returned = thrown(|| runtime.run(|| strand::scope(|s| lives_on(s, &began, &late))));
        assert!(returned.is::<LiveStrands>());
        let panicked = thrown(|| {
            runtime.run(|| {
                strand::nursery(|n| {
                    lives_on(n, &began, &late);
                    panic!("{ON_PURPOSE}: the closure of a nursery")
                })
            })
        });
        assert_eq!(text(panicked), format!("{ON_PURPOSE}: the closure of a nursery"));
        assert_eq!(late.into_inner(), 2);
    });
}

#[test]
fn join_all_waits_instead() {
    on_every_kind(|kind| {
        let done = AtomicUsize::new(0);
        kind.build().run(|| {
            strand::scope(|s| {
                for _ in 0..20 {
                    let _unjoined = s.spawn(|| {
                        strand::yield_now();
                        done.fetch_add(1, SeqCst)
                    });
                }
                s.join_all();
                assert!(s.is_empty());
            });
        });
        assert_eq!(done.into_inner(), 20);
    });
}

#[test]
fn a_joined_panic_is_thrown_where_it_is_joined_and_nowhere_else() {
    on_every_kind(|kind| {
        let caught = kind.build().run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| panic!("{ON_PURPOSE}: joined"));
                text(thrown(|| child.join()))
            })
        });
        assert_eq!(caught, format!("{ON_PURPOSE}: joined"));
    });
}

#[test]
fn try_join_says_how_it_ended() {
    on_every_kind(|kind| {
        kind.build().run(|| {
            strand::scope(|s| {
                assert_eq!(s.spawn(|| 5).try_join().unwrap(), 5);
                let panicked = Builder::new().name("bad").spawn_in(s, || panic!("{ON_PURPOSE}"));
                match panicked.try_join() {
                    Err(StrandError::Panicked(panic)) => {
                        assert!(
                            panic.to_string().contains("strand") && panic.to_string().contains("bad"),
                            "{panic}"
                        );
                    }
                    other => panic!("{other:?}"),
                }
                let sleeps = s.spawn(|| strand::sleep(AGES));
                sleeps.cancel();
                assert!(matches!(sleeps.try_join(), Err(StrandError::Cancelled)));
            });
        });
    });
}

/// Whatever became of the handle of a child that panicked, somebody is told.
#[test]
fn an_unjoined_panic_is_thrown_when_the_scope_is_left() {
    enum Handle {
        DroppedBefore,
        DroppedAfter,
        Forgotten,
    }
    on_every_kind(|kind| {
        for handle in [Handle::DroppedBefore, Handle::DroppedAfter, Handle::Forgotten] {
            let payload = thrown(|| {
                kind.build().run(|| {
                    strand::scope(|s| {
                        let child = s.spawn(|| {
                            strand::yield_now();
                            panic!("{ON_PURPOSE}: unjoined")
                        });
                        match handle {
                            Handle::DroppedBefore => {
                                drop(child);
                                s.join_all();
                            }
                            Handle::DroppedAfter => {
                                s.join_all();
                                drop(child);
                            }
                            Handle::Forgotten => {
                                std::mem::forget(child);
                                s.join_all();
                            }
                        }
                    })
                })
            });
            let text = text(payload);
            assert!(text.contains("unjoined"), "{text}");
        }
    });
}

#[test]
fn the_first_of_several_panics_is_thrown_and_the_others_are_reported() {
    on_every_kind(|kind| {
        let runtime = kind.builder().unhandled_panic(UnhandledPanic::Report).build().unwrap();
        let first = Notify::new();
        let payload = thrown(|| {
            runtime.run(|| {
                strand::scope(|s| {
                    let one = s.spawn(|| panic!("{ON_PURPOSE}: first"));
                    while !one.is_finished() {
                        strand::yield_now();
                    }
                    drop(one);
                    drop(s.spawn(|| panic!("{ON_PURPOSE}: second")));
                    s.join_all();
                    first.notify_one();
                })
            })
        });
        assert_eq!(text(payload), format!("{ON_PURPOSE}: first"));
        assert_eq!(runtime.metrics().unhandled_panics, 1, "the second one");
    });
}

#[test]
fn all_child_panics_are_reported_if_the_parent_unwinds() {
    on_every_kind(|kind| {
        let runtime = kind.builder().unhandled_panic(UnhandledPanic::Report).build().unwrap();
        let payload = thrown(|| {
            runtime.run(|| {
                strand::scope(|s| {
                    drop(s.spawn(|| panic!("{ON_PURPOSE}: child")));
                    s.join_all();
                    panic!("{ON_PURPOSE}: parent")
                })
            })
        });
        assert_eq!(text(payload), format!("{ON_PURPOSE}: parent"));
        assert_eq!(runtime.metrics().unhandled_panics, 1);
    });
}

/// A scope does not need a strand around it.
#[test]
fn scopes_work_on_threads_and_in_tasks() {
    let mut numbers = vec![1, 2, 3];
    strand::scope(|s| {
        let sum = s.spawn(|| numbers.iter().sum::<i32>());
        assert_eq!(sum.join(), 6);
    });
    numbers.push(4);
    on_every_kind(|kind| {
        let runtime = kind.build();
        let numbers = numbers.clone();
        let inside = async move { strand::scope(|s| s.spawn(|| numbers.len()).join()) };
        assert_eq!(runtime.block_on(runtime.spawn(inside)).unwrap(), 4);
    });
}

#[test]
fn run_inside_a_strand_is_another_strand() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let handle = runtime.handle();
        let ids = runtime.run(|| (strand::id(), ropewalk::run(strand::id), handle.run(strand::id)));
        assert!(ids.0.is_some() && ids.1.is_some() && ids.2.is_some());
        assert!(ids.0 != ids.1 && ids.1 != ids.2);
    });
}

#[test]
fn a_strand_is_known_by_where_it_was_started() {
    let place = ropewalk::run(|| strand::current().unwrap().spawned_at());
    assert_eq!((place.file(), place.line()), (file!(), line!() - 1));
    let place =
        ropewalk::run(|| strand::scope(|s| s.spawn(|| strand::current().unwrap().spawned_at()).join()));
    assert_eq!((place.file(), place.line()), (file!(), line!() - 1));
}

#[test]
fn a_strand_can_be_awaited() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let sum = runtime.block_on(async {
            let strand = strand::spawn(|| ropewalk::spawn(async { 20 }).wait().unwrap() + 1);
            let ended = strand.await.unwrap();
            let cancelled = strand::spawn(|| strand::sleep(AGES));
            cancelled.cancel();
            assert!(matches!(cancelled.await, Err(StrandError::Cancelled)));
            ended
        });
        assert_eq!(sum, 21);
    });
}

/// What a child gives is dropped before the scope is left, whoever drops it.
#[test]
fn values_are_gone_when_the_scope_is_left() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for _ in 0..50 {
            let left = AtomicUsize::new(0);
            runtime.run(|| {
                strand::scope(|s| {
                    drop(s.spawn(|| Leaves(&left))); // dropped by the child's worker or by us
                    let second = s.spawn(|| Leaves(&left));
                    s.join_all();
                    drop(second);
                });
            });
            assert_eq!(left.into_inner(), 2);
        }
    });
}

#[test]
fn an_interruption_is_not_a_panic_that_anybody_hears_of() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| assert!(thrown(|| strand::sleep(AGES)).is::<Interrupted>()));
                strand::yield_now();
                child.cancel();
                let _either_caught_or_never_started = child.try_join();
            });
        });
        assert_eq!(runtime.metrics().unhandled_panics, 0);
    });
}
