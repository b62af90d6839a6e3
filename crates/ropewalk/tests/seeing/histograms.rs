//! Sampled distributions: how long polls take, and how long tasks wait for theirs.

use ropewalk::{Histogram, Runtime, Wait, spawn, spawn_local, strand, yield_now};
use std::time::{Duration, Instant};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().worker_threads(workers).histograms(true).build().unwrap()
}

/// A poll that takes so long.
fn burn(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Counts as many as there were, but for those since the last that was timed.
fn counts_all(found: &Histogram, polls: u64) {
    assert!(found.count() <= polls, "{found:?} of {polls} polls");
    assert!(found.count() >= polls / 2, "{found:?} of {polls} polls");
}

#[test]
fn nothing_is_sampled_unless_it_is_wanted() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    runtime.block_on(runtime.spawn(yields(10_000))).unwrap();
    let metrics = runtime.metrics();
    assert!(metrics.pools[0].workers[0].poll_time.is_none() && metrics.poll_time().count() == 0);
    assert_eq!(metrics.wake_to_run().count(), 0);
}

async fn yields(count: usize) {
    for _ in 0..count {
        yield_now().await;
    }
}

#[test]
fn short_polls_stand_for_those_that_were_not_timed() {
    let runtime = runtime(1);
    runtime.block_on(runtime.spawn(yields(200_000))).unwrap();
    let (metrics, polls) = (runtime.metrics(), runtime.metrics().total(|worker| worker.polls));
    counts_all(&metrics.poll_time(), polls);
    assert!(metrics.poll_time().quantile(0.5) < Duration::from_millis(1), "{metrics:?}");
}

#[test]
fn long_polls_are_all_timed() {
    const LONG: Duration = Duration::from_micros(500);
    let runtime = runtime(1);
    let task = runtime.spawn(async {
        for _ in 0..200 {
            burn(LONG);
            yield_now().await;
        }
    });
    runtime.block_on(task).unwrap();
    let found = runtime.metrics().poll_time();
    counts_all(&found, 201);
    assert!(found.quantile(0.5) >= LONG.mul_f64(0.87), "{found:?}");
    assert!(found.max() >= LONG && found.sum() >= LONG * 100, "{found:?}");
}

/// One of a hundred polls is long: that is what the tail says, however few are timed.
#[test]
fn a_mixture_is_told_apart() {
    let runtime = runtime(1);
    let task = runtime.spawn(async {
        for turn in 0..100_000 {
            if turn % 100 == 0 {
                burn(Duration::from_micros(100));
            }
            yield_now().await;
        }
    });
    runtime.block_on(task).unwrap();
    let found = runtime.metrics().poll_time();
    counts_all(&found, 100_001);
    assert!(found.quantile(0.5) < Duration::from_micros(50), "{found:?}");
    assert!(found.quantile(0.9995) >= Duration::from_micros(80), "{found:?}");
}

/// Tasks that are woken behind a long poll wait as long as that takes.
#[test]
fn who_waits_behind_a_long_poll_waits_that_long() {
    const LONG: Duration = Duration::from_micros(300);
    let runtime = runtime(1);
    let task = runtime.spawn(async {
        for _ in 0..2_000 {
            let behind = spawn(async {});
            burn(LONG / 100);
            behind.await.unwrap();
        }
        for _ in 0..1_000 {
            let behind = spawn(async {});
            burn(LONG);
            behind.await.unwrap();
        }
    });
    runtime.block_on(task).unwrap();
    let found = runtime.metrics().wake_to_run();
    assert!(found.count() > 10, "{found:?}");
    assert!(found.max() >= LONG, "{found:?}");
}

#[test]
fn those_who_come_from_outside_are_sampled() {
    let runtime = runtime(2);
    for _ in 0..256 {
        runtime.spawn(async {}).wait().unwrap();
    }
    let found = runtime.metrics().wake_to_run();
    assert!(found.count() >= 3, "{found:?}");
    assert!(found.max() > Duration::ZERO && found.quantile(0.0) <= found.quantile(1.0));
}

#[test]
fn strands_and_local_tasks_are_sampled() {
    let runtime = runtime(1);
    let local = runtime.spawn(async {
        for _ in 0..3_000 {
            spawn_local(yields(2)).unwrap().await.unwrap();
        }
    });
    runtime.block_on(local).unwrap();
    let yields = || (0..20_000).for_each(|_| strand::yield_now());
    runtime.block_on(async { strand::Builder::new().spawn(yields).await.unwrap() });
    let (metrics, polls) = (runtime.metrics(), runtime.metrics().total(|worker| worker.polls));
    counts_all(&metrics.poll_time(), polls);
    assert!(metrics.wake_to_run().count() > 0);
}

#[test]
fn it_is_switched_on_and_off_while_all_runs() {
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let tasks: Vec<_> = (0..4).map(|_| runtime.spawn(yields(300_000))).collect();
    for turn in 0..50 {
        runtime.set_histograms(turn % 2 == 0);
        runtime.spawn(async {}).wait().unwrap();
    }
    runtime.set_histograms(false);
    tasks.into_iter().for_each(|task| task.wait().unwrap());
    while runtime.metrics().pools[0].alive > 0 {
        std::thread::yield_now();
    }
    runtime.spawn(async {}).wait().unwrap(); // by now it is known that nothing is sampled
    let before = runtime.metrics().poll_time().count();
    runtime.block_on(runtime.spawn(yields(100_000))).unwrap();
    let after = runtime.metrics().poll_time().count();
    assert!(after - before < 1_000, "{before} and {after}");
}

#[test]
fn pools_that_come_later_sample_as_the_others_do() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let pool = |name: &str| ropewalk::Pool::builder().name(name).workers(1).build(&runtime.handle()).unwrap();
    let polls = |name: &str| {
        let pools = runtime.metrics().pools;
        pools.iter().find(|pool| pool.name == name).unwrap().poll_time().count()
    };
    runtime.set_histograms(true);
    let sampled = pool("sampled");
    runtime.set_histograms(false);
    let unsampled = pool("unsampled");
    runtime.set_histograms(true);
    while polls("sampled") == 0 || polls("unsampled") == 0 {
        [&sampled, &unsampled].iter().for_each(|pool| pool.spawn(yields(100)).wait().unwrap());
    }
    runtime.set_histograms(false);
    let later = pool("later");
    later.spawn(yields(100_000)).wait().unwrap();
    assert_eq!(polls("later"), 0);
}

/// A runtime without threads, driven by its host, and workers that steal from each other.
#[test]
fn everywhere() {
    let hosted = runtime(0);
    hosted.block_on(async {
        let tasks: Vec<_> = (0..100).map(|_| spawn(yields(100))).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    counts_all(&hosted.metrics().poll_time(), hosted.metrics().total(|worker| worker.polls));
    let many = runtime(8);
    let tasks: Vec<_> = (0..64).map(|_| many.spawn(yields(5_000))).collect();
    tasks.into_iter().for_each(|task| task.wait().unwrap());
    let polls = many.metrics().total(|worker| worker.polls);
    assert!(many.metrics().poll_time().count() <= polls);
}

/// A task that waits in its poll is not busy meanwhile.
#[test]
fn a_stack_that_is_put_away_takes_no_time() {
    const LONG: Duration = Duration::from_millis(200);
    let runtime = Runtime::builder().worker_threads(1).observe(true).histograms(true).build().unwrap();
    let waits = (0..20).map(|_| {
        runtime.spawn(async {
            ropewalk::time::sleep(LONG).wait();
            let me = ropewalk::task::id();
            let all = ropewalk::Handle::current().tasks();
            all.into_iter().find(|task| Some(task.id) == me).and_then(|task| task.observed)
        })
    });
    for waits in waits.collect::<Vec<_>>() {
        while !waits.is_finished() {
            runtime.spawn(yields(100)).wait().unwrap();
        }
        let seen = waits.wait().unwrap();
        assert!(seen.is_some_and(|seen| seen.busy < LONG));
    }
    let metrics = runtime.metrics();
    assert!(metrics.poll_time().max() < LONG, "{:?}", metrics.poll_time().max());
    assert!(metrics.poll_time().count() > 0);
}
