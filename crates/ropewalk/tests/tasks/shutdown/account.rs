//! The account of what was cancelled and what was left behind.

use crate::kit::{self, Gate, RuntimeKind, guarded};
use ropewalk::{Wait, task};
use std::future::pending;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn names_and_counts() {
    guarded("names and counts", || {
        let runtime = RuntimeKind::Threads(2).build();
        let handle = runtime.handle();
        for n in 0..100 {
            drop(task::Builder::new().name(format!("sleeper {n}")).spawn_on(&handle, pending::<()>()));
        }
        let account = runtime.shutdown(Duration::ZERO).unwrap_err();
        assert_eq!((account.cancelled, account.tasks.len(), account.left.len()), (100, 64, 0));
        let text = account.to_string();
        assert!(text.starts_with("100 tasks had not ended by the deadline"), "{text}");
        assert!(text.contains("\"sleeper 5\"") && text.ends_with("and 36 more"), "{text}");
        assert!(text.contains("shutdown/account.rs"), "{text}");
    });
}

/// A poll that does not return and a stack that waits for ever are left alone and named; the call comes back.
#[test]
fn what_does_not_end_is_left_behind() {
    const NAME: &str = "shutdown::account::what_does_not_end_is_left_behind";
    if !kit::is_child() {
        let output = kit::run_as_child(NAME, |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let reports: Vec<_> = text.lines().filter(|line| line.contains("left behind at shutdown")).collect();
        assert_eq!(reports.len(), 2, "{text}");
        assert!(reports[0].contains("\"hog\"") && reports[1].contains("\"waiter\""), "{text}");
        return;
    }
    guarded("a hog", || {
        let runtime = RuntimeKind::Threads(2).build();
        let (hold, held) = channel::<()>();
        let (entered, there) = channel();
        let hog = task::Builder::new().name("hog").spawn_on(&runtime.handle(), async move {
            entered.send(()).unwrap();
            let _closed = held.recv(); // holds the worker's thread
            7
        });
        there.recv().unwrap();
        let others: Vec<_> = (0..10).map(|_| runtime.spawn(pending::<()>())).collect();
        let account = runtime.shutdown(Duration::from_millis(1)).unwrap_err();
        assert_eq!((account.cancelled, account.left.len()), (11, 1), "{account}");
        assert_eq!(account.left[0].task.state, "running");
        assert!(account.to_string().contains("left behind: task"), "{account}");
        for other in others {
            assert!(other.wait().is_err(), "the others have ended");
        }
        drop(hold);
        assert_eq!(hog.wait().unwrap(), 7, "it was not torn down, and ended in its own time");
    });
    guarded("a waiter", || {
        let runtime = RuntimeKind::Threads(1).build();
        let (gate, begun) = (Gate::new(), Gate::new());
        let (passed, there) = (gate.passed(), begun.clone());
        let waiter = task::Builder::new().name("waiter").spawn_on(&runtime.handle(), async move {
            there.open();
            passed.wait();
            8
        });
        runtime.block_on(begun.passed());
        let account = runtime.shutdown(Duration::ZERO).unwrap_err();
        assert_eq!((account.cancelled, account.left.len()), (1, 1), "{account}");
        gate.open();
        assert_eq!(waiter.wait().unwrap(), 8);
    });
}
