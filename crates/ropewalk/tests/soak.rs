//! A million tasks, and sixteen workers on whatever cores there are, with exact accounts: every task runs once or is
//! cancelled, every future, output and panic is dropped once, and not a byte is left when the runtime is gone.
//!
//! Each test runs in a process of its own, so that the allocator counts nothing else. `ROPEWALK_SOAK_SECONDS` says how
//! long the stress goes on (12). A program of its own: it has that allocator.

#[path = "soak/closing.rs"]
mod closing;
#[path = "soak/ledger.rs"]
mod ledger;
#[path = "soak/world.rs"]
mod world;

use ledger::{Balance, Counting, Ledger, live};
use ropewalk::{Runtime, Wait, spawn, strand, yield_now};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use world::{Bell, Random, World, direct, direct_from_outside};

#[global_allocator]
static COUNTING: Counting = Counting;

const CHILD: &str = "ROPEWALK_SOAK_CHILD";

/// Runs `body` in a process of its own, as the only test there.
fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var(CHILD).as_deref() == Ok(test) {
        let limit = 10 * soak_seconds() + Duration::from_secs(120);
        thread::spawn(move || {
            // Second by second: the time in which the whole process is stopped is not its fault.
            (0..limit.as_secs()).for_each(|_| thread::sleep(Duration::from_secs(1)));
            eprintln!("hung for {limit:?}");
            std::process::abort();
        });
        return body();
    }
    let arguments = [test, "--exact", "--nocapture", "--test-threads=1"];
    let child =
        Command::new(std::env::current_exe().unwrap()).args(arguments).env(CHILD, test).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
    let err: Vec<_> = err.lines().filter(|line| !line.starts_with("ropewalk: detached")).collect();
    assert!(
        child.status.success() && out.contains("1 passed"),
        "{}\n{out}\n{}",
        child.status,
        err.join("\n")
    );
    out.lines().filter(|line| line.contains("soak:")).for_each(|line| println!("{line}"));
}

/// The stack of a strand, whoever looks on.
const STRAND: usize = 64 * 1024;

fn soak_seconds() -> Duration {
    let seconds = std::env::var("ROPEWALK_SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(12.0))
}

/// Waits until not more is alive than there was: what ends last may take a moment to be gone.
fn assert_nothing_left(before: (isize, isize), round: u64) {
    let gone = || {
        thread::sleep(Duration::from_millis(1));
        live() == before
    };
    if live() != before && !(0..20_000).any(|_| gone()) {
        panic!("after round {round} {:?} bytes and blocks are alive, not {before:?}", live());
    }
}

/// How many mappings the process has: stacks are no business of the allocator's.
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count())
}

/// Whatever the process keeps once it has been used: the thread's parker, the panic machinery, buffers, and a shard of
/// timers for each worker that there ever was at the same time.
fn warm_up() {
    drop(Runtime::builder().worker_threads(64).build().unwrap());
    let runtime = Runtime::builder().worker_threads(1).strand_stack_size(STRAND).build().unwrap();
    let failing = runtime.spawn(async { std::panic::resume_unwind(Box::new(1)) });
    assert!(runtime.block_on(failing).is_err());
    runtime.spawn(yield_now()).wait().unwrap();
    // A panic hook, and as many stacks as there ever are at once.
    let begun = AtomicUsize::new(0);
    runtime.run(|| {
        strand::scope(|s| {
            for _ in 0..5000 {
                let _unjoined = s.spawn(|| {
                    begun.fetch_add(1, Relaxed);
                    strand::sleep(Duration::MAX);
                });
            }
            while begun.load(Relaxed) < 5000 {
                strand::yield_now();
            }
            s.cancel_all();
            s.join_all();
        });
    });
    thread::spawn(|| println!("soak: warm")).join().unwrap();
    wait_for_the_harness();
}

/// The test harness allocates when it starts to wait for this test's end: goes on when it sleeps.
fn wait_for_the_harness() {
    let asleep = || {
        thread::sleep(Duration::from_millis(5));
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", std::process::id()));
        stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S')))
    };
    while cfg!(target_os = "linux") && !(0..5).all(|_| asleep()) {}
}

#[test]
fn a_million_tasks() {
    alone("a_million_tasks", || {
        warm_up();
        let before = live();
        for round in 0..3 {
            let runtime = Runtime::builder().worker_threads(2).build().unwrap();
            let ran = Arc::new(AtomicUsize::new(0));
            let count = |ran: &Arc<AtomicUsize>| {
                let ran = ran.clone();
                async move { ran.fetch_add(1, Relaxed) }
            };
            const PART: usize = 1_000_000 / 3 / 4;
            // From a foreign thread, from a task, and in a chain of tasks; half of them joined, half of them detached.
            let outside: Vec<_> = (0..PART).map(|_| runtime.spawn(count(&ran))).collect();
            (0..PART).for_each(|_| drop(runtime.spawn(count(&ran))));
            let inside = runtime.spawn({
                let ran = ran.clone();
                async move {
                    let joined: Vec<_> = (0..PART).map(|_| spawn(count(&ran))).collect();
                    (0..PART).for_each(|_| drop(spawn(count(&ran))));
                    for task in joined {
                        task.await.unwrap();
                    }
                }
            });
            outside.into_iter().for_each(|task| assert!(task.wait().unwrap() < 4 * PART));
            inside.wait().unwrap();
            runtime.shutdown(Duration::from_secs(60)).unwrap();
            assert_eq!(ran.load(SeqCst), 4 * PART, "round {round}");
            drop(ran);
            assert_nothing_left(before, round);
        }
    });
}

/// Rings bells until nobody can send any more.
fn ring_bells(bells: Receiver<Arc<Bell>>) {
    let mut batch = Vec::new();
    while let Ok(bell) = bells.recv() {
        batch.push(bell);
        batch.extend(bells.try_iter().take(20));
        batch.drain(..).for_each(|bell| bell.ring());
    }
}

/// Resizes the pool at random until it is told to stop, and leaves it at its full size.
fn resize_storm(runtime: &Runtime, stop: &AtomicBool, mut random: Random) {
    let pool = runtime.pool("main").expect("there is a main pool");
    while !stop.load(Relaxed) {
        let workers = 1 + random.below(16) as usize;
        drop(pool.resize(workers).unwrap()); // those with pinned tasks may take as long as the world to retire
        if random.below(4) == 0 {
            thread::sleep(Duration::from_micros(random.below(2_000)));
            assert_eq!(pool.metrics().active, workers, "nobody else resizes");
        }
    }
    pool.resize(16).unwrap().wait();
    let metrics = pool.metrics();
    assert_eq!(metrics.active, 16, "{metrics:?}");
    assert!(metrics.retiring == 0 || metrics.rescues > 0, "not even a stand-in: {metrics:?}");
}

/// One world with 16 workers, from beginning to end.
fn round(seed: u64, tasks: usize) -> Balance {
    let mut random = Random(seed);
    let runtime = Runtime::builder()
        .worker_threads(16)
        .thread_stack_size(256 * 1024)
        .strand_stack_size(STRAND)
        .seed(seed)
        .queue_capacity(1 << (2 + random.below(7)))
        .global_queue_interval(2 + random.below(80) as u32)
        .lifo_slot(random.below(4) > 0)
        .build()
        .unwrap();
    let (sender, bells) = channel();
    let world = Arc::new(World {
        ledger: Ledger::new(tasks),
        runtime: runtime.handle(),
        bells: Mutex::new(sender),
        endless: Mutex::default(),
        closing: AtomicBool::new(false),
        joined_panics: AtomicUsize::new(0),
    });
    let ringer = thread::spawn(move || ring_bells(bells));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (runtime, world, stop) = (&runtime, &world, &stop);
        let storm = random.clone();
        let resizer = scope.spawn(move || resize_storm(runtime, stop, storm));
        let outside: Vec<_> = (0..2)
            .map(|_| {
                let random = Random(random.below(u64::MAX));
                scope.spawn(move || direct_from_outside(world, random))
            })
            .collect();
        let directors: Vec<_> =
            (0..24).map(|_| runtime.spawn(direct(world.clone(), Random(random.below(u64::MAX))))).collect();
        directors.into_iter().for_each(|director| director.wait().unwrap());
        outside.into_iter().for_each(|outside| outside.join().unwrap());
        stop.store(true, Relaxed);
        resizer.join().unwrap();
    });
    let panics = finish(runtime, &world, seed);
    let ledger = world.ledger.clone();
    let joined = world.joined_panics.load(SeqCst);
    drop(world);
    ringer.join().unwrap();
    let balance = ledger.balance();
    assert_eq!(balance.panics, joined + panics as usize, "panics are joined or reported");
    balance
}

/// The end of a world: everybody ends by himself, or the runtime goes down with many still waiting. Says how many panics
/// were reported because nobody took them.
fn finish(runtime: Runtime, world: &Arc<World>, seed: u64) -> u64 {
    let handle = runtime.handle();
    if seed.is_multiple_of(2) {
        world.end();
        let ended = || {
            thread::sleep(Duration::from_millis(1));
            runtime.metrics().pools[0].alive == 0
        };
        assert!((0..60_000).any(|_| ended()), "tasks never ended: {:?}", runtime.metrics());
        let metrics = runtime.metrics();
        let opened = world.ledger.balance().tasks as u64 + 24;
        assert_eq!(metrics.total(|worker| worker.finished), opened, "every task ended once");
        runtime.shutdown(Duration::ZERO).unwrap();
    } else {
        world.closing.store(true, SeqCst);
        drop(runtime);
        world.end(); // wakers of tasks that are gone with their runtime
    }
    handle.metrics().unhandled_panics
}

#[test]
fn sixteen_workers_under_stress() {
    alone("sixteen_workers_under_stress", || {
        warm_up();
        let before = live();
        let (from, budget, mut rounds) = (Instant::now(), soak_seconds(), 0);
        let (mut total, mut mapped) = (Balance::default(), 0);
        while rounds < 3 || from.elapsed() < budget {
            let balance = round(rounds, 10_000);
            total.tasks += balance.tasks;
            total.outputs += balance.outputs;
            total.panics += balance.panics;
            total.cancelled += balance.cancelled;
            assert_nothing_left(before, rounds);
            rounds += 1;
            if rounds == 3 {
                mapped = mappings();
            }
        }
        // The system's allocator and its cache of thread stacks may still have grown a little.
        assert!(mappings() <= mapped + 100, "stacks were left: {} mappings, {mapped} before", mappings());
        println!("soak: {rounds} rounds in {:.1} s, {total:?}", from.elapsed().as_secs_f64());
        assert!(total.outputs > 0 && total.panics > 0 && total.cancelled > 0);
    });
}
