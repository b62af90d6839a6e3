//! Pools are made, resized and shut down while they run, and nothing is lost.

mod kit;

use kit::{Gate, Probe, guarded, on_every_kind, until, until_async};
use ropewalk::{Pool, Runtime, TaskError, TaskHandle, Wait, WorkerState, spawn, spawn_local, strand, yield_now};
use std::collections::HashSet;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

/// A runtime with one worker, and a pool of `workers` beside it.
fn with_pool(workers: usize) -> (Runtime, Pool) {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let pool = Pool::builder().name("other").workers(workers).build(&runtime.handle()).unwrap();
    (runtime, pool)
}

fn here() -> ThreadId {
    std::thread::current().id()
}

fn states(pool: &Pool) -> Vec<WorkerState> {
    pool.metrics().workers.iter().map(|worker| worker.state).collect()
}

fn count(pool: &Pool, state: WorkerState) -> usize {
    states(pool).into_iter().filter(|other| *other == state).count()
}

/// Runs `f` on each of the `workers` of `pool`, at the same time.
///
/// A worker that was alone when it took two of the tasks keeps the second while it holds its thread for the first, so the
/// tasks give up after a while and all is tried again.
fn on_each_worker<R: Send + 'static>(
    pool: &Pool,
    workers: usize,
    f: impl Fn() -> R + Send + Sync + 'static,
) -> Vec<(ThreadId, R)> {
    let f = Arc::new(f);
    let mut results = Vec::new();
    until("all workers were there at the same time", || {
        let meeting = Arc::new(Meeting::default());
        let attend = || {
            let (meeting, f) = (meeting.clone(), f.clone());
            pool.spawn(async move { meeting.attend(workers).then(|| (here(), f())) })
        };
        let tasks: Vec<_> = (0..workers).map(|_| attend()).collect();
        results = tasks.into_iter().filter_map(|task| task.wait().unwrap()).collect();
        results.len() == workers
    });
    assert_eq!(results.iter().map(|(thread, _)| *thread).collect::<HashSet<_>>().len(), workers);
    results
}

/// A barrier that gives up.
#[derive(Default)]
struct Meeting(Mutex<(usize, bool)>, Condvar);

impl Meeting {
    /// Holds the thread until `all` have come. False for each of them: they did not.
    fn attend(&self, all: usize) -> bool {
        let mut state = self.0.lock().unwrap();
        state.0 += 1;
        self.1.notify_all();
        while state.0 < all && !state.1 {
            let (back, timeout) = self.1.wait_timeout(state, Duration::from_millis(100)).unwrap();
            state = back;
            state.1 |= timeout.timed_out() && state.0 < all;
        }
        self.1.notify_all();
        !state.1
    }
}

/// A task that yields, spawns and yields again; `done` counts it and its child.
async fn busy(turns: usize, done: Arc<AtomicUsize>) {
    for _ in 0..turns {
        yield_now().await;
    }
    let count = done.clone();
    let child = spawn(async move {
        yield_now().await;
        count.fetch_add(1, SeqCst);
    });
    child.await.unwrap();
    done.fetch_add(1, SeqCst);
}

#[test]
fn resized_up_and_down_while_tasks_run() {
    guarded("resize", || {
        let (runtime, pool) = with_pool(1);
        let done = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..2000).map(|number| pool.spawn(busy(number % 50, done.clone()))).collect();
        for workers in [4, 1, 8, 2, 16, 1, 3] {
            runtime.block_on(pool.resize(workers).unwrap());
            let metrics = pool.metrics();
            assert_eq!((metrics.active, metrics.retiring), (workers, 0));
            let vacant = count(&pool, WorkerState::Vacant);
            assert_eq!(metrics.workers.len() - vacant, workers);
        }
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        assert_eq!(done.load(SeqCst), 4000);
    });
}

/// One thread resizes without pause while others spawn from outside, and tasks spawn inside.
#[test]
fn a_storm_of_resizes() {
    guarded("storm", || {
        let (runtime, pool) = with_pool(2);
        let (done, over) = (Arc::new(AtomicUsize::new(0)), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut random = 0x1234_5678_u32;
                while !over.load(SeqCst) {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let resized = pool.resize(1 + (random >> 24) as usize % 6).unwrap();
                    // Now and then it waits until those that are too many have left.
                    if random >> 20 & 3 == 0 { resized.wait() } else { drop(resized) }
                }
            });
            let spawners: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let spawn = |number: usize| pool.spawn(busy(number % 10, done.clone()));
                        let tasks: Vec<_> = (0..3000).map(spawn).collect();
                        tasks.into_iter().for_each(|task| task.wait().unwrap());
                    })
                })
                .collect();
            spawners.into_iter().for_each(|spawner| spawner.join().unwrap());
            over.store(true, SeqCst);
        });
        assert_eq!(done.load(SeqCst), 12_000);
        runtime.block_on(pool.resize(3).unwrap());
        assert_eq!(on_each_worker(&pool, 3, || ()).len(), 3, "as many as were asked for do work");
        until("what is over is counted", || pool.metrics().alive == 0);
    });
}

/// A worker that is called back while it is on its way out stays, or somebody comes in its place.
#[test]
fn called_back_on_the_way_out() {
    guarded("called back", || {
        let (runtime, pool) = with_pool(2);
        for round in 0..300 {
            let retired = pool.resize(1).unwrap();
            for _ in 0..round % 60 {
                std::thread::yield_now(); // so that it is caught at another point each time
            }
            let back = pool.resize(2).unwrap();
            assert_eq!(pool.metrics().active, 2);
            runtime.block_on(back);
            runtime.block_on(retired);
            assert_eq!(on_each_worker(&pool, 2, || ()).len(), 2, "round {round}");
        }
    });
}

/// What is pinned to a worker holds it there while it retires.
struct Pinned {
    gate: Gate,
    home: ThreadId,
    tasks: Vec<TaskHandle<ThreadId>>,
}

/// Pins a local task, a strand and a waiting stack to each of the workers.
fn pin_to_each(pool: &Pool, workers: usize) -> Vec<Pinned> {
    let pinned = on_each_worker(pool, workers, || {
        let gate = Gate::new();
        let (local, on_strand) = (gate.passed(), gate.passed());
        let local = spawn_local(async move {
            local.await;
            here()
        });
        let strand = strand::spawn(move || {
            on_strand.wait();
            here()
        });
        let in_poll = gate.passed();
        let stack = spawn_local(async move {
            in_poll.wait();
            here()
        });
        (gate, vec![local.unwrap(), strand.unwrap(), stack.ok().unwrap()])
    });
    let pinned: Vec<_> =
        pinned.into_iter().map(|(home, (gate, tasks))| Pinned { gate, home, tasks }).collect();
    until("all wait", || pinned.iter().all(|pinned| pinned.gate.waiting() == 3));
    pinned
}

#[test]
fn a_retiring_worker_serves_what_is_pinned_to_it() {
    guarded("retiring", || {
        let (runtime, pool) = with_pool(4);
        let pinned = pin_to_each(&pool, 4);
        let mut resized = Box::pin(pool.resize(1).unwrap());
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(resized.as_mut().poll(&mut cx).is_pending());
        assert_eq!(count(&pool, WorkerState::Retiring), 3);
        assert_eq!((pool.metrics().active, pool.metrics().retiring), (1, 3));
        assert!(pool.metrics().workers.iter().all(|worker| worker.pinned == 3 && worker.parked_stacks == 1));
        // They take no new work.
        until("they have noticed", || {
            let threads: HashSet<_> = (0..50).map(|_| pool.spawn(async { here() }).wait().unwrap()).collect();
            threads.len() == 1
        });
        for _ in 0..200 {
            let thread = pool.spawn(async { here() }).wait().unwrap();
            assert_eq!(thread, pool.spawn(async { here() }).wait().unwrap());
        }
        assert!(resized.as_mut().poll(&mut cx).is_pending(), "they are still there");
        for pinned in pinned {
            assert_eq!(pinned.gate.waiting(), 3);
            pinned.gate.open();
            for task in pinned.tasks {
                assert_eq!(runtime.block_on(task).unwrap(), pinned.home, "they end where they began");
            }
        }
        runtime.block_on(resized);
        assert_eq!((pool.metrics().active, pool.metrics().retiring), (1, 0));
        assert_eq!(count(&pool, WorkerState::Vacant), 3);
    });
}

#[test]
fn a_retiring_worker_is_taken_back() {
    guarded("taken back", || {
        let (runtime, pool) = with_pool(3);
        let pinned = pin_to_each(&pool, 3);
        let retired = pool.resize(1).unwrap();
        assert_eq!(count(&pool, WorkerState::Retiring), 2);
        let back = pool.resize(3).unwrap();
        assert_eq!(count(&pool, WorkerState::Retiring), 0);
        runtime.block_on(back);
        runtime.block_on(retired);
        let homes: HashSet<_> = pinned.iter().map(|pinned| pinned.home).collect();
        let workers: HashSet<_> = on_each_worker(&pool, 3, || ()).into_iter().map(|(thread, ())| thread).collect();
        assert_eq!(workers, homes, "the same threads, with what is pinned to them");
        for pinned in pinned {
            pinned.gate.open();
            pinned.tasks.into_iter().for_each(|task| assert_eq!(runtime.block_on(task).unwrap(), pinned.home));
        }
    });
}

/// What is pinned may go on to spawn, wait and pin more while its worker retires.
#[test]
fn life_goes_on_on_a_retiring_worker() {
    guarded("life goes on", || {
        let (runtime, pool) = with_pool(2);
        let gate = Gate::new();
        let there = gate.clone();
        let pinned = on_each_worker(&pool, 2, move || {
            let passed = there.passed();
            spawn_local(async move {
                passed.await;
                let home = here();
                for _ in 0..20 {
                    yield_now().await;
                    spawn(yield_now()).wait().unwrap();
                    assert_eq!(spawn_local(async { here() }).unwrap().await.unwrap(), home);
                    assert_eq!(strand::spawn(here).unwrap().await.unwrap(), home);
                    assert_eq!(here(), home);
                }
                home
            })
            .ok()
            .unwrap()
        });
        let resized = pool.resize(1).unwrap();
        gate.open();
        for (home, task) in pinned {
            assert_eq!(runtime.block_on(task).unwrap(), home);
        }
        runtime.block_on(resized);
        assert_eq!(pool.metrics().active, 1);
    });
}

#[test]
fn resized_from_inside() {
    guarded("inside", || {
        let (runtime, pool) = with_pool(1);
        let inside = pool.clone();
        let task = pool.spawn(async move {
            for workers in [4, 1, 2, 1, 3] {
                inside.resize(workers).unwrap().await;
                assert_eq!(inside.metrics().active, workers);
                spawn(yield_now()).await.unwrap();
            }
        });
        runtime.block_on(task).unwrap();
        assert_eq!(on_each_worker(&pool, 3, || ()).len(), 3);
    });
}

/// The answer of `resize` is only there to wait: dropping it changes nothing.
#[test]
fn the_answer_of_resize_may_be_dropped() {
    let (_runtime, pool) = with_pool(4);
    drop(pool.resize(2).unwrap());
    until("two have left", || count(&pool, WorkerState::Vacant) == 2);
    drop(pool.resize(2).unwrap());
    drop(pool.resize(5).unwrap());
    assert_eq!(on_each_worker(&pool, 5, || ()).len(), 5);
}

#[test]
fn the_main_pool_can_be_resized_too() {
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let main = runtime.pool("main").unwrap();
    runtime.block_on(main.resize(4).unwrap());
    assert_eq!(on_each_worker(&main, 4, || ()).len(), 4);
    runtime.block_on(main.resize(1).unwrap());
    assert_eq!(runtime.metrics().pools[0].active, 1);
}

/// Each worker that starts ends, and says so.
#[test]
fn threads_come_and_go_in_pairs() {
    let (started, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (start, stop) = (started.clone(), stopped.clone());
    let runtime = Runtime::builder()
        .worker_threads(2)
        .on_thread_start(move || drop(start.fetch_add(1, SeqCst)))
        .on_thread_stop(move || drop(stop.fetch_add(1, SeqCst)))
        .build()
        .unwrap();
    let pool = Pool::builder().name("other").workers(2).build(&runtime.handle()).unwrap();
    for workers in [5, 1, 3, 2] {
        runtime.block_on(pool.resize(workers).unwrap());
    }
    runtime.block_on(async { pool.shutdown().await.unwrap() });
    drop(runtime);
    assert!(started.load(SeqCst) >= 2 + 2 + 3 + 2);
    assert_eq!(started.load(SeqCst), stopped.load(SeqCst));
}

#[test]
fn several_pools_side_by_side() {
    on_every_kind(|kind| {
        let runtime = kind.builder().thread_name("walk").build().unwrap();
        let pools: Vec<_> = ["a", "b", "c"]
            .map(|name| Pool::builder().name(name).workers(2).build(&runtime.handle()).unwrap())
            .into();
        let name = || std::thread::current().name().unwrap().to_owned();
        for pool in &pools {
            assert_eq!(runtime.pool(pool.name()).unwrap().name(), pool.name());
            let thread = runtime.block_on(pool.spawn(async move { name() })).unwrap();
            assert!(thread.starts_with(&format!("walk-{}-", pool.name())), "{thread}");
            // What a task spawns without further words stays in its pool.
            let child = runtime.block_on(pool.spawn(async move { spawn(async move { name() }).await.unwrap() }));
            assert!(child.unwrap().starts_with(&format!("walk-{}-", pool.name())));
            let named = ropewalk::task::Builder::new().name("guest").pool(pool).spawn(async move { name() });
            assert!(runtime.block_on(named).unwrap().starts_with(&format!("walk-{}-", pool.name())));
        }
        let listed: Vec<_> = runtime.metrics().pools.iter().map(|pool| pool.name.clone()).collect();
        assert_eq!(listed, ["main", "a", "b", "c"]);
    });
}

/// A chain of tasks that goes from pool to pool, each waiting for the next in its own way.
#[test]
fn handed_from_pool_to_pool() {
    fn hand_on(pools: Arc<Vec<Pool>>, left: usize) -> TaskHandle<usize> {
        let pool = pools[left % pools.len()].clone();
        pool.spawn(async move {
            match left {
                0 => 0,
                left if left % 3 == 0 => 1 + hand_on(pools, left - 1).wait().unwrap(),
                left => 1 + hand_on(pools, left - 1).await.unwrap(),
            }
        })
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let names = ["a", "b"];
        let made = names.map(|name| Pool::builder().name(name).build(&runtime.handle()).unwrap());
        let mut pools = vec![runtime.pool("main").unwrap()];
        pools.extend(made);
        assert_eq!(runtime.block_on(hand_on(Arc::new(pools), 100)).unwrap(), 100);
    });
}

#[test]
fn a_pool_is_shut_down() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let pool = Pool::builder().name("other").workers(3).build(&runtime.handle()).unwrap();
        struct OnDrop(Arc<AtomicUsize>);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let dropped = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let guard = OnDrop(dropped.clone());
                pool.spawn(async move {
                    let _guard = guard;
                    if number % 2 == 0 {
                        pending::<()>().await;
                    }
                    loop {
                        yield_now().await;
                    }
                })
            })
            .collect();
        let survivor = runtime.spawn(async {
            yield_now().await;
            7
        });
        runtime.block_on(async { pool.shutdown().await.unwrap() });
        assert_eq!(dropped.load(SeqCst), 100, "all were dropped when it completes");
        for task in tasks {
            assert!(matches!(task.wait(), Err(TaskError::Shutdown)));
        }
        // Once more is the same as once.
        runtime.block_on(async { pool.shutdown().await.unwrap() });
        assert!(matches!(pool.spawn(async {}).wait(), Err(TaskError::Shutdown)));
        assert!(pool.resize(2).is_err());
        assert!(runtime.pool("other").is_none());
        assert_eq!(runtime.block_on(survivor).unwrap(), 7, "others are not concerned");
        // The name is free again.
        let again = Pool::builder().name("other").build(&runtime.handle()).unwrap();
        assert_eq!(runtime.block_on(again.spawn(async { 5 })).unwrap(), 5);
        drop((runtime, pool, again));
        probe.assert_freed();
    });
}

/// By a task of another pool, by two at once, and while others spawn into it.
#[test]
fn a_pool_is_shut_down_by_others() {
    guarded("shut down by others", || {
        for round in 0..30 {
            let (runtime, pool) = with_pool(1 + round % 3);
            let (ran, told) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
            std::thread::scope(|scope| {
                let spawner = scope.spawn(|| {
                    let mut tasks = Vec::new();
                    while pool.resize(2).is_ok() || tasks.len() < 10 {
                        let ran = ran.clone();
                        tasks.push(pool.spawn(async move { drop(ran.fetch_add(1, SeqCst)) }));
                    }
                    tasks
                });
                let stoppers: Vec<_> = (0..2)
                    .map(|_| {
                        let pool = pool.clone();
                        runtime.spawn(async move { pool.shutdown().await.unwrap() })
                    })
                    .collect();
                stoppers.into_iter().for_each(|stopper| stopper.wait().unwrap());
                let tasks = spawner.join().unwrap();
                let total = tasks.len();
                for task in tasks {
                    match task.wait() {
                        Ok(()) => told.fetch_add(1, SeqCst),
                        Err(TaskError::Shutdown) => 0,
                        Err(other) => panic!("{other}"),
                    };
                }
                assert!(told.load(SeqCst) <= total);
                assert_eq!(told.load(SeqCst), ran.load(SeqCst), "who ran was told so");
            });
        }
    });
}

/// Resizing races with the runtime's end: no worker comes too late, none stays behind.
#[test]
fn resized_while_the_runtime_goes_down() {
    guarded("resize against drop", || {
        for round in 0..60 {
            let probe = Probe::new();
            let runtime = Runtime::builder().worker_threads(1).clock(probe.clock()).build().unwrap();
            let pool = runtime.pool("main").unwrap();
            let tasks: Vec<_> = (0..20).map(|_| pool.spawn(pending::<()>())).collect();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let pool = pool;
                    let mut workers = round % 4;
                    while pool.resize(workers + 1).is_ok() {
                        workers = (workers + 1) % 4;
                    }
                });
                for _ in 0..round % 20 {
                    std::thread::yield_now();
                }
                drop(runtime);
            });
            for task in tasks {
                assert!(matches!(task.wait(), Err(TaskError::Shutdown)));
            }
            probe.assert_freed();
        }
    });
}

#[test]
fn what_workers_do_is_visible() {
    guarded("visible", || {
        let (runtime, pool) = with_pool(4);
        until("all sleep, one in the driver", || {
            (count(&pool, WorkerState::Polling), count(&pool, WorkerState::Idle)) == (1, 3)
        });
        assert_eq!(pool.metrics().sleeping, 4);
        let (let_go, held) = std::sync::mpsc::channel::<()>();
        let task = pool.spawn(async move { drop(held.recv()) });
        until("one is busy", || count(&pool, WorkerState::Busy) == 1);
        assert_eq!(pool.metrics().alive, 1);
        until("one polls still", || {
            (count(&pool, WorkerState::Polling), count(&pool, WorkerState::Idle)) == (1, 2)
        });
        let_go.send(()).unwrap();
        runtime.block_on(task).unwrap();
        until("all sleep again", || count(&pool, WorkerState::Busy) == 0);
        let pinned = pin_to_each(&pool, 4);
        let resized = pool.resize(2).unwrap();
        assert_eq!((count(&pool, WorkerState::Retiring), pool.metrics().retiring), (2, 2));
        pinned.iter().for_each(|pinned| pinned.gate.open());
        runtime.block_on(resized);
        assert_eq!((count(&pool, WorkerState::Vacant), pool.metrics().workers.len()), (2, 4));
        until("the others sleep", || count(&pool, WorkerState::Busy) == 0);
        assert_eq!(pool.metrics().sleeping, 2);
    });
}

/// A resize waited for by a task is completed by the last worker that leaves, whoever that is.
#[test]
fn many_wait_for_one_resize() {
    guarded("many wait", || {
        let (runtime, pool) = with_pool(3);
        let pinned = pin_to_each(&pool, 3);
        let first = pool.resize(1).unwrap();
        let more: Vec<_> = (0..5).map(|_| runtime.spawn(pool.resize(1).unwrap())).collect();
        pinned.iter().for_each(|pinned| pinned.gate.open());
        runtime.block_on(async {
            first.await;
            for task in more {
                task.await.unwrap();
            }
            until_async("nobody retires", || pool.metrics().retiring == 0).await;
        });
    });
}
