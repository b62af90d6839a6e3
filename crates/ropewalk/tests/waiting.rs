//! Waiting from code that is not `async`, wherever it runs: on threads, in polls, in destructors, on strands, under
//! handlers, in one runtime and across two.

mod kit;

#[path = "waiting/across.rs"]
mod across;
#[path = "waiting/handlers.rs"]
mod handlers;

use kit::{Gate, ON_PURPOSE, RuntimeKind, on_every_kind, until, until_async};
use ropewalk::{Runtime, TaskError, TaskHandle, Wait, spawn, strand, yield_now};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;

fn waits_in_poll(runtime: &Runtime) -> u64 {
    runtime.metrics().total(|worker| worker.waits_in_poll)
}

#[test]
fn on_a_plain_thread() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        assert_eq!(async { 5 }.wait(), 5);
        let gate = Gate::new();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| gate.passed().wait());
            until("it waits", || gate.waiting() > 0);
            assert!(!waiter.is_finished());
            gate.open();
        });
        let task = runtime.spawn(async { 6 });
        if kind.is_hosted() {
            runtime.run_until_stalled().unwrap();
        }
        assert_eq!(task.wait().unwrap(), 6);
        assert_eq!(waits_in_poll(&runtime), 0, "no worker waited");
    });
}

/// A wait inside a wait on one thread: the inner one does not swallow the wake-up of the outer one.
#[test]
fn a_wait_inside_a_wait_on_a_plain_thread() {
    let (outer, inner) = (Gate::new(), Gate::new());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let (mut first, mut passing) = (true, outer.passed());
            poll_fn(|cx| {
                let polled = std::pin::Pin::new(&mut passing).poll(cx);
                if std::mem::take(&mut first) {
                    assert!(polled.is_pending());
                    inner.passed().wait(); // the outer gate opens while we wait here
                }
                polled
            })
            .wait();
        });
        until("it waits for the inner gate", || inner.waiting() > 0);
        outer.open();
        inner.open();
        waiter.join().unwrap();
    });
}

#[test]
fn in_a_poll() {
    on_every_kind(|kind| {
        let (runtime, gate) = (kind.build(), Gate::new());
        let passed = gate.passed();
        let task = runtime.spawn(async move {
            let id = ropewalk::task::id();
            passed.wait();
            assert_eq!(ropewalk::task::id(), id, "it is the same task afterwards");
            yield_now().wait();
            assert_eq!(ropewalk::task::id(), id);
        });
        runtime.block_on(until_async("it waits", || gate.waiting() > 0));
        // The worker goes on.
        runtime.block_on(runtime.spawn(async {})).unwrap();
        assert_eq!(runtime.metrics().pools[0].workers.iter().map(|worker| worker.parked_stacks).sum::<usize>(), 1);
        gate.open();
        runtime.block_on(task).unwrap();
        assert_eq!(waits_in_poll(&runtime), 2);
    });
}

/// Waits inside waits on one stack: the innermost parks it once.
#[test]
fn nested_on_one_stack() {
    fn nested(depth: usize, gate: &Gate) -> usize {
        if depth == 0 {
            gate.passed().wait();
            return 0;
        }
        async { 1 + nested(depth - 1, gate) }.wait()
    }
    on_every_kind(|kind| {
        let (runtime, gate) = (kind.build(), Gate::new());
        let there = gate.clone();
        let task = runtime.spawn(async move { nested(10, &there) });
        runtime.block_on(until_async("it waits", || gate.waiting() > 0));
        gate.open();
        assert_eq!(runtime.block_on(task).unwrap(), 10);
    });
}

/// Each task spawns the next and waits for it in its poll: as many stacks, on one worker too.
#[test]
fn nested_over_many_stacks() {
    fn descend(depth: u32) -> TaskHandle<u32> {
        spawn(async move { if depth == 0 { 0 } else { 1 + descend(depth - 1).wait().unwrap() } })
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let deep = runtime.spawn(async { descend(60).wait().unwrap() });
        assert_eq!(runtime.block_on(deep).unwrap(), 60);
    });
}

/// Many stacks parked at once, woken in the opposite order, from this thread.
#[test]
fn many_at_once() {
    const MANY: usize = 120;
    on_every_kind(|kind| {
        let runtime = kind.build();
        let order = Arc::new(Mutex::new(Vec::new()));
        let gates: Vec<_> = (0..MANY).map(|_| Gate::new()).collect();
        let tasks: Vec<_> = (0..MANY)
            .map(|number| {
                let (passed, order) = (gates[number].passed(), order.clone());
                runtime.spawn(async move {
                    passed.wait();
                    order.lock().unwrap().push(number);
                })
            })
            .collect();
        runtime.block_on(until_async("all wait", || gates.iter().all(|gate| gate.waiting() > 0)));
        for (number, gate) in gates.iter().enumerate().rev() {
            gate.open();
            runtime.block_on(until_async("it goes on", || order.lock().unwrap().last() == Some(&number)));
        }
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        assert_eq!(order.lock().unwrap().len(), MANY);
        let parked = || runtime.metrics().total(|worker| worker.parked_stacks as u64);
        assert_eq!(parked(), 0);
    });
}

/// A task yields, and then waits in the same poll: both are remembered.
#[test]
fn a_yield_before_a_wait_in_one_poll_is_not_forgotten() {
    on_every_kind(|kind| {
        let (runtime, gate) = (kind.build(), Gate::new());
        let passed = gate.passed();
        let task = runtime.spawn(async move {
            let mut passed = Some(passed);
            let mut turn = pin!(yield_now());
            poll_fn(move |cx| {
                let polled = turn.as_mut().poll(cx);
                if let Some(passed) = passed.take() {
                    assert!(polled.is_pending());
                    passed.wait();
                    yield_now().wait();
                }
                polled
            })
            .await;
        });
        runtime.block_on(until_async("it waits", || gate.waiting() > 0));
        // Others run, and yield, on its worker meanwhile.
        runtime.block_on(runtime.spawn(yield_now())).unwrap();
        gate.open();
        runtime.block_on(task).unwrap();
    });
}

/// Waits for a gate whenever it is dropped.
struct WaitOnDrop(Gate, Arc<AtomicUsize>);

impl Drop for WaitOnDrop {
    fn drop(&mut self) {
        self.0.passed().wait();
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn in_destructors_on_a_worker() {
    on_every_kind(|kind| {
        let (runtime, gate, dropped) = (kind.build(), Gate::new(), Arc::new(AtomicUsize::new(0)));
        let guard = || WaitOnDrop(gate.clone(), dropped.clone());
        // A future that is cancelled, one that ends, one that panics, an output that nobody takes.
        let (one, two, three, four) = (guard(), guard(), guard(), guard());
        kit::quiet();
        let cancelled = runtime.spawn(async move {
            pending::<()>().await;
            drop(one);
        });
        let ended = runtime.spawn(async move {
            let _guard = two;
        });
        let panicked = runtime.spawn(async move {
            let _guard = three;
            panic!("{ON_PURPOSE}");
        });
        cancelled.cancel();
        let detached = Gate::new();
        let passed = detached.passed();
        drop(runtime.spawn(async move {
            passed.await;
            four
        }));
        detached.open();
        runtime.block_on(until_async("all wait", || gate.waiting() >= 4));
        assert_eq!(dropped.load(SeqCst), 0);
        // The workers go on meanwhile, also with a panic.
        let other = runtime.spawn(async { panic!("{ON_PURPOSE}: another") });
        assert!(matches!(runtime.block_on(other), Err(TaskError::Panicked(_))));
        gate.open();
        assert!(matches!(runtime.block_on(cancelled), Err(TaskError::Cancelled)));
        runtime.block_on(ended).unwrap();
        assert!(matches!(runtime.block_on::<_>(async { panicked.await }), Err(TaskError::Panicked(_))));
        runtime.block_on(until_async("all are dropped", || dropped.load(SeqCst) == 4));
        // Nothing of the unwinding is left on the workers.
        let calm = runtime.spawn(async { std::thread::panicking() });
        assert!(!runtime.block_on(calm).unwrap());
    });
}

#[test]
fn on_a_strand() {
    on_every_kind(|kind| {
        let (runtime, gate) = (kind.build(), Gate::new());
        let passed = gate.passed();
        let spawned = runtime.spawn(async move {
            strand::spawn(move || {
                passed.wait();
                spawn(async { 6 }).wait().unwrap()
            })
            .unwrap()
        });
        let strand = runtime.block_on(spawned).unwrap();
        runtime.block_on(until_async("it waits", || gate.waiting() > 0));
        gate.open();
        assert_eq!(runtime.block_on(strand).unwrap(), 6);
        assert_eq!(waits_in_poll(&runtime), 0, "a strand has its own stack");
    });
}

/// What a strand waits for waits itself, and is polled with the waker it had before when that is over.
#[test]
fn a_wait_inside_a_wait_on_a_strand() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (outer, inner) = (Gate::new(), Gate::new());
        let (to_outer, to_inner) = (outer.passed(), inner.passed());
        let spawned = runtime.spawn(async move {
            let nested = poll_fn({
                let (mut to_outer, mut to_inner) = (Box::pin(to_outer), Some(to_inner));
                move |cx| {
                    if let Some(to_inner) = to_inner.take() {
                        to_inner.wait(); // this poll ends later, when its first resumption is long over
                    }
                    to_outer.as_mut().poll(cx)
                }
            });
            strand::spawn(move || nested.wait()).unwrap()
        });
        let strand = runtime.block_on(spawned).unwrap();
        runtime.block_on(until_async("it waits inside", || inner.waiting() > 0));
        // The loop moves to another stack, and the old one is used for something else.
        let (gate, here) = (Gate::new(), Arc::new(AtomicUsize::new(0)));
        let parked: Vec<_> = (0..4)
            .map(|_| {
                let (passed, here) = (gate.passed(), here.clone());
                runtime.spawn(async move {
                    here.fetch_add(1, SeqCst);
                    passed.wait();
                })
            })
            .collect();
        runtime.block_on(until_async("they wait", || here.load(SeqCst) == 4));
        inner.open();
        runtime.block_on(until_async("it waits outside", || outer.waiting() > 0));
        gate.open();
        parked.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        outer.open();
        runtime.block_on(strand).unwrap();
    });
}

#[test]
fn many_strands_at_once() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let done = Arc::new(AtomicUsize::new(0));
        let count = done.clone();
        let strands = runtime.spawn(async move {
            let start = || {
                let done = count.clone();
                let body = move || {
                    for _ in 0..20 {
                        yield_now().wait();
                    }
                    done.fetch_add(1, SeqCst);
                };
                strand::spawn(body).unwrap()
            };
            let strands: Vec<_> = (0..50).map(|_| start()).collect();
            for strand in strands {
                strand.await.unwrap();
            }
        });
        runtime.block_on(strands).unwrap();
        assert_eq!(done.load(SeqCst), 50);
    });
}

#[test]
fn block_on_inside_a_task() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let handle = runtime.handle();
        let task = runtime.spawn(async move {
            let by_name = ropewalk::block_on(async { spawn(async { 1 }).await.unwrap() });
            let by_handle = handle.block_on(async { spawn(async { 2 }).await.unwrap() });
            let nested = ropewalk::block_on(async { ropewalk::block_on(async { yield_now().await }) });
            (by_name, by_handle, nested)
        });
        assert_eq!(runtime.block_on(task).unwrap(), (1, 2, ()));
        // And inside block_on itself.
        let inside = runtime.block_on(async { ropewalk::block_on(async { spawn(async { 3 }).await.unwrap() }) });
        assert_eq!(inside, 3);
    });
}

/// A task is woken by a thread while everybody sleeps: also where several workers share one thread.
#[test]
fn a_wake_up_from_outside_reaches_a_sleeping_runtime() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for _ in 0..50 {
            let gates: Vec<_> = (0..6).map(|_| Gate::new()).collect();
            let tasks: Vec<_> = gates.iter().map(|gate| runtime.spawn(gate.passed())).collect();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for gate in &gates {
                        until("it waits", || gate.waiting() > 0);
                        gate.open();
                    }
                });
                runtime.block_on(async {
                    for task in tasks {
                        task.await.unwrap();
                    }
                });
            });
        }
    });
}

/// Tasks spawned by a thread are found by a runtime that sleeps in `block_on`.
#[test]
fn a_spawn_from_outside_reaches_a_sleeping_runtime() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        for _ in 0..50 {
            let (handle, done) = (runtime.handle(), Gate::new());
            let (passed, ran) = (done.passed(), Arc::new(AtomicBool::new(false)));
            std::thread::scope(|scope| {
                let ran = ran.clone();
                scope.spawn(move || {
                    until("the root waits", || done.waiting() > 0);
                    drop(handle.spawn(async move {
                        ran.store(true, SeqCst);
                        done.open();
                    }));
                });
                runtime.block_on(passed);
            });
            assert!(ran.load(SeqCst));
        }
    });
}

/// Two threads in `block_on` of one runtime without threads: one drives, and the other goes on when it leaves.
#[test]
fn two_threads_share_a_runtime_without_threads() {
    for kind in [RuntimeKind::Caller, RuntimeKind::Hosted(4)] {
        let runtime = kind.build();
        for round in 0..20 {
            let (one, two) = (Gate::new(), Gate::new());
            std::thread::scope(|scope| {
                for (mine, other) in [(&one, &two), (&two, &one)] {
                    let runtime = &runtime;
                    scope.spawn(move || {
                        let passed = mine.passed();
                        let task = runtime.block_on(async move {
                            let inner = spawn(async move {
                                yield_now().await;
                                passed.await;
                                round
                            });
                            other.open();
                            inner.await.unwrap()
                        });
                        assert_eq!(task, round);
                    });
                }
            });
        }
    }
}

/// The root, on a thread that is no worker, and its tasks take turns.
#[test]
fn the_root_waits_too() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let total: usize = runtime.block_on(async {
            (0..10).map(|number| spawn(async move { yield_now().await; number }).wait().unwrap()).sum()
        });
        assert_eq!(total, 45);
        let polled = runtime.block_on(poll_fn(|_| Poll::Ready(spawn(async { 7 }).wait().unwrap())));
        assert_eq!(polled, 7);
    });
}
