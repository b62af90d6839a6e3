//! Threads that borrow.

use crate::kit::{
    self, Gate, KINDS, ON_PURPOSE, RuntimeKind, guarded, on_every_kind, panic_of, quiet, strand_in,
};
use ropewalk::{Wait, spawn, strand, thread, yield_now};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// Borrows, and writes through what it borrows; joined or not, all is done when the scope is left.
fn sums() -> u64 {
    let numbers: Vec<u64> = (1..=100).collect();
    let mut squares = vec![0; numbers.len()];
    let joined = thread::scope(|s| -> io::Result<u64> {
        for (place, number) in squares.iter_mut().zip(&numbers).take(8) {
            drop(s.spawn(move || *place = number * number)?);
        }
        let (left, right) = numbers.split_at(50);
        let left = s.spawn(|| left.iter().sum::<u64>())?;
        let right = thread::Builder::new().name("right").spawn_scoped(s, || right.iter().sum::<u64>())?;
        Ok(left.join().unwrap() + right.wait().unwrap())
    });
    assert_eq!(squares[..8], [1, 4, 9, 16, 25, 36, 49, 64]);
    joined.unwrap()
}

#[test]
fn borrows_wherever_it_is_called() {
    guarded("plain", || assert_eq!(sums(), 5050));
    on_every_kind(|kind| {
        let runtime = kind.build();
        assert_eq!(runtime.block_on(async { sums() }), 5050);
        assert_eq!(runtime.block_on(runtime.spawn(async { sums() })).unwrap(), 5050);
        assert_eq!(runtime.block_on(strand_in(&runtime, sums)).unwrap(), 5050);
    });
}

/// Leaving a scope parks the stack and not the worker.
#[test]
fn the_worker_goes_on_meanwhile() {
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Caller] {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            let gate = Gate::new();
            let opens = gate.clone();
            runtime
                .block_on(runtime.spawn(async move {
                    drop(spawn(async move {
                        yield_now().await;
                        opens.open();
                    }));
                    thread::scope(|s| drop(s.spawn(|| gate.passed().wait()).unwrap()));
                }))
                .unwrap();
            assert_eq!(runtime.metrics().total(|worker| worker.held), 0);
        });
    }
}

#[test]
fn threads_start_threads_of_the_same_scope() {
    guarded("nested", || {
        let count = AtomicUsize::new(0);
        thread::scope(|s| {
            let more = || {
                count.fetch_add(1, SeqCst);
                drop(s.spawn(|| count.fetch_add(1, SeqCst)).unwrap());
            };
            drop((s.spawn(more).unwrap(), s.spawn(more).unwrap()));
        });
        assert_eq!(count.into_inner(), 4);
    });
}

/// A handle may leave the scope if its value may.
#[test]
fn a_handle_may_leave() {
    guarded("leaves", || {
        let text = String::from("borrowed");
        let handle = thread::scope(|s| s.spawn(|| text.len()).unwrap());
        assert!(handle.is_finished());
        drop(text);
        assert_eq!(handle.join().unwrap(), 8);
    });
}

#[test]
fn panics_of_a_scope() {
    quiet();
    guarded("panics", || {
        let crash = |what: &'static str| move || -> () { panic!("{ON_PURPOSE}: {what}") };
        // Joined: a value.
        let joined = thread::scope(|s| s.spawn(crash("joined")).unwrap().join());
        assert!(joined.unwrap_err().is_panic());
        // Not joined: re-thrown, after all have ended.
        let ended = AtomicBool::new(false);
        let raised = panic_of(|| {
            thread::scope(|s| {
                drop(s.spawn(crash("not joined")).unwrap());
                drop(s.spawn(|| ended.store(true, SeqCst)).unwrap());
            });
        });
        assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: not joined"));
        assert!(ended.load(SeqCst));
        // The closure's own panic comes first.
        let raised = panic_of(|| {
            thread::scope(|s| {
                drop(s.spawn(crash("of a thread")).unwrap());
                panic!("{ON_PURPOSE}: of the closure");
            })
        });
        assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: of the closure"));
    });
}

/// One is re-thrown; the others are not forgotten.
#[test]
fn further_panics_are_reported() {
    if !kit::is_child() {
        let output = kit::run_as_child("threads::scopes::further_panics_are_reported", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let reports = text.lines().filter(|line| line.starts_with("ropewalk: detached thread ")).count();
        assert_eq!(reports, 2 + 1, "two of three, then the one beside the closure's: {text}");
        return;
    }
    quiet();
    let raised = panic_of(|| {
        thread::scope(|s| (0..3).for_each(|_| drop(s.spawn(|| panic!("{ON_PURPOSE}: many")).unwrap())));
    });
    assert!(raised.is_some());
    let raised = panic_of(|| {
        thread::scope(|s| {
            drop(s.spawn(|| panic!("{ON_PURPOSE}: beside")).unwrap());
            panic!("{ON_PURPOSE}: first");
        })
    });
    assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: first"));
}

/// A refused thread has dropped its function when the error is there, and the scope does not wait for it.
#[test]
fn a_thread_that_cannot_be_started_is_not_waited_for() {
    guarded("refused", || {
        let held = Arc::new(());
        thread::scope(|s| {
            let inside = held.clone();
            let refused = thread::Builder::new().stack_size(1).spawn_scoped(s, move || drop(inside));
            assert!(refused.is_err());
            assert_eq!(Arc::strong_count(&held), 1);
        });
    });
}

/// A cancelled strand waits for the threads that borrow from it before it unwinds.
#[test]
fn a_cancelled_strand_waits_for_its_threads() {
    for kind in KINDS {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            let (started, gate) = (Gate::new(), Gate::new());
            let ended = Arc::new(AtomicBool::new(false));
            let (inside, go, done) = (started.clone(), gate.clone(), ended.clone());
            let outcome = runtime.block_on(async {
                let strand = spawn(async move {
                    let strand = strand::spawn_local(move || {
                        let borrowed = String::from("alive");
                        thread::scope(|s| {
                            let thread = s.spawn(|| {
                                inside.open();
                                go.passed().wait();
                                done.store(borrowed == "alive", SeqCst);
                            });
                            drop(thread.unwrap());
                        });
                        std::future::pending::<()>().wait(); // here it is interrupted
                    });
                    strand.unwrap().await
                });
                started.passed().await;
                let abort = strand.abort_handle();
                let opener = spawn(async move {
                    abort.cancel();
                    yield_now().await;
                    gate.open();
                });
                opener.await.unwrap();
                strand.await
            });
            drop(outcome);
            drop(runtime);
            assert!(ended.load(SeqCst), "the thread saw what it borrowed");
        });
    }
}
