//! Strands of a pool that lets them roam: they go on wherever there is room, and are otherwise as all others are.
//!
//! SAFETY of all `roaming_strands` here: what waits keeps nothing of its thread; which thread it is, is asked by [`here`].

use crate::kit::{Gate, ON_PURPOSE, guarded, panic_of, until};
use crate::{AGES, WaitsInDrop, thrown};
use ropewalk::stm::{TVar, atomically};
use ropewalk::strand::{self, Strand, StrandError};
use ropewalk::sync::Notify;
use ropewalk::{
    Builder, OnStrand, Pool, Runtime, Wait, channel, select_wait, spawn_local, time, with_handler,
};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread::ThreadId;
use std::time::Duration;

/// A function of its own: a thread-local is asked.
#[inline(never)]
fn here() -> ThreadId {
    std::thread::current().id()
}

fn roaming(workers: usize) -> Builder {
    // SAFETY: see the head of this file.
    unsafe { Runtime::builder().worker_threads(workers).roaming_strands(true) }
}

/// Waits, once on each of two threads: whoever resumed it the first time is held.
fn moves(
    runtime: &Runtime,
    body: impl FnOnce(&Gate) -> (ThreadId, ThreadId) + Send + 'static,
) -> (ThreadId, ThreadId) {
    goes_on(runtime, body, |strand| until("it has gone on", || strand.is_finished()))
}

/// The same, with what is done until the worker is not held any more.
fn goes_on(
    runtime: &Runtime,
    body: impl FnOnce(&Gate) -> (ThreadId, ThreadId) + Send + 'static,
    meanwhile: impl Fn(&Strand<'static, (ThreadId, ThreadId)>),
) -> (ThreadId, ThreadId) {
    let (gate, pool) = (Gate::new(), runtime.pool("main").unwrap());
    let (waits, (tell, told)) = (gate.clone(), mpsc::channel());
    let strand = strand::Builder::new().pool(&pool).spawn(move || {
        tell.send(here()).unwrap();
        body(&waits)
    });
    let first = told.recv().unwrap();
    until("it waits", || gate.waiting() == 1);
    // One of the workers is held, until it is the one that the strand was on.
    loop {
        let (release, held) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let hog = runtime.spawn(async move {
            tell.send(here()).unwrap();
            held.recv().unwrap_err()
        });
        if told.recv().unwrap() == first {
            gate.open();
            meanwhile(&strand);
            drop(release);
            hog.wait().unwrap();
            return strand.join();
        }
        drop(release);
        hog.wait().unwrap();
    }
}

/// What it drives has things that belong to their thread.
#[test]
fn while_it_drives_a_runtime_without_threads_it_stays() {
    for local in [false, true] {
        guarded(format!("local: {local}"), || {
            let runtime = roaming(2).rescue_threshold(Duration::ZERO).build().unwrap();
            let drives = move |gate: &Gate| {
                let (before, passed) = (here(), gate.passed());
                let driven = Runtime::builder().worker_threads(0).build().unwrap();
                driven.block_on(async {
                    match local {
                        true => spawn_local(passed).unwrap().await.unwrap(),
                        false => passed.await,
                    }
                    assert_eq!(here(), before, "as a task there it is elsewhere");
                });
                (before, here())
            };
            let (before, after) = goes_on(&runtime, drives, |strand| {
                (0..100).for_each(|_| runtime.spawn(async {}).wait().unwrap());
                assert!(!strand.is_finished());
            });
            assert_eq!(before, after);
        });
    }
}

#[test]
fn it_goes_on_where_somebody_is_free() {
    guarded("two workers", || {
        let runtime = roaming(2).rescue_threshold(Duration::ZERO).build().unwrap();
        let (before, after) = moves(&runtime, |gate| {
            let before = here();
            gate.passed().wait();
            (before, here())
        });
        assert_ne!(before, after);
    });
}

/// A hog on the thread where they were does not keep them: who has nothing to do takes them.
#[test]
fn a_hog_does_not_delay_them() {
    guarded("hog", || {
        let runtime = roaming(2).build().unwrap();
        let (pool, gate) = (runtime.pool("main").unwrap(), Gate::new());
        let waits = |gate: Gate| move || gate.passed().wait();
        let strands: Vec<_> =
            (0..50).map(|_| strand::Builder::new().pool(&pool).spawn(waits(gate.clone()))).collect();
        until("all wait", || gate.waiting() == 50);
        let (release, held) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let hog = runtime.spawn(async move {
            tell.send(()).unwrap();
            held.recv().unwrap_err()
        });
        told.recv().unwrap();
        gate.open();
        strands.into_iter().for_each(|strand| strand.join());
        drop(release);
        hog.wait().unwrap();
    });
}

/// What belongs to the strand goes with it: handlers, task locals, shields, who it is.
#[test]
fn what_is_its_own_goes_with_it() {
    ropewalk::task_local! {
        static OWN: u32;
    }
    guarded("its own", || {
        let runtime = roaming(2).rescue_threshold(Duration::ZERO).build().unwrap();
        let threads = moves(&runtime, |gate| {
            OWN.sync_scope(7, || {
                let (before, id) = (here(), strand::id());
                let spared = strand::shield(|| {
                    strand::current().unwrap().cancel();
                    with_handler(&OnStrand, || gate.passed().wait());
                    here()
                });
                assert_eq!((OWN.get(), strand::id()), (7, id));
                assert!(strand::is_cancelled());
                (before, spared)
            })
        });
        assert_ne!(threads.0, threads.1);
    });
}

/// While it unwinds it is counted as panicking by its thread: there it stays.
#[test]
fn who_waits_while_it_unwinds_stays_where_it_is() {
    struct Says(mpsc::Sender<(ThreadId, ThreadId)>, Gate);
    impl Drop for Says {
        fn drop(&mut self) {
            let before = here();
            self.1.passed().wait();
            strand::yield_now();
            self.0.send((before, here())).unwrap();
        }
    }
    for workers in [2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime = roaming(workers).unhandled_panic(ropewalk::UnhandledPanic::Report).build().unwrap();
            let pool = runtime.pool("main").unwrap();
            let (say, said) = mpsc::channel();
            let gate = Gate::new();
            let strands: Vec<_> = (0..64)
                .map(|number| {
                    let says = Says(say.clone(), gate.clone());
                    strand::Builder::new().pool(&pool).spawn(move || {
                        let _says = says;
                        strand::yield_now();
                        if number % 2 == 0 {
                            panic!("{ON_PURPOSE}: {number}");
                        }
                        strand::sleep(AGES);
                    })
                })
                .collect();
            until("half of them unwind", || gate.waiting() == 32);
            strands.iter().for_each(strand::Strand::cancel);
            until("all of them unwind", || gate.waiting() == 64);
            gate.open();
            for (number, strand) in strands.into_iter().enumerate() {
                match strand.try_join() {
                    Err(StrandError::Panicked(panic)) => assert!(panic.to_string().contains(ON_PURPOSE)),
                    Err(StrandError::Cancelled) => assert_eq!(number % 2, 1),
                    other => panic!("{number}: {other:?}"),
                }
            }
            drop(say);
            let said: Vec<_> = said.iter().collect();
            assert_eq!(said.len(), 64);
            assert!(said.iter().all(|(before, after)| before == after));
            assert!(!std::thread::panicking());
            let fine = runtime.run(|| strand::scope(|s| s.spawn(|| !strand::panicking()).join()));
            assert!(fine, "nobody is left who panics");
        });
    }
}

/// Many, that meet all the time: nothing is lost, and they do go from thread to thread.
#[test]
fn a_crowd_that_meets_all_the_time() {
    for workers in [1, 2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime = roaming(workers).build().unwrap();
            let moved = AtomicUsize::new(0);
            let lock = ropewalk::sync::Mutex::new(0u64);
            let sum = runtime.run(|| {
                let (send, receive) = channel::bounded::<u64>(4);
                strand::scope(|s| {
                    let takers: Vec<_> = (0..8)
                        .map(|_| {
                            let receive = receive.clone();
                            let (moved, lock) = (&moved, &lock);
                            s.spawn(move || {
                                let (mut sum, mut last) = (0, here());
                                while let Ok(number) = receive.recv().wait() {
                                    sum += number;
                                    *lock.lock().wait() += number;
                                    if number % 7 == 0 {
                                        strand::sleep(Duration::from_micros(20));
                                    }
                                    let now = here();
                                    moved.fetch_add(
                                        usize::from(std::mem::replace(&mut last, now) != now),
                                        SeqCst,
                                    );
                                }
                                sum
                            })
                        })
                        .collect();
                    let givers: Vec<_> = (0..8u64)
                        .map(|giver| {
                            let send = send.clone();
                            s.spawn(move || {
                                for number in 0..500 {
                                    send.send(giver * 500 + number).wait().unwrap();
                                    if number % 16 == 0 {
                                        strand::yield_now();
                                    }
                                }
                            })
                        })
                        .collect();
                    drop((send, receive));
                    givers.into_iter().for_each(|giver| giver.join());
                    takers.into_iter().map(|taker| taker.join()).sum::<u64>()
                })
            });
            assert_eq!(sum, (0..4000).sum::<u64>());
            assert_eq!(lock.into_inner(), sum);
            assert!(workers == 1 || moved.into_inner() > 0, "nobody went anywhere");
        });
    }
}

/// A tree of them is cancelled at its root while its strands wait all over the place.
#[test]
fn a_tree_is_cancelled_at_its_root() {
    for workers in [1, 2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime = roaming(workers).build().unwrap();
            let (began, go) = (AtomicUsize::new(0), Notify::new());
            runtime.run(|| {
                strand::scope(|s| {
                    let root = s.spawn(|| {
                        strand::scope(|s| {
                            for _ in 0..20 {
                                let _cancelled = s.spawn(|| {
                                    let _waits = WaitsInDrop(&go);
                                    began.fetch_add(1, SeqCst);
                                    strand::yield_now();
                                    strand::sleep(AGES)
                                });
                            }
                            s.join_all();
                        });
                    });
                    until_waiting(|| began.load(SeqCst) == 20);
                    root.cancel();
                    (0..20).for_each(|_| strand::yield_now());
                    assert!(!root.is_finished(), "its children wait in their destructors");
                    until_waiting(|| {
                        go.notify_waiters();
                        root.is_finished()
                    });
                    assert!(matches!(root.try_join(), Err(StrandError::Cancelled)));
                });
            });
            until("all are counted", || runtime.metrics().pools[0].strands == 0);
        });
    }
}

fn until_waiting(mut condition: impl FnMut() -> bool) {
    while !condition() {
        strand::yield_now();
    }
}

/// They do not fork: the halves are done one after the other, on the strand itself, whatever becomes of the first.
#[test]
fn halves_are_done_in_place() {
    guarded("halves", || {
        let runtime = roaming(2).build().unwrap();
        let (first, second) = runtime.run(|| {
            let id = strand::id();
            ropewalk::join(
                || {
                    strand::sleep(Duration::from_millis(1));
                    strand::id() == id
                },
                || ropewalk::join(|| strand::id() == id, || 7),
            )
        });
        assert_eq!((first, second), (true, (true, 7)));
        let numbers: Vec<u64> = (0..10_000).collect();
        let sum = || ropewalk::par_map_reduce(&numbers[..], || 0, |number| *number, |a, b| a + b);
        assert_eq!(runtime.run(sum), numbers.iter().sum());
        let done = AtomicUsize::new(0);
        let halves = || ropewalk::join(|| panic!("{ON_PURPOSE}: the first"), || done.fetch_add(1, SeqCst));
        drop(thrown(|| runtime.run(halves)));
        assert_eq!(done.into_inner(), 1);
    });
}

/// A pool that shrinks does not wait for those who have no home; they go on with whoever is left.
#[test]
fn a_pool_shrinks_under_them() {
    guarded("shrinks", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        // SAFETY: see the head of this file.
        let pool = unsafe { Pool::builder().name("roaming").workers(4).roaming_strands(true) };
        let pool = pool.build(&runtime.handle()).unwrap();
        let gate = Gate::new();
        let seen = Mutex::new(HashSet::new());
        strand::scope(|s| {
            let strands: Vec<_> = (0..32)
                .map(|number| {
                    let (gate, seen) = (gate.clone(), &seen);
                    strand::Builder::new().pool(&pool).spawn_in(s, move || {
                        gate.passed().wait();
                        seen.lock().unwrap().insert(here());
                        number
                    })
                })
                .collect();
            until("all wait", || gate.waiting() == 32);
            pool.resize(1).unwrap().wait();
            assert_eq!(pool.metrics().retiring, 0);
            gate.open();
            assert_eq!(strands.into_iter().map(|strand| strand.join()).sum::<i32>(), (0..32).sum());
        });
        assert_eq!(seen.into_inner().unwrap().len(), 1);
        pool.shutdown().wait().unwrap();
    });
}

/// Shutting down cancels those that wait, and says so.
#[test]
fn a_shutdown_ends_them() {
    guarded("shutdown", || {
        let runtime = roaming(2).build().unwrap();
        let pool = runtime.pool("main").unwrap();
        let ended = std::sync::Arc::new(AtomicUsize::new(0));
        struct Ends(std::sync::Arc<AtomicUsize>);
        impl Drop for Ends {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let gate = Gate::new();
        for _ in 0..50 {
            let (ends, gate) = (Ends(ended.clone()), gate.clone());
            drop(strand::Builder::new().pool(&pool).spawn(move || {
                let _ends = ends;
                strand::yield_now();
                gate.passed().wait();
            }));
        }
        until("all wait", || gate.waiting() == 50);
        runtime.shutdown_now();
        until("all have ended", || ended.load(SeqCst) == 50);
    });
}

/// Local strands stay, and so do those of other pools.
#[test]
fn a_local_one_stays() {
    guarded("local", || {
        let runtime = roaming(4).build().unwrap();
        let homes: Vec<_> = (0..8)
            .map(|_| {
                runtime.spawn(async {
                    let local = strand::spawn_local(|| {
                        let home = here();
                        (0..50).all(|_| {
                            strand::sleep(Duration::from_micros(50));
                            here() == home
                        })
                    });
                    local.unwrap().await.unwrap()
                })
            })
            .collect();
        assert!(homes.into_iter().all(|stays| stays.wait().unwrap()));
        let other = Pool::builder().name("other").workers(4).build(&runtime.handle()).unwrap();
        let stays = strand::Builder::new().pool(&other).spawn(|| {
            let home = here();
            (0..50).all(|_| {
                strand::sleep(Duration::from_micros(50));
                here() == home
            })
        });
        assert!(stays.join());
    });
}

/// A panic on a strand that has moved is its own, and the tree hears of it.
#[test]
fn a_panic_after_a_move_reaches_the_scope() {
    guarded("panic", || {
        let runtime = roaming(16).build().unwrap();
        for round in 0..50 {
            let thrown = panic_of(|| {
                runtime.run(|| {
                    strand::nursery(|s| {
                        for number in 0..16 {
                            let _lost = s.spawn(move || {
                                (0..number + round % 5).for_each(|_| strand::yield_now());
                                assert!(number != 7, "{ON_PURPOSE}: seven");
                                strand::sleep(AGES);
                            });
                        }
                        s.join_all();
                    })
                })
            });
            assert!(thrown.unwrap().contains("seven"));
        }
    });
}

/// What the library keeps for each thread (memory of one-shot channels, what a transaction works with, the budget, random numbers) is that of
/// the thread on which a strand is, before a wait and after it, in one function (TL1). If an address were kept, two threads would
/// have the same block, or the same desk.
#[test]
fn what_is_kept_by_thread_is_asked_for_anew_after_each_wait() {
    const STRANDS: u64 = 16;
    const ROUNDS: u64 = if cfg!(tsan) { 200 } else { 2_000 };
    guarded("by thread", || {
        let runtime = roaming(4).build().unwrap();
        let (total, moved) = (TVar::new(0_u64), AtomicUsize::new(0));
        let all = runtime.run(|| {
            strand::scope(|s| {
                let adds = |own: u64| {
                    let (total, moved) = (&total, &moved);
                    move || {
                        (0..ROUNDS).fold(0_u64, |sum, round| {
                            let (number, at) = (own * ROUNDS + round, here());
                            let (first, second) = (channel::oneshot::channel(), channel::oneshot::channel());
                            first.0.send(number).unwrap();
                            strand::yield_now();
                            second.0.send(Box::new(number)).unwrap();
                            let one = first.1.wait().unwrap();
                            assert!(total.get() <= STRANDS * ROUNDS);
                            strand::yield_now();
                            assert!(total.get() <= STRANDS * ROUNDS);
                            atomically(|tx| tx.modify(total, |total| *total += 1)).wait();
                            let other = select_wait! {
                                other = second.1 => *other.unwrap(),
                                _ = time::sleep(AGES) => unreachable!("it was sent"),
                            };
                            moved.fetch_add(usize::from(here() != at), SeqCst);
                            assert_eq!([one, other], [number; 2]);
                            sum + one
                        })
                    }
                };
                let strands: Vec<_> = (0..STRANDS).map(|own| s.spawn(adds(own))).collect();
                strands.into_iter().map(|strand| strand.join()).sum::<u64>()
            })
        });
        let count = STRANDS * ROUNDS;
        assert_eq!((all, total.get()), (count * (count - 1) / 2, count));
        assert!(moved.load(SeqCst) > 0, "none of them went to another thread");
    });
}
