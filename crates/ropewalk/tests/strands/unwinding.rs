//! While a strand unwinds, waits do not throw: a destructor may wait.

use crate::kit::{KINDS, ON_PURPOSE, guarded, on_every_kind};
use crate::{AGES, WaitsInDrop, one_that_unwinds, text, thrown};
use ropewalk::strand::{self, LiveStrands, Strand, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{Runtime, UnhandledPanic, Wait};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn a_destructor_waits_during_an_interruption() {
    on_every_kind(|kind| {
        let (began, go) = (Notify::new(), Notify::new());
        kind.build().run(|| {
            strand::scope(|s| {
                let child = one_that_unwinds(s, &began, &go);
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
                let unwinds = one_that_unwinds(s, &began, &go);
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

/// Who is spared, because it is not known who unwinds, is interrupted as soon as it is known, however the other one has ended that: by its end,
/// as a task, by catching it itself.
#[test]
fn who_was_spared_is_not_forgotten() {
    #[derive(Clone, Copy, Debug)]
    enum How {
        Ends,
        Catches,
        IsTask,
    }
    struct WaitsFor(Arc<Notify>);
    impl Drop for WaitsFor {
        fn drop(&mut self) {
            self.0.notified().wait();
        }
    }
    on_every_kind(|kind| {
        for how in [How::Ends, How::Catches, How::IsTask] {
            let runtime = kind.builder().unhandled_panic(UnhandledPanic::Report).build().unwrap();
            let [began, go, enough] = [(); 3].map(|()| Arc::new(Notify::new()));
            let waits = WaitsFor(go.clone());
            let unwind = {
                let began = began.clone();
                move || {
                    let _waits = waits;
                    began.notify_one();
                    panic!("{ON_PURPOSE}: unwinds, and waits")
                }
            };
            let until = enough.clone();
            runtime.run(|| {
                let other: Box<dyn FnOnce()> = match how {
                    How::Ends => {
                        let other = strand::spawn(unwind);
                        Box::new(|| assert!(matches!(other.try_join(), Err(StrandError::Panicked(_)))))
                    }
                    How::Catches => {
                        let other = strand::spawn(move || {
                            drop(thrown(unwind));
                            until.notified().wait();
                        });
                        Box::new(|| other.join())
                    }
                    How::IsTask => {
                        let other = ropewalk::spawn(async move { unwind() });
                        Box::new(|| assert!(other.wait().unwrap_err().into_panic().is_some()))
                    }
                };
                began.notified().wait();
                (0..20).for_each(|_| strand::yield_now());
                let caught = Notify::new();
                strand::scope(|s| {
                    let spared = s.spawn(|| {
                        drop(thrown(|| panic!("{ON_PURPOSE}: caught")));
                        caught.notify_one();
                        strand::sleep(AGES);
                    });
                    caught.notified().wait();
                    spared.cancel();
                    (0..20).for_each(|_| strand::yield_now());
                    go.notify_one();
                    assert!(matches!(spared.try_join(), Err(StrandError::Cancelled)), "{how:?}");
                });
                enough.notify_one();
                other();
            });
        }
    });
}

/// A runtime without threads may be driven in a destructor, while its caller's thread unwinds: its strands do not.
#[test]
fn a_runtime_is_driven_while_its_caller_unwinds() {
    struct Drives<'a>(&'a Runtime, &'a RefCell<Option<Strand<'static, ()>>>);
    impl Drop for Drives<'_> {
        fn drop(&mut self) {
            assert!(std::thread::panicking());
            let began = Arc::new(Notify::new());
            let begins = began.clone();
            self.0.block_on(async {
                let sleeper = strand::spawn(move || {
                    assert!(!strand::panicking());
                    begins.notify_one();
                    strand::sleep(AGES);
                });
                began.notified().await;
                sleeper.cancel();
                assert!(matches!(sleeper.await, Err(StrandError::Cancelled)));
                let leaves = strand::spawn(|| strand::scope(|s| drop(s.spawn(|| strand::sleep(AGES)))));
                let Err(StrandError::Panicked(panic)) = leaves.await else { panic!("it leaves a child") };
                assert!(panic.into_payload().is::<LiveStrands>());
                let fails = strand::spawn(|| {
                    strand::nursery(|n| {
                        drop(n.spawn(|| panic!("{ON_PURPOSE}: far below")));
                        strand::sleep(AGES);
                    })
                });
                let Err(StrandError::Panicked(panic)) = fails.await else { panic!("it fails") };
                assert_eq!(panic.message(), format!("{ON_PURPOSE}: far below"));
            });
            // This one is taken to unwind as long as the thread does.
            let began = Arc::new(Notify::new());
            let caught = began.clone();
            self.0.block_on(async {
                let spared = strand::spawn(move || {
                    drop(thrown(|| panic!("{ON_PURPOSE}: caught")));
                    caught.notify_one();
                    strand::sleep(AGES);
                });
                began.notified().await;
                spared.cancel();
                for _ in 0..20 {
                    ropewalk::yield_now().await;
                }
                *self.1.borrow_mut() = Some(spared);
            });
        }
    }
    for kind in KINDS.into_iter().filter(|kind| kind.is_hosted()) {
        guarded(format!("{kind:?}"), || {
            let (runtime, spared) = (kind.build(), RefCell::new(None));
            let payload = thrown(|| {
                let _drives = Drives(&runtime, &spared);
                panic!("{ON_PURPOSE}: on the caller's thread")
            });
            assert_eq!(text(payload), format!("{ON_PURPOSE}: on the caller's thread"));
            let spared = spared.into_inner().expect("it was started");
            assert!(matches!(runtime.block_on(spared), Err(StrandError::Cancelled)));
        });
    }
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
