//! A console to look at: it answers as `ropewalk::console` does, with figures that are known.

use ropewalk::Runtime;
use ropewalk::io::AsyncWriteExt;
use ropewalk::net::{TcpListener, TcpStream};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// What all its connections know.
struct Shared {
    state: Mutex<Value>,
    token: Option<&'static str>,
    asked: Mutex<Vec<String>>,
}

pub struct Mock {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    /// While it listens.
    runtime: Option<Runtime>,
}

impl Mock {
    pub fn start() -> Self {
        Self::with_token(None)
    }

    pub fn with_token(token: Option<&'static str>) -> Self {
        let shared = Shared { state: Mutex::new(state()), token, asked: Mutex::new(Vec::new()) };
        let mut mock =
            Self { address: "127.0.0.1:0".parse().unwrap(), shared: Arc::new(shared), runtime: None };
        mock.listen();
        mock
    }

    /// Begins to listen, at the same address as before.
    pub fn listen(&mut self) {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let listener = runtime.block_on(TcpListener::bind(self.address)).unwrap();
        self.address = listener.local_addr().unwrap();
        let shared = self.shared.clone();
        drop(runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                drop(ropewalk::spawn(answer(stream, shared.clone())));
            }
        }));
        self.runtime = Some(runtime);
    }

    /// Nobody listens any more.
    pub fn stop(&mut self) {
        self.runtime = None;
    }

    /// Changes what it says from now on.
    pub fn change(&self, change: impl FnOnce(&mut Value)) {
        change(&mut self.shared.state.lock().unwrap());
    }

    /// What it was asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    let (mut head, mut part) = (Vec::new(), [0; 1024]);
    while !head.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut part).await?;
        if count == 0 {
            return Ok(());
        }
        head.extend_from_slice(&part[..count]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default();
    shared.asked.lock().unwrap().push(target.to_owned());
    let (status, body) = respond(&shared, &head, target);
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.close().await
}

fn respond(shared: &Shared, head: &str, target: &str) -> (&'static str, String) {
    let is_by_address = head
        .lines()
        .any(|line| line.strip_prefix("host: ").is_some_and(|host| host.parse::<SocketAddr>().is_ok()));
    if !is_by_address {
        return (
            "403 Forbidden",
            json!({"error": "the host must be an IP address or localhost"}).to_string(),
        );
    }
    if let Some(token) = shared.token
        && !head.contains(&format!("authorization: Bearer {token}\r\n"))
    {
        return ("401 Unauthorized", json!({"error": "a token is needed"}).to_string());
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path {
        "/api/state" => {
            let mut state = shared.state.lock().unwrap();
            tick(&mut state);
            ("200 OK", searched(&state, query).to_string())
        }
        "/api/dump.txt" => ("200 OK", "a dump of everything\n".to_owned()),
        _ => ("404 Not Found", json!({"error": format!("there is no {path}")}).to_string()),
    }
}

/// With each answer a second has passed, in which the workers made 5,000 and 10,000 polls, and task 3 was busy for a quarter of it.
fn tick(state: &mut Value) {
    let add = |value: &mut Value, more: u64| *value = (value.as_u64().unwrap() + more).into();
    add(&mut state["at_ms"], 1000);
    add(&mut state["uptime_ms"], 1000);
    for (at, worker) in state["pools"][0]["workers"].as_array_mut().unwrap().iter_mut().enumerate() {
        add(&mut worker["polls"], 5000 * (at as u64 + 1));
        add(&mut worker["steals"], 7);
        add(&mut worker["parks"], 70);
    }
    for task in state["tasks"]["list"].as_array_mut().unwrap() {
        if task["id"] == 3 {
            add(&mut task["polls"], 40);
            add(&mut task["busy_ns"], 250_000_000);
        }
    }
}

/// Only what was searched for, with its ancestors.
fn searched(state: &Value, query: &str) -> Value {
    let wanted = query.split('&').find_map(|pair| pair.strip_prefix("q=")).unwrap_or_default().to_lowercase();
    let mut state = state.clone();
    if wanted.is_empty() {
        return state;
    }
    let list = state["tasks"]["list"].as_array().unwrap().clone();
    let has = |task: &Value| {
        let fields = ["id", "name", "kind", "state", "pool", "spawned_at", "waits_for"];
        fields.iter().any(|field| task[*field].to_string().to_lowercase().contains(&wanted))
    };
    let mut ids: Vec<_> = list.iter().filter(|task| has(task)).map(|task| task["id"].clone()).collect();
    let matching = ids.len();
    for task in list.iter().rev() {
        if ids.contains(&task["id"]) && !task["parent"].is_null() {
            ids.push(task["parent"].clone());
        }
    }
    let kept: Vec<_> = list.into_iter().filter(|task| ids.contains(&task["id"])).collect();
    state["tasks"]["matching"] = matching.into();
    state["tasks"]["listed"] = kept.len().into();
    state["tasks"]["list"] = kept.into();
    state
}

fn worker(state: &str) -> Value {
    json!({"state": state, "queued": 2, "pinned": 5, "parked_stacks": 0, "polls": 100, "spawned": 1, "finished": 1,
        "lifo_hits": 0, "injected": 0, "overflows": 0, "searches": 0, "steals": 0, "lifo_steals": 0, "spins": 0,
        "spin_hits": 0, "parks": 0, "wakes": 0, "asides": 0, "budget_yields": 0, "preemptions": 0, "waits_in_poll": 0,
        "held": 0, "timers_fired": 0, "strands_started": 0, "strands_ended": 0})
}

/// One that waits, unless it is changed.
pub fn task(id: u64, name: Option<&str>, parent: Option<u64>) -> Value {
    json!({"id": id, "kind": "task", "name": name, "pool": "main", "state": "waiting", "pinned": false,
        "spawned_at": format!("src/worker/pool.rs:{}:5", 100 + id), "parent": parent, "age_ms": 60_000.0 * id as f64,
        "polls": 7, "busy_ns": 12_000, "waits_for": "a moment", "waits_ms": 900.1})
}

fn state() -> Value {
    let mut list = vec![
        task(1, Some("acceptor"), None),
        task(2, Some("holder"), Some(1)),
        task(3, Some("cruncher"), Some(1)),
        task(4, None, Some(2)),
        task(5, Some("logger"), None),
    ];
    list[1]["kind"] = "strand".into();
    list[2]["state"] = "running".into();
    list[2]["waits_for"] = Value::Null;
    list[2]["waits_ms"] = Value::Null;
    list[3]["waits_for"] = "a mutex at 0x7f12aa00, held by \"holder\" (strand 2)".into();
    let poll_time = json!({"count": 100_000, "mean_ns": 130, "p50_ns": 120, "p99_ns": 900, "p999_ns": 2000, "max_ns": 12_300_000,
        "buckets": [[120, 40], [160, 60]]});
    let wake_to_run = json!({"count": 10, "mean_ns": 1500, "p50_ns": 1200, "p99_ns": 35_000, "p999_ns": 35_000, "max_ns": 35_000,
        "buckets": []});
    json!({
        "version": 1, "program": "waterworks", "pid": 4711, "ended": false,
        "at_ms": 1_763_412_345_678_u64, "uptime_ms": 123_000,
        "capabilities": {"backtraces": false, "observed": true},
        "pools": [{
            "name": "main", "alive": 5, "strands": 1, "injected": 1, "active": 2, "stand_ins": 0, "retiring": 0,
            "searching": 0, "sleeping": 1, "timers": 4, "rescues": 0,
            "longest_polls": [
                {"ns": 12_300_000, "task": 3, "name": "cruncher", "kind": "task", "spawned_at": "src/worker/pool.rs:103:5"},
                {"ns": 2_100_000, "task": 5, "name": null, "kind": "strand", "spawned_at": "src/worker/pool.rs:110:5"},
            ],
            "poll_time": poll_time, "wake_to_run": wake_to_run,
            "workers": [worker("busy"), worker("idle")]
        }],
        "blocking": {"threads": 3, "idle": 2, "queued": 0, "running": 1, "finished": 9},
        "io": {"driver": "epoll", "why": "", "registered": 8, "polls": 10, "events": 20},
        "unhandled_panics": 0, "refused_waits": 0,
        "tasks": {"alive": 5, "matching": 5, "listed": 5, "list": list},
        "something_new": {"that": "is ignored"}
    })
}
