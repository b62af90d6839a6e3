//! `join`: how it ends for each way in which its halves end, wherever it is called and whoever runs them.

mod loops;
mod programs;
mod shapes;

use super::kit::{RuntimeKind, guarded, on_every_kind};
use super::{AGES, text, thrown};
use ropewalk::strand::{self, Interrupted, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{Runtime, Wait, join};
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// How a half ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Returns,
    Waits,
    Panics,
    WaitsAndPanics,
}

const ENDS: [End; 4] = [End::Returns, End::Waits, End::Panics, End::WaitsAndPanics];

impl End {
    fn play(self, name: &'static str) -> &'static str {
        if matches!(self, End::Waits | End::WaitsAndPanics) {
            strand::yield_now();
        }
        if self.panics() {
            resume_unwind(Box::new(name));
        }
        name
    }

    fn panics(self) -> bool {
        matches!(self, End::Panics | End::WaitsAndPanics)
    }
}

/// Who runs the second half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// Whoever gets it.
    Any,
    /// Somebody else: the first half waits until it has begun.
    Elsewhere,
}

/// Where the join is called.
#[derive(Clone, Copy, Debug)]
enum Place {
    Thread,
    Task,
    Strand,
    /// In a half of another one.
    Half,
}

impl Place {
    fn call<R: Send + 'static>(self, runtime: &Runtime, f: impl FnOnce() -> R + Send + 'static) -> R {
        match self {
            Place::Thread => runtime.block_on(async { f() }),
            Place::Task => runtime.block_on(runtime.spawn(async { f() })).unwrap(),
            Place::Strand => runtime.run(f),
            Place::Half => runtime.run(|| join(strand::yield_now, f).1),
        }
    }
}

/// Counts what is dropped.
struct Counted<'a>(&'a AtomicU32);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn play(first: End, second: End, who: Second) {
    let (called, dropped, begun) = (AtomicU32::new(0), AtomicU32::new(0), Notify::new());
    let (in_first, in_second) = (Counted(&dropped), Counted(&dropped));
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        join(
            || {
                let _held = in_first;
                if who == Second::Elsewhere {
                    begun.notified().wait();
                }
                called.fetch_add(1, SeqCst);
                first.play("on purpose: first")
            },
            || {
                let _held = in_second;
                begun.notify_one();
                called.fetch_add(1, SeqCst);
                second.play("on purpose: second")
            },
        )
    }));
    let case = format!("{first:?} {second:?} {who:?}");
    assert_eq!((called.into_inner(), dropped.into_inner()), (2, 2), "{case}");
    match (ended, first.panics(), second.panics()) {
        (Ok(both), false, false) => assert_eq!(both, ("on purpose: first", "on purpose: second"), "{case}"),
        (Err(panic), true, _) => {
            assert_eq!(*panic.downcast::<&str>().unwrap(), "on purpose: first", "{case}")
        }
        (Err(panic), false, true) => {
            assert_eq!(*panic.downcast::<&str>().unwrap(), "on purpose: second", "{case}")
        }
        (ended, ..) => panic!("{case}: {:?}", ended.map_err(text)),
    }
}

/// Both halves are called once, whoever runs them and however they end; the first one's panic comes first.
#[test]
fn however_its_halves_end() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for place in [Place::Thread, Place::Task, Place::Strand, Place::Half] {
            for first in ENDS {
                for second in ENDS {
                    for who in [Second::Any, Second::Elsewhere] {
                        place.call(&runtime, move || play(first, second, who));
                    }
                }
            }
        }
    });
}

/// A half that is computing does not keep the other from being taken, if there is somebody.
#[test]
fn a_running_strand_is_robbed() {
    for workers in [2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime = Runtime::builder().worker_threads(workers).build().unwrap();
            for _ in 0..100 {
                let begun = AtomicU32::new(0);
                let here = std::thread::current().id();
                let (first, second) = runtime.run(|| {
                    join(
                        || {
                            while begun.load(SeqCst) == 0 {
                                std::thread::yield_now();
                            }
                            (std::thread::current().id(), strand::id())
                        },
                        || {
                            begun.store(1, SeqCst);
                            (std::thread::current().id(), strand::id())
                        },
                    )
                });
                assert!(first.0 != second.0 && first.1 != second.1, "another worker, another strand");
                assert!(first.0 != here && second.0 != here);
            }
        });
    }
}

/// Halves that nobody wants are called on the strand itself, one after the other.
#[test]
fn with_nobody_around_all_is_called_here() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    runtime.run(|| {
        let own = strand::id();
        let (order, next) = (Mutex::new(Vec::new()), AtomicU32::new(0));
        fn go(depth: u32, own: Option<ropewalk::TaskId>, order: &Mutex<Vec<u32>>, next: &AtomicU32) {
            assert_eq!(strand::id(), own);
            order.lock().unwrap().push(next.fetch_add(1, SeqCst));
            if depth > 0 {
                join(|| go(depth - 1, own, order, next), || go(depth - 1, own, order, next));
            }
        }
        go(7, own, &order, &next);
        assert_eq!(order.into_inner().unwrap(), (0..255).collect::<Vec<_>>());
    });
}

/// The first half waits for what only the second does, also with one worker that is never idle.
#[test]
fn the_first_may_wait_for_the_second() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let over = std::sync::Arc::new(AtomicU32::new(0));
        let busy: Vec<_> = (0..3)
            .map(|_| {
                let over = over.clone();
                runtime.spawn(async move {
                    while over.load(SeqCst) == 0 {
                        ropewalk::yield_now().await;
                    }
                })
            })
            .collect();
        let called = Notify::new();
        runtime.run(|| {
            // Also over several levels: the innermost first half waits for the outermost second one.
            join(
                || join(|| join(|| called.notified().wait(), strand::yield_now), strand::yield_now),
                || called.notify_one(),
            );
        });
        over.store(1, SeqCst);
        busy.into_iter().for_each(|task| runtime.block_on(task).unwrap());
    });
}

/// Cancelling the strand: what runs is interrupted at its next wait, here and elsewhere; what was not begun is dropped.
#[test]
fn cancellation_reaches_both_halves() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for elsewhere in [false, true] {
            let (dropped, called, begun) = (AtomicU32::new(0), AtomicU32::new(0), Notify::new());
            let (both, never) = (Notify::new(), Notify::new());
            let ended = runtime.run(|| {
                strand::scope(|s| {
                    let joining = s.spawn(|| {
                        let held = Counted(&dropped);
                        join(
                            || {
                                let _held = Counted(&dropped);
                                if elsewhere {
                                    begun.notified().wait();
                                    both.notify_one();
                                    strand::sleep(AGES);
                                }
                                // Nobody gets to steal: it is cancelled before it waits for the first time.
                                strand::current().unwrap().cancel();
                                strand::sleep(AGES);
                            },
                            || {
                                let _held = held;
                                called.fetch_add(1, SeqCst);
                                begun.notify_one();
                                never.notified().wait();
                                unreachable!("it is interrupted");
                            },
                        )
                    });
                    if elsewhere {
                        both.notified().wait();
                        joining.cancel();
                    }
                    joining.try_join()
                })
            });
            assert!(matches!(ended, Err(StrandError::Cancelled)), "{ended:?}");
            assert_eq!(dropped.into_inner(), 2);
            assert!(called.into_inner() >= u32::from(elsewhere));
        }
    });
}

/// A join that waits for its stolen half is interrupted, and the half with it; the shielded one is not.
#[test]
fn a_join_that_waits_is_interrupted_unless_it_is_shielded() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for shielded in [false, true] {
            let (begun, go, ended_well) = (Notify::new(), Notify::new(), AtomicU32::new(0));
            let ended = runtime.run(|| {
                strand::scope(|s| {
                    let joining = s.spawn(|| {
                        let halves = || {
                            join(
                                || begun.notified().wait(),
                                || {
                                    begun.notify_one();
                                    go.notified().wait();
                                    ended_well.fetch_add(1, SeqCst);
                                },
                            );
                        };
                        if shielded {
                            strand::shield(halves)
                        } else {
                            halves()
                        }
                        42
                    });
                    for _ in 0..100 {
                        strand::yield_now();
                    }
                    joining.cancel();
                    for _ in 0..100 {
                        strand::yield_now();
                    }
                    if shielded {
                        go.notify_one();
                    }
                    joining.try_join()
                })
            });
            match (shielded, ended) {
                (true, Ok(42)) => assert_eq!(ended_well.into_inner(), 1),
                (false, Err(StrandError::Cancelled)) => assert_eq!(ended_well.into_inner(), 0),
                // It may have been cancelled before it began.
                (true, Err(StrandError::Cancelled)) => assert_eq!(ended_well.into_inner(), 0),
                (_, ended) => panic!("shielded: {shielded}, ended: {ended:?}"),
            }
        }
    });
}

/// A nursery around the join fails: halves elsewhere are interrupted as well.
#[test]
fn a_failing_nursery_interrupts_a_join() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let payload = thrown(|| {
            runtime.run(|| {
                let (begun, never) = (Notify::new(), Notify::new());
                strand::nursery(|n| {
                    join(
                        || {
                            begun.notified().wait();
                            let _torn = n.spawn(|| panic!("on purpose: torn"));
                            never.notified().wait();
                        },
                        || {
                            begun.notify_one();
                            never.notified().wait();
                        },
                    );
                });
            });
        });
        assert_eq!(text(payload), "on purpose: torn");
    });
}

/// What one throws on purpose is thrown on, also `Interrupted`.
#[test]
fn payloads_are_handed_on_as_they_are() {
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let payload = thrown(|| {
        runtime.run(|| {
            let begun = Notify::new();
            join(
                || begun.notified().wait(),
                || {
                    begun.notify_one();
                    resume_unwind(Box::new(0xF1Du64));
                },
            );
        });
    });
    assert_eq!(*payload.downcast::<u64>().unwrap(), 0xF1D);
    let ended = runtime.run(|| {
        strand::scope(|s| s.spawn(|| join(|| resume_unwind(Box::new(Interrupted)), || 1)).try_join())
    });
    assert!(matches!(ended, Err(StrandError::Cancelled)), "{ended:?}");
}

/// The runtime goes down while halves run and wait.
#[test]
fn a_runtime_ends_under_joins() {
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Threads(2), RuntimeKind::Threads(16)] {
        guarded(format!("{kind:?}"), || {
            for round in 0..20 {
                let runtime = kind.build();
                let strands: Vec<_> = (0..8)
                    .map(|_| {
                        runtime.spawn(async move {
                            strand::spawn(|| {
                                fn deep(depth: u32) {
                                    if depth == 0 {
                                        return strand::sleep(AGES);
                                    }
                                    join(|| deep(depth - 1), || deep(depth - 1));
                                }
                                deep(4);
                            })
                            .await
                        })
                    })
                    .collect();
                std::thread::sleep(std::time::Duration::from_micros(50 * round));
                let _account = runtime.shutdown(std::time::Duration::ZERO);
                for task in strands {
                    assert!(!matches!(ropewalk::wait(task), Ok(Ok(()))), "nobody sleeps that long");
                }
            }
        });
    }
}
