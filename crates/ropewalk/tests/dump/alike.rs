//! Many tasks that are alike are few lines.

use crate::{LONG, runtime, spawn_as};
use ropewalk::TaskGroup;
use ropewalk::time::sleep;
use std::future::pending;

#[test]
fn of_those_that_are_alike_three_are_shown_and_all_are_counted() {
    let runtime = runtime();
    let _tasks: Vec<_> = (0..10_001).map(|_| runtime.spawn(sleep(LONG))).collect();
    let _other = spawn_as(&runtime, "other", pending::<()>());
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump();
    let text = dump.to_string();
    assert_eq!(text.matches(" for a moment at 0x").count(), 3, "{text}");
    assert!(text.contains("\n... and 9,998 more like this, at most "), "{text}");
    assert!(text.contains("\"other\""), "those of another kind are not crowded out:\n{text}");
    let alike = dump.alike.iter().max_by_key(|alike| alike.count).unwrap();
    assert_eq!((alike.count, alike.listed), (10_001, 1000));
    assert_eq!(dump.tasks.len(), 1001);
}

#[test]
fn four_are_not_three_and_one_more_if_they_differ() {
    let runtime = runtime();
    let first: Vec<_> = (0..3).map(|_| runtime.spawn(pending::<()>())).collect();
    let second: Vec<_> = (0..3).map(|_| runtime.spawn(pending::<()>())).collect();
    let third: Vec<_> = (0..4).map(|_| runtime.spawn(sleep(LONG))).collect();
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump();
    assert_eq!(dump.to_string().matches("more like this").count(), 1, "{dump}");
    assert!(dump.to_string().contains("... and 1 more like this"), "{dump}");
    drop((first, second, third));
}

#[test]
fn those_with_children_are_always_shown_and_each_family_is_collapsed_by_itself() {
    let runtime = runtime();
    let _parents: Vec<_> = (0..6)
        .map(|_| {
            runtime.spawn(async {
                let mut group = TaskGroup::new();
                for _ in 0..10 {
                    group.spawn(sleep(LONG));
                }
                group.join_all().await;
            })
        })
        .collect();
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump();
    let text = dump.to_string();
    assert_eq!(text.matches(" for a group at 0x").count(), 6, "{text}");
    assert_eq!(text.matches("\n  ... and 7 more like this, at most ").count(), 6, "{text}");
    assert_eq!(text.matches(" for a moment at 0x").count(), 18, "{text}");
}
