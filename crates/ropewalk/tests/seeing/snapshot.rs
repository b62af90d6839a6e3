//! A snapshot agrees with itself, whenever it is taken.

use ropewalk::{Metrics, Runtime, Wait, spawn, strand, yield_now};
use std::sync::atomic::{AtomicBool, Ordering};

fn agrees(metrics: &Metrics) {
    for pool in &metrics.pools {
        let total =
            |figure: fn(&ropewalk::WorkerMetrics) -> u64| pool.workers.iter().map(figure).sum::<u64>();
        assert!(total(|worker| worker.finished) <= total(|worker| worker.polls), "{pool:?}");
        for worker in &pool.workers {
            assert!(worker.strands_ended <= worker.strands_started, "{worker:?}");
            assert!(worker.lifo_hits <= worker.polls && worker.finished <= worker.polls, "{worker:?}");
            assert!(worker.wakes <= worker.parks && worker.spin_hits <= worker.spins, "{worker:?}");
            let timed = worker.poll_time.as_ref().map_or(0, |polls| polls.count());
            assert!(timed <= worker.polls, "{worker:?}");
        }
    }
}

/// No figure that counts ever goes back.
fn goes_on(before: &Metrics, after: &Metrics) {
    let figures: [fn(&ropewalk::WorkerMetrics) -> u64; 6] = [
        |worker| worker.polls,
        |worker| worker.finished,
        |worker| worker.spawned,
        |worker| worker.strands_started,
        |worker| worker.parks,
        |worker| worker.poll_time.as_ref().map_or(0, |polls| polls.count()),
    ];
    assert!(figures.iter().all(|figure| before.total(figure) <= after.total(figure)));
}

#[test]
fn under_load_it_agrees_with_itself() {
    let runtime = Runtime::builder().worker_threads(4).histograms(true).build().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let mut before = runtime.metrics();
            while !over.load(Ordering::Relaxed) {
                let now = runtime.metrics();
                agrees(&now);
                goes_on(&before, &now);
                before = now;
            }
        });
        for _ in 0..20 {
            let tasks: Vec<_> = (0..50).map(|_| runtime.spawn(mixed_load())).collect();
            tasks.into_iter().for_each(|task| task.wait().unwrap());
        }
        over.store(true, Ordering::Relaxed);
    });
}

async fn mixed_load() {
    let child = spawn(yield_now());
    let strand = strand::Builder::new().spawn(strand::yield_now);
    child.await.unwrap();
    strand.await.unwrap();
}

#[test]
fn strands_that_are_alive_are_counted() {
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let (release, wait) = ropewalk::channel::broadcast::channel::<()>(1);
    let strands: Vec<_> = runtime.block_on(async {
        let waits = |_| {
            let mut wait = wait.resubscribe();
            strand::Builder::new().spawn(move || wait.recv().wait().is_err())
        };
        (0..10).map(waits).collect()
    });
    while runtime.metrics().pools[0].strands < 10 {
        std::thread::yield_now();
    }
    assert_eq!(runtime.metrics().pools[0].alive, 10);
    drop(release);
    strands.into_iter().for_each(|strand| assert!(strand.join()));
    while runtime.metrics().pools[0].alive > 0 {
        std::thread::yield_now();
    }
    let metrics = runtime.metrics();
    assert_eq!((metrics.pools[0].strands, metrics.total(|worker| worker.strands_started)), (0, 10));
}
