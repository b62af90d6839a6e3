//! What is written when a worker is stuck. The hogs run in a child, which is ended as soon as all of it was read.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Waits until each of these has been written, and returns all that was.
fn written_by(child: &str, expected: &[&str]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "--include-ignored", child]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut text = String::new();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        text += &(line + "\n");
        if expected.iter().all(|expected| text.contains(expected)) {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap(); // its input is open until here
    let missing: Vec<_> = expected.iter().filter(|expected| !text.contains(**expected)).collect();
    assert!(missing.is_empty(), "{missing:?} is not in\n{text}");
    text
}

/// However the test ends, its child, which may burn for ever, ends with it.
fn end_with_the_parent() {
    std::thread::spawn(|| {
        let _closed = std::io::stdin().read(&mut [0]);
        std::process::exit(1);
    });
}

/// A strand of this runtime that has started, and waits until the gate is opened.
fn waiting_strand(runtime: &Runtime, name: &str) -> ropewalk::channel::Sender<()> {
    let (open, gate) = ropewalk::channel::bounded::<()>(1);
    let ((begin, begun), pool) = (std::sync::mpsc::channel(), runtime.pool("main").unwrap());
    let _detached = strand::Builder::new().pool(&pool).name(name).spawn(move || {
        begin.send(()).unwrap();
        gate.recv().wait().unwrap();
    });
    begun.recv().unwrap();
    open
}

#[inline(never)]
fn burn_for_ever() {
    while std::hint::black_box(true) {
        std::hint::spin_loop();
    }
}

#[test]
#[ignore = "run as a child"]
fn child_that_computes() {
    end_with_the_parent();
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let gate = waiting_strand(&runtime, "ticker");
    let hog = task::Builder::new().name("indexer").spawn_on(&runtime.handle(), async move {
        gate.try_send(()).unwrap();
        burn_for_ever();
    });
    hog.wait().unwrap();
}

#[test]
fn it_says_who_computes_and_who_is_delayed() {
    let mut expected = vec![
        "\"indexer\"",
        "report.rs",
        "has held worker 0 of pool main for",
        "delayed until it is over",
        "\"ticker\"",
        "its thread computes",
    ];
    if cfg!(feature = "backtraces") {
        expected.push("burn_for_ever at");
    }
    guarded("a report", || written_by("report::child_that_computes", &expected));
}

#[test]
#[ignore = "run as a child"]
fn child_that_blocks() {
    end_with_the_parent();
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let lock = Arc::new(std::sync::Mutex::new(()));
    let (held, (begin, begun)) = (lock.clone(), std::sync::mpsc::channel());
    let ((open, gate), pool) = (ropewalk::channel::bounded::<()>(1), runtime.pool("main").unwrap());
    let _detached = strand::Builder::new().pool(&pool).name("holder").spawn(move || {
        let _guard = held.lock().unwrap();
        begin.send(()).unwrap();
        gate.recv().wait().unwrap();
    });
    begun.recv().unwrap();
    let hog = runtime.spawn(async move {
        open.try_send(()).unwrap();
        drop(lock.lock().unwrap());
    });
    hog.wait().unwrap();
}

/// The strand that holds the lock could go on only on the thread that waits for it.
#[test]
fn it_says_which_strand_a_lock_waits_for() {
    let expected = ["delayed until it is over", "\"holder\"", "system call futex"];
    guarded("a report", || written_by("report::child_that_blocks", &expected));
}

#[test]
#[ignore = "run as a child"]
fn child_that_does_it_again() {
    end_with_the_parent();
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let hog = runtime.spawn(async move {
        for _ in 0..5 {
            let (other, begun) = (spawn(async {}), std::time::Instant::now());
            while !other.is_finished() || begun.elapsed() < Duration::from_millis(100) {
                std::hint::spin_loop();
            }
            ropewalk::yield_now().await;
        }
    });
    hog.wait().unwrap();
    drop(runtime); // reports are written by then
    eprintln!("over");
}

#[test]
fn it_is_written_once() {
    let text = guarded("a report", || written_by("report::child_that_does_it_again", &["over"]));
    assert_eq!(text.matches("has held worker").count(), 1, "{text}");
}
