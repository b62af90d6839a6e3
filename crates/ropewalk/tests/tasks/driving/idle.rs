//! Candidates that nobody runs: strands and tasks of another runtime without threads that nobody drives, or of one that went down.
//! The others go on without them.

use super::{THREADLESS, driver, refusal};
use crate::kit::{Gate, RuntimeKind, guarded, quiet, until};
use ropewalk::{Runtime, TaskHandle, strand};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A strand, or a task, of `host` that waits inside `runtime`; then this thread leaves `host`.
fn left_in_line(host: &Runtime, runtime: &Runtime, gate: &Gate, is_strand: bool) -> TaskHandle<()> {
    let (handle, waits, there) = (runtime.handle(), gate.passed(), host.handle());
    let guest = host.spawn(async move {
        if is_strand {
            there.run(|| handle.block_on(waits));
        } else {
            handle.block_on(waits);
        }
    });
    let before = gate.waiting();
    until("it stands in line", || {
        host.run_until_stalled().unwrap();
        gate.waiting() > before
    });
    guest
}

fn each(test: impl Fn(Arc<Runtime>, Runtime, bool) + Sync) {
    for (kind, is_strand) in THREADLESS.into_iter().flat_map(|kind| [false, true].map(|is| (kind, is))) {
        guarded(format!("{kind:?}, {is_strand}"), || {
            test(Arc::new(kind.build()), RuntimeKind::Hosted(1).build(), is_strand);
        });
    }
}

/// A task that opens the second gate when the first one is open.
fn opens(runtime: &Runtime, left: &Gate, inside: &Gate) {
    let (passed, open) = (left.passed(), inside.clone());
    drop(runtime.spawn(async move {
        passed.await;
        open.open();
    }));
}

/// One that came later, and runs by itself, drives.
#[test]
fn a_thread_goes_first() {
    each(|runtime, host, is_strand| {
        let (leave, idle, inside, left) = (Gate::new(), Gate::new(), Gate::new(), Gate::new());
        thread::scope(|scope| {
            let first = driver(scope, &runtime, &leave);
            let guest = left_in_line(&host, &runtime, &idle, is_strand);
            opens(&runtime, &left, &inside);
            let second = scope.spawn(|| runtime.block_on(inside.passed()));
            until("it waits", || inside.waiting() > 0);
            leave.open();
            first.join().unwrap();
            left.open();
            second.join().unwrap();
            idle.open();
            host.block_on(guest).unwrap();
        });
    });
}

/// There is only the one that nobody runs: whoever comes may drive, and so may a host that ticks.
#[test]
fn the_seat_does_not_wait_for_it() {
    each(|runtime, host, is_strand| {
        let (leave, idle) = (Gate::new(), Gate::new());
        thread::scope(|scope| {
            let first = driver(scope, &runtime, &leave);
            let guest = left_in_line(&host, &runtime, &idle, is_strand);
            leave.open();
            first.join().unwrap();
            assert_eq!(refusal(&runtime), None);
            assert_eq!(runtime.block_on(async { 5 }), 5);
            assert_eq!(runtime.run(|| 5), 5);
            idle.open();
            host.block_on(guest).unwrap();
        });
    });
}

/// Of two such runtimes one is driven.
#[test]
fn another_one_that_is_driven_takes_over() {
    each(|runtime, host, is_strand| {
        let (leave, idle, inside, left) = (Gate::new(), Gate::new(), Gate::new(), Gate::new());
        let driven = RuntimeKind::Hosted(1).build();
        thread::scope(|scope| {
            let first = driver(scope, &runtime, &leave);
            let guest = left_in_line(&host, &runtime, &idle, is_strand);
            opens(&runtime, &left, &inside);
            let (handle, waits) = (runtime.handle(), inside.passed());
            let second = scope.spawn(|| driven.run(move || handle.block_on(waits)));
            until("it waits", || inside.waiting() > 0);
            leave.open();
            first.join().unwrap();
            left.open();
            second.join().unwrap();
            idle.open();
            host.block_on(guest).unwrap();
        });
    });
}

/// A strand stands in line, and is left behind there when its runtime goes down.
#[test]
fn one_that_was_left_behind_is_passed_over() {
    quiet();
    let outer = [RuntimeKind::Threads(1), RuntimeKind::Hosted(1)];
    for (kind, outer) in THREADLESS.into_iter().flat_map(|kind| outer.map(|outer| (kind, outer))) {
        guarded(format!("{kind:?} in {outer:?}"), || {
            let (runtime, leave, stuck) = (kind.build(), Gate::new(), Gate::new());
            let (inside, left) = (Gate::new(), Gate::new());
            opens(&runtime, &left, &inside);
            thread::scope(|scope| {
                let first = driver(scope, &runtime, &leave);
                let host = outer.build();
                let (handle, waits, there) = (runtime.handle(), stuck.passed(), host.handle());
                drop(host.spawn(async move {
                    there.run(|| strand::shield(|| handle.block_on(waits)));
                }));
                until("it stands in line", || {
                    if outer.is_hosted() {
                        host.run_until_stalled().unwrap();
                    }
                    stuck.waiting() > 0
                });
                assert!(!host.shutdown(Duration::from_millis(1)).unwrap_err().left.is_empty());
                let second = scope.spawn(|| runtime.block_on(inside.passed()));
                until("it waits", || inside.waiting() > 0);
                leave.open();
                first.join().unwrap();
                left.open();
                second.join().unwrap();
            });
            assert_eq!(runtime.run(|| 5), 5);
        });
    }
}
