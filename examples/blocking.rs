//! Blocking: what would hold up a worker goes to the blocking pool, and its caller awaits it like any task.

use ropewalk::{Runtime, RuntimeError, TaskError, spawn_blocking};
use std::time::Duration;
use std::{env, fs, io, process, thread};

/// Reads a file and computes with what is in it. Neither keeps the worker from serving others.
async fn process_request(id: u64, path: std::path::PathBuf) -> Result<io::Result<u64>, TaskError> {
    let data = match spawn_blocking(move || fs::read(path)).await? {
        Ok(data) => data,
        Err(error) => return Ok(Err(error)),
    };
    spawn_blocking(move || Ok(data.iter().map(|byte| u64::from(*byte)).sum::<u64>() + id)).await
}

fn main() -> Result<(), RuntimeError> {
    let runtime = Runtime::builder()
        .worker_threads(1)
        .blocking_threads(0, 4) // none at first, four at most
        .blocking_keep_alive(Duration::from_millis(1))
        .build()?;
    let path = env::temp_dir().join(format!("ropewalk-example-{}.txt", process::id()));
    fs::write(&path, [1; 100]).expect("there is a place for a file");

    let sum = runtime.block_on(async {
        let requests: Vec<_> = (0..1000).map(|id| runtime.spawn(process_request(id, path.clone()))).collect();
        let mut sum = 0;
        for request in requests {
            let answer = request.await.expect("it does not panic").expect("nobody cancels it");
            sum += answer.expect("the file is there");
        }
        sum
    });
    fs::remove_file(&path).expect("it is still there");
    println!("1000 requests sum to {sum}, {} jobs", runtime.metrics().blocking.finished);
    assert_eq!(sum, 1000 * 100 + 999 * 1000 / 2);

    // A panic is a value at the handle; the pool goes on.
    let spoilt = runtime.spawn_blocking(|| -> u32 { panic!("the thread has snapped") });
    println!("{}", runtime.block_on(spoilt).expect_err("it panics"));

    // Four jobs hold all threads: the fifth waits in the queue, and cancelling it removes it at once.
    let go = std::sync::Arc::new(std::sync::Barrier::new(5));
    let holders: Vec<_> = (0..4)
        .map(|_| {
            let go = go.clone();
            runtime.spawn_blocking(move || {
                go.wait();
            })
        })
        .collect();
    let fifth = runtime.spawn_blocking(|| unreachable!("it is cancelled before its turn"));
    fifth.cancel();
    println!("the fifth: {}", runtime.block_on(fifth).expect_err("it was cancelled"));
    go.wait();
    holders.into_iter().for_each(|holder| runtime.block_on(holder).expect("it waits and ends"));

    // Nothing to do: the threads leave.
    while runtime.metrics().blocking.threads > 0 {
        thread::yield_now();
    }
    println!("all threads have left");
    Ok(())
}
