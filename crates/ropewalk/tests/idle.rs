//! An idle runtime is silent: for five seconds its workers make no voluntary context switch and use no CPU time, as the
//! kernel counts them. One test in a program of its own, so that nothing else runs beside it.
#![cfg(target_os = "linux")]

use ropewalk::{Pool, Runtime, Wait, WorkerState, spawn, spawn_local, strand, yield_now};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;
use std::{fs, thread};

/// What the kernel knows of the threads whose names start with a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Usage {
    threads: usize,
    /// Those that run or want to.
    awake: usize,
    voluntary_switches: u64,
    /// Time on a CPU: in nanoseconds if the kernel counts that, and in clock ticks.
    cpu: (Option<u64>, u64),
}

fn usage(prefix: &str) -> Usage {
    let mut sum = Usage::default();
    for thread in fs::read_dir("/proc/self/task").unwrap() {
        let thread = thread.unwrap().path();
        let read = |file: &str| fs::read_to_string(thread.join(file)).unwrap_or_default();
        if !read("comm").starts_with(prefix) {
            continue;
        }
        sum.threads += 1;
        let status = read("status");
        let switches = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum.voluntary_switches += switches.expect("the kernel counts them").trim().parse::<u64>().unwrap();
        let on_cpu = read("schedstat").split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok());
        sum.cpu.0 = on_cpu.map(|nanos| nanos + sum.cpu.0.unwrap_or(0));
        let stat = read("stat");
        let (_, fields) = stat.rsplit_once(')').expect("a name in parentheses");
        sum.awake += usize::from(!fields.trim_start().starts_with('S'));
        sum.cpu.1 += fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u64>().unwrap())
            .sum::<u64>();
    }
    sum
}

/// A bit of everything: steals, injected tasks, pinned tasks, parked stacks, strands, wakes from a foreign thread.
fn do_work(runtime: &Runtime) {
    let bell: Arc<Mutex<Option<Waker>>> = Arc::default();
    let ring = bell.clone();
    let sleeper = runtime.spawn(poll_fn(move |cx| match ring.lock().unwrap().replace(cx.waker().clone()) {
        None => Poll::Pending,
        Some(_) => Poll::Ready(()),
    }));
    let tasks: Vec<_> = (0..500)
        .map(|number| {
            runtime.spawn(async move {
                yield_now().await;
                let local = spawn_local(async { yield_now().await }).unwrap();
                let strand = strand::spawn_local(|| yield_now().wait()).unwrap();
                if number % 10 == 0 {
                    spawn(yield_now()).wait().unwrap();
                }
                local.await.unwrap();
                strand.await.unwrap();
            })
        })
        .collect();
    tasks.into_iter().for_each(|task| task.wait().unwrap());
    while bell.lock().unwrap().is_none() {
        thread::yield_now();
    }
    bell.lock().unwrap().as_ref().expect("just seen").wake_by_ref();
    sleeper.wait().unwrap();
}

/// Goes on when every worker is asleep, and the kernel has counted what brought it there.
fn settle(runtime: &Runtime, prefix: &str) -> Usage {
    let mut before = usage(prefix);
    for _ in 0..300 {
        thread::sleep(Duration::from_millis(100));
        let now = usage(prefix);
        let pools = runtime.metrics().pools;
        let mut workers = pools.iter().flat_map(|pool| &pool.workers);
        let asleep = workers.all(|worker| {
            matches!(worker.state, WorkerState::Idle | WorkerState::Polling | WorkerState::Vacant)
        });
        // Whoever came because a worker was stuck stays for a while.
        let complete = pools.iter().all(|pool| pool.stand_ins == 0 && pool.retiring == 0);
        // A worker may call itself asleep and wait for a CPU to go there, on a busy machine for long.
        if asleep && complete && now.awake == 0 && now == before {
            return now;
        }
        before = now;
    }
    panic!("{prefix} does not come to rest: {before:?}, {:?}", runtime.metrics());
}

#[test]
fn an_idle_runtime_makes_no_context_switch_and_uses_no_cpu_time() {
    let start = |workers: usize| {
        let prefix = format!("idle{workers}-");
        let name = prefix.trim_end_matches('-');
        let runtime = Runtime::builder().worker_threads(workers).thread_name(name).build().unwrap();
        do_work(&runtime);
        (prefix, runtime, workers)
    };
    let runtimes = [1, 2, 16].map(start);
    // One that grew and shrank, one whose task waits, and a pool beside the main one.
    let changed = Runtime::builder().worker_threads(2).thread_name("resized").build().unwrap();
    let main = changed.pool("main").expect("there is a main pool");
    main.resize(8).unwrap().wait();
    do_work(&changed);
    main.resize(3).unwrap().wait();
    let pool = Pool::builder().name("side").workers(2).build(&changed.handle()).unwrap();
    pool.spawn(yield_now()).wait().unwrap();
    let waiting = pool.spawn(std::future::pending::<()>());

    let mut all: Vec<_> =
        runtimes.iter().map(|(prefix, runtime, count)| (&**prefix, runtime, *count)).collect();
    all.push(("resized-", &changed, 3 + 2));
    let before: Vec<_> = all.iter().map(|(prefix, runtime, _)| settle(runtime, prefix)).collect();
    thread::sleep(Duration::from_secs(5));
    for ((prefix, runtime, threads), before) in all.iter().zip(before) {
        assert_eq!(before.threads, *threads, "{prefix}");
        assert!(before.voluntary_switches > 0 && before.cpu.0 != Some(0), "nothing is counted: {before:?}");
        assert_eq!(usage(prefix), before, "{prefix} did something: {:?}", runtime.metrics());
    }
    assert!(!waiting.is_finished());
}
