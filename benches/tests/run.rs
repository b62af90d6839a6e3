//! `bench run` as it is called: real measurements, short ones, of rows that cost little. What they say does not matter here.

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("ropewalk-bench-run-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn bench(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect(name)
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("it is JSON")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is UTF-8")
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the program runs")
}

#[test]
fn a_quick_run_of_one_row_ends_in_all_reports() {
    let folder = Folder::new("quick");
    let wanted = ["run", "--quick", "--only", "yield_same", "--against", "may,tokio-ct"];
    let files = ["--json", "out.json", "--md", "out.md", "--html", "out.html"];
    let output = run(folder.bench(&wanted).args(files));
    let (printed, progress) = (said(&output.stdout), said(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{progress}");
    let json = folder.json("out.json");
    let rows = json["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["row"]), (1, &Value::from("yield_same")));
    let peers = rows[0]["peers"].as_object().unwrap();
    let names: Vec<_> = peers.keys().collect();
    assert_eq!(names, ["may", "ropewalk", "ropewalk-ct", "tokio-ct"]);
    for (peer, figure) in peers {
        let samples = figure["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 3, "{peer}: one for each round");
        assert!(samples.iter().all(|sample| sample.as_f64().unwrap() > 0.0), "{peer}");
        let raw = json["samples"]["yield_same"][peer].as_array().unwrap();
        assert!(raw.iter().map(|sample| &sample["value"]).eq(samples), "{peer}: rows are made of samples");
        assert!(raw.iter().all(|sample| sample["ops"].as_u64().unwrap() > 0));
    }
    assert_eq!((&json["planned"], &json["made"], &json["quick"]), (&12.into(), &12.into(), &true.into()));
    assert_eq!(printed.trim_end(), folder.read("out.md").trim_end());
    assert!(printed.contains("| yield_same |") && printed.contains("A quick run"), "{printed}");
    assert_eq!(progress.matches("round 3/3 [").count(), 4, "a line for each measurement: {progress}");
    assert!(!progress.contains('\x1b') && !progress.contains('\r'), "no bar where there is no terminal");

    // The same page again from the file alone.
    let again = ["run", "--from", "out.json", "--html", "again.html", "--json", "again.json"];
    assert_eq!(run(&mut folder.bench(&again)).status.code(), Some(0));
    assert_eq!(folder.read("again.html"), folder.read("out.html"));
    assert_eq!(folder.read("again.json"), folder.read("out.json"));
}

#[test]
fn what_was_measured_before_it_was_stopped_is_reported() {
    let folder = Folder::new("stopped");
    let args = ["run", "--quick", "--only", "oneshot", "--peers", "ropewalk", "--rounds", "1000"];
    let mut bench = folder.bench(&args);
    let mut child = bench
        .args(["--json", "out.json", "--html", "out.html"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let second = lines.find(|line| line.starts_with("round 2/1000 [1/1] oneshot"));
    assert!(second.is_some(), "two measurements were made");
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(rest.iter().any(|line| line.starts_with("stopped: ")), "{rest:?}");
    assert!(!rest.iter().any(|line| line.contains("FAILED")), "{rest:?}");
    let json = folder.json("out.json");
    let made = json["made"].as_u64().unwrap();
    assert!((2..1000).contains(&made), "{made}");
    let samples = json["rows"][0]["peers"]["ropewalk"]["samples"].as_array().unwrap().len() as u64;
    assert_eq!(samples, made);
    assert_eq!(json["failed"], Value::Array(Vec::new()));
    assert!(folder.read("out.html").contains("Stopped after"));
    let mut printed = String::new();
    child.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
    assert!(printed.contains("Stopped after"), "{printed}");
}

/// A `go` that builds nothing but a program that says who it is, and hangs.
const GO: &str = r#"#!/bin/sh
[ "$1" = version ] && { echo go version go0 none; exit; }
printf '#!/bin/sh\necho "hangs: $$" >&2\nexec sleep 100\n' >"$4" && chmod +x "$4"
"#;

#[test]
fn what_a_measurement_started_does_not_outlive_it() {
    // The programs of other languages are put beside `bench`; what is beside the real one stays as it is.
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hangs-{}", std::process::id()));
    let folder = Folder(beside);
    fs::create_dir_all(&folder.0).unwrap();
    let bench = folder.0.join("bench");
    fs::hard_link(env!("CARGO_BIN_EXE_bench"), &bench).unwrap();
    // By another process: what this one has open for writing may be open in a child that another test starts.
    let mut sh = Command::new("sh");
    sh.args(["-c", "printf %s \"$0\" >go && chmod +x go", GO]).current_dir(&folder.0);
    assert!(sh.status().unwrap().success());

    let mut command = Command::new(&bench);
    command.args(["run", "--quick", "--only", "yield_same", "--peers", "go"]).current_dir(&folder.0);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.0.display())).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let (tell, told) = mpsc::channel();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    thread::spawn(move || lines.map(Result::unwrap).try_for_each(|line| tell.send(line)));
    let limit = Duration::from_secs(30);
    let hangs = loop {
        let line = told.recv_timeout(limit).expect("it hangs");
        if let Some(pid) = line.strip_prefix("hangs: ") {
            break Pid::from_raw(pid.parse().unwrap()).unwrap();
        }
    };
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    // Its standard error is closed when the last who has it is gone.
    let end = loop {
        if let Err(end) = told.recv_timeout(limit) {
            break end;
        }
    };
    if end == mpsc::RecvTimeoutError::Timeout {
        let _ = kill_process(hangs, Signal::KILL);
    }
    assert_eq!(end, mpsc::RecvTimeoutError::Disconnected, "the program lives on");
}

#[test]
fn a_run_goes_on_when_nobody_reads_its_progress() {
    let folder = Folder::new("unread");
    let args = ["run", "--quick", "--only", "oneshot", "--peers", "ropewalk", "--rounds", "2"];
    let (reader, writer) = io::pipe().unwrap();
    let mut bench = folder.bench(&args);
    bench.args(["--json", "out.json"]).stdout(Stdio::piped()).stderr(writer);
    drop(reader);
    let output = run(&mut bench);
    assert_eq!(output.status.code(), Some(0));
    assert!(said(&output.stdout).contains("| oneshot |"));
    assert_eq!(folder.json("out.json")["made"], 2);
}

#[test]
fn a_file_that_cannot_be_written_takes_nothing_else_away() {
    let folder = Folder::new("gone");
    fs::create_dir(folder.0.join("sub")).unwrap();
    let args = ["run", "--quick", "--only", "oneshot", "--peers", "ropewalk", "--rounds", "1000"];
    let mut bench = folder.bench(&args);
    bench.args(["--json", "sub/out.json", "--html", "out.html"]);
    let mut child = bench.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("round 1/1000 [1/1] oneshot")));
    // A file may come into it meanwhile.
    while fs::remove_dir_all(folder.0.join("sub")).is_err() {}
    assert!(lines.any(|line| line.starts_with("cannot write sub/out.json: ")), "it says so");
    assert!(lines.any(|line| line.contains(" oneshot ")), "and goes on");
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    let rest: Vec<String> = lines.collect();
    assert!(rest.last().unwrap().starts_with("bench: cannot write sub/out.json: "), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(folder.read("out.html").contains("Stopped after"), "the others are written");
    let printed = io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert!(printed.contains("| oneshot |"), "{printed}");
}

#[test]
fn mistakes_are_refused_before_anything_is_measured() {
    let folder = Folder::new("mistakes");
    for (args, code, parts) in [
        (&["run", "--only", "yeild_same"][..], 2, &["no row \"yeild_same\"; nearest: yield_same"][..]),
        (&["run", "--against", "tokyo"], 2, &["no peer \"tokyo\"", "nearest first: tokio"]),
        (&["run", "--html"], 2, &["--html needs a value"]),
        (&["walk"], 2, &["no command \"walk\"", "run"]),
        (&["run", "--json", "no/such/folder/x.json"], 1, &["cannot write no/such/folder/x.json"]),
        (&["run", "--from", "nothing.json"], 1, &["nothing.json: No such file"]),
        (&["run", "--only", "fork_fib25", "--against", "may"], 0, &[]),
        (&["run", "--only", "fork_fib25", "--peers", "may"], 1, &["nothing is left to measure"]),
    ] {
        let output = run(folder.bench(args).args((code == 0).then_some("--list")));
        let error = said(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{args:?}: {error}");
        assert!(code == 0 || output.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0, "nothing was left behind");
    let listed = said(&run(&mut folder.bench(&["list"])).stdout);
    assert!(
        listed.contains("Forks\n  fork_fib25 ") && listed.contains("peers: ropewalk, rayon, limit"),
        "{listed}"
    );
    let version = said(&run(&mut folder.bench(&["--version"])).stdout);
    assert_eq!(version, format!("ropewalk-benches {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn any_part_of_the_table_of_hogs_is_measured() {
    let folder = Folder::new("hogs");
    let some = ["--workers", "2,0", "--polls", "0.1", "--millis", "30", "--peers", "ropewalk,tokio"];
    // What is due beside hogs that yield, and a timer beside hogs that give way in each way: ours, and tokio where it has it.
    for (all, lines) in [("--due", 5 * 5 + 2), ("--ways", 6 * 5)] {
        let output = run(folder.bench(&["short-hogs", all, "all"]).args(some));
        let (printed, complaints) = (said(&output.stdout), said(&output.stderr));
        let figures = printed.lines().filter(|line| line.contains("/2x0.1ms/"));
        let (ours, others): (Vec<_>, Vec<_>) = figures.partition(|line| line.contains(" ropewalk"));
        assert_eq!(ours.len() + others.len(), lines, "{printed}{complaints}");
        assert!(ours.iter().all(|line| line.ends_with("  ok") || line.contains("  MISSED p")), "{printed}");
        let late = |line: &&str| line.split_whitespace().nth(2).and_then(|p50| p50.parse::<f64>().ok());
        assert!(ours.iter().chain(&others).all(|line| late(line).is_some()), "{printed}{complaints}");
        let all_ok = ours.iter().all(|line| line.ends_with("  ok"));
        assert_eq!(output.status.code(), Some(i32::from(!all_ok)), "{printed}");
    }
}

#[test]
fn a_terminal_gets_a_bar_that_leaves_nothing_behind() {
    let folder = Folder::new("bar");
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("its other end");
    let name = ptsname(&ours, Vec::new()).expect("its name");
    let theirs = OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
    let args = ["run", "--quick", "--only", "oneshot", "--peers", "ropewalk,tokio-ct", "--rounds", "2"];
    let mut bench = folder.bench(&args);
    bench.env_remove("NO_COLOR").env("TERM", "xterm").stdout(Stdio::null()).stderr(theirs);
    let mut child = bench.spawn().expect("the program runs");
    drop(bench); // our copy of the terminal's end
    let (mut ours, mut seen, mut part) = (File::from(ours), Vec::new(), [0; 4096]);
    // A terminal whose last user has left gives an error instead of an end.
    while let Ok(count @ 1..) = ours.read(&mut part) {
        seen.extend_from_slice(&part[..count]);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let seen = said(&seen);
    assert!(seen.contains("1/4  oneshot ropewalk") && seen.contains("4/4  oneshot ropewalk"), "{seen:?}");
    assert!(seen.contains(" s left") && seen.contains('█'), "{seen:?}");
    assert!(seen.ends_with("\r\x1b[2K") && !seen.contains("round 1/2"), "{seen:?}");
}
