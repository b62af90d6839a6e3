//! JSON says the same as the data, and what it says parses.

use crate::{LONG, runtime, spawn_as};
use ropewalk::dump::{Backtrace, Dump};
use ropewalk::sync::Mutex;
use ropewalk::time::sleep;
use ropewalk::{TaskGroup, task};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

fn parsed(dump: &Dump) -> Value {
    serde_json::from_str(&dump.to_json()).unwrap_or_else(|error| panic!("{error}: {}", dump.to_json()))
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// A group with a lock that is held, a name that is hard to write, and many that are alike.
fn dump() -> Dump {
    let runtime = runtime();
    let lock = Arc::new(Mutex::new(()));
    let (held, wanted) = (lock.clone(), lock);
    let _nasty = spawn_as(&runtime, "a \"name\" \\ with\n\t\u{1}, µ and \u{1F980}", async move {
        let _guard = held.lock().await;
        let mut group = TaskGroup::new();
        group.spawn_as(task::Builder::new().name("child"), async move { drop(wanted.lock().await) });
        group.join_all().await;
    });
    let _many: Vec<_> = (0..2000).map(|_| runtime.spawn(sleep(LONG))).collect();
    runtime.run_until_stalled().unwrap();
    runtime.dump()
}

#[test]
fn json_has_every_field_of_the_data() {
    let dump = dump();
    let all = parsed(&dump);
    assert_eq!(all["version"], 1);
    assert_eq!(all["at_ns"], nanos(dump.at.duration_since(UNIX_EPOCH).unwrap()));
    assert_eq!(all["took_ns"], nanos(dump.took));
    assert_eq!((&all["cut_short"], &all["unlisted"]), (&json!(false), &json!(0)));
    let count = |key: &str| all[key].as_array().unwrap().len();
    assert_eq!([count("pools"), count("tasks"), count("alike")], [1, 1002, 3]);
    assert_eq!(
        all["pools"][0],
        json!({
            "name": "main", "workers": 1, "tasks": 2002, "running": 0, "queued": 0, "waiting": 2002, "ending": 0,
            "unobserved": 0, "waiting_for": {"Sleep": 2000, "Group": 1, "Mutex": 1}
        })
    );
}

#[test]
fn json_of_a_task_agrees_with_the_data() {
    let dump = dump();
    let all = parsed(&dump);
    for (json, task) in all["tasks"].as_array().unwrap().iter().zip(&dump.tasks) {
        let (info, seen) = (&task.info, task.info.observed.as_ref().unwrap());
        let (place, blocked) = (info.spawned_at, seen.blocked.unwrap());
        let held_by = task
            .held_by
            .as_ref()
            .map(|holder| json!({"id": holder.id.map(|id| id.get()), "name": holder.name}));
        assert_eq!(task.backtrace, Backtrace::None);
        let expected = json!({
            "id": info.id.get(), "kind": info.kind, "name": info.name, "pool": info.pool, "state": info.state,
            "pinned": info.pinned, "parent": info.parent.map(|id| id.get()), "depth": task.depth,
            "alike": task.alike,
            "spawned_at": {"file": place.file(), "line": place.line(), "column": place.column()},
            "age_ns": nanos(seen.age), "polls": seen.polls, "busy_ns": nanos(seen.busy),
            "waits_for": {
                "reason": format!("{:?}", blocked.reason), "text": blocked.reason.to_string(),
                "what": blocked.what, "others": blocked.others, "since_ns": nanos(blocked.since),
                "held_by": held_by
            },
            "backtrace": null, "no_backtrace": null
        });
        assert_eq!(*json, expected);
    }
    let child = all["tasks"].as_array().unwrap().iter().find(|task| task["name"] == "child").unwrap();
    if cfg!(feature = "deadlock_detection") {
        assert_eq!(child["waits_for"]["held_by"]["id"], child["parent"], "the parent has the lock");
    }
    assert_eq!(child["depth"], 1);
}

#[test]
fn json_of_those_that_are_alike_agrees_with_the_data() {
    let dump = dump();
    let all = parsed(&dump);
    for (json, alike) in all["alike"].as_array().unwrap().iter().zip(&dump.alike) {
        let place = alike.spawned_at;
        let expected = json!({
            "pool": alike.pool, "kind": alike.kind, "state": alike.state,
            "reason": alike.reason.map(|reason| format!("{reason:?}")), "parent": alike.parent.map(|id| id.get()),
            "spawned_at": {"file": place.file(), "line": place.line(), "column": place.column()},
            "count": alike.count, "listed": alike.listed, "longest_ns": alike.longest.map(nanos)
        });
        assert_eq!(*json, expected);
    }
    assert!(dump.alike.iter().any(|alike| (alike.count, alike.listed) == (2000, 1000)));
}

#[test]
fn what_is_not_known_is_null() {
    let runtime = ropewalk::Runtime::builder().worker_threads(0).build().unwrap();
    let _task = runtime.spawn(sleep(LONG));
    runtime.run_until_stalled().unwrap();
    let all = parsed(&runtime.dump());
    let task = &all["tasks"][0];
    for field in ["name", "parent", "age_ns", "polls", "busy_ns", "waits_for", "backtrace", "no_backtrace"] {
        assert!(task.get(field).is_some_and(Value::is_null), "{field} in {task}");
    }
    assert_eq!((&all["pools"][0]["unobserved"], &all["alike"][0]["longest_ns"]), (&json!(1), &Value::Null));
}
