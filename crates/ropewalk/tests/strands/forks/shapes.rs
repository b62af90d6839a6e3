//! What halves may do: hold locks, wait by handlers, have locals, recurse; and many of them.

use super::super::kit::{RuntimeKind, guarded, on_every_kind};
use super::{Place, join, strand};
use ropewalk::sync::{Mutex, Notify};
use ropewalk::{Blocking, OnStrand, Runtime, Wait, task_local, with_handler};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn fib_is_fib() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for place in [Place::Thread, Place::Task, Place::Strand, Place::Half] {
            assert_eq!(place.call(&runtime, || fib(16)), 987, "{place:?}");
        }
    });
}

/// The same while halves wait at random, so that they are stolen all over.
#[test]
fn fib_is_fib_whoever_waits() {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            if n == 0 {
                strand::yield_now();
            }
            return n.into();
        }
        let (a, b) = join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    on_every_kind(|kind| assert_eq!(kind.build().run(|| fib(13)), 233));
}

/// Many strands and tasks fork at the same time.
#[test]
fn many_fork_at_once() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let tasks: Vec<_> = (0..20).map(|_| runtime.spawn(async { fib(10) })).collect();
        runtime.run(|| {
            strand::scope(|s| {
                let strands: Vec<_> = (0..20).map(|_| s.spawn(|| fib(12))).collect();
                strands.into_iter().for_each(|strand| assert_eq!(strand.join(), 144));
            });
        });
        tasks.into_iter().for_each(|task| assert_eq!(runtime.block_on(task).unwrap(), 55));
    });
}

/// So deep that the deque grows, with thieves around.
#[test]
fn a_long_chain_of_forks() {
    fn chain(depth: u64, sum: &AtomicU64) {
        if depth > 0 {
            join(|| chain(depth - 1, sum), || sum.fetch_add(depth, Relaxed));
        }
    }
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Threads(2), RuntimeKind::Threads(16)] {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.builder().strand_stack_size(8 << 20).build().unwrap();
            for _ in 0..5 {
                let sum = AtomicU64::new(0);
                runtime.run(|| chain(5000, &sum));
                assert_eq!(sum.into_inner(), 5000 * 5001 / 2);
            }
        });
    }
}

/// A stolen half has as much room as the strand it was stolen from.
#[test]
fn a_stolen_half_has_as_large_a_stack() {
    fn deep(n: u64) -> u64 {
        let room = std::hint::black_box([n; 64]);
        if n == 0 { 0 } else { deep(n - 1) + room[0] - n + 1 }
    }
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let depth = runtime.run(|| {
        strand::scope(|s| {
            let large = strand::Builder::new().stack_size(16 << 20);
            let strand = large.spawn_in(s, || {
                let begun = Notify::new();
                let halves = join(
                    || begun.notified().wait(),
                    || {
                        begun.notify_one();
                        deep(5000) // several hundred bytes each: much more than the 64 KiB of others
                    },
                );
                halves.1
            });
            strand.join()
        })
    });
    assert_eq!(depth, 5000);
}

/// Rayon's issue 592: a half holds a lock over a join; its worker, which waits for a stolen half, takes something else on, and that
/// wants the lock. There it is above the holder on the same stack, and nobody goes on. Here it has a stack of its own and waits.
#[test]
fn who_waits_for_a_half_runs_nothing_above_a_lock_it_holds() {
    for workers in [1, 2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime = Runtime::builder().worker_threads(workers).build().unwrap();
            let shared = Mutex::new(0);
            let rounds = 20;
            runtime.run(|| {
                fn contend(shared: &Mutex<u64>, depth: u32) {
                    if depth > 0 {
                        join(|| contend(shared, depth - 1), || contend(shared, depth - 1));
                        return;
                    }
                    let mut held = shared.lock().wait();
                    let (begun, before) = (Notify::new(), *held);
                    // The second half is stolen for certain, so the holder waits with the lock held.
                    join(
                        || begun.notified().wait(),
                        || {
                            begun.notify_one();
                            strand::yield_now()
                        },
                    );
                    assert_eq!(*held, before);
                    *held += 1;
                }
                for _ in 0..rounds {
                    contend(&shared, 5);
                }
            });
            assert_eq!(shared.into_inner(), 32 * rounds);
        });
    }
}

/// Handlers are those of the stack that waits: the join's own wait goes by them, a stolen half's waits do not.
#[test]
fn handlers_belong_to_the_stack() {
    for workers in [2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime = Runtime::builder().worker_threads(workers).build().unwrap();
            for handler in [&Blocking as &(dyn ropewalk::Handler + Sync), &OnStrand] {
                let value = runtime.run(|| {
                    with_handler(handler, || {
                        let begun = Notify::new();
                        let inner = || {
                            join(
                                || begun.notified().wait(),
                                || {
                                    begun.notify_one();
                                    strand::yield_now();
                                    fib(10)
                                },
                            )
                        };
                        inner().1
                    })
                });
                assert_eq!(value, 55);
            }
        });
    }
}

/// A handler that gives up: the join throws, but not before its half has ended.
#[test]
fn a_handler_that_gives_up_does_not_leave_a_half_behind() {
    struct GivesUp;
    impl ropewalk::Handler for GivesUp {
        fn suspend(&self, _: std::pin::Pin<&mut dyn Future<Output = ()>>) {}
    }
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    for _ in 0..50 {
        let (begun, over) = (AtomicU64::new(0), AtomicU64::new(0));
        let payload = super::thrown(|| {
            runtime.run(|| {
                with_handler(&GivesUp, || {
                    join(
                        || {
                            while begun.load(Relaxed) == 0 {
                                std::thread::yield_now();
                            }
                        },
                        || {
                            begun.store(1, Relaxed);
                            strand::shield(|| strand::sleep(std::time::Duration::from_millis(1)));
                            over.store(1, Relaxed);
                        },
                    );
                });
            });
        });
        assert!(payload.is::<ropewalk::HandlerGaveUp>());
        assert_eq!(over.into_inner(), 1, "it was left behind");
    }
}

task_local! {
    #[inherit]
    static HEIR: u32;
}

/// Inherited locals are there wherever a half runs; others are where the strand is.
#[test]
fn a_stolen_half_has_inherited_locals() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.run(|| {
            HEIR.sync_scope(7, || {
                let begun = Notify::new();
                let (first, second) = join(
                    || {
                        begun.notified().wait();
                        HEIR.with(|heir| *heir)
                    },
                    || {
                        begun.notify_one();
                        strand::yield_now();
                        let nested = join(|| HEIR.with(|heir| *heir), || HEIR.with(|heir| *heir));
                        nested.0 * nested.1
                    },
                );
                assert_eq!((first, second), (7, 49));
            });
            assert!(HEIR.try_with(|_| ()).is_err());
        });
    });
}

/// Strands that a half starts, and groups, are done when it is.
#[test]
fn halves_start_strands_and_borrow() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let mut numbers: Vec<u32> = (0..64).collect();
        runtime.run(|| {
            let (left, right) = numbers.split_at_mut(32);
            let double = |part: &mut [u32]| {
                strand::scope(|s| {
                    for number in part.iter_mut() {
                        let _joined_below = s.spawn(move || {
                            strand::yield_now();
                            *number *= 2;
                        });
                    }
                    s.join_all();
                });
            };
            join(|| double(left), || double(right));
        });
        assert!(numbers.into_iter().eq((0..64).map(|n| 2 * n)));
    });
}
