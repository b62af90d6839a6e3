//! The console, asked over real sockets as a browser does.

#[path = "console/crowd.rs"]
mod crowd;

use ropewalk::console::{Console, ConsoleError};
use ropewalk::{Runtime, Wait, task};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

fn ask_with(address: SocketAddr, method: &str, path: &str, host: &str, more: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

fn ask(console: &Console, path: &str) -> Answer {
    ask_with(console.address(), "GET", path, &console.address().to_string(), "")
}

fn serve(runtime: &Runtime) -> Console {
    Console::builder().serve(&runtime.handle()).unwrap()
}

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().worker_threads(workers).observe(true).build().unwrap()
}

/// The names of the tasks in a state.
fn names(state: &Value) -> Vec<&str> {
    let list = state["tasks"]["list"].as_array().unwrap();
    list.iter().filter_map(|task| task["name"].as_str()).collect()
}

#[test]
fn the_page_and_its_parts() {
    let runtime = runtime(1);
    let console = serve(&runtime);
    for (path, kind) in [("/", "text/html"), ("/app.js", "text/javascript"), ("/style.css", "text/css")] {
        let answer = ask(&console, path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").unwrap().starts_with(kind), "{path}: {}", answer.head);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let policy = answer.header("content-security-policy").unwrap();
        for part in ["default-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"]
        {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert!(!answer.body.contains("http://") || path != "/", "nothing comes from outside");
    }
    assert_eq!(console.url(), format!("http://{}/", console.address()));
}

#[test]
fn the_state_is_that_of_the_runtime() {
    let runtime = runtime(2);
    let (never, wait) = ropewalk::channel::oneshot::channel::<()>();
    let waiter = task::Builder::new().name("patient").spawn_on(&runtime.handle(), async {
        wait.await.unwrap_err();
    });
    let console = serve(&runtime);
    let state = loop {
        let state = ask(&console, "/api/state").json();
        if !state["tasks"]["list"][0]["waits_for"].is_null() {
            break state;
        }
    };
    assert_eq!(state["version"], 1);
    assert_eq!(state["pid"], std::process::id());
    assert_eq!((&state["ended"], &state["capabilities"]["observed"]), (&false.into(), &true.into()));
    let pool = &state["pools"][0];
    assert_eq!((pool["name"].as_str(), pool["alive"].as_u64()), (Some("main"), Some(1)));
    assert_eq!(pool["workers"].as_array().unwrap().len(), 2);
    let tasks = &state["tasks"];
    assert_eq!((tasks["alive"].as_u64(), tasks["listed"].as_u64()), (Some(1), Some(1)));
    let task = &tasks["list"][0];
    assert_eq!((task["name"].as_str(), task["state"].as_str()), (Some("patient"), Some("waiting")));
    assert!(task["spawned_at"].as_str().unwrap().contains("console.rs:"), "{task}");
    assert!(task["waits_ms"].as_f64().unwrap() >= 0.0 && task["age_ms"].as_f64().unwrap() >= 0.0, "{task}");
    drop(never);
    waiter.wait().unwrap();
    while ask(&console, "/api/state").json()["tasks"]["alive"] != 0 {}
}

#[test]
fn a_search_finds_tasks_and_those_they_stem_from() {
    let runtime = runtime(1);
    let (stop, stopped) = ropewalk::channel::watch::channel(false);
    let named = |name: &str| task::Builder::new().name(name.to_owned());
    let child = {
        let mut stopped = stopped.clone();
        async move { drop(stopped.wait_for(|stop| *stop).await) }
    };
    let parent = named("Parent").spawn_on(&runtime.handle(), async move {
        let mut group = ropewalk::TaskGroup::new();
        group.spawn_as(task::Builder::new().name("needle"), child);
        group.join_all().await;
    });
    let mut others = Vec::new();
    for index in 0..20 {
        let mut stopped = stopped.clone();
        let waits = async move { drop(stopped.wait_for(|stop| *stop).await) };
        others.push(named(&format!("hay {index}")).spawn_on(&runtime.handle(), waits));
    }
    let console = serve(&runtime);
    while ask(&console, "/api/state").json()["tasks"]["alive"] != 22 {}
    let found = ask(&console, "/api/state?q=NEEDle").json();
    assert_eq!(names(&found), ["Parent", "needle"], "{found}");
    assert_eq!((&found["tasks"]["matching"], &found["tasks"]["listed"]), (&1.into(), &2.into()));
    let list = &found["tasks"]["list"];
    assert_eq!(list[1]["parent"], list[0]["id"]);
    assert_eq!(names(&ask(&console, "/api/state?q=hay+1").json()).len(), 11);
    assert_eq!(names(&ask(&console, "/api/state?q=hay%201&tasks=3").json()).len(), 3);
    assert!(names(&ask(&console, "/api/state?q=no%20such").json()).is_empty());
    assert!(names(&ask(&console, "/api/state?tasks=0").json()).is_empty());
    stop.send(true).unwrap();
    parent.wait().unwrap();
    others.into_iter().for_each(|other| other.wait().unwrap());
}

#[test]
fn dumps_and_metrics() {
    let runtime = runtime(1);
    let waiter =
        task::Builder::new().name("waiter").spawn_on(&runtime.handle(), std::future::pending::<()>());
    let console = serve(&runtime);
    let text = ask(&console, "/api/dump.txt");
    assert!(text.status == 200 && text.body.contains("\"waiter\" task"), "{}", text.body);
    let json = ask(&console, "/api/dump.json").json();
    assert_eq!(json["tasks"][0]["name"], "waiter");
    let metrics = ask(&console, "/metrics");
    assert!(metrics.body.contains("ropewalk_pool_alive{pool=\"main\"} 1"), "{}", metrics.body);
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    drop(waiter);
}

#[test]
fn a_trace_of_what_happens_meanwhile() {
    let runtime = runtime(1);
    let console = serve(&runtime);
    let over = Arc::new(AtomicBool::new(false));
    let busy = {
        let over = over.clone();
        task::Builder::new().name("busy").spawn_on(&runtime.handle(), async move {
            while !over.load(Ordering::Relaxed) {
                ropewalk::yield_now().await;
            }
        })
    };
    let trace = ask(&console, "/api/trace?seconds=0.5").json();
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["ph"] == "X" && event["name"] == "busy"), "{events:?}");
    // One at a time; and who goes away does not keep the others out. (Which of two that come at once is the first, the console decides.)
    let is_refused = || ask(&console, "/api/trace?seconds=0.1").status == 409;
    loop {
        let mut first = TcpStream::connect(console.address()).unwrap();
        first.write_all(b"GET /api/trace?seconds=30 HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        if is_refused() {
            break;
        }
    }
    while is_refused() {}
    for seconds in ["0", "31", "x", "NaN"] {
        let answer = ask(&console, &format!("/api/trace?seconds={seconds}"));
        assert_eq!(answer.status, 400, "{seconds}");
        assert!(answer.json()["error"].as_str().unwrap().contains("0.1 to 30"), "{}", answer.body);
    }
    over.store(true, Ordering::Relaxed);
    busy.wait().unwrap();
}

#[test]
fn what_is_wrong_is_said_with_what_is_accepted() {
    let runtime = runtime(1);
    let console = serve(&runtime);
    let error = |answer: Answer| (answer.status, answer.json()["error"].as_str().unwrap().to_owned());
    let (status, text) = error(ask(&console, "/nothing"));
    assert!(status == 404 && text.contains("/api/state"), "{text}");
    for tasks in ["-1", "x", "10001", ""] {
        let (status, text) = error(ask(&console, &format!("/api/state?tasks={tasks}")));
        assert!(status == 400 && text.contains("0 to 10000"), "{text}");
    }
    let posted = ask_with(console.address(), "POST", "/api/state", "localhost", "");
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET, HEAD")));
    let (status, _) = error(ask_with(console.address(), "GET", "/", "evil.example", ""));
    assert_eq!(status, 403);
}

#[test]
fn a_token_is_asked_for() {
    let runtime = runtime(1);
    let builder = || Console::builder().address("0.0.0.0:0".parse().unwrap());
    let refused = builder().serve(&runtime.handle()).unwrap_err();
    assert!(matches!(refused, ConsoleError::NeedsToken(_)) && refused.to_string().contains("loopback"));
    for bad in ["short", "with spaces in it, but long", ""] {
        let refused = builder().token(bad).serve(&runtime.handle()).unwrap_err();
        assert!(matches!(refused, ConsoleError::BadToken), "{refused}");
    }
    let console = builder().token("0123456789abcdef").serve(&runtime.handle()).unwrap();
    let at = SocketAddr::new([127, 0, 0, 1].into(), console.address().port());
    assert_eq!(ask_with(at, "GET", "/api/state", "127.0.0.1", "").status, 401);
    assert_eq!(ask_with(at, "GET", "/", "127.0.0.1", "").status, 401);
    // What the page loads has nothing of the program in it, and is named there without the token.
    assert_eq!(ask_with(at, "GET", "/app.js", "127.0.0.1", "").status, 200);
    assert_eq!(ask_with(at, "GET", "/app.js", "evil.example", "").status, 403);
    assert_eq!(ask_with(at, "GET", "/?token=0123456789abcdeg", "127.0.0.1", "").status, 401);
    assert_eq!(ask_with(at, "GET", "/?token=0123456789abcdef", "127.0.0.1", "").status, 200);
    let told = format!("{console:?} {:?}", builder().token("0123456789abcdef"));
    assert!(!told.contains("0123456789abcdef") && told.contains("token"), "logs do not know it: {told}");
    assert_eq!(console.url(), format!("http://127.0.0.1:{}/?token=0123456789abcdef", at.port()));
    let bearer = "Authorization: Bearer 0123456789abcdef\r\n";
    assert_eq!(ask_with(at, "GET", "/api/state", "127.0.0.1", bearer).status, 200);
}

#[test]
fn who_cannot_listen_is_told() {
    let runtime = runtime(1);
    let first = serve(&runtime);
    let refused = Console::builder().address(first.address()).serve(&runtime.handle()).unwrap_err();
    assert!(matches!(refused, ConsoleError::Listen(..)) && refused.to_string().contains("cannot listen"));
}

/// All workers burn, and the console answers.
#[test]
fn it_answers_when_all_workers_are_stuck() {
    let runtime =
        Runtime::builder().worker_threads(2).observe(true).rescue_threshold(Duration::ZERO).build().unwrap();
    let (over, (begin, begun)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
    let hogs: Vec<_> = (0..2)
        .map(|_| {
            let (over, begin) = (over.clone(), begin.clone());
            runtime.spawn(async move {
                begin.send(()).unwrap();
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    (0..2).for_each(|_| begun.recv().unwrap());
    let console = serve(&runtime);
    let state = ask(&console, "/api/state").json();
    let running = state["tasks"]["list"].as_array().unwrap().iter().filter(|task| task["state"] == "running");
    assert_eq!(running.count(), 2, "{state}");
    assert_eq!(ask(&console, "/api/dump.txt").status, 200);
    over.store(true, Ordering::Relaxed);
    hogs.into_iter().for_each(|hog| hog.wait().unwrap());
}

#[test]
fn it_outlives_the_runtime_and_says_so() {
    let runtime = runtime(1);
    let console = serve(&runtime);
    assert_eq!(ask(&console, "/api/state").json()["ended"], false);
    drop(runtime);
    let state = ask(&console, "/api/state").json();
    assert_eq!((&state["ended"], &state["tasks"]["alive"]), (&true.into(), &0.into()));
    assert_eq!(ask(&console, "/api/dump.txt").status, 200);
}

#[test]
fn when_it_is_dropped_nobody_listens_and_nothing_is_sampled() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let console = serve(&runtime);
    let idle = TcpStream::connect(console.address()).unwrap(); // it asks nothing
    while runtime.metrics().poll_time().count() == 0 {
        runtime.spawn(async {}).wait().unwrap();
    }
    let address = console.address();
    drop(console);
    assert!(TcpStream::connect(address).is_err());
    drop(idle);
    for _ in 0..100 {
        runtime.spawn(async {}).wait().unwrap(); // by now it is known
    }
    let before = runtime.metrics().poll_time().count();
    for _ in 0..1_000 {
        runtime.spawn(async {}).wait().unwrap();
    }
    assert_eq!(runtime.metrics().poll_time().count(), before);
}

#[test]
fn the_last_of_two_that_is_dropped_ends_the_sampling() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let (one, other) = (serve(&runtime), serve(&runtime));
    drop(one);
    runtime.set_histograms(false);
    let sampled = || runtime.metrics().poll_time().count();
    while sampled() == 0 {
        runtime.spawn(async {}).wait().unwrap();
    }
    drop(other);
    for _ in 0..100 {
        runtime.spawn(async {}).wait().unwrap(); // by now it is known
    }
    let before = sampled();
    for _ in 0..1_000 {
        runtime.spawn(async {}).wait().unwrap();
    }
    assert_eq!(sampled(), before);
}
