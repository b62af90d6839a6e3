//! Defects that a review found, each with the shortest program that showed it.

use crate::kit;
use ropewalk::sync::Notify;
use ropewalk::{Pool, Runtime, UnhandledPanic, spawn, strand, wait, yield_now};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// Opens once; wakes all who wait for it.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Gate {
    fn open(&self) {
        let waiting = {
            let mut gate = self.0.lock().unwrap();
            gate.0 = true;
            std::mem::take(&mut gate.1)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn wait(&self) -> impl Future<Output = ()> + Send + Unpin + use<> {
        let gate = self.clone();
        poll_fn(move |cx| {
            let mut gate = gate.0.lock().unwrap();
            if gate.0 {
                return Poll::Ready(());
            }
            gate.1.push(cx.waker().clone());
            Poll::Pending
        })
    }
}

/// Waits for `outer` with a future whose first poll waits for `inner`.
fn nested(outer: Gate, inner: Gate) {
    let (mut outer, mut inner) = (outer.wait(), Some(inner));
    wait(poll_fn(move |cx| {
        let polled = Pin::new(&mut outer).poll(cx);
        if let Some(inner) = inner.take() {
            wait(inner.wait());
        }
        polled
    }));
}

#[test]
fn an_inner_wait_does_not_swallow_the_wake_up_of_the_outer_one() {
    for on_strand in [false, true] {
        let runtime = Runtime::builder().worker_threads(0).build().unwrap();
        let (outer, inner) = (Gate::default(), Gate::default());
        let gates = (outer.clone(), inner.clone());
        let task = runtime.spawn(async move {
            match on_strand {
                true => strand::spawn_local(move || nested(gates.0, gates.1)).unwrap().await.unwrap(),
                false => nested(gates.0, gates.1),
            }
        });
        runtime.run_until_stalled().unwrap();
        outer.open();
        runtime.run_until_stalled().unwrap();
        inner.open();
        runtime.run_until_stalled().unwrap();
        assert!(task.is_finished(), "on a strand: {on_strand}");
    }
}

#[test]
fn hosted_workers_share_bursts_from_outside_without_turning_in_circles() {
    for workers in [2, 3, 4] {
        let runtime = Runtime::builder().hosted_workers(workers).build().unwrap();
        let (handle, gate) = (runtime.handle(), Gate::default());
        let done = gate.clone();
        let spawner = std::thread::spawn(move || {
            for round in 0..300 {
                let (sender, receiver) = mpsc::channel();
                let burst = 2 + round % 9;
                for _ in 0..burst {
                    let sender = sender.clone();
                    drop(handle.spawn(async move { sender.send(()).unwrap() }));
                }
                (0..burst).for_each(|_| receiver.recv().unwrap());
            }
            done.open();
        });
        kit::guarded(format!("{workers} workers"), || runtime.block_on(gate.wait()));
        spawner.join().unwrap();
    }
}

#[test]
fn block_on_inside_a_task_does_not_depend_on_its_budget() {
    let outer = Runtime::builder().worker_threads(1).build().unwrap();
    let inner = Runtime::builder().worker_threads(0).build().unwrap();
    let task = outer.spawn(async move { (0..1000).map(|n| inner.block_on(async move { n })).sum::<u64>() });
    assert_eq!(outer.block_on(task).unwrap(), 499_500);
}

#[test]
fn a_waker_whose_clone_calls_back_meets_no_lock_of_ours() {
    static POOL: OnceLock<Pool> = OnceLock::new();
    fn clone(_: *const ()) -> RawWaker {
        drop(POOL.get().unwrap().resize(1));
        RawWaker::new(std::ptr::null(), &VTABLE)
    }
    fn nothing(_: *const ()) {}
    static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, nothing, nothing, nothing);
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    POOL.set(Pool::builder().workers(1).build(&runtime.handle()).unwrap()).unwrap();
    // SAFETY: the functions of the vtable use no data.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &VTABLE)) };
    let mut resized = std::pin::pin!(POOL.get().unwrap().resize(2).unwrap());
    let _ready_or_not = resized.as_mut().poll(&mut Context::from_waker(&waker));
}

#[test]
fn a_used_up_budget_stays_used_up_for_the_rest_of_the_poll() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let task = runtime.spawn(async {
        let mut handles: Vec<_> = (0..1000).map(|_| Some(spawn(async {}))).collect();
        while !handles.iter().flatten().all(|handle| handle.is_finished()) {
            yield_now().await;
        }
        let mut most = 0;
        poll_fn(|cx| {
            let mut now = 0;
            for slot in &mut handles {
                if slot.as_mut().is_some_and(|handle| Pin::new(handle).poll(cx).is_ready()) {
                    *slot = None;
                    now += 1;
                }
            }
            most = most.max(now);
            if handles.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        most
    });
    assert_eq!(runtime.block_on(task).unwrap(), 128);
}

#[test]
fn every_block_on_dies_of_a_panic_that_ends_the_runtime() {
    let builder = Runtime::builder().worker_threads(1).unhandled_panic(UnhandledPanic::Terminate);
    let runtime = Arc::new(builder.build().unwrap());
    let entered = Arc::new(AtomicUsize::new(0));
    let roots: Vec<_> = (0..2)
        .map(|_| {
            let (runtime, entered) = (runtime.clone(), entered.clone());
            std::thread::spawn(move || {
                runtime.block_on(poll_fn(|_| {
                    entered.fetch_add(1, SeqCst);
                    Poll::<()>::Pending
                }))
            })
        })
        .collect();
    while entered.load(SeqCst) < 2 {
        std::thread::yield_now();
    }
    drop(runtime.spawn(async { panic!("this one is meant to be fatal") }));
    for root in roots {
        assert!(root.join().is_err());
    }
}

#[test]
fn a_runtime_without_threads_waits_for_its_other_pools_when_it_is_dropped() {
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    let pool = Pool::builder().name("other").build(&runtime.handle()).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    let guard = OnDrop(dropped.clone());
    drop(pool.spawn(async move {
        let _guard = guard;
        std::future::pending::<()>().await
    }));
    drop(runtime);
    assert_eq!(dropped.load(SeqCst), 1);
}

#[test]
fn an_executor_inside_a_task_is_not_kept_waiting_for_its_budget() {
    let runtime = Runtime::builder().worker_threads(2).build().unwrap();
    let task = runtime.spawn(async {
        let handles: Vec<_> = (0..1000).map(|n| spawn(async move { n })).collect();
        let by_waiting: u64 = handles.into_iter().map(|handle| wait(handle).unwrap()).sum();
        let mut handles: Vec<_> = (0..1000).map(|n| spawn(async move { n })).collect();
        while !handles.iter().all(|handle| handle.is_finished()) {
            yield_now().await;
        }
        by_waiting
            + handles.iter_mut().map(|handle| ropewalk_core::block_on_simple(handle).unwrap()).sum::<u64>()
    });
    assert_eq!(runtime.block_on(task).unwrap(), 999_000);
}

/// Hooks run where a worker is about to sleep, or has just slept. What they wake, into that very worker's queues, runs.
#[test]
fn what_hooks_wake_runs() {
    for lifo_slot in [true, false] {
        kit::on_every_kind(|kind| {
            let bells: Arc<[Notify; 2]> = Arc::default();
            let ring = |bells: &Arc<[Notify; 2]>| {
                let bells = bells.clone();
                move || bells.iter().for_each(Notify::notify_one)
            };
            let builder = kind.builder().lifo_slot(lifo_slot);
            let runtime =
                builder.on_thread_park(ring(&bells)).on_thread_unpark(ring(&bells)).build().unwrap();
            runtime.block_on(async {
                let listeners = [0, 1].map(|at| {
                    let bells = bells.clone();
                    spawn(async move {
                        for _ in 0..100 {
                            bells[at].notified().await;
                        }
                    })
                });
                for listener in listeners {
                    listener.await.unwrap();
                }
            });
        });
    }
}

/// After a poll its task may be gone: hooks, which are told its id, find no task that runs.
#[test]
fn no_task_runs_in_hooks_that_come_after_its_poll() {
    use ropewalk::task;
    kit::on_every_kind(|kind| {
        let seen: Arc<std::sync::Mutex<Vec<Option<task::TaskId>>>> = Arc::default();
        let look = |seen: &Arc<std::sync::Mutex<Vec<_>>>| {
            let seen = seen.clone();
            move |_| {
                let _span = ropewalk::trace::span("in a hook");
                assert!(!task::is_cancelled());
                seen.lock().unwrap().push(task::id());
            }
        };
        let builder = kind.builder().record(1024).after_poll(look(&seen)).on_task_end(look(&seen));
        let runtime = builder.build().unwrap();
        runtime.block_on(async {
            for size in [0, 1, 2] {
                // Nobody holds them: they are freed by the last poll. Small ones, large ones, and strands.
                let waits = ropewalk::channel::oneshot::channel::<()>();
                drop(spawn(async move {
                    let large = [0_u8; 4096];
                    yield_now().await;
                    drop((large, waits.0));
                }));
                if size > 0 {
                    drop(spawn(async { yield_now().await }));
                }
                assert!(waits.1.await.is_err());
            }
            ropewalk::strand::Builder::new().spawn(|| ()).await.unwrap();
        });
        drop(runtime);
        let seen = seen.lock().unwrap();
        assert!(seen.len() > 10 && seen.iter().all(Option::is_none), "{seen:?}");
    });
}
