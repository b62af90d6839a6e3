//! Children of a process that has no descriptor left. Each test is in a process of its own, because descriptors are the whole
//! process's.

use super::{prepare, sh};
use crate::kit::{guarded, is_child, run_as_child, stderr_of, until};
use ropewalk::Runtime;
use ropewalk::process::{Child, ChildStdin, Stdio};
use rustix::process::{Pid, Resource, Rlimit, setrlimit, test_kill_process};
use std::fs::File;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

fn in_a_child(test: impl FnOnce(&Runtime)) {
    if !is_child() {
        let name = std::thread::current().name().unwrap().to_owned();
        let output = run_as_child(&name, |_| {});
        assert!(output.status.success(), "{}", stderr_of(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "it ran there");
        return;
    }
    prepare();
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    guarded("without descriptors", || test(&runtime));
}

/// A process that ends when its input does.
async fn patient() -> (Child, ChildStdin) {
    let mut child = sh("read go").stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

/// All descriptors that are left.
fn hoard() -> Vec<File> {
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

/// Whether there is such a process, be it a zombie; this takes no descriptor.
fn is_there(pid: u32) -> bool {
    test_kill_process(Pid::from_raw(pid as i32).unwrap()).is_ok()
}

#[test]
fn a_wait_without_descriptors_ends() {
    in_a_child(|runtime| {
        runtime.block_on(async {
            let (mut child, stdin) = patient().await;
            let mut hoard = hoard();
            let mut waiting = pin!(child.wait());
            let first = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await;
            assert!(first.is_pending(), "{first:?}");
            // It has looked once; nothing will tell it to look again, and the input's descriptor is not for it.
            drop(stdin);
            hoard.extend(File::open("/dev/null"));
            assert!(waiting.await.unwrap().code().is_some());
            drop(hoard);
        });
    });
}

#[test]
fn a_child_that_is_dropped_without_descriptors_is_reaped_and_so_are_later_ones() {
    in_a_child(|runtime| {
        let ((first, stdin), (second, later)) =
            runtime.block_on(async { (patient().await, patient().await) });
        let pids = [first.id().unwrap(), second.id().unwrap()];
        let mut hoard = hoard();
        drop(first);
        runtime.block_on(async { drop(stdin) });
        hoard.extend(File::open("/dev/null"));
        until("the first is reaped", || !is_there(pids[0]));
        assert!(is_there(pids[1]));
        drop(hoard);
        drop(second);
        runtime.block_on(async { drop(later) });
        until("the second is reaped", || !is_there(pids[1]));
    });
}
