//! Panics that nobody takes.

use crate::kit::{self, KINDS, ON_PURPOSE, RuntimeKind, on_every_kind, panic_of, quiet, until, until_async};
use ropewalk::{Runtime, TaskError, UnhandledPanic, Wait, spawn, strand, task, yield_now};
use std::future::pending;
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Counted, printed with name, place and message, and the runtime goes on.
#[test]
fn reported() {
    if !kit::is_child() {
        let output = kit::run_as_child("misuse::panics::reported", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let reports: Vec<_> = text.lines().filter(|line| line.starts_with("ropewalk:")).collect();
        assert_eq!(reports.len(), KINDS.len() * 4, "{text}");
        for what in ["plain", "named", "strand", "not text"] {
            let reports: Vec<_> = reports.iter().filter(|report| report.contains(what)).collect();
            assert_eq!(reports.len(), KINDS.len(), "{text}");
            for report in reports {
                assert!(report.contains("misuse/panics.rs:"), "where it was spawned: {report}");
                let noun = if what == "strand" { "detached strand " } else { "detached task " };
                assert!(report.contains(noun), "which one: {report}");
                let message = format!("{ON_PURPOSE}: {what}");
                assert!(what == "not text" || report.ends_with(&message), "the message: {report}");
                assert_eq!(report.contains("\"a name\""), what == "named", "its name: {report}");
            }
        }
        return;
    }
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        let count = |expected| {
            let counted = || runtime.metrics().unhandled_panics == expected;
            runtime.block_on(until_async("it is counted", counted));
        };
        drop(runtime.spawn(async { panic!("{ON_PURPOSE}: plain") }));
        count(1);
        let handle = runtime.handle();
        drop(task::Builder::new().name("a name").spawn_on(&handle, async { panic!("{ON_PURPOSE}: named") }));
        count(2);
        let strand = runtime.spawn(async { drop(strand::spawn_local(|| panic!("{ON_PURPOSE}: strand"))) });
        runtime.block_on(strand).unwrap();
        count(3);
        std::panic::set_hook(Box::new(|_| {}));
        drop(runtime.spawn(async { panic_any(5) }));
        count(4);
        assert_eq!(runtime.block_on(runtime.spawn(async { 7 })).unwrap(), 7);
    });
}

#[test]
fn what_a_panic_tells() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        let place = line!() + 1;
        let task = runtime.spawn(async { panic!("{ON_PURPOSE}: {}", 5) });
        let id = task.id().unwrap();
        let Err(error) = runtime.block_on(task);
        assert!(error.is_panic() && !error.is_cancelled());
        let text = error.to_string();
        let mut panic = error.into_panic().unwrap();
        assert_eq!(panic.message(), format!("{ON_PURPOSE}: 5"));
        assert_eq!((panic.task(), panic.name()), (id, None));
        assert_eq!((panic.spawned_at().line(), panic.spawned_at().file()), (place, file!()));
        assert!(text.contains(panic.message()) && text.contains(&id.to_string()), "{text}");
        assert!(panic.payload_mut().is::<String>());
        assert_eq!(*panic.into_payload().downcast::<String>().unwrap(), format!("{ON_PURPOSE}: 5"));
        assert_eq!(runtime.metrics().unhandled_panics, 0, "somebody took it");
    });
}

fn terminating(kind: RuntimeKind) -> Runtime {
    kind.builder().unhandled_panic(UnhandledPanic::Terminate).build().unwrap()
}

/// The runtime is shut down, and the root dies of the panic, whatever it does just then.
#[test]
fn terminated() {
    quiet();
    on_every_kind(|kind| {
        let runtime = terminating(kind);
        let bystander = runtime.spawn(pending::<()>());
        let raised = panic_of(|| {
            runtime.block_on(async {
                drop(spawn(async { panic!("{ON_PURPOSE}: the end") }));
                pending::<()>().await
            })
        });
        assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: the end"));
        assert!(matches!(bystander.wait(), Err(TaskError::Shutdown)));
        assert!(matches!(runtime.spawn(async {}).wait(), Err(TaskError::Shutdown)));
        assert_eq!(runtime.metrics().unhandled_panics, 1);
        // The payload is raised once; whoever comes later is told what it was.
        let later = panic_of(|| runtime.block_on(async { 5 })).unwrap();
        assert!(later.contains("ended by a panic") && later.contains("the end"), "{later}");
    });
}

/// The first one ends it; the others are reported, whenever they come.
#[test]
fn terminated_by_many() {
    quiet();
    for count in [3, 10] {
        on_every_kind(|kind| {
            let runtime = terminating(kind);
            let raised = panic_of(|| {
                runtime.block_on(async {
                    (0..count).for_each(|_| drop(spawn(async { panic!("{ON_PURPOSE}: the end") })));
                    pending::<()>().await
                })
            });
            assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: the end"));
            let panics = runtime.metrics().unhandled_panics;
            assert!((1..=count).contains(&panics), "{panics} of {count}");
        });
    }
}

#[test]
fn terminated_while_the_root_yields() {
    quiet();
    on_every_kind(|kind| {
        let runtime = terminating(kind);
        let dropped = Arc::new(AtomicUsize::new(0));
        struct OnDrop(Arc<AtomicUsize>);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let guard = OnDrop(dropped.clone());
        let raised = panic_of(|| {
            runtime.block_on(async {
                let _guard = guard;
                drop(spawn(async { panic!("{ON_PURPOSE}: the end") }));
                loop {
                    yield_now().await;
                }
            })
        });
        assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: the end"));
        assert_eq!(dropped.load(SeqCst), 1, "the root's future is dropped with it");
    });
}

/// A panic before there was a root is raised by the next one.
#[test]
fn terminated_before_the_root_came() {
    quiet();
    on_every_kind(|kind| {
        let runtime = terminating(kind);
        drop(runtime.spawn(async { panic!("{ON_PURPOSE}: the end") }));
        if kind.is_hosted() {
            runtime.run_until_stalled().unwrap();
        }
        until("it is over", || runtime.metrics().unhandled_panics == 1);
        until("it is closed", || runtime.metrics().pools.is_empty());
        let raised = panic_of(|| runtime.block_on(async { 5 }));
        assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: the end"));
    });
}

/// The handle of a task whose panic is taken ends nothing.
#[test]
fn taken_panics_do_not_terminate() {
    quiet();
    on_every_kind(|kind| {
        let runtime = terminating(kind);
        let task = runtime.spawn(async { panic!("{ON_PURPOSE}") });
        assert!(runtime.block_on(task).unwrap_err().is_panic());
        assert_eq!(runtime.block_on(runtime.spawn(async { 5 })).unwrap(), 5);
    });
}

/// The payload of a panic may itself panic when it is dropped: no worker dies of it.
#[test]
fn a_payload_whose_drop_panics() {
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            if !std::thread::panicking() {
                panic!("{ON_PURPOSE}: in the payload's drop");
            }
        }
    }
    struct PanicOnDrop(Arc<AtomicUsize>);
    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic_any(Bomb(self.0.clone()));
            }
        }
    }
    if !kit::is_child() {
        let output = kit::run_as_child("misuse::panics::a_payload_whose_drop_panics", |_| {});
        assert!(output.status.success(), "{}", kit::stderr_of(&output));
        return;
    }
    std::panic::set_hook(Box::new(|_| {}));
    for kind in KINDS {
        let runtime = kind.build();
        let exploded = Arc::new(AtomicUsize::new(0));
        let goes_on = |bombs| {
            let all = || exploded.load(SeqCst) == bombs;
            runtime.block_on(until_async("the bombs went off", all));
            assert_eq!(runtime.block_on(runtime.spawn(async { 5 })).unwrap(), 5);
        };
        // In a detached task's poll.
        let bomb = Bomb(exploded.clone());
        drop(runtime.spawn(async move { panic_any(bomb) }));
        goes_on(1);
        // In the drop of a future that ended, of one that panicked too, and of one that is cancelled.
        let guard = PanicOnDrop(exploded.clone());
        drop(runtime.spawn(async move { drop(guard) }));
        goes_on(2);
        let guard = PanicOnDrop(exploded.clone());
        let cancelled = runtime.spawn(async move {
            pending::<()>().await;
            drop(guard);
        });
        cancelled.cancel();
        drop(runtime.block_on(cancelled).map_err(|error| panic_of(|| drop(error))));
        goes_on(3);
        // In an output that nobody takes.
        let guard = PanicOnDrop(exploded.clone());
        let detached = kit::Gate::new();
        let passed = detached.passed();
        drop(runtime.spawn(async move {
            passed.await;
            guard
        }));
        detached.open();
        goes_on(4);
    }
}
