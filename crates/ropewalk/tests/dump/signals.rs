//! A dump by a signal, in processes of their own.

use crate::kit::{guarded, is_child, run_as_child, stderr_of, until};
use crate::spawn_as;
use ropewalk::dump::DumpTarget;
use ropewalk::signal::unix::SignalKind;
use ropewalk::{Runtime, RuntimeError};
use rustix::process::{Signal, getpid, kill_process};
use std::future::pending;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

fn send(kind: SignalKind) {
    // SAFETY: the number is one of the system's.
    let signal = unsafe { Signal::from_raw_unchecked(kind.as_raw()) };
    kill_process(getpid(), signal).expect("a process may signal itself");
}

/// A file that is gone when this is dropped.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("ropewalk-{name}-{}", std::process::id())))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.0).unwrap_or_default()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

/// Runs a test as a child, which sends itself a signal and waits, until all of this is on its standard error.
fn written_by(child: &str, expected: &[&str]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "--include-ignored", child]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut text = String::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok) {
        text += &(line + "\n");
        if expected.iter().all(|expected| text.contains(expected)) {
            break;
        }
    }
    drop(child.stdin.take()); // it ends by itself now
    let _over = child.wait().unwrap();
    let missing: Vec<_> = expected.iter().filter(|expected| !text.contains(**expected)).collect();
    assert!(missing.is_empty(), "{missing:?} is not in\n{text}");
}

/// Sends the signal, and waits until the parent has seen what came of it, or is gone.
fn send_and_wait(kind: SignalKind) {
    send(kind);
    let _closed = std::io::stdin().read(&mut [0]);
}

#[test]
#[ignore = "run as a child"]
fn child_that_writes_to_standard_error() {
    let runtime = Runtime::builder().worker_threads(1).observe(true);
    let runtime = runtime.dump_on_signal(SignalKind::quit(), DumpTarget::Stderr).build().unwrap();
    let _task = spawn_as(&runtime, "waits for ever", pending::<()>());
    until("it waits", || runtime.tasks()[0].state == "waiting");
    send_and_wait(SignalKind::quit());
}

#[test]
fn it_is_written_to_standard_error() {
    let expected = ["ropewalk: 1 task alive in 1 pool, found in ", "\"waits for ever\" task ", " polls, "];
    guarded("a child", || written_by("signals::child_that_writes_to_standard_error", &expected));
}

#[test]
fn it_needs_no_worker_and_comes_each_time() {
    if is_child() {
        let file = File::new("stuck");
        let runtime = Runtime::builder().worker_threads(2).rescue_threshold(std::time::Duration::ZERO);
        let target = DumpTarget::File(file.0.clone());
        let runtime = runtime.dump_on_signal(SignalKind::user_defined1(), target).build().unwrap();
        let (over, stuck) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        for _ in 0..2 {
            let (over, stuck) = (over.clone(), stuck.clone());
            drop(spawn_as(&runtime, "hog", async move {
                stuck.fetch_add(1, Relaxed);
                while !over.load(Relaxed) {
                    std::hint::spin_loop();
                }
            }));
        }
        until("both are stuck", || stuck.load(Relaxed) == 2);
        for times in 1..=3 {
            send(SignalKind::user_defined1());
            let dumps = || file.text().matches("pool main: 2 workers, 2 running").count();
            until("it is written", || dumps() == times);
        }
        over.store(true, Relaxed);
        return;
    }
    let output =
        guarded("a child", || run_as_child("signals::it_needs_no_worker_and_comes_each_time", |_| {}));
    assert!(output.status.success(), "{}", stderr_of(&output));
}

#[test]
fn with_the_runtime_goes_the_listener() {
    use std::os::unix::process::ExitStatusExt;
    if is_child() {
        let file = File::new("gone");
        let target = DumpTarget::File(file.0.clone());
        let kind = SignalKind::user_defined2();
        let runtime = Runtime::builder().worker_threads(1).dump_on_signal(kind, target).build().unwrap();
        send(kind);
        until("it is written", || file.text().contains("pool main"));
        drop(runtime);
        drop(file);
        send(kind); // what it does by default: it ends the process
        std::thread::park();
    }
    let output = guarded("a child", || run_as_child("signals::with_the_runtime_goes_the_listener", |_| {}));
    assert_eq!(output.status.signal(), Some(SignalKind::user_defined2().as_raw()), "{}", stderr_of(&output));
}

#[test]
#[ignore = "run as a child"]
fn child_that_cannot_write() {
    let (kind, target) = (SignalKind::user_defined1(), DumpTarget::File(PathBuf::from("/nowhere/at/all")));
    let runtime = Runtime::builder().worker_threads(1).dump_on_signal(kind, target).build().unwrap();
    send_and_wait(kind);
    drop(runtime);
}

#[test]
fn a_file_that_cannot_be_written_is_reported() {
    let expected = ["ropewalk: a dump cannot be written to /nowhere/at/all: "];
    guarded("a child", || written_by("signals::child_that_cannot_write", &expected));
}

#[test]
fn a_signal_to_which_nobody_can_listen_is_refused() {
    let refused =
        Runtime::builder().worker_threads(1).dump_on_signal(SignalKind::kill(), DumpTarget::Stderr).build();
    let error = refused.unwrap_err();
    assert!(matches!(error, RuntimeError::Misuse(_)), "{error:?}");
    let text = error.to_string();
    assert!(
        text.starts_with("dump_on_signal: SIGKILL cannot be listened to") && text.contains("accepted:"),
        "{text}"
    );
}
