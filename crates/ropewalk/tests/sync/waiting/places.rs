//! Waiting in destructors that run on workers, and on strands.

use super::waits_in_poll;
use crate::kit::{self, Gate, ON_PURPOSE, on_every_kind, strand_in, until_async};
use ropewalk::{TaskError, Wait, spawn, strand, yield_now};
use std::future::{Future, pending, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

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
        assert!(matches!(runtime.block_on(panicked), Err(TaskError::Panicked(_))));
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
        let strand = strand_in(&runtime, move || {
            passed.wait();
            spawn(async { 6 }).wait().unwrap()
        });
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
        let nested = poll_fn({
            let (mut to_outer, mut to_inner) = (Box::pin(to_outer), Some(to_inner));
            move |cx| {
                if let Some(to_inner) = to_inner.take() {
                    to_inner.wait(); // this poll ends later, when its first resumption is long over
                }
                to_outer.as_mut().poll(cx)
            }
        });
        let strand = strand_in(&runtime, move || nested.wait());
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
                strand::spawn_local(body).unwrap()
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
