//! The standard streams, in processes of their own.

use crate::kit::{guarded, is_child, run_as_child, stderr_of, until};
use ropewalk::io::{self, BufReader, prelude::*};
use ropewalk::{Runtime, time::timeout};
use std::collections::HashMap;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

const TASKS: usize = 8;
const LINES: usize = 200;

/// A line that shows whether it is whole.
fn line(task: usize, number: usize) -> String {
    format!("line {task} {number} {}.\n", "x".repeat(number * 7 % 300))
}

#[test]
fn lines_of_many_tasks_are_whole_and_none_is_lost_without_a_flush() {
    if is_child() {
        let runtime = Runtime::builder().worker_threads(2).build().unwrap();
        let printer = std::thread::spawn(|| {
            (0..LINES).for_each(|number| print!("{}", line(TASKS, number)));
        });
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                runtime.spawn(async move {
                    let (mut out, mut err) = (io::stdout(), io::stderr());
                    for number in 0..LINES {
                        let line = line(task, number);
                        let (one, two) = line.split_at(number % line.len());
                        out.write_all(one.as_bytes()).await.unwrap();
                        ropewalk::yield_now().await;
                        out.write_all(two.as_bytes()).await.unwrap();
                        err.write_all(line.as_bytes()).await.unwrap();
                    }
                    out.write_all(b"without an end").await.unwrap(); // goes out when the handle is dropped
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| runtime.block_on(task).unwrap());
        printer.join().unwrap();
        return; // nothing was flushed
    }
    let output =
        run_as_child("io::standard::lines_of_many_tasks_are_whole_and_none_is_lost_without_a_flush", |_| {});
    assert!(output.status.success(), "{}", stderr_of(&output));
    check(&String::from_utf8(output.stdout.clone()).unwrap(), TASKS + 1);
    check(&stderr_of(&output), TASKS);
    let last_words = String::from_utf8(output.stdout).unwrap().matches("without an end").count();
    assert_eq!(last_words, TASKS);
}

/// Each line of each task is there, whole, once and in order.
fn check(text: &str, tasks: usize) {
    let mut next: HashMap<usize, usize> = HashMap::new();
    for found in text.split_inclusive('\n') {
        // The harness, and handles that were dropped in the middle of a line, left a beginning in front of it.
        let Some(start) = found.find("line ") else { continue };
        let found = &found[start..];
        let task: usize = found.split(' ').nth(1).unwrap().parse().unwrap();
        let number = next.entry(task).or_default();
        assert_eq!(found, line(task, *number));
        *number += 1;
    }
    assert_eq!(next, (0..tasks).map(|task| (task, LINES)).collect());
}

#[test]
fn a_line_without_end_goes_out_in_pieces() {
    if is_child() {
        ropewalk::block_on(async {
            let mut out = io::stdout();
            out.write_all(&[b'y'; 300_000]).await.unwrap();
            out.flush().await.unwrap();
        });
        return;
    }
    let output = run_as_child("io::standard::a_line_without_end_goes_out_in_pieces", |_| {});
    assert!(output.status.success(), "{}", stderr_of(&output));
    assert_eq!(output.stdout.iter().filter(|&&byte| byte == b'y').count() % 100_000, 0);
    assert!(output.stdout.windows(300_000).any(|part| part.iter().all(|&byte| byte == b'y')));
}

/// Whoever has the standard library's lock keeps it: the one who exits, or another thread that never comes back.
#[test]
#[cfg(target_os = "linux")]
fn a_lock_that_is_never_given_back_keeps_nobody_from_exiting_and_nothing_is_lost() {
    const WHO: &str = "ROPEWALK_TEST_WHO_HAS_THE_LOCK";
    if is_child() {
        let is_other = std::env::var(WHO).unwrap() == "other";
        let (taken, is_taken) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            let _lock = is_other.then(|| std::io::stdout().lock());
            taken.send(()).unwrap();
            loop {
                std::thread::park();
            }
        });
        is_taken.recv().unwrap();
        let _lock = (!is_other).then(|| std::io::stdout().lock());
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        runtime.block_on(async { io::stdout().write_all(b"last words\n").await }).unwrap();
        until("somebody wants to write them", || runtime.metrics().blocking.running > 0);
        assert!(!other.is_finished());
        std::process::exit(7);
    }
    for who in ["other", "self"] {
        let name =
            "io::standard::a_lock_that_is_never_given_back_keeps_nobody_from_exiting_and_nothing_is_lost";
        let output = guarded(who, || {
            run_as_child(name, |child| {
                child.env(WHO, who);
            })
        });
        assert_eq!(output.status.code(), Some(7), "{who}: {}", stderr_of(&output));
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.matches("last words\n").count(), 1, "{who}: {said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_error_of_standard_output_is_told() {
    if is_child() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        // SAFETY: both are open, and what was standard output is not used any more.
        assert_eq!(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&writer), 1) }, 1);
        ropewalk::block_on(async {
            let mut out = io::stdout();
            out.write_all(b"nobody reads this\n").await.unwrap();
            let error = out.flush().await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
            assert!(error.to_string().contains("18 bytes"), "{error}");
            std::process::exit(7);
        });
    }
    let output = run_as_child("io::standard::an_error_of_standard_output_is_told", |_| {});
    assert_eq!(output.status.code(), Some(7), "{}", stderr_of(&output));
}

#[test]
fn standard_input_is_read_in_lines_and_nothing_is_lost_by_giving_up() {
    if is_child() {
        let text = ropewalk::block_on(async {
            let mut lines = BufReader::new(io::stdin()).lines();
            let (mut text, mut gave_up) = (Vec::new(), 0);
            loop {
                match timeout(Duration::from_millis(1), lines.next_line()).await {
                    Ok(Ok(Some(line))) => text.push(line),
                    Ok(Ok(None)) => break (text, gave_up),
                    Ok(Err(error)) => panic!("{error}"),
                    Err(_) => {
                        // The first time, the other side may go on.
                        if gave_up == 0 {
                            eprintln!("waiting");
                        }
                        gave_up += 1;
                    }
                }
            }
        });
        println!("<{}> {}", text.0.join("|"), text.1 > 0);
        return;
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    let (mut said, heard) = std::io::pipe().unwrap();
    let writing = std::thread::spawn(move || {
        // Until it has waited in vain.
        let mut so_far = Vec::new();
        while !so_far.ends_with(b"waiting\n") {
            let mut byte = [0];
            if std::io::Read::read(&mut said, &mut byte).unwrap() == 0 {
                break;
            }
            so_far.push(byte[0]);
        }
        writer.write_all(b"one\ntw").unwrap();
        writer.write_all(b"o\nthree").unwrap();
    });
    let output = guarded("stdin", || {
        run_as_child(
            "io::standard::standard_input_is_read_in_lines_and_nothing_is_lost_by_giving_up",
            |command| {
                command.stdin(Stdio::from(reader)).stderr(Stdio::from(heard));
            },
        )
    });
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("<one|two|three> true"), "{text}");
    writing.join().unwrap();
}

#[test]
fn a_read_of_standard_input_that_never_ends_keeps_nobody_from_ending() {
    if is_child() {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let reading = runtime.spawn(async { io::stdin().read(&mut [0; 8]).await });
        runtime.block_on(async {
            assert!(timeout(Duration::from_millis(5), reading).await.is_err());
        });
        // The task is cancelled, but nothing is left behind: no thread of the runtime is in the read.
        let error = runtime.shutdown(Duration::ZERO).unwrap_err();
        println!("<{error}>");
        return;
    }
    let (reader, writer) = std::io::pipe().unwrap();
    let output = guarded("stdin", || {
        run_as_child(
            "io::standard::a_read_of_standard_input_that_never_ends_keeps_nobody_from_ending",
            |command| {
                command.stdin(Stdio::from(reader));
            },
        )
    });
    assert!(output.status.success(), "{}", stderr_of(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains('<') && !text.contains("left behind"), "{text}");
    drop(writer);
}
