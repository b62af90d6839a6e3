//! Without a terminal: one snapshot, as text or as JSON.

use crate::mock::Mock;
use serde_json::Value;
use std::process::{Command, Output};

pub fn top(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    command.arg("top").args(args).env_remove("NO_COLOR").env_remove("ROPEWALK_THREADS");
    command.output().expect("the program runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is UTF-8")
}

#[test]
fn a_pipe_gets_one_snapshot() {
    let mock = Mock::start();
    let address = mock.address.to_string();
    for args in [&[address.as_str()][..], &[&address, "--once"], &["--once", &address]] {
        let output = top(args);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(said.is_ascii() && !said.contains('\x1b'), "{said}");
        for part in [
            "waterworks, pid 4711, up 2m",
            &format!("at {address}"),
            "5 alive, of these 1 strand; 5 queued, 4 timers",
            "3 blocking threads, 1 job running, 0 queued; 8 files at epoll",
            "poll time          120ns     900ns     2.0us    12.3ms     130ns   100,000",
            "longest poll: 12.3ms by task 3 \"cruncher\", src/worker/pool.rs:103:5",
            "longest poll: 2.1ms by strand 5, src/worker/pool.rs:110:5",
            "main 0        busy",
            "tasks: 5\n",
            "\ntask 1 \"acceptor\", waiting for a moment since 900ms, 1m00s old, 7 polls, 12.0us busy, spawned at src/worker/pool.rs:101:5\n",
            "\n|  +- task 4, waiting for a mutex at 0x7f12aa00, held by \"holder\" (strand 2) since 900ms",
            "\n+- task 3 \"cruncher\", running, 3m00s old",
        ] {
            assert!(said.contains(part), "{part:?} in\n{said}");
        }
    }
    assert_eq!(mock.asked().len(), 3, "each asked once");
}

#[test]
fn json_is_what_the_console_says() {
    let mock = Mock::start();
    let output = top(&[&mock.address.to_string(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&said["version"], &said["pid"], &said["something_new"]["that"]),
        (&1.into(), &4711.into(), &"is ignored".into())
    );
    assert_eq!(said["tasks"]["list"].as_array().unwrap().len(), 5);
}

#[test]
fn addresses_may_be_written_in_many_ways() {
    const TOKEN: &str = "0123456789abcdef";
    let mock = Mock::with_token(Some(TOKEN));
    let port = mock.address.port().to_string();
    let url = format!("http://{}/?token={TOKEN}", mock.address);
    let by_name = format!("localhost:{port}");
    let by_option = format!("--token={TOKEN}");
    for args in [&[url.as_str()][..], &[&port, "--token", TOKEN], &[&by_name, &by_option]] {
        let output = top(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_reader_that_is_gone_is_no_panic() {
    let mock = Mock::start();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropewalk"));
    let output = command.args(["top", &mock.address.to_string(), "--once"]).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), String::new()));
}

#[test]
fn help_says_what_there_is() {
    for args in [&["top", "--help"][..], &["help", "top"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_ropewalk")).args(args).output().unwrap();
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0));
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        let parts =
            ["--interval TIME", "--token TOKEN", "--once", "--json", "Console::builder()", "Exit codes"];
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}
