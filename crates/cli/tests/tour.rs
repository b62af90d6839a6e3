//! The `ropewalk` command as its users meet it: the built program, run.

use serde_json::Value;
use std::process::{Command, Output};

const STOPS: [&str; 22] = [
    "million", "switches", "fair", "hogs", "waiting", "tree", "scopes", "strands", "walk", "chat", "forks",
    "pool", "requests", "inside", "dump", "trace", "console", "timers", "threads", "shared", "bank",
    "sockets",
];

fn ropewalk(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(args).env_remove("NO_COLOR").env_remove("ROPEWALK_THREADS");
    command.output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the output is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the output is UTF-8")
}

/// The whole tour as JSON.
fn quick_tour() -> Value {
    let output = ropewalk(&["--quick", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stdout(&output), stderr(&output));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn the_quick_tour_visits_every_stop_and_all_checks_hold() {
    let tour = quick_tour();
    assert_eq!(tour["command"], "tour");
    assert_eq!(tour["quick"], true);
    assert_eq!(tour["ok"], true);
    let stops = tour["stops"].as_array().unwrap();
    let names: Vec<_> = stops.iter().map(|stop| stop["name"].as_str().unwrap()).collect();
    assert_eq!(names, STOPS);
    for stop in stops {
        assert_eq!(stop["ok"], true, "{stop}");
        let checks = stop["checks"].as_array().unwrap();
        assert!(!checks.is_empty() && checks.iter().all(|check| check["held"] == true), "{stop}");
        let tables = stop["tables"].as_array().unwrap();
        assert!(tables.iter().all(|table| !table["rows"].as_array().unwrap().is_empty()), "{stop}");
        assert!(!tables.is_empty(), "{stop} ends in figures");
    }
    figures_are_typed_and_make_sense(stops);
}

/// Numbers are numbers, in the unit that the key names.
fn figures_are_typed_and_make_sense(stops: &[Value]) {
    let row = |stop: usize, table: usize, row: usize| &stops[stop]["tables"][table]["rows"][row];
    let spawned = row(0, 0, 0);
    assert_eq!(spawned["tasks"], spawned["ran_once"]);
    assert!(spawned["each_ns"].as_f64().unwrap() > 0.0);
    let bytes = row(0, 1, 0)["bytes_per_task"].as_f64().unwrap();
    assert!((16.0..1024.0).contains(&bytes), "{bytes} bytes for a task that waits");
    let clock = row(2, 0, 0);
    assert!(clock["polls_closest"].as_u64() <= clock["bound_then"].as_u64());
    let pool = stops.iter().find(|stop| stop["name"] == "pool").unwrap();
    let timeline = pool["timeline"]["workers"].as_array().unwrap();
    assert_eq!(timeline.len(), 8, "the pool had eight workers at most");
    let known = |states: &Value| states.as_str().unwrap().chars().all(|state| "#-~r.".contains(state));
    assert!(timeline.iter().all(known));
}

/// Tasks of the tour hold workers on purpose. On a machine that has other things to do they hold them for longer than meant, and the runtime
/// says so, rightly, in a few lines.
fn without_reports(text: &str) -> String {
    let (mut left, mut report) = (String::new(), false);
    for line in text.lines() {
        report = line.starts_with("ropewalk: ") && line.contains(" has held worker ")
            || report && line.starts_with("  ");
        if !report {
            left += &format!("{line}\n");
        }
    }
    left
}

#[test]
fn piped_output_is_plain_and_fits_into_eighty_columns() {
    let output = ropewalk(&["--quick"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let (text, progress) = (stdout(&output), without_reports(&stderr(&output)));
    for line in text.lines().chain(progress.lines()) {
        assert!(line.is_ascii() && !line.contains('\x1b') && !line.contains('\r'), "{line:?}");
        assert!(line.len() <= 80, "{line:?}");
    }
    for stop in STOPS {
        assert!(text.contains(&format!(" {stop} ==")), "{stop} is announced");
        assert!(progress.contains(&format!("{stop}: ")), "{stop} says what it is doing");
    }
}

#[test]
fn one_stop_alone_and_several_in_the_order_given() {
    let names = |args: &[&str]| {
        let output = ropewalk(args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let tour: Value = serde_json::from_slice(&output.stdout).unwrap();
        let stops = tour["stops"].as_array().unwrap().clone();
        stops.iter().map(|stop| stop["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["tour", "--quick", "--json", "--only", "waiting"]), ["waiting"]);
    assert_eq!(names(&["--quick", "--json", "--only", "waiting, dump"]), ["waiting", "dump"]);
    assert_eq!(names(&["--only=inside", "--json", "--only", "million", "--quick"]), ["inside", "million"]);
}

#[test]
fn the_list_names_every_stop() {
    let output = ropewalk(&["--list"]);
    assert_eq!(output.status.code(), Some(0));
    let listed = stdout(&output);
    let names: Vec<_> = listed.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, STOPS);
    let listed: Value = serde_json::from_slice(&ropewalk(&["--list", "--json"]).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), STOPS.len());
    assert!(listed.as_array().unwrap().iter().all(|stop| !stop["about"].as_str().unwrap().is_empty()));
}

#[test]
fn help_and_version_go_to_standard_output() {
    for args in
        [&["--help"][..], &["-h"], &["help"], &["tour", "--help"], &["help", "tour"], &["--quick", "--help"]]
    {
        let output = ropewalk(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let text = stdout(&output);
        assert!(text.lines().all(|line| line.len() <= 80), "{args:?}: {text}");
        assert!(
            ["usage: ropewalk", "--only NAME", "million"].iter().all(|part| text.contains(part)),
            "{args:?}: {text}"
        );
    }
    let version = stdout(&ropewalk(&["--version"]));
    assert_eq!(version, format!("ropewalk {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn bad_arguments_are_refused_with_what_is_accepted() {
    let cases: [(&[&str], &[&str]); 10] = [
        (&["dance"], &["no command \"dance\"", "commands: tour, serve, top, bench, trace, help"]),
        (&["help", "dance"], &["no command \"dance\"", "commands: tour, serve, top, bench, trace, help"]),
        (&["--fast"], &["\"--fast\"", "--quick", "--only NAME", "--list", "--json"]),
        (&["tour", "million"], &["\"million\"", "--only NAME"]),
        (
            &["--only"],
            &[
                "--only needs the name of a stop",
                "million, switches, fair, hogs, waiting, tree, scopes, strands, walk, chat, forks, pool",
            ],
        ),
        (
            &["--only", "billion"],
            &[
                "no stop \"billion\"",
                "million, switches, fair, hogs, waiting, tree, scopes, strands, walk, chat, forks, pool",
            ],
        ),
        (&["--only", "waiting,"], &["--only needs the name of a stop"]),
        (&["--only="], &["--only needs the name of a stop"]),
        (&["--quick=yes"], &["--quick takes no value", "\"yes\""]),
        (&[""], &["no command \"\""]),
    ];
    for (args, help) in [
        (&["--fast"][..], "Try `ropewalk --help`."),
        (&["dance"], "Try `ropewalk --help`."),
        (&["serve", "dance"], "Try `ropewalk serve --help`."),
        (&["trace", "--fast"], "Try `ropewalk trace --help`."),
    ] {
        assert!(stderr(&ropewalk(args)).ends_with(&format!("\n{help}\n")), "{args:?}");
    }
    for (args, parts) in cases {
        let output = ropewalk(args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(parts.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
}

#[test]
fn a_stop_that_cannot_run_is_a_failure_that_says_why() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.args(["--quick", "--only", "million"]).env("ROPEWALK_THREADS", "none");
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("FAILED") && text.contains("ROPEWALK_THREADS"), "{text}");
    assert!(text.contains("1 of 1 stop did not hold: million"), "{text}");
}
