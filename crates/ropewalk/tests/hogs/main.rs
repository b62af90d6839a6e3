//! A task that holds its worker does not hold up the others: what waits behind it is taken over.

#[path = "../kit/mod.rs"]
mod kit;
mod matrix;
mod report;

use kit::guarded;
use ropewalk::time::sleep;
use ropewalk::{Runtime, Wait, preempt, preempt_point, spawn, spawn_local, strand, task};
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// A runtime with one worker that is free; of two workers, the other is held until the second value is dropped.
fn one_free(workers: usize) -> (Runtime, Held) {
    let runtime = Runtime::builder().worker_threads(workers).build().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    for _ in 1..workers {
        let (begun, told) = (Arc::new(AtomicBool::new(false)), over.clone());
        let begins = begun.clone();
        drop(runtime.spawn(async move {
            begins.store(true, SeqCst);
            spin_until(&told);
        }));
        spin_until(&begun);
    }
    (runtime, Held(over))
}

/// With a single worker, which believes that it is alone, and with two.
fn on_one_and_two(name: &str, test: impl Fn(usize)) {
    [1, 2].into_iter().for_each(|workers| guarded(format!("{name}, {workers} workers"), || test(workers)));
}

struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

fn spin_until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        std::hint::spin_loop();
    }
}

async fn ticks(count: usize) {
    for _ in 0..count {
        sleep(Duration::from_millis(1)).await;
    }
}

/// The only worker is held until others have done something: that ends only if somebody stands in for it.
fn held_until(others: impl Fn(&Runtime, Arc<AtomicBool>)) {
    on_one_and_two("a hog", |workers| {
        let (runtime, _held) = one_free(workers);
        let (over, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (told, held) = (over.clone(), begun.clone());
        let hog = runtime.spawn(async move {
            held.store(true, SeqCst);
            spin_until(&told);
        });
        spin_until(&begun);
        others(&runtime, over);
        hog.wait().unwrap();
        assert!(runtime.metrics().pools[0].rescues > 0);
    });
}

#[test]
fn tasks_from_outside_go_on() {
    held_until(|runtime, over| drop(runtime.spawn(async move { over.store(true, SeqCst) })));
}

#[test]
fn timers_go_on() {
    held_until(|runtime, over| {
        drop(runtime.spawn(async move {
            ticks(20).await;
            over.store(true, SeqCst);
        }));
    });
}

/// After a time with little to do, when nobody looks often.
#[test]
fn timers_go_on_after_a_calm_time() {
    guarded("a hog after a calm time", || {
        let runtime = Runtime::builder().worker_threads(2).build().unwrap();
        // Two at a time: one of them waits behind the other.
        let pair = [(); 2].map(|()| runtime.spawn(ticks(1_500)));
        pair.into_iter().for_each(|ticks| ticks.wait().unwrap());
        let over = Arc::new(AtomicBool::new(false));
        let hogs = [over.clone(), over.clone()].map(|over| runtime.spawn(async move { spin_until(&over) }));
        drop(runtime.spawn(async move {
            ticks(20).await;
            over.store(true, SeqCst);
        }));
        hogs.into_iter().for_each(|hog| hog.wait().unwrap());
        assert!(runtime.metrics().pools[0].rescues > 0);
    });
}

/// Who waits on a thread has nothing in a queue.
#[test]
fn timers_of_others_go_on() {
    held_until(|runtime, over| {
        runtime.block_on(ticks(20));
        over.store(true, SeqCst);
    });
}

/// What a strand's child left in the slot, while the strand itself holds the worker.
#[test]
fn what_a_child_that_ran_at_once_has_spawned_goes_on() {
    on_one_and_two("at once", |workers| {
        let (runtime, _held) = one_free(workers);
        runtime.run(|| {
            strand::scope(|s| {
                for _ in 0..50 {
                    let over = Arc::new(AtomicBool::new(false));
                    let told = over.clone();
                    let child = s.spawn(move || {
                        drop(spawn(async move { told.store(true, SeqCst) }));
                        strand::yield_now();
                    });
                    child.join();
                    spin_until(&over);
                }
            });
        });
    });
}

#[test]
fn sockets_go_on() {
    held_until(|runtime, over| {
        let (socket, peer) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let address = socket.local_addr().unwrap();
        socket.set_nonblocking(true).unwrap();
        drop(runtime.spawn(async move {
            let socket = ropewalk::net::UdpSocket::from_std(socket).unwrap();
            for _ in 0..20 {
                peer.send_to(b"x", address).unwrap();
                socket.recv(&mut [0]).await.unwrap();
            }
            over.store(true, SeqCst);
        }));
    });
}

#[test]
fn strands_start_elsewhere() {
    held_until(|runtime, over| {
        let pool = runtime.pool("main").unwrap();
        let _detached = strand::Builder::new().pool(&pool).spawn(move || over.store(true, SeqCst));
    });
}

/// They are spread over the workers, the one that is held included: from there they come back.
#[test]
fn strands_that_were_sent_to_a_held_worker_start_elsewhere() {
    guarded("sent back", || {
        let (runtime, _held) = one_free(2);
        let started = Arc::new(AtomicUsize::new(0));
        runtime.run(|| {
            strand::scope(|s| {
                let start = || {
                    let started = started.clone();
                    s.spawn(move || {
                        started.fetch_add(1, SeqCst);
                        while started.load(SeqCst) < 8 {
                            strand::yield_now();
                        }
                    })
                };
                let children: Vec<_> = (0..8).map(|_| start()).collect();
                children.into_iter().for_each(|child| child.join());
            });
        });
    });
}

/// It is the last thing that was woken, in the slot of the hog's own worker, and nobody was told of it.
#[test]
fn what_the_hog_has_spawned_itself_goes_on() {
    on_one_and_two("a slot", |workers| {
        let (runtime, _held) = one_free(workers);
        let hog = runtime.spawn(async {
            let over = Arc::new(AtomicBool::new(false));
            let told = over.clone();
            let other = spawn(async move { told.store(true, SeqCst) });
            spin_until(&over);
            other.await.unwrap();
        });
        hog.wait().unwrap();
    });
}

/// The same for more than a slot holds.
#[test]
fn all_that_the_hog_has_spawned_goes_on() {
    on_one_and_two("a queue", |workers| {
        let (runtime, _held) = one_free(workers);
        let hog = runtime.spawn(async {
            let count = Arc::new(AtomicUsize::new(0));
            for _ in 0..100 {
                let count = count.clone();
                drop(spawn(async move { count.fetch_add(1, SeqCst) }));
            }
            while count.load(SeqCst) < 100 {
                std::hint::spin_loop();
            }
        });
        hog.wait().unwrap();
    });
}

#[test]
fn a_read_that_blocks_is_a_hog_too() {
    on_one_and_two("a pipe", |workers| {
        let (mut from, mut to) = std::io::pipe().unwrap();
        let (runtime, _held) = one_free(workers);
        let hog = runtime.spawn(async move { from.read(&mut [0]).unwrap() });
        let ticker = runtime.spawn(async move {
            ticks(20).await;
            to.write_all(b"x").unwrap();
        });
        assert_eq!(hog.wait().unwrap(), 1);
        ticker.wait().unwrap();
    });
}

/// A strand is suspended with a lock of `std`, and a task blocks its worker for it: the strand cannot go on elsewhere. But the
/// task is on another worker if there is one; and all that is not pinned goes on.
#[test]
fn a_lock_of_std_that_a_suspended_strand_holds_stops_its_own_worker_only() {
    guarded("a lock", || {
        let runtime = Runtime::builder().worker_threads(2).build().unwrap();
        let (lock, over) = (Arc::new(std::sync::Mutex::new(())), Arc::new(AtomicBool::new(false)));
        let (held, told) = (lock.clone(), over.clone());
        let (begin, begun) = std::sync::mpsc::channel();
        let pool = runtime.pool("main").unwrap();
        let holder = strand::Builder::new().pool(&pool).spawn(move || {
            let guard = held.lock().unwrap();
            begin.send(()).unwrap();
            while !told.load(SeqCst) {
                sleep(Duration::from_millis(1)).wait();
            }
            drop(guard);
        });
        begun.recv().unwrap();
        let ticker = runtime.spawn(async move {
            ticks(20).await;
            over.store(true, SeqCst);
        });
        ticker.wait().unwrap();
        holder.join();
        drop(lock.lock().unwrap());
    });
}

#[test]
fn local_tasks_share_the_fate_of_their_thread() {
    on_one_and_two("local", |workers| {
        let (runtime, _held) = one_free(workers);
        let handle = runtime.handle();
        let local_ran = Arc::new(AtomicBool::new(false));
        let ran = local_ran.clone();
        let hog = runtime.spawn(async move {
            let local = spawn_local(async move { ran.store(true, SeqCst) }).unwrap();
            let other = spawn(ticks(20));
            while !other.is_finished() {
                std::hint::spin_loop();
            }
            assert!(handle.metrics().pools[0].rescues > 0);
            assert!(!local_ran.load(SeqCst), "it is pinned to the worker that this task holds");
            local.await.unwrap();
            assert!(local_ran.load(SeqCst));
        });
        hog.wait().unwrap();
    });
}

#[test]
fn stand_ins_leave_when_nobody_is_stuck() {
    on_one_and_two("stand-ins", |workers| {
        let (runtime, _held) = one_free(workers);
        runtime
            .block_on(runtime.spawn(async {
                let other = spawn(async {});
                while !other.is_finished() {
                    std::hint::spin_loop();
                }
            }))
            .unwrap();
        drop(_held);
        let metrics = || runtime.metrics().pools[0].clone();
        let staff = || (metrics().active, metrics().stand_ins, metrics().retiring);
        assert!(runtime.metrics().pools[0].rescues > 0);
        while staff() != (workers, 0, 0) {
            std::thread::yield_now();
        }
    });
}

#[test]
fn a_strand_yields_at_a_preempt_point() {
    guarded("a point", || {
        let runtime = Runtime::builder().worker_threads(1).rescue_threshold(Duration::ZERO).build().unwrap();
        runtime.run(|| {
            let over = AtomicBool::new(false);
            strand::scope(|s| {
                let other = s.spawn(|| {
                    (0..5).for_each(|_| sleep(Duration::from_millis(1)).wait());
                    over.store(true, SeqCst);
                });
                while !over.load(SeqCst) {
                    preempt_point();
                }
                other.join();
            });
        });
        assert!(runtime.metrics().total(|worker| worker.preemptions) > 0);
    });
}

#[test]
fn a_task_yields_at_a_preempt_point() {
    guarded("a point", || {
        let runtime = Runtime::builder().worker_threads(1).rescue_threshold(Duration::ZERO).build().unwrap();
        let task = runtime.spawn(async {
            let other = spawn(ticks(5));
            while !other.is_finished() {
                preempt().await;
            }
        });
        task.wait().unwrap();
        assert!(runtime.metrics().total(|worker| worker.preemptions) > 0);
        assert_eq!(runtime.metrics().pools[0].rescues, 0);
    });
}

/// Nothing is queued behind it, so nobody looked: a point sees to that.
#[test]
fn a_task_that_nobody_waits_behind_hears_that_it_is_cancelled() {
    on_one_and_two("cancelled", |workers| {
        let (runtime, _held) = one_free(workers);
        for _ in 0..20 {
            let (begin, begun) = std::sync::mpsc::channel();
            let task = runtime.spawn(async move {
                begin.send(()).unwrap();
                loop {
                    preempt().await;
                }
            });
            begun.recv().unwrap();
            task.cancel();
            task.wait().unwrap_err();
        }
    });
}

#[test]
fn a_task_that_nobody_waits_behind_hears_that_its_time_is_over() {
    on_one_and_two("a timeout", |workers| {
        let (runtime, _held) = one_free(workers);
        let endless = async {
            loop {
                preempt().await;
            }
        };
        let limited = ropewalk::time::timeout(Duration::from_millis(5), endless);
        runtime.spawn(limited).wait().unwrap().unwrap_err();
    });
}

/// In a task's poll a point cannot yield, but somebody comes long before that would be for the length of the poll.
#[test]
fn a_poll_that_cannot_yield_asks_for_a_stand_in_early() {
    guarded("early", || {
        let late = Duration::from_secs(1000);
        let runtime = Runtime::builder().worker_threads(1).rescue_threshold(late).build().unwrap();
        let task = runtime.spawn(async {
            let other = spawn(ticks(5));
            while !other.is_finished() {
                preempt_point();
            }
        });
        task.wait().unwrap();
        assert!(runtime.metrics().pools[0].rescues > 0);
    });
}

#[test]
fn the_longest_poll_is_known_with_its_place() {
    guarded("longest", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let handle = runtime.handle();
        let longest = move || handle.metrics().pools[0].longest_polls.first().cloned();
        let line = line!() + 1;
        let task = task::Builder::new().name("burner").spawn_on(&runtime.handle(), async move {
            let _waits = spawn(async {});
            while longest().is_none_or(|longest| longest.time < Duration::from_millis(3)) {}
        });
        task.wait().unwrap();
        let longest = runtime.metrics().pools[0].longest_polls[0].clone();
        assert!(longest.time >= Duration::from_millis(3));
        assert_eq!(longest.task.observed.unwrap().name.as_deref(), Some("burner"));
        assert_eq!((longest.task.spawned_at.file(), longest.task.spawned_at.line()), (file!(), line));
    });
}

#[test]
fn of_each_place_the_longest_poll_is_known() {
    guarded("longest of each", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let known = |name: &'static str| {
            let handle = runtime.handle();
            move || {
                let pool = handle.metrics().pools.swap_remove(0);
                pool.longest_polls.iter().any(|poll| poll.task.name.as_deref() == Some(name))
            }
        };
        let burns = |known: Box<dyn Fn() -> bool + Send>| async move {
            let _waits = spawn(async {});
            while !known() {}
        };
        let named = |name: &str| task::Builder::new().name(name);
        let (first, second) = (burns(Box::new(known("first"))), burns(Box::new(known("second"))));
        named("first").spawn_on(&runtime.handle(), first).wait().unwrap();
        named("second").spawn_on(&runtime.handle(), second).wait().unwrap();
        let longest = runtime.metrics().pools.swap_remove(0).longest_polls;
        assert!(longest.iter().map(|poll| poll.time).is_sorted_by(|one, next| one >= next), "{longest:?}");
        assert_eq!(longest.len(), 2, "{longest:?}");
    });
}

#[test]
fn a_known_hog_keeps_its_stand_in() {
    guarded("known", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let handle = runtime.handle();
        let hog = runtime.spawn(async move {
            let mut other = spawn(async {});
            for _ in 0..10 {
                while !other.is_finished() {
                    std::hint::spin_loop();
                }
                other = spawn(async {});
                ropewalk::yield_now().await;
                assert_eq!((handle.metrics().pools[0].active, handle.metrics().pools[0].stand_ins), (1, 1));
            }
        });
        hog.wait().unwrap();
    });
}
