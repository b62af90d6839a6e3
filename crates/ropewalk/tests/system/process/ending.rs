//! How processes end, and who hears of it.

use super::{prepare, run, sh, state};
use crate::kit::{KINDS, guarded, until, until_async};
use ropewalk::process::{Command, Stdio};
use ropewalk::signal::unix::SignalKind;
use ropewalk::{Wait, spawn};
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::task::{Context, Waker};

#[test]
fn exit_codes_and_signals_arrive() {
    run("codes", async || {
        for code in [0, 1, 42, 255] {
            let status = sh(&format!("exit {code}")).status().await.unwrap();
            assert_eq!((status.code(), status.signal()), (Some(code), None));
        }
        for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGUSR1] {
            let status = sh(&format!("kill -{signal} $$")).status().await.unwrap();
            assert_eq!((status.code(), status.signal()), (None, Some(signal)));
        }
    });
}

#[test]
fn hundreds_at_once_each_with_its_own_status() {
    crate::limits::more_descriptors();
    run("hundreds", async || {
        let children: Vec<_> = (0..200)
            .map(|number| {
                let mut child =
                    sh(&format!("read go; exit {}", number % 251)).stdin(Stdio::piped()).spawn().unwrap();
                let stdin = child.stdin.take();
                (number, stdin, spawn(async move { child.wait().await }))
            })
            .collect();
        // All of them run at the same time; now they may end.
        for (number, stdin, waiting) in children {
            assert!(!waiting.is_finished(), "{number} waits for its input");
            drop(stdin);
            assert_eq!(waiting.await.unwrap().unwrap().code(), Some(number % 251));
        }
    });
}

#[test]
fn on_every_kind_of_runtime_and_on_threads() {
    prepare();
    for kind in KINDS {
        guarded(format!("{kind:?}"), || {
            let runtime = kind.build();
            let output = runtime.block_on(async { sh("echo hemp; exit 7").output().await.unwrap() });
            assert_eq!((output.status.code(), &output.stdout[..]), (Some(7), &b"hemp\n"[..]));
            // Inside a poll it is the stack that waits.
            let waited = runtime.spawn(async { Command::new("true").status().wait().unwrap() });
            assert!(runtime.block_on(waited).unwrap().success());
        });
    }
    assert_eq!(guarded("thread", || sh("exit 9").status().wait()).unwrap().code(), Some(9));
}

#[test]
fn a_wait_may_be_dropped_and_asked_for_again() {
    run("dropped waits", async || {
        let mut child = sh("read go; exit 5").stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..5 {
            assert!(pin!(child.wait()).poll(&mut cx).is_pending());
        }
        drop(stdin);
        assert_eq!(child.wait().await.unwrap().code(), Some(5));
        assert_eq!(child.wait().await.unwrap().code(), Some(5), "and again");
        assert_eq!(child.try_wait().unwrap().and_then(|status| status.code()), Some(5));
    });
}

#[test]
fn an_end_between_two_waits_is_seen() {
    run("between waits", async || {
        let mut child = sh("read go; exit 6").stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, pid) = (child.stdin.take(), child.id().unwrap());
        assert!(pin!(child.wait()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(stdin);
        until_async("it is a zombie", || state(pid) == Some('Z')).await;
        assert_eq!(child.wait().await.unwrap().code(), Some(6));
        assert_eq!(state(pid), None);
    });
}

#[test]
fn what_a_child_tells_before_and_after_its_end() {
    run("before and after", async || {
        let mut child = sh("read go").stdin(Stdio::piped()).spawn().unwrap();
        let pid = child.id().expect("it runs");
        assert!(state(pid).is_some());
        assert_eq!(child.try_wait().unwrap(), None);
        let status = child.kill().await.unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
        assert_eq!((child.id(), state(pid)), (None, None));
        child.start_kill().expect("killing what has ended is fine");
        assert_eq!(child.kill().await.unwrap(), status);
        let refused = child.signal(SignalKind::terminate()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound);
        assert!(refused.to_string().contains("SIGTERM"), "{refused}");
    });
}

#[test]
fn a_signal_is_sent_to_the_child_alone() {
    run("signal", async || {
        let mut child = sh("trap 'exit 12' TERM; echo ready; while :; do sleep 0.01; done")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        use ropewalk::io::AsyncReadExt;
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).await.unwrap();
        child.signal(SignalKind::terminate()).unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(12));
    });
}

#[test]
fn a_program_that_is_not_there_is_named() {
    run("not there", async || {
        for error in [
            Command::new("/no/such/program").spawn().map(drop).unwrap_err(),
            Command::new("/no/such/program").status().await.map(drop).unwrap_err(),
            Command::new("/no/such/program").output().await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert!(error.to_string().starts_with("/no/such/program could not be started: "), "{error}");
        }
        let error = Command::new("/").spawn().map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    });
}

#[test]
fn a_wait_goes_on_when_the_runtime_that_watched_has_ended() {
    prepare();
    guarded("runtime gone", || {
        let first = ropewalk::Runtime::builder().worker_threads(1).build().unwrap();
        let (mut child, stdin) = first.block_on(async {
            let mut child = sh("read go; exit 8").stdin(Stdio::piped()).spawn().unwrap();
            let stdin = child.stdin.take();
            // It is watched there from now on.
            assert!(pin!(child.wait()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            (child, stdin)
        });
        let waiting = spawn(async move { child.wait().await });
        drop(first);
        drop(stdin);
        assert_eq!(waiting.wait().unwrap().unwrap().code(), Some(8));
    });
}

#[test]
fn a_cancelled_task_leaves_its_process_to_the_reaper() {
    run("cancelled", async || {
        let mut child = sh("read go").stdin(Stdio::piped()).spawn().unwrap();
        let (stdin, pid) = (child.stdin.take(), child.id().unwrap());
        let waiting = spawn(async move { child.wait().await });
        ropewalk::yield_now().await;
        waiting.cancel();
        assert!(waiting.await.is_err());
        assert!(state(pid).is_some(), "it was not to be killed");
        drop(stdin);
        until("it is reaped", || state(pid).is_none());
    });
}

/// What it calls itself, and which group it is in.
#[test]
fn its_name_and_its_group() {
    run("name and group", async || {
        let mut command = sh("echo $0; ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat");
        command.arg("its own name").process_group(0);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let pid = child.id().unwrap();
        let output = child.wait_with_output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = text.lines().map(str::trim).collect();
        assert_eq!(lines, ["its own name", &pid.to_string()], "{text}");
        let mut command = Command::new("sh");
        let output = command
            .arg0("called otherwise")
            .args(["-c", "tr '\\0' '\\n' </proc/$$/cmdline"])
            .output()
            .await
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().next(), Some("called otherwise"), "{text}");
    });
}
