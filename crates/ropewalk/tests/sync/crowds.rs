//! Tasks that fight over one channel, on more workers than that is good for: whoever stands aside meanwhile, everybody
//! else gets what is theirs. Nothing here looks at a clock: what is lost shows as a test that does not end.

use ropewalk::channel::{bounded, unbounded};
use ropewalk::{Runtime, spawn, spawn_local, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().worker_threads(workers).build().unwrap()
}

/// Eight tasks that do nothing but send and receive, until they are told to stop. Returns what to do about that.
fn fight(runtime: &Runtime) -> impl FnOnce() + use<> {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = unbounded();
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let (sender, stop) = (sender.clone(), stop.clone());
            runtime.spawn(async move {
                let mut sent = 0_u64;
                while !stop.load(Relaxed) {
                    for _ in 0..512 {
                        if sender.send(sent).await.is_err() {
                            return sent; // the runtime ends
                        }
                        sent += 1;
                    }
                    yield_now().await; // the channel has no bound
                }
                sent
            })
        })
        .collect();
    let receivers: Vec<_> = (0..4)
        .map(|_| {
            let receiver = receiver.clone();
            runtime.spawn(async move {
                let mut received = 0_u64;
                while receiver.recv().await.is_ok() {
                    received += 1;
                }
                received
            })
        })
        .collect();
    let handle = runtime.handle().clone();
    move || {
        stop.store(true, Relaxed);
        drop((sender, receiver));
        let sum = |tasks: Vec<ropewalk::TaskHandle<u64>>| -> u64 {
            tasks.into_iter().map(|task| handle.block_on(task).unwrap()).sum()
        };
        assert_eq!(sum(senders), sum(receivers), "each value was received once");
    }
}

#[test]
fn tasks_from_outside_run_beside_a_fight() {
    for workers in [2, 3] {
        let runtime = runtime(workers);
        let end = fight(&runtime);
        for number in 0..60 {
            assert_eq!(runtime.block_on(runtime.spawn(async move { number })).unwrap(), number);
        }
        end();
    }
}

#[test]
fn pinned_tasks_run_beside_a_fight() {
    let runtime = runtime(2);
    let end = fight(&runtime);
    let (question, questions) = bounded::<u64>(1);
    let (answer, answers) = bounded::<u64>(1);
    let pinned = runtime.spawn(async move {
        let at_home = async move {
            while let Ok(number) = questions.recv().await {
                answer.send(number + 1).await.unwrap();
            }
        };
        spawn_local(at_home).unwrap_or_else(|_| unreachable!("this is a worker")).await.unwrap();
    });
    runtime.block_on(async {
        for number in 0..60 {
            question.send(number).await.unwrap();
            assert_eq!(answers.recv().await, Ok(number + 1));
        }
        drop(question);
    });
    runtime.block_on(pinned).unwrap();
    end();
}

/// A pair that passes values on as fast as it can stays on one worker; it does not keep that worker from others.
#[test]
fn a_pair_that_talks_keeps_nobody_out() {
    let runtime = runtime(2);
    let stop = Arc::new(AtomicBool::new(false));
    let pairs: Vec<_> = (0..2)
        .map(|_| {
            let (sender, receiver) = bounded(128);
            let stop = stop.clone();
            let receiving = runtime.spawn(async move {
                let mut next = 0_u64;
                while let Ok(number) = receiver.recv().await {
                    assert_eq!(number, next, "in order");
                    next += 1;
                }
            });
            let sending = runtime.spawn(async move {
                let mut next = 0_u64;
                while !stop.load(Relaxed) {
                    sender.send(next).await.unwrap();
                    next += 1;
                }
            });
            (receiving, sending)
        })
        .collect();
    let turns = Arc::new(AtomicU64::new(0));
    let third = {
        let turns = turns.clone();
        runtime.spawn(async move {
            for _ in 0..500 {
                yield_now().await;
                let turns = turns.clone();
                spawn(async move { turns.fetch_add(1, Relaxed) }).await.unwrap();
            }
        })
    };
    runtime.block_on(third).unwrap();
    assert_eq!(turns.load(Relaxed), 500);
    stop.store(true, Relaxed);
    for (receiving, sending) in pairs {
        runtime.block_on(sending).unwrap();
        runtime.block_on(receiving).unwrap();
    }
}

/// The runtime ends while some of its workers may stand aside.
#[test]
fn a_runtime_that_is_dropped_in_a_fight_ends() {
    for _ in 0..3 {
        let runtime = runtime(3);
        let end = fight(&runtime);
        for _ in 0..50 {
            runtime.block_on(runtime.spawn(yield_now())).unwrap();
        }
        drop(end); // the tasks are still at it
        drop(runtime);
    }
}

/// More threads want the cores than there are, and bursts of events wake workers for which there is none: some stand aside.
/// Whatever becomes of them, everybody is served: sockets, timers, pinned tasks, pools that are resized and closed.
#[cfg(unix)]
#[test]
fn without_cores_everything_gets_done() {
    use ropewalk::net::UnixStream;
    use ropewalk::time::{interval, sleep};
    use std::time::Duration;

    let stop = Arc::new(AtomicBool::new(false));
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let burners: Vec<_> = (0..cores + 1)
        .map(|_| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    for workers in [2, 4] {
        let runtime = runtime(workers);
        let handle = runtime.handle().clone();
        handle.block_on(async {
            let mut tasks = Vec::new();
            for _ in 0..32 {
                let (left, right) = UnixStream::pair().unwrap();
                tasks.push(spawn(async move {
                    let mut byte = [0];
                    while right.read(&mut byte).await.unwrap() > 0 {
                        right.write_all(&byte).await.unwrap();
                    }
                }));
                tasks.push(spawn(async move {
                    for round in 0..200_u8 {
                        left.write_all(&[round]).await.unwrap();
                        let mut byte = [0];
                        assert_eq!(left.read(&mut byte).await.unwrap(), 1);
                        assert_eq!(byte[0], round);
                    }
                }));
            }
            tasks.extend((0..4).map(|_| {
                spawn(async {
                    let pinned = spawn_local(async {
                        for _ in 0..20 {
                            yield_now().await;
                            sleep(Duration::from_micros(100)).await;
                        }
                    });
                    pinned.unwrap().await.unwrap();
                })
            }));
            tasks.push(spawn(async {
                let mut ticks = interval(Duration::from_millis(1));
                for _ in 0..20 {
                    ticks.tick().await;
                }
            }));
            for task in tasks {
                task.await.unwrap();
            }
        });
        let main = runtime.pool("main").expect("each runtime has it");
        handle.block_on(main.resize(1).unwrap());
        assert_eq!(handle.block_on(spawn(async { 7 })).unwrap(), 7);
        drop(runtime);
    }
    stop.store(true, Relaxed);
    burners.into_iter().for_each(|burner| burner.join().unwrap());
}
