//! While a strand unwinds, waits do not throw: a destructor may wait.

use crate::kit::{ON_PURPOSE, on_every_kind};
use crate::{AGES, WaitsInDrop, text, thrown};
use ropewalk::strand::{self, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{UnhandledPanic, Wait};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn a_destructor_waits_during_an_interruption() {
    on_every_kind(|kind| {
        let (began, go) = (Notify::new(), Notify::new());
        kind.build().run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| {
                    let _waits = WaitsInDrop(&go);
                    began.notify_one();
                    strand::sleep(AGES);
                });
                began.notified().wait();
                child.cancel();
                (0..10).for_each(|_| strand::yield_now());
                assert!(!child.is_finished(), "it waits in its destructor");
                go.notify_one();
                assert!(matches!(child.try_join(), Err(StrandError::Cancelled)));
            });
        });
    });
}

#[test]
fn a_destructor_waits_during_a_panic_also_if_it_is_cancelled_then() {
    on_every_kind(|kind| {
        for cancel in [false, true] {
            let (began, go) = (Notify::new(), Notify::new());
            kind.build().run(|| {
                strand::scope(|s| {
                    let child = s.spawn(|| {
                        let _waits = WaitsInDrop(&go);
                        began.notify_one();
                        strand::yield_now();
                        panic!("{ON_PURPOSE}: with a destructor")
                    });
                    began.notified().wait();
                    (0..20).for_each(|_| strand::yield_now());
                    if cancel {
                        child.cancel();
                    }
                    (0..20).for_each(|_| strand::yield_now());
                    go.notify_one();
                    let ended = child.try_join();
                    // Cancelled before it came to panic: with more workers it may be that slow.
                    let interrupted = cancel && matches!(ended, Err(StrandError::Cancelled));
                    assert!(interrupted || matches!(ended, Err(StrandError::Panicked(_))), "{ended:?}");
                });
            });
        }
    });
}

/// One that unwinds and waits does not keep others on its worker from being interrupted, nor does it change what they know.
#[test]
fn another_that_unwinds_does_not_disturb() {
    on_every_kind(|kind| {
        let (began, go) = (Notify::new(), Notify::new());
        let (started, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        kind.build().run(|| {
            strand::scope(|s| {
                let unwinds = s.spawn(|| {
                    let _waits = WaitsInDrop(&go);
                    began.notify_one();
                    strand::sleep(AGES);
                });
                began.notified().wait();
                unwinds.cancel();
                (0..20).for_each(|_| strand::yield_now());
                assert!(!strand::panicking());
                let others: Vec<_> = (0..10)
                    .map(|number| {
                        let (ended, started) = (&ended, &started);
                        s.spawn(move || {
                            assert!(!strand::panicking());
                            if number % 2 == 0 {
                                drop(thrown(|| panic!("{ON_PURPOSE}: caught")));
                            }
                            started.fetch_add(1, SeqCst);
                            let interrupted = thrown(|| strand::sleep(AGES)).is::<strand::Interrupted>();
                            ended.fetch_add(usize::from(interrupted), SeqCst);
                        })
                    })
                    .collect();
                while started.load(SeqCst) < 10 {
                    strand::yield_now();
                }
                others.iter().skip(1).step_by(2).for_each(|other| other.cancel());
                for other in others.iter().skip(1).step_by(2) {
                    while !other.is_finished() {
                        strand::yield_now();
                    }
                }
                // Those that caught a panic meanwhile may be spared until it is known again who unwinds.
                go.notify_one();
                assert!(matches!(unwinds.try_join(), Err(StrandError::Cancelled)));
                others.iter().for_each(|other| other.cancel());
                others.into_iter().for_each(|other| other.join());
            });
        });
        assert_eq!(ended.into_inner(), 10);
    });
}

/// A scope inside a destructor that runs while the strand unwinds reports what it finds; it does not throw.
#[test]
fn live_children_of_a_destructor_are_reported() {
    struct LeavesChildren;
    impl Drop for LeavesChildren {
        fn drop(&mut self) {
            assert!(strand::panicking());
            strand::scope(|s| drop(s.spawn(|| strand::sleep(AGES))));
            strand::scope(|s| {
                drop(s.spawn(|| panic!("{ON_PURPOSE}: in a destructor")));
                s.join_all();
            });
        }
    }
    on_every_kind(|kind| {
        let runtime = kind.builder().unhandled_panic(UnhandledPanic::Report).build().unwrap();
        let payload = thrown(|| {
            runtime.run(|| {
                let _leaves = LeavesChildren;
                panic!("{ON_PURPOSE}: outside")
            })
        });
        assert_eq!(text(payload), format!("{ON_PURPOSE}: outside"));
        assert_eq!(runtime.metrics().unhandled_panics, 1);
    });
}

/// A child's panic that is thrown on by `join` unwinds the parent, whose own destructors may wait too.
#[test]
fn a_panic_passes_through_several_scopes() {
    on_every_kind(|kind| {
        let left = AtomicUsize::new(0);
        struct Waits<'a>(&'a AtomicUsize);
        impl Drop for Waits<'_> {
            fn drop(&mut self) {
                strand::yield_now();
                self.0.fetch_add(1, SeqCst);
            }
        }
        let payload = thrown(|| {
            kind.build().run(|| {
                strand::scope(|s| {
                    let _one = Waits(&left);
                    let middle = s.spawn(|| {
                        strand::scope(|t| {
                            let _two = Waits(&left);
                            let inner = t.spawn(|| {
                                let _three = Waits(&left);
                                panic!("{ON_PURPOSE}: deep")
                            });
                            inner.join()
                        })
                    });
                    middle.join()
                })
            })
        });
        assert_eq!(text(payload), format!("{ON_PURPOSE}: deep"));
        assert_eq!(left.into_inner(), 3);
    });
}
