//! Children are beneath their parents.

use crate::{LONG, kit, named, runtime, spawn_as};
use ropewalk::dump::Dump;
use ropewalk::time::sleep;
use ropewalk::{Pool, Runtime, TaskGroup, Wait, spawn, strand, task};
use std::future::pending;
use std::sync::mpsc;

/// Names and depths, in their order.
fn order(dump: &Dump) -> Vec<(&str, usize)> {
    dump.tasks.iter().map(|task| (task.info.name.as_deref().unwrap_or("-"), task.depth)).collect()
}

fn builder(name: &str) -> task::Builder {
    task::Builder::new().name(name)
}

#[test]
fn tasks_of_a_group_are_beneath_who_spawned_them() {
    let runtime = runtime();
    let _first = spawn_as(&runtime, "first", async {
        let mut group = TaskGroup::new();
        group.spawn_as(builder("a"), async {
            let mut inner = TaskGroup::new();
            inner.spawn_as(builder("a1"), sleep(LONG));
            inner.spawn_as(builder("a2"), sleep(LONG));
            inner.join_all().await;
        });
        ropewalk::yield_now().await;
        group.spawn_as(builder("b"), async { sleep(LONG).await });
        let _nobodys = task::Builder::new().name("nobody's").spawn(pending::<()>());
        group.join_all().await;
    });
    let _second = spawn_as(&runtime, "second", pending::<()>());
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump();
    let expected = [("first", 0), ("a", 1), ("a1", 2), ("a2", 2), ("b", 1), ("second", 0), ("nobody's", 0)];
    let mut seen = order(&dump);
    seen[5..].sort_by_key(|(name, _)| *name == "nobody's"); // whose ids come first is the worker's business
    assert_eq!(seen, expected, "{dump}");
    assert_eq!(named(&dump, "a1").info.parent, Some(named(&dump, "a").info.id));
    assert_eq!(named(&dump, "first").info.parent, None);
    let text = dump.to_string();
    assert!(text.contains("\n    \"a1\" task ") && text.contains("\n        spawned at "), "{text}");
}

#[test]
fn jobs_and_local_tasks_of_a_group_have_parents_too() {
    let (let_go, held) = mpsc::channel::<()>();
    let runtime = runtime();
    let _parent = spawn_as(&runtime, "parent", async move {
        let mut group = TaskGroup::new();
        group.spawn_blocking(move || assert!(held.recv().is_err()));
        assert!(group.spawn_local(pending::<()>()).is_ok());
        group.join_all().await;
    });
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump();
    let parent = Some(named(&dump, "parent").info.id);
    let mut children: Vec<_> = dump.tasks.iter().filter(|task| task.info.parent == parent).collect();
    children.sort_by_key(|task| task.info.kind);
    let kinds: Vec<_> = children.iter().map(|task| (task.info.kind, task.depth)).collect();
    assert_eq!(kinds, [("job", 1), ("task", 1)], "{dump}");
    drop(let_go);
}

#[test]
fn strands_are_beneath_whose_scope_they_are_in() {
    kit::guarded("a tree of strands", || {
        let runtime = Runtime::builder().worker_threads(2).observe(true).build().unwrap();
        let gate = kit::Gate::new();
        let (open, waiting) = (gate.clone(), gate.clone());
        let child = |name: &'static str| strand::Builder::new().name(name);
        let whole =
            strand::Builder::new().name("root").pool(&runtime.pool("main").unwrap()).spawn(move || {
                strand::scope(|s| {
                    let _left = child("left").spawn_in(s, || {
                        strand::nursery(|n| {
                            let _leaf = child("leaf").spawn_in(n, || gate.passed().wait());
                            // Started by a child, but in the scope of the root.
                            let _late = child("late").spawn_in(s, || gate.passed().wait());
                            n.join_all();
                        });
                    });
                    let _right = child("right").spawn_in(s, || gate.passed().wait());
                    s.join_all();
                });
            });
        kit::until("all of them wait", || waiting.waiting() == 3);
        let dump = runtime.dump();
        let below = |name| named(&dump, name).info.parent;
        let id = |name| Some(named(&dump, name).info.id);
        assert_eq!([below("root"), below("left"), below("leaf")], [None, id("root"), id("left")], "{dump}");
        assert_eq!([below("late"), below("right")], [id("root"), id("root")], "{dump}");
        let places = order(&dump);
        let at = |name| places.iter().position(|(other, _)| *other == name).unwrap();
        assert_eq!(places[at("left") + 1], ("leaf", 2), "{dump}");
        open.open();
        whole.join();
    });
}

#[test]
fn a_strand_in_the_scope_of_a_task_or_a_job_is_its_child_and_one_of_a_thread_is_nobodys() {
    kit::guarded("scopes elsewhere", || {
        let runtime = Runtime::builder().worker_threads(2).observe(true).build().unwrap();
        let gate = kit::Gate::new();
        let (of_task, of_job, of_thread) = (gate.clone(), gate.clone(), gate.clone());
        let within = |name: &'static str, gate: kit::Gate| {
            strand::scope(|s| {
                let _child = strand::Builder::new().name(name).spawn_in(s, || gate.passed().wait());
                s.join_all();
            });
        };
        let task = spawn_as(&runtime, "task", async move { within("of the task", of_task) });
        let job = runtime.spawn_blocking(move || within("of the job", of_job));
        let job_id = job.id();
        let handle = runtime.handle();
        let thread = std::thread::spawn(move || {
            handle.block_on(async { spawn(async {}).await.unwrap() });
            strand::Builder::new().name("of nobody").pool(&handle.pool("main").unwrap()).spawn(move || {
                of_thread.passed().wait();
            })
        });
        kit::until("all of them wait", || gate.waiting() == 3);
        let dump = runtime.dump();
        assert_eq!(named(&dump, "of the task").info.parent, Some(named(&dump, "task").info.id), "{dump}");
        assert_eq!(named(&dump, "of the job").info.parent, job_id, "{dump}");
        assert_eq!(named(&dump, "of nobody").info.parent, None, "{dump}");
        gate.open();
        thread.join().unwrap().join();
        task.wait().unwrap();
        job.wait().unwrap();
    });
}

#[test]
fn a_child_in_another_pool_is_beneath_its_parent() {
    kit::guarded("pools", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let other = Pool::builder().name("other").workers(1).build(&runtime.handle()).unwrap();
        let _parent = spawn_as(&runtime, "parent", async move {
            let mut group = TaskGroup::new();
            group.spawn_as(builder("child").pool(&other), pending::<()>());
            group.join_all().await;
        });
        kit::until("the child is there", || runtime.tasks().len() == 2);
        let dump = runtime.dump();
        assert_eq!(order(&dump), [("parent", 0), ("child", 1)], "{dump}");
        assert_eq!(named(&dump, "child").info.pool, "other");
        assert!(dump.to_string().contains("\npool other: 1 worker"), "{dump}");
    });
}

#[test]
fn a_child_whose_parent_is_not_listed_says_whose_it_is() {
    let runtime = runtime();
    let _tasks: Vec<_> = (0..30)
        .map(|_| {
            runtime.spawn(async {
                let mut group = TaskGroup::new();
                group.spawn(pending::<()>());
                group.join_all().await;
            })
        })
        .collect();
    runtime.run_until_stalled().unwrap();
    let dump = runtime.dump_with(&ropewalk::DumpOptions::new().max_tasks(20));
    let listed: Vec<_> = dump.tasks.iter().map(|task| task.info.id).collect();
    let orphans = dump.tasks.iter().filter(|task| task.info.parent.is_some_and(|id| !listed.contains(&id)));
    let (mut count, text) = (0, dump.to_string());
    for orphan in orphans {
        assert_eq!(orphan.depth, 0);
        let said = format!("(child of {}, which is not listed)", orphan.info.parent.unwrap());
        assert!(text.contains(&said), "{text}");
        count += 1;
    }
    assert!(count > 0, "two parents are listed, and eighteen children:\n{text}");
}

/// What is left of a dump is shown as well as it can be.
#[test]
fn a_dump_of_which_something_was_taken_out() {
    let runtime = runtime();
    let _parent = spawn_as(&runtime, "parent", async {
        let mut group = TaskGroup::new();
        group.spawn_as(builder("child"), async {
            let mut inner = TaskGroup::new();
            inner.spawn_as(builder("grandchild"), sleep(LONG));
            inner.join_all().await;
        });
        group.join_all().await;
    });
    runtime.run_until_stalled().unwrap();
    let mut dump = runtime.dump();
    dump.tasks.retain(|task| task.info.name.as_deref() == Some("grandchild"));
    assert!(dump.to_string().contains("\"grandchild\" task"), "{dump}");
    dump.alike.clear();
    assert!(dump.to_string().contains("\"grandchild\" task"), "{dump}");
    dump.tasks.iter_mut().for_each(|task| task.depth = 100_000);
    assert!(dump.to_string().contains("\"grandchild\" task"), "a tree can be deep");
}
