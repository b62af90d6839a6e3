//! A process that is stopped and goes on, at random moments, many times: its account is exact, no timer was early, and nothing
//! waits for ever. (What is late is late: that it was stopped is all there is to it.)

use crate::child::{Kind, case_variable, in_children, seconds, share, stage};
use crate::kit::make_child;
use crate::load::{Load, Random};
use ropewalk::driver::IoDriverKind;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const TEST: &str = "stopped::under_load";

fn kinds() -> Vec<Kind> {
    let [epoll, uring] = [IoDriverKind::Epoll, IoDriverKind::IoUring];
    let all = [(epoll, 2), (uring, 8), (epoll, 0), (uring, 2), (epoll, 8), (uring, 0)];
    let few = if seconds().is_some() { all.len() } else { 1 };
    all[..few].iter().map(|(driver, workers)| Kind(*driver, *workers)).collect()
}

#[test]
fn under_load() {
    let kinds = kinds();
    let span = share(kinds.len(), Duration::from_millis(300));
    let load = |kind: &Kind| {
        let runtime = kind.build();
        stage("the load");
        // In parts: what hangs shows soon.
        let until = Instant::now() + span;
        while Instant::now() < until {
            let load = Load::run(&runtime, (until - Instant::now()).min(Duration::from_secs(5)));
            stage(format_args!("the load after {load}"));
            println!("attack: {load}");
        }
        drop(runtime);
    };
    in_children(TEST, &kinds, 1, load, stopping);
}

/// The child, stopped now and then for as long as it is there.
fn stopping(kind: &Kind) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    make_child(&mut command, TEST);
    let (name, case) = case_variable(kind);
    command.env(name, case).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut random, mut stops, mut stopped) = (Random(kind.1 as u64 + 1), 0, Duration::ZERO);
    while child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_micros(random.below(60_000)));
        let length = stop_length(&mut random);
        signal(&child, libc::SIGSTOP);
        thread::sleep(length);
        signal(&child, libc::SIGCONT);
        (stops, stopped) = (stops + 1, stopped + length);
    }
    println!("attack: {kind}: stopped {stops} times, for {:.1} s in all", stopped.as_secs_f64());
    child.wait_with_output().unwrap()
}

/// Mostly some milliseconds, as of a busy machine; sometimes up to a second.
fn stop_length(random: &mut Random) -> Duration {
    let most = [5_000, 5_000, 50_000, 50_000, 300_000, 1_000_000]
        [random.below(if seconds().is_some() { 6 } else { 4 }) as usize];
    Duration::from_micros(1_000 + random.below(most))
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: a plain system call. The child was not waited for to its end, or has ended and keeps its number until this drops it.
    let _gone = unsafe { libc::kill(child.id() as libc::pid_t, signal) };
}
