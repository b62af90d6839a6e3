//! Nurseries: the first panic ends all.

use crate::kit::{ON_PURPOSE, on_every_kind};
use crate::{AGES, one_that_unwinds, text, thrown};
use ropewalk::strand::{self, LiveStrands, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{UnhandledPanic, Wait};

#[test]
fn the_first_panic_cancels_the_siblings_and_interrupts_the_parent() {
    on_every_kind(|kind| {
        let payload = thrown(|| {
            kind.build().run(|| {
                strand::nursery(|n| {
                    let sibling = n.spawn(|| strand::sleep(AGES));
                    drop(n.spawn(|| panic!("{ON_PURPOSE}: one for all")));
                    strand::sleep(AGES); // the parent's own wait
                    drop(sibling);
                })
            })
        });
        assert_eq!(text(payload), format!("{ON_PURPOSE}: one for all"));
    });
}

#[test]
fn the_same_on_a_thread_and_in_a_task() {
    let fails = || {
        strand::nursery(|n| {
            drop(n.spawn(|| strand::sleep(AGES)));
            drop(n.spawn(|| panic!("{ON_PURPOSE}: far away")));
            strand::sleep(AGES);
        });
    };
    assert_eq!(text(thrown(fails)), format!("{ON_PURPOSE}: far away"));
    on_every_kind(|kind| {
        let runtime = kind.build();
        let ended = runtime.block_on(runtime.spawn(async move { fails() }));
        let panic = ended.unwrap_err().into_panic().unwrap();
        assert_eq!(panic.message(), format!("{ON_PURPOSE}: far away"));
    });
}

#[test]
fn an_outer_nursery_interrupts_what_waits_in_an_inner_one() {
    on_every_kind(|kind| {
        let payload = thrown(|| {
            kind.build().run(|| {
                strand::nursery(|outer| {
                    let fails = outer.spawn(|| {
                        strand::yield_now();
                        panic!("{ON_PURPOSE}: outer")
                    });
                    strand::nursery(|inner| {
                        let innocent = inner.spawn(|| strand::sleep(AGES));
                        innocent.join();
                    });
                    fails.join()
                })
            })
        });
        assert_eq!(text(payload), format!("{ON_PURPOSE}: outer"));
    });
}

#[test]
fn a_panic_that_is_joined_ends_the_nursery_all_the_same() {
    on_every_kind(|kind| {
        let payload = thrown(|| {
            kind.build().run(|| {
                strand::nursery(|n| {
                    let sibling = n.spawn(|| strand::sleep(AGES));
                    let bad = n.spawn(|| panic!("{ON_PURPOSE}: joined"));
                    assert!(matches!(bad.try_join(), Err(StrandError::Panicked(_))));
                    assert!(matches!(sibling.try_join(), Err(StrandError::Cancelled)));
                    strand::sleep(AGES)
                })
            })
        });
        let text = text(payload); // what it said; who joined it has the rest
        assert!(text.ends_with(&format!("panicked: {ON_PURPOSE}: joined")), "{text:?}");
    });
}

/// Somebody else's panic on that worker, in the middle of unwinding, does not keep a nursery in a task's poll from being interrupted.
#[test]
fn a_task_is_interrupted_after_somebody_has_unwound() {
    on_every_kind(|kind| {
        let runtime = kind.builder().unhandled_panic(UnhandledPanic::Report).build().unwrap();
        let (began, go) = (Notify::new(), Notify::new());
        runtime.run(|| {
            strand::scope(|s| {
                let unwinds = one_that_unwinds(s, &began, &go);
                let task = ropewalk::spawn(async {
                    strand::nursery(|n| {
                        drop(n.spawn(|| panic!("{ON_PURPOSE}: in a task's nursery")));
                        strand::sleep(AGES);
                    });
                });
                (0..100).for_each(|_| strand::yield_now());
                go.notify_one();
                assert!(matches!(unwinds.try_join(), Err(StrandError::Cancelled)));
                let panic = task.wait().unwrap_err().into_panic().unwrap();
                assert_eq!(panic.message(), format!("{ON_PURPOSE}: in a task's nursery"));
            });
        });
    });
}

#[test]
fn without_a_panic_it_is_a_scope() {
    on_every_kind(|kind| {
        let sum = kind.build().run(|| strand::nursery(|n| n.spawn(|| 1).join() + n.spawn(|| 2).join()));
        assert_eq!(sum, 3);
        let payload =
            thrown(|| kind.build().run(|| strand::nursery(|n| drop(n.spawn(|| strand::sleep(AGES))))));
        assert!(payload.is::<LiveStrands>());
    });
}

#[test]
fn who_comes_after_the_failure_is_cancelled() {
    on_every_kind(|kind| {
        let runtime = kind.builder().unhandled_panic(UnhandledPanic::Report).build().unwrap();
        let payload = thrown(|| {
            runtime.run(|| {
                strand::nursery(|n| {
                    let bad = n.spawn(|| panic!("{ON_PURPOSE}: early"));
                    strand::shield(|| {
                        while !bad.is_finished() {
                            strand::yield_now();
                        }
                        let late = n.spawn(|| strand::sleep(AGES));
                        assert!(matches!(late.wait(), Err(StrandError::Cancelled)));
                    });
                    drop(bad);
                })
            })
        });
        assert_eq!(text(payload), format!("{ON_PURPOSE}: early"));
    });
}
