//! What goes in and what comes out.

use super::{run, sh};
use ropewalk::io::{AsyncReadExt, AsyncWriteExt};
use ropewalk::process::{Command, Stdio};
use ropewalk::{join, spawn};
use std::io::ErrorKind;

/// Far more than a pipe holds, and no part is like another.
fn much() -> Vec<u8> {
    (0..1_000_000u32).flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn much_goes_in_and_out_at_once() {
    run("cat", async || {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sent, mut got) = (much(), Vec::new());
        let write = async {
            stdin.write_all(&sent).await.unwrap();
            drop(stdin);
        };
        let ((), read) = join!(write, stdout.read_to_end(&mut got));
        assert_eq!(read.unwrap(), sent.len());
        assert!(got == sent);
        assert!(child.wait().await.unwrap().success());
    });
}

#[test]
fn output_is_collected_while_another_task_feeds() {
    run("feed", async || {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feeder = spawn(async move { stdin.write_all(&much()).await });
        let output = child.wait_with_output().await.unwrap();
        feeder.await.unwrap().unwrap();
        assert!(output.stdout == much() && output.stderr.is_empty() && output.status.success());
    });
}

#[test]
fn both_streams_are_read_whichever_is_filled_first() {
    run("both", async || {
        for script in ["yes | head -c 500000 >&2; echo done", "yes | head -c 500000; echo done >&2"] {
            let output = sh(script).output().await.unwrap();
            let mut sizes = [output.stdout.len(), output.stderr.len()];
            sizes.sort();
            assert_eq!(sizes, [5, 500_000], "{script}");
        }
    });
}

#[test]
fn a_child_that_closes_its_input_early_is_a_broken_pipe() {
    run("closes early", async || {
        let mut child =
            sh("exec 0<&-; exec sleep 1000").stdin(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let error = stdin.write_all(&much()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert_eq!(child.try_wait().unwrap(), None, "it goes on without");
    });
}

#[test]
fn a_writer_that_waits_is_told_when_the_child_dies() {
    run("dies", async || {
        let mut child = sh("exec sleep 1000").stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let writer = spawn(async move { stdin.write_all(&much()).await });
        ropewalk::yield_now().await;
        assert!(!writer.is_finished(), "nobody reads");
        child.kill().await.unwrap();
        assert_eq!(writer.await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn lines_arrive_as_they_are_written() {
    run("lines", async || {
        let mut child = sh("while read line; do echo \"got $line\"; done")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        for number in 0..20 {
            let line = format!("{number:04}\n");
            stdin.write_all(line.as_bytes()).await.unwrap();
            let mut answer = [0; 9];
            stdout.read_exact(&mut answer).await.unwrap();
            assert_eq!(answer[..], *format!("got {line}").as_bytes());
        }
        drop(stdin);
        assert_eq!(stdout.read(&mut [0; 9]).await.unwrap(), 0);
        assert!(child.wait().await.unwrap().success());
    });
}

#[test]
fn one_child_feeds_another() {
    run("pipeline", async || {
        let mut first = sh("echo hemp; echo sisal").stdout(Stdio::piped()).spawn().unwrap();
        let between: Stdio = first.stdout.take().unwrap().try_into().unwrap();
        let output = Command::new("sort").arg("-r").stdin(between).output().await.unwrap();
        assert_eq!(output.stdout, b"sisal\nhemp\n");
        assert!(first.wait().await.unwrap().success());
    });
}

#[test]
fn what_is_not_said_depends_on_how_it_is_started() {
    run("unsaid", async || {
        let mut command = sh("cat; echo out; echo err >&2");
        for _ in 0..2 {
            let output = command.output().await.unwrap(); // its input is empty
            assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        }
        let mut quiet = Command::new("true");
        quiet.output().await.unwrap();
        let mut child = quiet.spawn().unwrap();
        assert!(child.stdin.is_none() && child.stdout.is_none() && child.stderr.is_none());
        assert!(child.wait().await.unwrap().success());
        let output = sh("echo out; echo err >&2").stderr(Stdio::null()).output().await.unwrap();
        assert_eq!((&output.stdout[..], output.stderr.len()), (&b"out\n"[..], 0));
    });
}

#[test]
fn a_status_does_not_wait_for_streams_nobody_reads() {
    run("status", async || {
        let status = sh("yes").stdout(Stdio::piped()).status().await.unwrap();
        assert!(!status.success(), "nobody reads");
    });
}

#[test]
fn surroundings_are_those_asked_for() {
    run("surroundings", async || {
        let mut command = sh("echo $0 $HEMP $SISAL; pwd");
        command
            .arg("name")
            .env("HEMP", "1")
            .envs([("SISAL", "2"), ("JUTE", "3")])
            .env_remove("JUTE")
            .current_dir("/");
        let output = command.output().await.unwrap();
        assert_eq!(output.stdout, b"name 1 2\n/\n");
        let mut bare = Command::new("/usr/bin/env");
        assert_eq!(bare.env_clear().env("ONLY", "this").output().await.unwrap().stdout, b"ONLY=this\n");
    });
}
