//! Panics in groups are never silent: they are in the results, or they are reported.

use crate::kit::{self, Gate, KINDS, ON_PURPOSE, on_every_kind, panic_of, quiet, until_async};
use ropewalk::{AbortHandle, TaskGroup, UnhandledPanic, Wait, spawn, task};
use std::future::pending;
use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// Ways in which nobody asks for the result of a task that panics.
const WAYS: [&str; 5] = ["dropped before", "dropped after", "forgotten", "moved away", "held parent"];

/// Each is said once, with name, place and message, and counted; the runtime goes on.
#[test]
fn nobody_asks() {
    if !kit::is_child() {
        let output = kit::run_as_child("groups::panics::nobody_asks", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let reports: Vec<_> = text.lines().filter(|line| line.starts_with("ropewalk:")).collect();
        assert_eq!(reports.len(), KINDS.len() * WAYS.len(), "{text}");
        for way in WAYS {
            let about: Vec<_> =
                reports.iter().filter(|report| report.contains(&format!("\"{way}\""))).collect();
            assert_eq!(about.len(), KINDS.len(), "{way}: {text}");
            for report in about {
                assert!(report.contains("groups/panics.rs:"), "where it was spawned: {report}");
                assert!(report.contains(&format!("{ON_PURPOSE}: {way}")), "the message: {report}");
            }
        }
        return;
    }
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        for (at, way) in WAYS.into_iter().enumerate() {
            let gate = Gate::new();
            let counted = || runtime.metrics().unhandled_panics == at as u64 + 1;
            runtime.block_on(async {
                let named = task::Builder::new().name(if way == "held parent" { way } else { "parent" });
                let parent = named.spawn(parent(way, gate.clone()));
                if way == "held parent" {
                    drop(parent);
                    until_async("it is counted, though its child goes on", counted).await;
                    gate.open();
                } else {
                    parent.await.unwrap();
                    until_async("it is counted", counted).await;
                }
                until_async("all are over", || runtime.metrics().pools[0].alive == 0).await;
                assert_eq!(spawn(async { 7 }).await.unwrap(), 7);
            });
        }
    });
}

fn panicking(group: &mut TaskGroup<()>, way: &'static str, gate: Gate, entered: Gate) -> AbortHandle {
    group.spawn_as(task::Builder::new().name(way), async move {
        entered.open();
        gate.passed().wait(); // in its poll, where no cancellation reaches it
        panic!("{ON_PURPOSE}: {way}")
    })
}

async fn parent(way: &'static str, gate: Gate) {
    let (mut group, entered) = (TaskGroup::new(), Gate::new());
    if way == "held parent" {
        group.spawn({
            let (gate, entered) = (gate.clone(), entered.clone());
            async move {
                entered.open();
                gate.passed().wait();
            }
        });
        entered.passed().await;
        panic!("{ON_PURPOSE}: {way}");
    }
    let child = panicking(&mut group, way, gate.clone(), entered.clone());
    entered.passed().await;
    if way == "dropped before" {
        drop(group);
        return gate.open();
    }
    gate.open();
    until_async("it has panicked", || child.is_finished()).await;
    match way {
        "dropped after" => drop(group),
        "forgotten" => std::mem::forget(group),
        _ => {
            static MOVED: Mutex<Vec<TaskGroup<()>>> = Mutex::new(Vec::new());
            MOVED.lock().unwrap().push(group);
        }
    }
}

/// A child whose group is gone ends the runtime, if that is the policy; one that is joined does not.
#[test]
fn terminated_by_a_child() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.builder().unhandled_panic(UnhandledPanic::Terminate).build().unwrap();
        let joined = runtime.block_on(async {
            let mut group = TaskGroup::new();
            group.spawn(async { panic!("{ON_PURPOSE}: joined") });
            group.join_next().await.unwrap()
        });
        assert!(joined.unwrap_err().is_panic());
        let raised = panic_of(|| {
            runtime.block_on(async {
                let (mut group, gate, entered) = (TaskGroup::new(), Gate::new(), Gate::new());
                panicking(&mut group, "the end", gate.clone(), entered.clone());
                entered.passed().await;
                drop(group);
                gate.open();
                pending::<()>().await
            })
        });
        assert_eq!(raised.unwrap(), format!("{ON_PURPOSE}: the end"));
    });
}

/// So does one whose group was forgotten, when the parent is over. Its payload lies in the group: the message is raised.
#[test]
fn terminated_by_a_forgotten_child() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.builder().unhandled_panic(UnhandledPanic::Terminate).build().unwrap();
        let raised = panic_of(|| {
            runtime.block_on(async {
                let _detached = spawn(parent("forgotten", Gate::new()));
                pending::<()>().await
            })
        });
        let raised = raised.unwrap();
        assert!(raised.contains(&format!("{ON_PURPOSE}: forgotten")), "{raised}");
        assert!(raised.contains("ended by a panic"), "{raised}");
        assert_eq!(runtime.metrics().unhandled_panics, 1);
    });
}

/// The payload of a child's panic panics when it is dropped: neither group nor worker dies of it.
#[test]
fn a_payload_whose_drop_panics() {
    struct Bomb(Arc<AtomicUsize>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            if !std::thread::panicking() {
                panic_any(Bomb(self.0.clone()));
            }
        }
    }
    if !kit::is_child() {
        let output = kit::run_as_child("groups::panics::a_payload_whose_drop_panics", |_| {});
        assert!(output.status.success(), "{}", kit::stderr_of(&output));
        return;
    }
    std::panic::set_hook(Box::new(|_| {}));
    on_every_kind(|kind| {
        let runtime = kind.build();
        let dropped = Arc::new(AtomicUsize::new(0));
        runtime.block_on(async {
            let mut group = TaskGroup::new();
            let bomb = dropped.clone();
            let child = group.spawn(async move { panic_any(Bomb(bomb)) });
            until_async("it has panicked", || child.is_finished()).await;
            drop(group);
            until_async("it is dropped", || dropped.load(SeqCst) > 0).await;
            assert_eq!(spawn(async { 5 }).await.unwrap(), 5);
        });
        assert_eq!(runtime.metrics().unhandled_panics, 1);
    });
}
