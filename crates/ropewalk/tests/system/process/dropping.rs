//! Children that nobody waits for: no zombie is left.

use super::{prepare, run, sh, state};
use crate::kit::{guarded, is_child, run_as_child, stderr_of, until, until_async};
use ropewalk::Wait;
use ropewalk::process::Stdio;
use std::fs;

#[test]
fn a_dropped_child_goes_on_and_is_reaped() {
    run("dropped", async || {
        let mut child = sh("read go").stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, pid) = (child.stdin.take(), child.id().unwrap());
        drop(child);
        assert!(state(pid).is_some(), "it goes on");
        drop(stdin);
        until_async("it is reaped", || state(pid).is_none()).await;
    });
}

#[test]
fn a_child_that_has_ended_is_reaped_at_once_when_it_is_dropped() {
    run("ended before", async || {
        let child = sh("exit 1").spawn().unwrap();
        let pid = child.id().unwrap();
        until_async("it is a zombie", || state(pid) == Some('Z')).await;
        drop(child);
        assert_eq!(state(pid), None);
    });
}

#[test]
fn kill_on_drop_kills_and_reaps() {
    run("kill on drop", async || {
        let child = sh("exec sleep 1000").kill_on_drop(true).spawn().unwrap();
        let pid = child.id().unwrap();
        drop(child);
        until_async("it is killed and reaped", || state(pid).is_none()).await;

        // The same when the future that waits for it is dropped.
        let mut never = sh("exec sleep 1000");
        let status = never.kill_on_drop(true).status();
        let limit = std::time::Duration::from_millis(1);
        assert!(ropewalk::time::timeout(limit, status).await.is_err(), "it does not end by itself");
    });
    until("it is killed and reaped, too", || !children().iter().any(|name| name.trim() == "sleep"));
}

/// The names of the children of this process that are there, zombies included.
fn children() -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(pid) = pid.filter(|pid| state(*pid).is_some()) {
            // It has a name even as a zombie; if there is none to be read, it has been reaped since.
            names.extend(fs::read_to_string(format!("/proc/{pid}/comm")));
        }
    }
    names
}

#[test]
fn nothing_is_left_of_hundreds_of_children() {
    if !is_child() {
        let test = std::thread::current().name().unwrap().to_owned();
        let output = run_as_child(&test, |_| {});
        assert!(output.status.success(), "{}", stderr_of(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "it ran there");
        return;
    }
    prepare();
    let runtime = ropewalk::Runtime::builder().worker_threads(1).build().unwrap();
    let round = |count: usize| {
        runtime.block_on(async {
            let spawn = |number| {
                let mut command = sh(if number % 3 == 0 { "exec sleep 1000" } else { "echo; echo >&2" });
                command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
                command.kill_on_drop(true).spawn().unwrap()
            };
            let mut children: Vec<_> = (0..count).map(spawn).collect();
            for child in children.iter_mut().skip(1).step_by(3) {
                child.wait().await.unwrap();
            }
        });
        until("no child is left", || children().is_empty());
        until("no thread reaps", || !threads().contains("ropewalk-reaper"));
    };
    guarded("first", || round(3));
    let files = open_files();
    guarded("second", || round(150));
    // Who tells of SIGCHLD may still have the reaper's bell in hand.
    until("no file is left open", || open_files() == files);
}

/// What every file that is open here is.
fn open_files() -> Vec<String> {
    let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let mut names: Vec<_> =
        files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.display().to_string())).collect();
    names.sort();
    names
}

/// The names of this process's threads.
fn threads() -> String {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok()).collect()
}

#[test]
fn children_outlive_their_runtime_and_are_reaped() {
    prepare();
    guarded("outlives", || {
        let runtime = ropewalk::Runtime::builder().worker_threads(1).build().unwrap();
        let (stdin, pid) = runtime.block_on(async {
            let mut child = sh("read go").stdin(Stdio::piped()).spawn().unwrap();
            let stdin = child.stdin.take().unwrap();
            let pid = child.id().unwrap();
            drop(ropewalk::spawn(async move { child.wait().await }));
            (stdin, pid)
        });
        runtime.shutdown(std::time::Duration::ZERO).expect_err("somebody waits");
        assert!(state(pid).is_some());
        drop(stdin);
        until("it is reaped", || state(pid).is_none());
        assert!(sh("exit 0").status().wait().unwrap().success(), "others go on");
    });
}
