//! A dump stops nobody, and nobody stops it.

use crate::{LONG, kit, named, spawn_as};
use ropewalk::dump::Dump;
use ropewalk::time::sleep;
use ropewalk::{DumpOptions, Handle, Runtime, TaskGroup, Wait, spawn, strand};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

/// Each parent comes before its children, and what is listed is counted.
#[track_caller]
fn assert_sound(dump: &Dump) {
    let mut seen = std::collections::HashMap::new();
    for task in &dump.tasks {
        match task.info.parent.and_then(|parent| seen.get(&parent)) {
            Some(depth) => assert_eq!(task.depth, depth + 1, "{dump}"),
            None => assert_eq!(task.depth, 0, "{dump}"),
        }
        assert!(seen.insert(task.info.id, task.depth).is_none(), "twice: {}\n{dump}", task.info);
    }
    let listed: u64 = dump.alike.iter().map(|alike| alike.listed).sum();
    let counted: u64 = dump.alike.iter().map(|alike| alike.count).sum();
    let alive: u64 = dump.pools.iter().map(|pool| pool.tasks()).sum();
    assert_eq!((listed, counted + dump.unlisted), (dump.tasks.len() as u64, alive), "{dump}");
    assert!(dump.alike.iter().all(|alike| alike.listed <= alike.count), "{dump}");
}

/// Tasks, groups, strands and jobs come and go until the flag is set. How many there were.
async fn storm(over: Arc<AtomicBool>, ended: Arc<AtomicU64>) {
    while !over.load(Relaxed) {
        let mut group = TaskGroup::new();
        for round in 0..20 {
            group.spawn(async move {
                if round % 2 == 0 {
                    ropewalk::yield_now().await;
                }
            });
        }
        let strands = strand::spawn(|| {
            strand::scope(|s| {
                (0..4).for_each(|_| drop(s.spawn(strand::yield_now)));
                let _ended = s.spawn(|| strand::sleep(Duration::from_micros(100))).try_join();
                s.join_all();
            });
        });
        let _unless_all_ends = spawn(async {}).await;
        group.join_all().await;
        let _unless_all_ends = strands.await;
        ended.fetch_add(1, Relaxed);
    }
}

fn stormy(runtime: &Runtime) -> (Arc<AtomicBool>, Arc<AtomicU64>, Vec<ropewalk::TaskHandle<()>>) {
    let (over, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let storms = (0..4).map(|_| runtime.spawn(storm(over.clone(), ended.clone()))).collect();
    (over, ended, storms)
}

#[test]
fn tasks_come_and_go_meanwhile_on_more_workers_than_cores() {
    kit::guarded("a storm", || {
        let cores = std::thread::available_parallelism().unwrap().get();
        let runtime = Runtime::builder().worker_threads(4 * cores).observe(true).build().unwrap();
        let (over, ended, storms) = stormy(&runtime);
        let options = DumpOptions::new().backtraces(64);
        for _ in 0..100 {
            let before = ended.load(Relaxed);
            let dump = runtime.dump_with(&options);
            assert_sound(&dump);
            assert!(!dump.to_string().is_empty() && !dump.to_json().is_empty());
            kit::until("the storm goes on", || ended.load(Relaxed) > before);
        }
        over.store(true, Relaxed);
        storms.into_iter().for_each(|storm| storm.wait().unwrap());
    });
}

#[test]
fn several_dump_at_once() {
    kit::guarded("several", || {
        let runtime = Runtime::builder().worker_threads(3).build().unwrap();
        let (over, _, storms) = stormy(&runtime);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..20).for_each(|_| assert_sound(&runtime.dump())));
            }
        });
        over.store(true, Relaxed);
        storms.into_iter().for_each(|storm| storm.wait().unwrap());
    });
}

#[test]
fn the_runtime_goes_down_meanwhile() {
    kit::guarded("shutdown", || {
        for _ in 0..20 {
            let runtime = Runtime::builder().worker_threads(2).build().unwrap();
            let (handle, begun) = (runtime.handle(), Arc::new(AtomicBool::new(false)));
            let _storms = stormy(&runtime);
            let begins = begun.clone();
            let dumps = std::thread::spawn(move || {
                for _ in 0..20 {
                    assert_sound(&handle.dump());
                    begins.store(true, Relaxed);
                }
                handle
            });
            kit::until("it has begun", || begun.load(Relaxed));
            runtime.shutdown_now();
            assert!(dumps.join().unwrap().dump().tasks.is_empty(), "nothing is left");
        }
    });
}

/// Where this is called there is a task of that name.
fn dump_finds(handle: &Handle, name: &str) {
    let dump = handle.dump();
    assert_sound(&dump);
    assert_eq!(named(&dump, name).info.state, "running", "{dump}");
}

#[test]
fn from_a_task_a_strand_a_job_and_in_a_hook() {
    kit::on_every_kind(|kind| {
        let runtime = kind.builder().observe(true).build().unwrap();
        let handle = runtime.handle();
        let task = spawn_as(&runtime, "task", async move { dump_finds(&handle, "task") });
        runtime.block_on(task).unwrap();
        let (handle, pool) = (runtime.handle(), runtime.pool("main").unwrap());
        let strand = strand::Builder::new().name("strand").pool(&pool);
        let strand = strand.spawn(move || dump_finds(&handle, "strand"));
        runtime.block_on(strand).unwrap();
        let handle = runtime.handle();
        let job = runtime.spawn_blocking(move || assert_eq!(handle.dump().pools.last().unwrap().running, 1));
        runtime.block_on(job).unwrap();
    });
    kit::guarded("a hook", || {
        let (sleeps, dumped) =
            (Arc::new(std::sync::OnceLock::<Handle>::new()), Arc::new(AtomicBool::new(false)));
        let (handle, seen) = (sleeps.clone(), dumped.clone());
        let hook = move || {
            if let Some(handle) = handle.get() {
                assert_sound(&handle.dump());
                seen.store(true, Relaxed);
            }
        };
        let runtime = Runtime::builder().worker_threads(2).on_thread_park(hook).build().unwrap();
        let _strand =
            strand::Builder::new().pool(&runtime.pool("main").unwrap()).spawn(|| strand::sleep(LONG));
        assert!(sleeps.set(runtime.handle()).is_ok());
        kit::until("a worker has parked", || {
            runtime.spawn(async {}).wait().unwrap();
            dumped.load(Relaxed)
        });
    });
}

#[test]
fn of_a_runtime_that_nobody_drives() {
    kit::guarded("paused", || {
        let runtime = Runtime::builder().hosted_workers(3).paused(true).observe(true).build().unwrap();
        let pool = runtime.pool("main").unwrap();
        let strand = strand::Builder::new().name("strand").pool(&pool).spawn(|| strand::sleep(LONG));
        let _task = spawn_as(&runtime, "task", sleep(LONG));
        runtime.run_until_stalled().unwrap();
        let from = Instant::now();
        let dump = runtime.dump_with(&DumpOptions::new().time_limit(LONG));
        assert!(from.elapsed() < LONG / 4, "it does not wait for who cannot answer");
        assert_eq!(dump.pools[0].waiting, 2, "{dump}");
        named(&dump, "strand");
        runtime.block_on(strand).unwrap();
    });
}

#[test]
fn workers_that_are_stuck_do_not_hold_it_up() {
    kit::guarded("stuck", || {
        let runtime = Runtime::builder().worker_threads(2).rescue_threshold(Duration::ZERO).build().unwrap();
        let (over, stuck) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let pool = runtime.pool("main").unwrap();
        let strands: Vec<_> =
            (0..8).map(|_| strand::Builder::new().pool(&pool).spawn(|| strand::sleep(LONG))).collect();
        kit::until("they sleep", || {
            runtime.dump_with(&DumpOptions::new().backtraces(0)).pools[0].waiting == 8
        });
        let hogs: Vec<_> = (0..2)
            .map(|_| {
                let (over, stuck) = (over.clone(), stuck.clone());
                runtime.spawn(async move {
                    stuck.fetch_add(1, Relaxed);
                    while !over.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                })
            })
            .collect();
        kit::until("both are stuck", || stuck.load(Relaxed) == 2);
        let options = DumpOptions::new().time_limit(Duration::from_millis(100));
        let (from, dump) = (Instant::now(), runtime.dump_with(&options));
        // Twice a tenth of a second, and names that are read from a large file for the first time; not for ever.
        assert!(from.elapsed() < Duration::from_secs(20), "it took {:?}", from.elapsed());
        assert_eq!((dump.pools[0].running, dump.pools[0].waiting), (2, 8), "{dump}");
        over.store(true, Relaxed);
        hogs.into_iter().for_each(|hog| hog.wait().unwrap());
        strands.iter().for_each(|strand| strand.cancel());
    });
}

/// How long it takes is told, not asserted.
#[test]
fn a_million_tasks() {
    kit::guarded("a million", || {
        let count = if cfg!(tsan) { 50_000 } else { 1_000_000 };
        let runtime = Runtime::builder().worker_threads(2).build().unwrap();
        let tasks: Vec<_> = (0..count).map(|_| runtime.spawn(std::future::pending::<()>())).collect();
        let dump = runtime.dump_with(&DumpOptions::new().time_limit(LONG));
        eprintln!("a dump of {count} tasks took {:?}", dump.took);
        assert_eq!(dump.pools[0].tasks(), count);
        assert!(dump.to_string().lines().count() < 50, "{dump}");
        let hasty = runtime.dump_with(&DumpOptions::new().time_limit(Duration::ZERO));
        assert!(hasty.cut_short && hasty.pools[0].tasks() < count, "{hasty}");
        drop(tasks);
    });
}
