//! The table of cancel safety in `docs/choosing.md`: each of its rows names tests that show it, and they exist. Here are also
//! those tests for which the fuzzers have no subject.

use ropewalk::channel::{self, SendTimeout};
use ropewalk::sync::CancellationToken;
use ropewalk::{join, select, try_join};
use std::fs;
use std::future::{Future, pending};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const TABLE: &str = "| operation | dropped before it is done | shown by |";

/// Polls once, and drops.
fn poll_and_drop<F: Future>(future: F) -> Poll<F::Output> {
    Box::pin(future).as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Waits for ever, and has something to drop.
async fn holding<T>(held: Rc<()>) -> T {
    let _held = held;
    pending().await
}

fn sources(under: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(under).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Whether one of the files has that test: `end/of/the/path::function`.
fn exists(name: &str, files: &[PathBuf]) -> bool {
    let (file, test) = name.rsplit_once("::").expect("a file and a function");
    let file = format!("{file}.rs");
    let head = format!("fn {test}() {{");
    files.iter().filter(|path| path.ends_with(&file)).any(|path| {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        lines.windows(2).any(|pair| {
            pair[0].starts_with("#[")
                && pair[0].contains("test")
                && pair[1].trim_start_matches("async ") == head
        })
    })
}

#[test]
fn every_row_names_tests_that_exist() {
    let (page, mut files) = (include_str!("../../docs/choosing.md"), Vec::new());
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for part in ["core/src", "core/tests", "ropewalk/src", "ropewalk/tests"] {
        sources(&crates.join(part), &mut files);
    }
    let table = page.split_once(TABLE).expect("the table").1;
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 20, "{rows:?}");
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 3, "{row}");
        let names: Vec<_> = cells[2].split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "nothing shows this: {row}");
        for name in names {
            assert!(exists(name, &files), "there is no test {name}");
        }
    }
    assert!(!exists("cancel_safety::no_such_test", &files) && !exists("cancel_safety::exists", &files));
}

#[test]
fn a_wait_for_a_cancellation_is_dropped_and_nothing_is_lost() {
    let token = CancellationToken::new();
    for _ in 0..3 {
        assert_eq!(poll_and_drop(token.cancelled()), Poll::Pending);
    }
    token.cancel();
    assert_eq!(poll_and_drop(token.cancelled()), Poll::Ready(()));
}

#[test]
fn run_until_cancelled_is_dropped_with_the_future_in_it() {
    let (token, held) = (CancellationToken::new(), Rc::new(()));
    assert_eq!(poll_and_drop(token.run_until_cancelled(holding::<()>(held.clone()))), Poll::Pending);
    assert_eq!(Rc::strong_count(&held), 1);
    assert!(!token.is_cancelled());
}

#[test]
fn send_timeout_is_dropped_with_its_value() {
    ropewalk::block_on(async {
        for capacity in [0, 1] {
            let (sender, receiver) = channel::bounded(capacity);
            let value = Rc::new(());
            (0..capacity).for_each(|_| sender.try_send(Rc::new(())).unwrap());
            assert_eq!(
                poll_and_drop(sender.send_timeout(value.clone(), Duration::from_secs(60))),
                Poll::Pending
            );
            assert_eq!((Rc::strong_count(&value), receiver.len()), (1, capacity), "unsent, and dropped");
        }
    });
}

#[test]
fn select_and_join_are_dropped_with_all_of_their_futures() {
    ropewalk::block_on(async {
        let held = Rc::new(());
        let two = || (holding::<Result<(), ()>>(held.clone()), holding::<Result<(), ()>>(held.clone()));
        let (one, other) = two();
        assert!(
            poll_and_drop(async {
                select! { _ = one => {}, _ = other => {} }
            })
            .is_pending()
        );
        assert_eq!(Rc::strong_count(&held), 1, "select");
        let (one, other) = two();
        assert!(poll_and_drop(async { join!(one, other) }).is_pending());
        assert_eq!(Rc::strong_count(&held), 1, "join");
        let (one, other) = two();
        assert!(poll_and_drop(async { try_join!(one, other) }).is_pending());
        assert_eq!(Rc::strong_count(&held), 1, "try_join");
    });
}
