use super::*;
use serde_json::json;

fn read(value: &Value) -> State {
    State::read(value.to_string().as_bytes()).unwrap()
}

#[test]
fn what_is_missing_is_nothing_and_what_is_new_is_ignored() {
    let state = read(&json!({"version": 1, "pools": [], "news": {"a": 1}}));
    assert_eq!(
        (state.alive, state.tasks.len(), state.longest.is_empty(), state.observed),
        (0, 0, true, false)
    );
    let task = read(
        &json!({"version": 1, "pools": [], "tasks": {"list": [{"id": 7, "name": null, "age_ms": null}]}}),
    );
    assert_eq!((task.tasks[0].id, &task.tasks[0].name, task.tasks[0].age), (7, &None, None));
}

#[test]
fn what_is_no_answer_is_told_apart() {
    let why = |text: &str| State::read(text.as_bytes()).unwrap_err();
    assert_eq!(why("hello"), Unread::NoAnswer("its answer is no JSON"));
    assert_eq!(why("{}"), Unread::NoAnswer("its answer has no pools"));
    assert_eq!(why(r#"{"pools": []}"#), Unread::NoAnswer("its answer has no version"));
    assert_eq!(why(r#"{"pools": [], "version": 2}"#), Unread::Version(2));
}

#[test]
fn names_cannot_move_the_cursor() {
    let state =
        read(&json!({"version": 1, "pools": [], "tasks": {"list": [{"id": 1, "name": "\u{1b}[2Jgone\n"}]}}));
    assert_eq!(state.tasks[0].name.as_deref(), Some("\\u{1b}[2Jgone\\n"));
    assert_eq!(plain("a\u{9b}b\u{202e}c\u{2066}d"), "a\\u{9b}b\\u{202e}c\\u{2066}d");
    assert_eq!(plain("ä木\u{301}"), "ä木\u{301}");
}

#[test]
fn times_of_several_pools_are_put_together() {
    let times = |buckets: Value, count: u64, mean: u64, max: u64| {
        json!({"poll_time": {
        "count": count, "mean_ns": mean, "p50_ns": 1, "p99_ns": 2, "p999_ns": 3, "max_ns": max, "buckets": buckets}})
    };
    let one = times(json!([[100, 98], [200, 2]]), 100, 90, 150);
    let other = times(json!([[100, 1], [1000, 98], [null, 1]]), 100, 910, 5000);
    let alone = read(&json!({"version": 1, "pools": [one]})).poll_time;
    assert_eq!((alone.p50, alone.p999), (1.0, 3.0), "as it was said");
    let both = read(&json!({"version": 1, "pools": [one, other]})).poll_time;
    assert_eq!((both.count, both.mean, both.max), (200, 500.0, 5000.0));
    assert_eq!((both.p50, both.p99, both.p999), (200.0, 1000.0, 5000.0));
}
