//! See what the runtime does: functions of yours that are called at certain moments, and the counters of its workers.

use ropewalk::{Runtime, RuntimeError, Wait, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What our hooks count.
#[derive(Default)]
struct Seen {
    threads: AtomicU64,
    sleeps: AtomicU64,
    spawned: AtomicU64,
    ended: AtomicU64,
    polls: AtomicU64,
}

fn main() -> Result<(), RuntimeError> {
    let seen = Arc::new(Seen::default());
    // Each hook gets a share of the counters.
    let hook = |count: fn(&Seen) -> &AtomicU64| {
        let seen = seen.clone();
        move || {
            count(&seen).fetch_add(1, Relaxed);
        }
    };
    let [started, parked] = [hook(|seen| &seen.threads), hook(|seen| &seen.sleeps)];
    let [spawned, ended, polled] =
        [hook(|seen| &seen.spawned), hook(|seen| &seen.ended), hook(|seen| &seen.polls)];
    let runtime = Runtime::builder()
        .worker_threads(2)
        .on_thread_start(started)
        .on_thread_park(parked)
        .on_task_spawn(move |_id| spawned())
        .on_task_end(move |_id| ended())
        .after_poll(move |_id| polled())
        .build()?;

    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let task = task::Builder::new().name(format!("yarn {number}"));
            task.spawn_on(&runtime.handle(), async {
                ropewalk::yield_now().await;
            })
        })
        .collect();
    for task in tasks {
        task.wait().expect("it neither panics nor is it cancelled");
    }

    // One snapshot of everything the workers count, hooks or not.
    let metrics = runtime.metrics();
    for pool in &metrics.pools {
        println!("pool {:?}: {} workers, {} tasks alive", pool.name, pool.active, pool.alive);
        for (number, worker) in pool.workers.iter().enumerate() {
            let (state, polls, steals, parks) = (worker.state, worker.polls, worker.steals, worker.parks);
            println!("  worker {number}: {state:?}, {polls} polls, {steals} steals, slept {parks} times");
        }
    }
    runtime.shutdown(std::time::Duration::from_secs(10)).expect("nothing is left to cancel");

    let [threads, sleeps, spawned, ended, polls] =
        [&seen.threads, &seen.sleeps, &seen.spawned, &seen.ended, &seen.polls]
            .map(|count| count.load(Relaxed));
    println!(
        "hooks saw {threads} threads, {sleeps} sleeps, {spawned} tasks spawned, {ended} ended, {polls} polls"
    );
    assert_eq!((threads, spawned, ended, polls), (2, 100, 100, 200));
    Ok(())
}
