//! What is written: JSON in the form that Chrome's tracing documents.

use super::{runtime, settled, yields};
use ropewalk::trace::span;
use ropewalk::{Wait, spawn, task};
use serde_json::Value;
use std::collections::HashMap;

fn number(event: &Value, key: &str) -> f64 {
    event[key].as_f64().unwrap_or_else(|| panic!("{key} of {event}"))
}

/// Whether it is well formed: every event has what its phase needs, times do not go back on any track, slices nest, flows and spans pair up.
pub(super) fn check(text: &str) {
    let file: Value = serde_json::from_str(text).unwrap();
    assert_eq!(file["otherData"]["recorder"], "ropewalk");
    let mut last: HashMap<u64, f64> = HashMap::new();
    let mut open: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut flows: HashMap<u64, (u32, u32)> = HashMap::new();
    let mut spans: HashMap<String, Vec<String>> = HashMap::new();
    let mut tracks = 0;
    for event in file["traceEvents"].as_array().unwrap() {
        let (phase, tid) = (event["ph"].as_str().unwrap(), event["tid"].as_u64().unwrap());
        assert!(event["name"].is_string() && event["pid"] == 1, "{event}");
        if phase == "M" {
            tracks += u64::from(event["name"] == "thread_name");
            continue;
        }
        assert!((2..tracks + 2).contains(&tid) && event["cat"].is_string(), "{event}");
        let at = number(event, "ts");
        assert!(last.insert(tid, at).is_none_or(|last| last <= at), "{event} goes back");
        let nanos = |micros: f64| (micros * 1000.0).round() as u64;
        let around = open.entry(tid).or_default();
        // A slice can begin where another one ends; what happens there is in both.
        let is_over = |end: &u64| *end < nanos(at) || *end == nanos(at) && phase == "X";
        while around.last().is_some_and(is_over) {
            around.pop();
        }
        match phase {
            "X" => {
                let end = nanos(at) + nanos(number(event, "dur"));
                assert!(around.last().is_none_or(|outer| end <= *outer), "{event} is cut in two");
                around.push(end);
            }
            "s" | "f" => {
                let inside = around.last().is_some_and(|end| nanos(at) <= *end);
                assert!(inside, "{event} is in no slice");
                let flow = flows.entry(event["id"].as_u64().unwrap()).or_default();
                *flow = if phase == "s" { (flow.0 + 1, flow.1) } else { (flow.0, flow.1 + 1) };
                assert!(flow.0 == 1, "{event} ends before it begins");
            }
            "i" => assert_eq!(event["s"], "t", "{event}"),
            "C" => assert!(event["args"]["tasks"].is_u64(), "{event}"),
            "b" | "e" => {
                let (key, name) = (event["id2"]["local"].as_str().unwrap(), event["name"].as_str().unwrap());
                let around = spans.entry(key.to_owned()).or_default();
                match phase {
                    "b" => around.push(name.to_owned()),
                    _ => assert_eq!(around.pop().as_deref(), Some(name), "{event}"),
                }
            }
            other => panic!("{other} in {event}"),
        }
    }
    assert!(flows.values().all(|flow| *flow == (1, 1)), "{flows:?}");
    assert!(spans.values().all(Vec::is_empty), "{spans:?}");
}

#[test]
fn it_says_what_happened() {
    let runtime = runtime(2);
    let parent = task::Builder::new().name("a \"name\" \\ with\nall").spawn_on(&runtime.handle(), async {
        let _span = span("work");
        spawn(yields(2)).await.unwrap();
    });
    let id = parent.id().unwrap().get();
    parent.wait().unwrap();
    let text = settled(&runtime).to_chrome();
    check(&text);
    let file: Value = serde_json::from_str(&text).unwrap();
    let events = file["traceEvents"].as_array().unwrap();
    let find = |wanted: &dyn Fn(&Value) -> bool| events.iter().find(|event| wanted(event)).unwrap();
    let names: Vec<_> = events.iter().filter(|event| event["name"] == "thread_name").collect();
    assert_eq!(names[0]["args"]["name"], "main/worker 0");
    assert_eq!(names[1]["args"]["name"], "main/worker 1");
    let poll = find(&|event| event["ph"] == "X" && event["args"]["task"] == id);
    assert_eq!(poll["name"], "a \"name\" \\ with\nall");
    assert!(poll["args"]["spawned"].as_str().unwrap().contains("chrome.rs:"));
    assert_eq!((&poll["args"]["kind"], &poll["args"]["ended"]), (&"task".into(), &"waits".into()));
    let child = find(&|event| event["ph"] == "X" && event["args"]["ended"] == "yields");
    assert!(child["name"].as_str().unwrap().contains("chrome.rs:"), "by where it was spawned: {child}");
    let spawned = find(&|event| event["ph"] == "s" && event["args"]["by"] == id);
    assert_eq!((&spawned["args"]["task"], &spawned["name"]), (&child["args"]["task"], &"spawn".into()));
    let arrives = find(&|event| event["ph"] == "f" && event["id"] == spawned["id"]);
    let first_poll = find(&|event| event["ph"] == "X" && event["args"]["task"] == child["args"]["task"]);
    assert_eq!((&arrives["ts"], &arrives["tid"]), (&first_poll["ts"], &first_poll["tid"]));
    let begins = find(&|event| event["ph"] == "b" && event["name"] == "work");
    assert_eq!(begins["args"]["task"], id);
    assert_eq!(file["otherData"]["lost"]["main/worker 0"], 0);
}
