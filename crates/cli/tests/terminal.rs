//! What a person at a terminal sees: colours and boxes, unless they are not wanted.
#![cfg(target_os = "linux")]

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::thread;

/// Runs a quick tour whose standard output (and, if asked for, standard error) is a terminal: what came there.
fn at_a_terminal(args: &[&str], environment: &[(&str, &str)], errors_too: bool) -> String {
    let args: Vec<&str> = [&["--quick"], args].concat();
    run_at_a_terminal(&args, environment, errors_too, None)
}

/// The same for any command, at a terminal of so many columns.
fn run_at_a_terminal(
    args: &[&str],
    environment: &[(&str, &str)],
    errors_too: bool,
    columns: Option<u16>,
) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("its other end");
    let name = ptsname(&ours, Vec::new()).expect("its name");
    let theirs = OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
    if let Some(ws_col) = columns {
        tcsetwinsize(&theirs, Winsize { ws_row: 24, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }
    let errors = if errors_too { Stdio::from(theirs.try_clone().unwrap()) } else { Stdio::null() };
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(args).env_remove("NO_COLOR").env("TERM", "xterm");
    command.envs(environment.iter().copied()).stdin(Stdio::null()).stdout(theirs).stderr(errors);
    let mut child = command.spawn().expect("the program runs");
    drop(command); // our copies of the terminal's end
    let reader = thread::spawn(move || {
        let (mut ours, mut seen, mut part) = (File::from(ours), Vec::new(), [0; 4096]);
        // A terminal whose last user has left gives an error instead of an end.
        while let Ok(count @ 1..) = ours.read(&mut part) {
            seen.extend_from_slice(&part[..count]);
        }
        String::from_utf8(seen).expect("the output is UTF-8")
    });
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap()
}

/// What is left when colours are taken off.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |mut left, part| {
        let (code, rest) = part.split_once('m').expect("only colours");
        assert!(code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{part:?}");
        left.push_str(rest);
        left
    })
}

#[test]
fn a_terminal_gets_colours_and_boxes_of_at_most_eighty_columns() {
    let seen = at_a_terminal(&[], &[], false);
    assert!(seen.contains("\x1b[32m✓\x1b[0m") && seen.contains('╭'), "{seen}");
    for line in without_colours(&seen).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn no_color_and_a_dumb_terminal_get_plain_text() {
    for environment in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let seen = at_a_terminal(&["--only", "waiting"], &[environment], false);
        assert!(seen.is_ascii() && !seen.contains('\x1b'), "{environment:?}: {seen}");
    }
    assert!(
        at_a_terminal(&["--only", "waiting"], &[("NO_COLOR", "")], false).contains('\x1b'),
        "an empty one counts as unset"
    );
}

#[test]
fn the_progress_bar_leaves_nothing_behind() {
    let seen = at_a_terminal(&["--only", "fair"], &[], true);
    let erase = "\r\x1b[2K";
    assert!(seen.contains(erase) && seen.contains(" %"), "there was a bar: {seen:?}");
    let last_bar = seen.rfind(" %").expect("just seen");
    let erased = seen.rfind(erase).expect("just seen");
    assert!(erased > last_bar && seen[erased..].contains("Time to the next turn"), "{seen:?}");
}

#[test]
fn a_bar_is_not_wider_than_the_terminal() {
    let seen = run_at_a_terminal(&["--quick", "--only", "fair"], &[], true, Some(40));
    let bars: Vec<&str> = seen.split("\r\x1b[2K").skip(1).filter(|part| part.contains(" % ")).collect();
    assert!(!bars.is_empty(), "{seen:?}");
    for bar in bars {
        let bar = without_colours(bar);
        let bar = bar.lines().next().unwrap_or_default();
        assert!(bar.chars().count() < 40, "{bar:?}");
    }
}

#[test]
fn a_dumb_terminal_gets_a_line_for_each_phase_instead_of_a_bar() {
    let seen = at_a_terminal(&["--only", "fair"], &[("TERM", "dumb")], true);
    assert!(seen.contains("fair: a flood on two workers") && !seen.contains('\x1b'), "{seen:?}");
}

#[test]
fn the_tables_of_a_recording_fit_into_the_terminal() {
    let runtime = ropewalk::Runtime::builder().worker_threads(1).record(1 << 10).build().unwrap();
    let named = ropewalk::task::Builder::new().name("a task with a name that is long enough for any table");
    runtime.block_on(async { named.spawn(ropewalk::yield_now()).await.unwrap() });
    let path = std::env::temp_dir().join(format!("ropewalk-terminal-{}.json", std::process::id()));
    std::fs::write(&path, runtime.trace().to_chrome()).unwrap();
    for (environment, columns) in [(("NO_COLOR", ""), 80), (("NO_COLOR", "1"), 80), (("NO_COLOR", ""), 200)] {
        let args = ["trace", path.to_str().unwrap()];
        let seen = without_colours(&run_at_a_terminal(&args, &[environment], false, Some(columns)));
        assert!(seen.contains("longest polls") && seen.contains("terminal.rs:"), "{seen}");
        for line in seen.lines() {
            assert!(line.chars().count() <= columns.into(), "{line}");
        }
        assert_eq!(seen.contains("name that is long enough for any table │"), columns == 200, "{seen}");
    }
    std::fs::remove_file(&path).unwrap();
}
