//! Pools that are shut down or resized under a scope with live children: nothing is lost, who waits is told, and a scope is not
//! left while a child that borrows from it can still run.

use crate::kit::{Gate, guarded, on_every_kind, until};
use crate::{AGES, thrown};
use ropewalk::strand::{self, Builder, Scope, StrandError};
use ropewalk::{Handle, Pool, Runtime, Wait, WorkerState};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, current};
use std::time::Duration;

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Pool,
    Runtime,
    Dropped,
}

const ENDS: [End; 3] = [End::Pool, End::Runtime, End::Dropped];

/// Where the scope is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parent {
    Thread,
    Task,
    Strand,
}

const PARENTS: [Parent; 3] = [Parent::Thread, Parent::Task, Parent::Strand];

/// A runtime with one worker in each pool, and the pool that is going to end with it or before it.
fn a_pool(end: End) -> (Runtime, Pool) {
    // No stand-in comes: a test that holds the only worker means it.
    let runtime = Runtime::builder().worker_threads(1).rescue_threshold(Duration::ZERO).build().unwrap();
    let other = |handle: &Handle| Pool::builder().name("other").workers(1).build(handle).unwrap();
    let pool = if end == End::Pool { other(&runtime.handle()) } else { runtime.pool("main").unwrap() };
    (runtime, pool)
}

/// Ends it from a thread that has nothing to do with it, and waits for that.
fn bring_to(end: End, runtime: Runtime, pool: &Pool) {
    match end {
        End::Pool => pool.shutdown().wait().unwrap(),
        End::Runtime => {
            let account = runtime.shutdown(Duration::ZERO).unwrap_err();
            assert!(account.cancelled > 0 && account.left.is_empty(), "{account}");
        }
        End::Dropped => drop(runtime),
    }
}

/// Calls `f` where it is to be, and waits for it; on a strand it may be interrupted.
fn call_as<T: Send + 'static>(
    parent: Parent,
    pool: &Pool,
    f: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    match parent {
        Parent::Thread => Some(f()),
        Parent::Task => pool.spawn(async { f() }).wait().ok(),
        Parent::Strand => Builder::new().pool(pool).spawn(f).try_join().ok(),
    }
}

/// Counts those who left.
struct Leaves<'a>(&'a AtomicUsize);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A scope or a nursery.
fn open<'env, T>(nursery: bool, f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T) -> T {
    if nursery { strand::nursery(f) } else { strand::scope(f) }
}

/// Says, when the call that it is in is left, how many children had left by then.
struct Tells<'a> {
    left: &'a AtomicUsize,
    to: Sender<usize>,
}

impl Drop for Tells<'_> {
    fn drop(&mut self) {
        self.to.send(self.left.load(SeqCst)).unwrap();
    }
}

/// More than a worker runs before it looks whether its pool closes.
const MANY: usize = 200;

/// A scope with a child that waits for ever, one that holds the only worker until the pool closes, and many that are not started
/// until then. How many of these were, and went on, is counted.
fn children(nursery: bool, pool: &Pool, began: &AtomicUsize, ran: &[AtomicUsize; 2], to: Sender<usize>) {
    let left = &AtomicUsize::new(0);
    let _tells = Tells { left, to };
    open(nursery, |s| {
        let here = || Builder::new().pool(pool);
        let waits = here().spawn_in(s, || {
            let _leaves = Leaves(left);
            began.fetch_add(1, SeqCst);
            strand::sleep(AGES);
        });
        let holds = here().spawn_in(s, move || {
            let _leaves = Leaves(left);
            while began.load(SeqCst) == 0 {
                strand::yield_now();
            }
            for _ in 0..MANY {
                let leaves = Leaves(left);
                drop(here().spawn_in(s, move || {
                    let _leaves = leaves;
                    ran[0].fetch_add(1, SeqCst);
                    strand::sleep(AGES);
                    ran[1].fetch_add(1, SeqCst);
                }));
            }
            began.fetch_add(1, SeqCst);
            until("the pool closes", || pool.resize(1).is_err());
        });
        assert!(matches!(waits.try_join(), Err(StrandError::Shutdown)));
        let _either_way = holds.try_join();
        s.join_all();
    });
}

#[test]
fn a_pool_ends_under_a_scope_with_live_children() {
    let cases = ENDS.into_iter().flat_map(|end| PARENTS.map(|parent| (end, parent)));
    for ((end, parent), nursery) in cases.flat_map(|case| [(case, false), (case, true)]) {
        guarded(format!("{end:?}, {parent:?}, nursery: {nursery}"), || {
            let (runtime, pool) = a_pool(end);
            let (tell, told) = channel();
            let (began, ran) = <(Arc<AtomicUsize>, Arc<[AtomicUsize; 2]>)>::default();
            let (ending, seen, counted) = (pool.clone(), began.clone(), ran.clone());
            let ender = thread::spawn(move || {
                until("two have begun", || seen.load(SeqCst) == 2);
                bring_to(end, runtime, &ending);
            });
            let inside = pool.clone();
            let went_on = call_as(parent, &pool, move || children(nursery, &inside, &began, &counted, tell));
            assert_eq!(went_on.is_some(), parent != Parent::Strand, "only a strand is interrupted");
            assert_eq!(told.recv().unwrap(), MANY + 2, "all have left before the scope is");
            let [ran, went_on] = [&ran[0], &ran[1]].map(|count| count.load(SeqCst));
            assert!(ran < MANY && went_on == 0, "{ran} of those that were not started are, {went_on} go on");
            ender.join().unwrap();
        });
    }
}

/// A child does not listen: whoever ends the pool may give up, but the scope is not left.
#[test]
fn a_scope_is_not_left_before_a_child_that_was_left_behind() {
    for end in [End::Runtime, End::Dropped] {
        guarded(format!("{end:?}"), || {
            let (runtime, pool) = a_pool(end);
            let (gate, over) = (Gate::new(), AtomicBool::new(false));
            let began = Gate::new();
            thread::scope(|threads| {
                let parent = threads.spawn(|| {
                    let mut borrowed = 0;
                    strand::scope(|s| {
                        let child = Builder::new().pool(&pool).spawn_in(s, || {
                            began.open();
                            strand::shield(|| gate.passed().wait());
                            borrowed += 1;
                        });
                        let _ended = child.try_join();
                    });
                    over.store(true, SeqCst);
                    borrowed
                });
                began.passed().wait();
                match end {
                    End::Runtime => {
                        let account = runtime.shutdown(Duration::ZERO).unwrap_err();
                        assert_eq!(account.left.len(), 1, "{account}");
                    }
                    _ => drop(runtime),
                }
                assert!(!over.load(SeqCst), "the child still borrows");
                gate.open();
                assert_eq!(parent.join().unwrap(), 1, "it went on when it could");
            });
        });
    }
}

/// As long as a child does not listen, its pool is not at its end.
#[test]
fn a_pool_waits_for_a_child_that_does_not_listen() {
    guarded("a shielded child", || {
        let (runtime, pool) = a_pool(End::Pool);
        let (began, gate) = (Gate::new(), Gate::new());
        let mut borrowed = 0;
        strand::scope(|s| {
            let child = Builder::new().pool(&pool).spawn_in(s, || {
                began.open();
                strand::shield(|| gate.passed().wait());
                borrowed += 1;
            });
            began.passed().wait();
            let ending = pool.clone();
            let ended = runtime.spawn(async move { ending.shutdown().await.unwrap() });
            until("it closes", || pool.resize(1).is_err());
            assert!(!ended.is_finished() && !child.is_finished());
            gate.open();
            ended.wait().unwrap();
            assert!(child.is_finished(), "the pool has ended");
        });
        assert_eq!(borrowed, 1);
    });
}

#[test]
fn a_child_of_a_pool_that_has_ended_does_not_run() {
    for (end, nursery) in ENDS.into_iter().flat_map(|end| [(end, false), (end, true)]) {
        guarded(format!("{end:?}, nursery: {nursery}"), || {
            let (runtime, pool) = a_pool(end);
            let handle = runtime.handle();
            drop(pool.spawn(std::future::pending::<()>()));
            bring_to(end, runtime, &pool);
            let left = AtomicUsize::new(0);
            open(nursery, |s| {
                let leaves = Leaves(&left);
                let late = Builder::new().pool(&pool).spawn_in(s, move || drop(leaves));
                assert!(matches!(late.try_join(), Err(StrandError::Shutdown)));
                assert_eq!(left.load(SeqCst), 1, "what it borrowed is given back when this is known");
                drop(Builder::new().pool(&pool).spawn_in(s, || unreachable!("it does not run")));
                s.join_all();
            });
            if end != End::Pool {
                thrown(|| handle.run(|| unreachable!("nor does a root")));
            }
        });
    }
}

/// The parent's pool ends, and the child is in another one; or the other way round.
#[test]
fn a_pool_ends_and_the_other_side_is_in_another() {
    for childs_ends in [false, true] {
        guarded(format!("the child's: {childs_ends}"), || {
            let runtime = Runtime::builder().worker_threads(1).build().unwrap();
            let [parents, childs] = ["parents", "childs"]
                .map(|name| Pool::builder().name(name).build(&runtime.handle()).unwrap());
            let (began, there) = (Gate::new(), childs.clone());
            let opened = began.clone();
            let parent = Builder::new().pool(&parents).spawn(move || {
                let left = AtomicUsize::new(0);
                let told = strand::scope(|s| {
                    let child = Builder::new().pool(&there).spawn_in(s, || {
                        let _leaves = Leaves(&left);
                        opened.open();
                        strand::sleep(AGES);
                    });
                    child.try_join()
                });
                assert!(matches!(told, Err(StrandError::Shutdown)), "{told:?}");
                left.into_inner()
            });
            began.passed().wait();
            if childs_ends {
                childs.shutdown().wait().unwrap();
                assert_eq!(parent.join(), 1);
            } else {
                parents.shutdown().wait().unwrap();
                assert!(matches!(parent.try_join(), Err(StrandError::Shutdown)));
                assert_eq!(childs.spawn(async { 7 }).wait().unwrap(), 7, "its pool goes on");
            }
        });
    }
}

/// A child ends the runtime that it is in.
#[test]
fn a_child_ends_its_own_runtime() {
    for parent in PARENTS {
        guarded(format!("{parent:?}"), || {
            let (runtime, pool) = a_pool(End::Runtime);
            let (handle, inside, (tell, told)) = (runtime.handle(), pool.clone(), channel());
            let _through = call_as(parent, &pool, move || {
                let left = &AtomicUsize::new(0);
                let _tells = Tells { left, to: tell };
                strand::scope(|s| {
                    let child = Builder::new().pool(&inside).spawn_in(s, || {
                        let _leaves = Leaves(left);
                        handle.shutdown_now();
                        strand::sleep(AGES);
                    });
                    assert!(matches!(child.try_join(), Err(StrandError::Shutdown)));
                });
            });
            assert_eq!(told.recv().unwrap(), 1);
            drop(runtime);
        });
    }
}

/// A runtime of any kind is ended by another thread, while a strand or the root of a `block_on` is in a scope.
#[test]
fn a_runtime_ends_under_the_scope_that_it_runs() {
    for on_a_strand in [true, false] {
        on_every_kind(|kind| {
            let (runtime, left) = (kind.build(), AtomicUsize::new(0));
            let (handle, began) = (runtime.handle(), Gate::new());
            let in_a_scope = || {
                strand::scope(|s| {
                    let waits = || {
                        let _leaves = Leaves(&left);
                        began.open();
                        strand::sleep(AGES);
                    };
                    let children: Vec<_> = (0..4).map(|_| s.spawn(waits)).collect();
                    s.join_all();
                    let told = children.into_iter().map(|child| child.try_join());
                    assert!(told.into_iter().all(|told| matches!(told, Err(StrandError::Shutdown))));
                });
            };
            thread::scope(|threads| {
                threads.spawn(|| {
                    began.passed().wait();
                    handle.shutdown_now();
                });
                if on_a_strand {
                    thrown(|| runtime.run(in_a_scope));
                } else {
                    runtime.block_on(async { in_a_scope() });
                }
            });
            assert!((1..=4).contains(&left.into_inner()), "those that began have left");
        });
    }
}

/// A pool shrinks under a scope: those that were started stay where they are, the others start where somebody is left.
#[test]
fn a_pool_shrinks_under_a_scope_with_live_children() {
    for (parent, nursery) in PARENTS.into_iter().flat_map(|parent| [(parent, false), (parent, true)]) {
        guarded(format!("{parent:?}, nursery: {nursery}"), || {
            let (_runtime, pool) = a_pool(End::Pool);
            pool.resize(2).unwrap().wait();
            let inside = pool.clone();
            call_as(parent, &pool, move || shrink(nursery, &inside)).expect("nobody is cancelled");
            pool.resize(1).unwrap().wait();
            assert_eq!(retiring(&pool), 0);
        });
    }
}

fn retiring(pool: &Pool) -> usize {
    pool.metrics().workers.iter().filter(|worker| worker.state == WorkerState::Retiring).count()
}

fn shrink(nursery: bool, pool: &Pool) {
    let (homes, gate) = (Mutex::new(Vec::new()), Gate::new());
    open(nursery, |s| {
        let child = || {
            let home = current().id();
            homes.lock().unwrap().push(home);
            gate.passed().wait();
            assert_eq!(current().id(), home);
        };
        let mut children = Vec::new();
        // Starts six, and says on how many threads.
        let mut six = || {
            children.extend((0..6).map(|_| Builder::new().pool(pool).spawn_in(s, child)));
            while homes.lock().unwrap().len() < children.len() {
                ropewalk::wait(ropewalk::yield_now());
            }
            homes.lock().unwrap()[children.len() - 6..].iter().collect::<HashSet<_>>().len()
        };
        assert_eq!(six(), 2, "they are spread");
        drop(pool.resize(1).unwrap());
        while six() > 1 {} // a worker notices soon that it retires
        assert_eq!(retiring(pool), 1, "it still has children of ours");
        gate.open();
        children.into_iter().for_each(|child| child.join());
    });
}

/// Pools are resized and end while scopes come and go in them: every child has run or was refused, and nobody waits for ever.
#[test]
fn scopes_come_and_go_in_pools_that_do() {
    guarded("a storm", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        for rounds in 0..40 {
            let pool = Pool::builder().name("stormy").workers(4).build(&runtime.handle()).unwrap();
            let made = AtomicUsize::new(0);
            thread::scope(|threads| {
                threads.spawn(|| (1..).take_while(|size| pool.resize(1 + size % 4).is_ok()).count());
                threads.spawn(|| {
                    while storm(&pool) {
                        made.fetch_add(1, SeqCst);
                    }
                });
                until("some rounds were made", || made.load(SeqCst) >= rounds);
                pool.shutdown().wait().unwrap();
            });
        }
    });
}

/// Children that borrow, in a pool that may be at its end: false.
fn storm(pool: &Pool) -> bool {
    let (left, mut open) = (AtomicUsize::new(0), true);
    strand::scope(|s| {
        let start = || {
            let leaves = Leaves(&left);
            Builder::new().pool(pool).spawn_in(s, move || {
                let _leaves = leaves;
                strand::yield_now();
            })
        };
        let children: Vec<_> = (0..8).map(|_| start()).collect();
        open = children.into_iter().all(|child| child.try_join().is_ok());
        s.join_all(); // also those after one that was refused
    });
    assert_eq!(left.into_inner(), 8);
    open
}

/// Stacks are as large as their pool says, and a size that cannot be is refused.
#[test]
fn stacks_are_sized_by_pool() {
    fn depth(left: usize) -> usize {
        let frame = std::hint::black_box([0_u8; 1 << 10]);
        if left == 0 { usize::from(frame[0]) } else { 1 + depth(left - 1) }
    }
    guarded("sized by pool", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let deep = Pool::builder().name("deep").strand_stack_size(8 << 20).build(&runtime.handle()).unwrap();
        let goes_deep = Builder::new().pool(&deep).spawn(|| depth(1 << 10)); // more than a strand of the main pool could
        assert_eq!(goes_deep.join(), 1 << 10);
        let refused =
            Pool::builder().name("flat").strand_stack_size(4096).build(&runtime.handle()).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains("strand_stack_size") && text.contains("4096") && text.contains("32768"),
            "{text}"
        );
    });
}
