//! Runtimes and pools that go down under fire: spawns from inside and outside, wakes, resizes, all at the same time.
//! What was accepted runs or its owner is told; nothing hangs and nothing is left.

use super::ledger::{Ledger, Life, Output, live};
use super::world::Random;
use super::{alone, assert_nothing_left, soak_seconds, warm_up};
use ropewalk::{Handle, Pool, Runtime, TaskError, TaskHandle, Wait, spawn, spawn_local, strand, yield_now};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;
use std::time::{Duration, Instant};

const SPAWNERS: usize = 3;

/// Ends at once, yields, waits for ever, or has children like itself.
fn body(ledger: Arc<Ledger>, life: Life, mut random: Random) -> Pin<Box<dyn Future<Output = Output> + Send>> {
    Box::pin(async move {
        match random.below(6) {
            0 => {}
            1 => std::future::pending().await,
            2 => {
                for _ in 0..random.below(20) {
                    yield_now().await;
                }
            }
            kind => {
                for _ in 0..3 {
                    let Some(life) = ledger.open() else { break };
                    let child = body(ledger.clone(), life, Random(random.below(u64::MAX)));
                    match kind {
                        3 => drop(spawn(child)),
                        4 => drop(spawn_local(child)),
                        _ => drop(strand::spawn_local(move || child.wait())),
                    }
                }
                yield_now().await;
            }
        }
        life.output()
    })
}

/// Spawns until the ledger is full or the runtime refuses twenty times in a row.
fn fire(
    ledger: &Arc<Ledger>,
    mut random: Random,
    spawn: impl Fn(Life, Random) -> TaskHandle<Output>,
) -> Tally {
    let (mut handles, mut refused) = (Vec::new(), 0);
    while let (Some(life), true) = (ledger.open(), refused < 20) {
        let handle = spawn(life, Random(random.below(u64::MAX)));
        refused = if handle.is_finished() { refused + 1 } else { 0 };
        if random.below(3) > 0 {
            handles.push(handle);
        }
    }
    let mut tally = Tally::default();
    for handle in handles {
        match handle.wait() {
            Ok(output) => (tally.ran += 1, drop(output)).0,
            Err(TaskError::Shutdown) => tally.refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    tally
}

#[derive(Debug, Default)]
struct Tally {
    ran: usize,
    refused: usize,
}

/// One runtime that is dropped, or one pool that is shut down, at a random moment.
fn round(seed: u64) -> (usize, usize) {
    let mut random = Random(seed);
    let runtime = Runtime::builder()
        .worker_threads(2)
        .thread_stack_size(256 * 1024)
        .strand_stack_size(super::STRAND)
        .build()
        .unwrap();
    let handle = runtime.handle();
    let whole = random.below(2) == 0;
    let pool = match whole {
        true => runtime.pool("main").expect("there is a main pool"),
        false => Pool::builder().name("side").workers(2).build(&handle).unwrap(),
    };
    let ledger = Ledger::new(4_000);
    let (ran, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..SPAWNERS {
            let (random, pool, ledger) = (Random(random.below(u64::MAX)), pool.clone(), ledger.clone());
            let (ran, refused) = (&ran, &refused);
            scope.spawn(move || {
                let tally =
                    fire(&ledger, random, |life, random| pool.spawn(body(ledger.clone(), life, random)));
                ran.fetch_add(tally.ran, Relaxed);
                refused.fetch_add(tally.refused, Relaxed);
            });
        }
        let (mut storm, stormy) = (random.clone(), pool.clone());
        scope.spawn(move || while stormy.resize(1 + storm.below(6) as usize).is_ok() {});
        thread::sleep(Duration::from_micros(random.below(3_000)));
        if whole {
            drop(runtime);
        } else {
            pool.shutdown().wait().unwrap();
            drop(runtime);
        }
    });
    assert_refused(&handle);
    drop((handle, pool));
    ledger.balance();
    (ran.into_inner(), refused.into_inner())
}

/// The runtime is gone, and says so.
fn assert_refused(handle: &Handle) {
    let late = handle.spawn(async {});
    assert!(matches!(late.wait(), Err(TaskError::Shutdown)));
    assert!(Pool::builder().name("late").build(handle).is_err());
}

#[test]
fn going_down_under_fire() {
    alone("closing::going_down_under_fire", || {
        warm_up();
        let before = live();
        let (from, budget, mut rounds, mut sum) = (Instant::now(), soak_seconds() / 4, 0, (0, 0));
        while rounds < 20 || from.elapsed() < budget {
            let (ran, refused) = round(rounds);
            sum = (sum.0 + ran, sum.1 + refused);
            assert_nothing_left(before, rounds);
            rounds += 1;
        }
        println!("soak: {rounds} runtimes and pools went down, {} tasks ran, {} were refused", sum.0, sum.1);
        assert!(sum.0 > 0 && sum.1 > 0);
    });
}
