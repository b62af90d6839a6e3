//! Waiting from code that is not `async`, wherever it runs: on threads, in polls, in destructors, on strands, under
//! handlers, in one runtime and across two.

mod across;
mod handlers;
mod places;
mod roots;

use crate::kit::{Gate, on_every_kind, strand_in, until, until_async};
use ropewalk::{Runtime, TaskHandle, Wait, spawn, yield_now};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};

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

/// Waits for `outer` with a future whose first poll waits for `inner`: the outer gate opens while it waits there.
fn wait_inside_a_wait(outer: &Gate, inner: &Gate) {
    let (mut first, mut passing) = (true, Box::pin(outer.passed()));
    poll_fn(|cx| {
        let polled = passing.as_mut().poll(cx);
        if std::mem::take(&mut first) {
            assert!(polled.is_pending());
            inner.passed().wait();
        }
        polled
    })
    .wait();
}

/// The inner wait does not swallow the wake-up of the outer one, wherever that is.
#[test]
fn a_wait_inside_a_wait() {
    let (outer, inner) = (Gate::new(), Gate::new());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait_inside_a_wait(&outer, &inner));
        until("it waits for the inner gate", || inner.waiting() > 0);
        outer.open();
        inner.open();
        waiter.join().unwrap();
    });
    on_every_kind(|kind| {
        let runtime = kind.build();
        for on_strand in [false, true] {
            let (outer, inner) = (Gate::new(), Gate::new());
            let gates = (outer.clone(), inner.clone());
            let waiter = match on_strand {
                true => strand_in(&runtime, move || wait_inside_a_wait(&gates.0, &gates.1)),
                false => runtime.spawn(async move { wait_inside_a_wait(&gates.0, &gates.1) }),
            };
            runtime.block_on(until_async("it waits for the inner gate", || inner.waiting() > 0));
            outer.open();
            runtime.block_on(runtime.spawn(yield_now())).unwrap();
            inner.open();
            runtime.block_on(waiter).unwrap();
        }
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
        let parked = || runtime.metrics().total(|worker| worker.parked_stacks as u64);
        until("its stack is seen to be parked", || parked() == 1);
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
        let gates: Vec<_> = (0..MANY).map(|_| (Gate::new(), Gate::new())).collect();
        let tasks: Vec<_> = (0..MANY)
            .map(|number| {
                let (passed, goes_on) = (gates[number].0.passed(), gates[number].1.clone());
                let order = order.clone();
                runtime.spawn(async move {
                    passed.wait();
                    order.lock().unwrap().push(number);
                    goes_on.open();
                })
            })
            .collect();
        runtime.block_on(until_async("all wait", || gates.iter().all(|gate| gate.0.waiting() > 0)));
        for (number, (gate, goes_on)) in gates.iter().enumerate().rev() {
            gate.open();
            runtime.block_on(goes_on.passed());
            assert_eq!(order.lock().unwrap().last(), Some(&number));
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
