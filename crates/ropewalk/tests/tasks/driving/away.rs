//! The driver is a strand of another runtime without threads, which is driven now and then: while it is not, nobody drives, and whoever
//! waits is told.

use super::{THREADLESS, refusal, until_driven};
use crate::kit::{Gate, RuntimeKind, guarded, panic_of, quiet, until};
use ropewalk::strand::{self, Strand};
use ropewalk::{Runtime, TaskError, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

const AWAY: &str = "driven from inside another runtime";

/// The runtime in the middle, on a strand of the host, until the gate opens.
fn drives_on_a_strand(host: &Runtime, runtime: &Arc<Runtime>, inside: &Gate) -> Strand<'static, ()> {
    let (there, waits) = (runtime.clone(), inside.passed());
    let pool = host.pool("main").unwrap();
    strand::Builder::new().pool(&pool).spawn(move || there.block_on(waits))
}

/// Host, runtime, the strand on the one that drives the other, and what ends its wait; the host is not driven.
fn asleep(host: RuntimeKind, kind: RuntimeKind) -> (Runtime, Arc<Runtime>, Strand<'static, ()>, Gate) {
    let (host, runtime, inside) = (host.build(), Arc::new(kind.build()), Gate::new());
    let strand = drives_on_a_strand(&host, &runtime, &inside);
    host.run_until_stalled().unwrap();
    assert_eq!(inside.waiting(), 1);
    (host, runtime, strand, inside)
}

fn each(name: &str, f: impl Fn(RuntimeKind, RuntimeKind)) {
    quiet();
    for (host, kind) in THREADLESS.into_iter().flat_map(|host| THREADLESS.map(|kind| (host, kind))) {
        guarded(format!("{name}: {kind:?} in {host:?}"), || f(host, kind));
    }
}

#[test]
fn whoever_begins_to_wait_is_told() {
    each("begins", |host, kind| {
        let (host, runtime, strand, inside) = asleep(host, kind);
        assert!(refusal(&runtime).unwrap().contains(AWAY));
        let tries = || {
            [
                panic_of(|| runtime.block_on(async {})),
                panic_of(|| runtime.run(|| 5)),
                panic_of(|| runtime.block_on(async { strand::scope(|s| s.spawn(|| 5).join()) })),
            ]
        };
        let elsewhere = thread::scope(|scope| scope.spawn(tries).join().unwrap());
        for message in tries().into_iter().chain(elsewhere) {
            let message = message.unwrap();
            assert!(message.contains(AWAY), "{message}");
        }
        inside.open();
        host.block_on(strand).unwrap();
        assert_eq!(runtime.run(|| 5), 5);
    });
}

#[test]
fn whoever_stands_in_line_is_told() {
    each("in line", |host, kind| {
        let (host, runtime, inside, leave) = (host.build(), Arc::new(kind.build()), Gate::new(), Gate::new());
        let strand = drives_on_a_strand(&host, &runtime, &inside);
        thread::scope(|scope| {
            let in_line = scope.spawn(|| {
                until_driven(&runtime);
                let waits = Gate::new();
                let passed = waits.passed();
                let first = thread::scope(|scope| {
                    let task = scope.spawn(|| panic_of(|| runtime.block_on(passed)));
                    until("it stands in line", || waits.waiting() > 0);
                    leave.open();
                    task.join().unwrap()
                });
                assert!(first.unwrap().contains(AWAY));
            });
            host.block_on(leave.passed());
            in_line.join().unwrap();
            inside.open();
            host.block_on(strand).unwrap();
        });
    });
}

/// What it is told is true then, and not any more when somebody drives again.
#[test]
fn whoever_waits_while_the_host_is_driven_is_served() {
    each("served", |host, kind| {
        let (host, runtime, strand, inside) = asleep(host, kind);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                until_driven(&runtime);
                let task = runtime.spawn(async { 5 });
                assert_eq!(runtime.block_on(async move { task.wait() }).unwrap(), 5);
                inside.open();
                done.store(true, SeqCst);
            });
            host.block_on(strand).unwrap();
        });
        assert!(done.load(SeqCst));
    });
}

/// Three, one inside the other.
#[test]
fn also_those_further_in_are_told() {
    each("further in", |host, kind| {
        let (host, runtime, strand, inside) = asleep(host, kind);
        let (innermost, waits) = (Arc::new(kind.build()), Gate::new());
        let within = drives_on_a_strand(&runtime, &innermost, &waits);
        host.run_until_stalled().unwrap();
        assert_eq!(waits.waiting(), 1);
        for driven in [&runtime, &innermost] {
            assert!(panic_of(|| driven.block_on(async {})).unwrap().contains(AWAY));
        }
        waits.open();
        host.block_on(async { within.await.unwrap() });
        assert_eq!(innermost.run(|| 5), 5);
        inside.open();
        host.block_on(strand).unwrap();
    });
}

/// A strand that borrows from a call on another thread has begun on this one: it ends before this one leaves.
#[test]
fn whoever_lent_something_to_a_strand_there_is_told() {
    quiet();
    guarded("lent", || {
        let host = RuntimeKind::Caller.build(); // it waits for a second
        let (runtime, inside, leave) = (Arc::new(RuntimeKind::Hosted(3).build()), Gate::new(), Gate::new());
        let strand = drives_on_a_strand(&host, &runtime, &inside);
        thread::scope(|scope| {
            let (runtime, leave) = (&runtime, &leave);
            let lender = scope.spawn(move || {
                until_driven(runtime);
                let mut lent = false;
                let message = panic_of(|| {
                    runtime.run(|| {
                        lent = true;
                        leave.open();
                        std::future::pending::<()>().wait();
                    })
                });
                assert!(lent);
                message.unwrap()
            });
            host.block_on(leave.passed());
            let message = lender.join().unwrap();
            assert!(message.contains("was cancelled") || message.contains(AWAY), "{message}");
        });
        inside.open();
        host.block_on(strand).unwrap();
    });
}

#[test]
fn its_host_can_be_dropped() {
    each("dropped", |host, kind| {
        let (host, runtime, strand, _inside) = asleep(host, kind);
        drop(host);
        assert!(strand.try_join().is_err());
        assert_eq!(runtime.run(|| 5), 5);
    });
}

/// Nobody drives it to its end, for now: that is said. When the host is driven, it ends.
#[test]
fn it_can_be_shut_down() {
    each("shut down", |host, kind| {
        let (host, runtime, strand, inside) = asleep(host, kind);
        let task = runtime.spawn(std::future::pending::<()>());
        let account = runtime.handle().shutdown(Duration::from_millis(1)).unwrap_err();
        assert_eq!((account.cancelled, account.left.len()), (1, 1), "{account}");
        inside.open();
        host.block_on(strand).unwrap();
        let ended = task.wait();
        assert!(matches!(ended, Err(TaskError::Shutdown)), "{ended:?}");
    });
}
