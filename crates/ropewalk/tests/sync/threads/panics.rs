//! Panics in threads.

use crate::kit::{self, Gate, ON_PURPOSE, on_every_kind, panic_of, quiet, until, until_async};
use ropewalk::{TaskError, UnhandledPanic, Wait, thread};
use std::cell::RefCell;
use std::future::pending;
use std::panic::resume_unwind;
use std::sync::mpsc::{Sender, channel};

#[test]
fn a_panic_is_a_value_with_its_story() {
    quiet();
    let place = line!() + 1;
    let thread = thread::Builder::new().name("crasher").spawn(|| panic!("{ON_PURPOSE}: {}", 5));
    let error = thread.unwrap().join().map(|(): ()| ()).unwrap_err();
    assert!(matches!(error, TaskError::Panicked(_)) && !error.is_cancelled());
    let text = error.to_string();
    let panic = error.into_panic().unwrap();
    assert_eq!((panic.message(), panic.name()), (format!("{ON_PURPOSE}: 5").as_str(), Some("crasher")));
    assert_eq!((panic.spawned_at().line(), panic.spawned_at().file()), (place, file!()));
    assert!(
        text.starts_with("thread ") && text.contains("\"crasher\"") && text.contains(panic.message()),
        "{text}"
    );
    assert!(panic.into_payload().is::<String>());

    let thread = thread::spawn(|| resume_unwind(Box::new(5u8))).unwrap();
    let panic = thread.wait().map(|(): ()| ()).unwrap_err().into_panic().unwrap();
    assert!(panic.name().is_none() && panic.message().contains("not text"));
    assert_eq!(*panic.into_payload().downcast::<u8>().unwrap(), 5);
}

/// In a child process, whose standard error is looked at: one report each, and no more than that.
#[test]
fn a_panic_that_nobody_takes_is_reported_once() {
    if !kit::is_child() {
        let output = kit::run_as_child("threads::panics::a_panic_that_nobody_takes_is_reported_once", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        for what in ["dropped first", "dropped last", "in a destructor"] {
            let reports: Vec<_> = text.lines().filter(|line| line.contains(what)).collect();
            assert_eq!(reports.len(), 1, "{what}: {text}");
            assert!(reports[0].starts_with("ropewalk: detached thread "), "{text}");
            assert!(reports[0].contains("\"a name\"") && reports[0].contains("threads/panics.rs:"), "{text}");
        }
        return;
    }
    quiet();
    let named = || thread::Builder::new().name("a name");
    // Gone when a thread has ended altogether, reports included.
    thread_local!(static ALIVE: RefCell<Option<Sender<()>>> = const { RefCell::new(None) });
    let (alive, ended) = channel();

    let (gate, inside) = (Gate::new(), alive.clone());
    let passing = gate.clone();
    drop(named().spawn(move || {
        ALIVE.set(Some(inside));
        passing.passed().wait();
        panic!("{ON_PURPOSE}: dropped first")
    }));
    gate.open();
    let late = named().spawn(|| panic!("{ON_PURPOSE}: dropped last")).unwrap();
    until("it is over", || late.is_finished());
    drop(late);

    struct Crashes;
    impl Drop for Crashes {
        fn drop(&mut self) {
            panic!("{ON_PURPOSE}: in a destructor");
        }
    }
    drop(named().spawn(move || {
        ALIVE.set(Some(alive));
        Crashes // the value: nobody takes it
    }));
    assert!(ended.recv().is_err(), "both have ended");
}

/// Where a thread was started decides whose panic it is.
#[test]
fn an_unhandled_panic_is_counted_by_the_runtime_it_was_started_in() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            drop(thread::spawn(|| panic!("{ON_PURPOSE}: counted")).unwrap());
            until_async("it is counted", || runtime.metrics().unhandled_panics == 1).await;
        });
    });
}

#[test]
fn an_unhandled_panic_ends_a_runtime_that_wants_it() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.builder().unhandled_panic(UnhandledPanic::Terminate).build().unwrap();
        let raised = panic_of(|| {
            runtime.block_on(async {
                drop(thread::spawn(|| panic!("{ON_PURPOSE}: the end")).unwrap());
                pending::<()>().await
            })
        });
        assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: the end"));
    });
}
