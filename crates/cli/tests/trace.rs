//! `ropewalk trace` as its users meet it: recordings that were really made, and files that are none.

use ropewalk::{Runtime, channel, spawn, spawn_blocking, task, trace::span};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn ropewalk(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.arg("trace").args(args).env_remove("NO_COLOR").env_remove("ROPEWALK_THREADS");
    command.output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the output is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the output is UTF-8")
}

/// A file that is gone when the test is over.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ropewalk-trace-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("a plain name")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

const LONG: Duration = Duration::from_millis(40);

/// A program whose longest poll, and longest wait, are known: `hog` holds the only worker while `victim` wants to run.
fn recording() -> String {
    let runtime =
        Runtime::builder().worker_threads(1).record(1 << 14).rescue_threshold(Duration::ZERO).build();
    let runtime = runtime.unwrap();
    runtime.block_on(async {
        let (send, receive) = channel::bounded::<u32>(1);
        let victim = task::Builder::new().name("victim").spawn(async move { receive.recv().await.unwrap() });
        spawn(async {}).await.unwrap(); // it waits by now
        let hog = task::Builder::new().name("hog").spawn(async move {
            let _span = span("hogging");
            send.send(1).await.unwrap();
            let begun = Instant::now();
            while begun.elapsed() < LONG {
                std::hint::spin_loop();
            }
        });
        hog.await.unwrap();
        victim.await.unwrap();
        spawn_blocking(|| ()).await.unwrap();
    });
    runtime.trace().to_chrome()
}

fn rows<'a>(summary: &'a Value, title: &str) -> &'a Vec<Value> {
    let tables = summary["tables"].as_array().unwrap();
    let found = tables.iter().find(|table| table["title"] == title);
    found.unwrap_or_else(|| panic!("no {title:?} in {summary}"))["rows"].as_array().unwrap()
}

#[test]
fn it_finds_the_longest_poll_and_who_waited_for_it() {
    let file = File::new("known.json", &recording());
    let output = ropewalk(&[file.name(), "--json", "--top=3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&summary["command"], &summary["file"]), (&"trace".into(), &file.name().into()));
    let long = LONG.as_nanos() as f64;

    let poll = &rows(&summary, "longest polls")[0];
    assert_eq!(
        (&poll["name"], &poll["track"], &poll["ended"]),
        (&"hog".into(), &"main/worker 0".into(), &"done".into())
    );
    assert!(poll["took_ns"].as_f64().unwrap() >= long, "{poll}");
    assert!(poll["spawned"].as_str().unwrap().contains("trace.rs:"), "{poll}");

    let wait = &rows(&summary, "longest waits for a turn")[0];
    assert_eq!(wait["name"], "victim");
    assert!(wait["by"].as_str().unwrap().ends_with(" hog"), "{wait}");
    let waited = wait["waited_ns"].as_f64().unwrap();
    assert!(waited >= long * 0.9, "{wait}");
    let figures = &rows(&summary, "from wake-up to run")[0];
    assert_eq!(figures["max_ns"].as_f64(), Some(waited));
    assert!(figures["p50_ns"].as_f64().unwrap() <= figures["p99_ns"].as_f64().unwrap());

    let worker = &rows(&summary, "who did how much")[0];
    assert_eq!((&worker["track"], &worker["lost"]), (&"main/worker 0".into(), &0.into()));
    let [busy, parked] = ["busy", "parked"].map(|key| worker[key].as_f64().unwrap());
    assert!(busy > 0.0 && parked >= 0.0 && busy + parked <= 1.001, "{worker}");
    let overview = &rows(&summary, "the recording")[0];
    assert!(
        overview["span_ns"].as_f64().unwrap() >= long && overview["polls"].as_u64().unwrap() >= 5,
        "{overview}"
    );
    assert!(rows(&summary, "where the time went").len() <= 3);
    assert!(rows(&summary, "where the time went")[0]["busy_ns"].as_f64().unwrap() >= long);
    assert_eq!(rows(&summary, "spans")[0]["name"], "hogging");
}

#[test]
fn people_get_tables() {
    let file = File::new("people.json", &recording());
    let output = ropewalk(&[file.name()]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for part in ["time span", "longest polls", "main/worker 0", "hog", "victim", "p99", "in the driver", " %"]
    {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    assert!(!text.contains('\x1b'), "a pipe gets plain text");
}

#[test]
fn a_runtime_that_recorded_nothing_is_summarised_too() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let file = File::new("nothing.json", &runtime.trace().to_chrome());
    let output = ropewalk(&[file.name(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(rows(&summary, "the recording")[0]["polls"], 0);
    assert_eq!(rows(&summary, "from wake-up to run")[0]["p50_ns"], Value::Null);
    assert_eq!(ropewalk(&[file.name()]).status.code(), Some(0));
}

/// What is no recording is refused: what is wrong, and where.
#[test]
fn what_is_no_recording_is_refused() {
    let good = recording();
    let cut = &good[..good.len() / 2];
    let foreign = good.replace("\"recorder\":\"ropewalk\"", "\"recorder\":\"somebody\"");
    let future = good.replace("\"format\":1,", "\"format\":7,");
    let broken = good.replacen("\"dur\":", "\"duration\":", 1);
    let cases = [
        ("text.json", "hello", "not JSON: expected value at line 1 column 1"),
        ("empty.json", "", "it ends in the middle: EOF while parsing a value at line 1 column 0"),
        ("cut.json", cut, "it ends in the middle: "),
        ("list.json", "[1, 2]", "no recording: "),
        ("other.json", "{\"a\": 1}", "no recording: missing field `traceEvents` at line 1 column 8"),
        ("chrome.json", "{\"traceEvents\": []}", "`otherData.recorder` names nobody"),
        ("foreign.json", &foreign, "`otherData.recorder` names \"somebody\""),
        ("future.json", &future, "a recording in format 7; this program reads format 1"),
        ("broken.json", &broken, "has no duration (dur)"),
    ];
    for (name, text, wanted) in cases {
        let file = File::new(name, text);
        let output = ropewalk(&[file.name()]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(wanted) && said.contains(name), "{name}: {said}");
        assert!(output.stdout.is_empty());
    }
    for (name, bytes, wanted) in [
        (
            "packed.gz",
            &[0x1f, 0x8b, 8, 0][..],
            "not text (it is packed by gzip); accepted is what `Trace::write_chrome`",
        ),
        ("binary", &[0x7f, b'E', 0xff, 0], "not text; accepted is what"),
    ] {
        let file = File::new(name, "");
        std::fs::write(&file.0, bytes).unwrap();
        let output = ropewalk(&[file.name()]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(stderr(&output).contains(wanted), "{name}: {}", stderr(&output));
    }
    let output = ropewalk(&["/no/such/file"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("ropewalk: cannot read /no/such/file: "), "{}", stderr(&output));
}

/// Names are whatever a program has chosen: they are shown, and do nothing to the terminal or to the table.
#[test]
fn names_cannot_move_the_cursor() {
    let text = recording().replace("\"victim\"", "\"vic\\u001b[2J\\ntim\"");
    let file = File::new("nasty.json", &text);
    let output = ropewalk(&[file.name()]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(shown.contains("vic\\u{1b}[2J\\ntim") && !shown.contains('\x1b'), "{shown}");
    let read: Value = serde_json::from_slice(&ropewalk(&[file.name(), "--json"]).stdout).unwrap();
    assert_eq!(rows(&read, "longest waits for a turn")[0]["name"], "vic\u{1b}[2J\ntim", "as it is");

    let broken = File::new("nasty-broken.json", &text.replace("\"dur\":", "\"duration\":"));
    let said = stderr(&ropewalk(&[broken.name()]));
    assert!(said.contains("has no duration") && !said.contains('\x1b'), "{said:?}");
}

/// A file with these events, and with these entries in `otherData`.
fn made_up(events: &str, other: &str) -> String {
    format!("{{\"traceEvents\":[{events}],\"otherData\":{{\"recorder\":\"ropewalk\",\"format\":1{other}}}}}")
}

#[test]
fn times_and_counts_beyond_all_bounds_are_refused_or_stay_at_the_most() {
    let poll = |ts: &str, dur: &str| {
        format!(
            r#"{{"ph":"X","tid":2,"cat":"poll","name":"a\u001bb","ts":{ts},"dur":{dur},"args":{{"task":1,"events":{}}}}}"#,
            u64::MAX
        )
    };
    let cases = [
        (
            made_up(&poll("1", "1e300"), ""),
            "event 0 of the recording (\"a\\u{1b}b\") has a duration that is none",
        ),
        (made_up(&poll("1", "-1"), ""), "has a duration that is none (dur)"),
        (made_up(&poll("-5", "1"), ""), "has a time that is none (ts)"),
        (made_up(&poll("1e300", "1"), ""), "has a time that is none (ts)"),
        (made_up(&poll("1e999", "1"), ""), "not JSON: number out of range"),
        (made_up("", ",\"until_us\":-1"), "`otherData.until_us` is -1.0, which is no time"),
        (
            made_up("", ",\"complete_since_us\":1e300"),
            "`otherData.complete_since_us` is 1e300, which is no time",
        ),
    ];
    for (text, wanted) in cases {
        let file = File::new("bounds.json", &text);
        let output = ropewalk(&[file.name()]);
        assert_eq!(output.status.code(), Some(1), "{wanted}");
        assert!(stderr(&output).contains(wanted), "{wanted}: {}", stderr(&output));
    }
    let track = r#"{"ph":"M","tid":2,"name":"thread_name","args":{"name":"t"}}"#;
    let most = vec![poll("0", "1e16"); 3].join(",");
    let other = format!(",\"until_us\":1,\"lost\":{{\"t\":{0},\"u\":{0}}}", u64::MAX);
    let file = File::new("most.json", &made_up(&format!("{track},{most}"), &other));
    let output = ropewalk(&[file.name(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let overview = &rows(&summary, "the recording")[0];
    assert_eq!((&overview["io_events"], &overview["lost"]), (&u64::MAX.into(), &u64::MAX.into()));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let cases: [(&[&str], &str); 6] = [
        (&[], "trace needs the file of a recording"),
        (&["a", "b"], "\"b\" is a second one"),
        (&["a", "--top", "0"], "--top: \"0\" is not possible; accepted: 1 to 1000"),
        (&["a", "--top"], "--top: \"\" is not possible"),
        (&["a", "--json=1"], "--json takes no value"),
        (&["a", "--fast"], "\"--fast\" is not an option of trace; options: --top N, --json, --help"),
    ];
    for (args, wanted) in cases {
        let output = ropewalk(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(wanted), "{args:?}: {}", stderr(&output));
    }
    assert!(stdout(&ropewalk(&["--help"])).contains("usage: ropewalk trace FILE"));
}
