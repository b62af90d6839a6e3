//! Many: tasks, clients, questions.

use crate::{ask, ask_with, names, runtime, serve};
use ropewalk::console::Console;
use ropewalk::{Runtime, TaskHandle, task};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// More than a dump lists of those that are alike.
const ALIKE: usize = 3_000;

fn waiting(runtime: &Runtime, name: String) -> TaskHandle<()> {
    task::Builder::new().name(name).spawn_on(&runtime.handle(), std::future::pending::<()>())
}

/// Runs a test in a process of its own, if it is not; whether it is. What belongs to the process is counted in it.
fn is_alone(test: &str) -> bool {
    const ALONE: &str = "ROPEWALK_TEST_IS_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let again = again.args(["--exact", test, "--nocapture"]).env(ALONE, "1");
    assert!(again.status().unwrap().success());
    false
}

/// Every one of those that are alike is found, and so is who spawned it.
#[test]
fn a_search_is_among_all_tasks() {
    let runtime = runtime(1);
    let parent = task::Builder::new().name("listener").spawn_on(&runtime.handle(), async {
        let mut group = ropewalk::TaskGroup::new();
        for index in 0..ALIKE {
            let name = task::Builder::new().name(format!("guest {index}."));
            group.spawn_as(name, std::future::pending::<()>());
        }
        group.join_all().await;
    });
    let console = serve(&runtime);
    let search = |text: &str| ask(&console, &format!("/api/state?q={text}")).json();
    while ask(&console, "/api/state").json()["tasks"]["alive"] != ALIKE as u64 + 1 {}
    for index in [ALIKE - 1, 1_234, 0] {
        let found = search(&format!("GUEST+{index}."));
        assert_eq!(names(&found), ["listener", &format!("guest {index}.")], "{found}");
        let tasks = &found["tasks"];
        assert_eq!((&tasks["matching"], &tasks["cut_short"]), (&1.into(), &false.into()), "{index}");
        assert_eq!(tasks["list"][1]["parent"], tasks["list"][0]["id"]);
    }
    let found = search("guest&tasks=7");
    let tasks = &found["tasks"];
    assert_eq!((&tasks["matching"], &tasks["listed"]), (&(ALIKE as u64).into(), &8.into()), "{tasks}");
    assert_eq!(search("no-such-guest")["tasks"]["matching"], 0);
    parent.cancel();
}

/// Who is searched for by number is there, though others have the number in their names and come first.
#[test]
fn a_number_finds_whose_it_is() {
    if !is_alone("crowd::a_number_finds_whose_it_is") {
        return;
    }
    for many in [50, ALIKE] {
        let runtime = runtime(1);
        let first = waiting(&runtime, "first".to_owned());
        let number = first.id().unwrap().get() + many as u64;
        let others: Vec<_> = (1..many).map(|_| waiting(&runtime, format!("not {number}"))).collect();
        let last = waiting(&runtime, "last".to_owned());
        assert_eq!(last.id().unwrap().get(), number, "numbers are given one after the other");
        let console = serve(&runtime);
        let found = ask(&console, &format!("/api/state?q={number}&tasks=5")).json();
        assert_eq!(found["tasks"]["list"].as_array().unwrap().len(), 6, "{found}");
        assert!(names(&found).contains(&"last"), "{found}");
        drop((first, others, last));
    }
}

/// The page is drawn by what is here: it stays small.
#[test]
fn a_state_is_bounded() {
    let runtime = runtime(1);
    let others: Vec<_> = (0..ALIKE).map(|index| waiting(&runtime, format!("guest {index}"))).collect();
    let console = serve(&runtime);
    let state = ask(&console, "/api/state");
    assert!(state.body.len() < 500 * 600, "{} bytes", state.body.len());
    let tasks = &state.json()["tasks"];
    assert_eq!((&tasks["alive"], &tasks["listed"]), (&(ALIKE as u64).into(), &500.into()));
    drop(others);
}

/// How many threads of this process are for jobs.
#[cfg(target_os = "linux")]
fn job_threads() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name.contains("-blocki")).count()
}

/// Dumps go on when their clients are gone; but there are never many.
#[test]
#[cfg(target_os = "linux")]
fn many_dumps_do_not_go_on_at_once() {
    if !is_alone("crowd::many_dumps_do_not_go_on_at_once") {
        return;
    }
    let runtime = runtime(1);
    let others: Vec<_> = (0..ALIKE).map(|index| waiting(&runtime, format!("guest {index}"))).collect();
    let console = serve(&runtime);
    for round in 0..5 {
        let clients: Vec<_> = (0..20)
            .map(|_| {
                let mut client = TcpStream::connect(console.address()).unwrap();
                client.write_all(b"GET /api/dump.json HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
                client
            })
            .collect();
        // The first answer has begun: all were asked before, on the console's one thread or in its backlog.
        (&clients[0]).read_exact(&mut [0; 1]).unwrap();
        drop(clients);
        assert_eq!(ask(&console, "/api/state").status, 200, "round {round}");
    }
    assert_eq!(ask(&console, "/api/dump.txt").status, 200);
    assert!(job_threads() <= 4, "{} threads", job_threads());
    drop(others);
}

/// As many as there may be, none of which reads what it gets: somebody else is answered.
#[test]
fn who_does_not_read_keeps_nobody_out() {
    let runtime = runtime(1);
    let console = serve(&runtime);
    let questions = b"GET /tree.js HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1_000);
    let deaf: Vec<_> = (0..32)
        .map(|_| {
            let mut client = TcpStream::connect(console.address()).unwrap();
            client.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
            client.write_all(&questions).unwrap();
            client
        })
        .collect();
    for client in &deaf {
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        client.peek(&mut [0; 1]).unwrap(); // it is being answered
    }
    is_answered(&connect(&console));
    drop(deaf);
}

/// Who asks again and again is not the one that goes.
#[test]
fn who_is_silent_goes_first() {
    let runtime = runtime(1);
    let console = serve(&runtime);
    let client = connect(&console);
    is_answered(&client);
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(connect(&console));
        is_answered(&client);
    }
    let mut first = &silent[0];
    assert_eq!(first.read(&mut [0; 1]).unwrap_or(0), 0, "it was sent away");
}

fn connect(console: &Console) -> TcpStream {
    let client = TcpStream::connect(console.address()).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(8))).unwrap(); // less than any patience of the console's
    client
}

fn is_answered(mut client: &TcpStream) {
    client.write_all(b"HEAD /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).expect("an answer");
        head.extend(byte);
    }
    assert!(head.starts_with(b"HTTP/1.1 200 OK"));
}

/// One question in many pieces, and many in one.
#[test]
fn questions_come_in_any_pieces() {
    let runtime = runtime(1);
    let console = serve(&runtime);
    let mut client = TcpStream::connect(console.address()).unwrap();
    client.set_nodelay(true).unwrap();
    for byte in b"HEAD /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n" {
        client.write_all(&[*byte]).unwrap();
    }
    let end = b"GET /style.css HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    client
        .write_all(&[b"GET /api/state HTTP/1.1\r\nHost: localhost\r\n\r\n".as_slice(), end].concat())
        .unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 3, "{text}");
    assert_eq!(text.matches("\"version\":1").count(), 1, "a head has no body");
    let long = "x".repeat(1 << 20);
    let mut client = TcpStream::connect(console.address()).unwrap();
    let _it_may_be_refused = write!(client, "GET /?{long} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut answer = Vec::new();
    let _it_hangs_up = client.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    for method in ["OPTIONS", "BREW", "TRACE"] {
        assert_eq!(ask_with(console.address(), method, "/", "localhost", "").status, 405, "{method}");
    }
}

/// Whatever a task is called, it is text.
#[test]
fn names_are_text() {
    let runtime = runtime(1);
    let nasty = "</script><img src=x onerror=alert(1)>\u{1b}[2J\"\\\u{0}\u{9b}\n\u{202e}";
    let waiter = waiting(&runtime, nasty.to_owned());
    let pool = ropewalk::Pool::builder().name("a\"b\n\\c").workers(1).build(&runtime.handle()).unwrap();
    let console = serve(&runtime);
    let state: Value = ask(&console, "/api/state").json();
    assert_eq!((names(&state), state["pools"][1]["name"].as_str()), (vec![nasty], Some("a\"b\n\\c")));
    assert_eq!(ask(&console, "/api/dump.json").json()["tasks"][0]["name"], nasty);
    let text = ask(&console, "/api/dump.txt").body;
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert!(ask(&console, "/metrics").body.contains("pool=\"a\\\"b\\n\\\\c\""));
    drop((waiter, pool));
}
