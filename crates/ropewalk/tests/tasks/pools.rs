//! Pools are made, resized and shut down while they run, and nothing is lost.

mod closing;
mod retiring;

use crate::kit::{guarded, until};
use ropewalk::{Pool, Runtime, Wait, WorkerState, spawn, yield_now};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

/// A runtime with one worker, and a pool of `workers` beside it. Nobody stands in for them: workers are counted here.
fn with_pool(workers: usize) -> (Runtime, Pool) {
    let runtime = Runtime::builder().worker_threads(1).rescue_threshold(Duration::ZERO).build().unwrap();
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
            // So that it is caught at another point each time. On a busy machine each yield costs the slices of all others.
            (0..round % 60 * 50).for_each(|_| std::hint::spin_loop());
            if round % 2 == 0 {
                std::thread::yield_now();
            }
            let back = pool.resize(2).unwrap();
            assert_eq!(pool.metrics().active, 2);
            runtime.block_on(back);
            runtime.block_on(retired);
            assert_eq!(on_each_worker(&pool, 2, || ()).len(), 2, "round {round}");
        }
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
    let runtime = Runtime::builder().worker_threads(2).rescue_threshold(Duration::ZERO).build().unwrap();
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
        .rescue_threshold(Duration::ZERO)
        .on_thread_start(move || _ = start.fetch_add(1, SeqCst))
        .on_thread_stop(move || _ = stop.fetch_add(1, SeqCst))
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
