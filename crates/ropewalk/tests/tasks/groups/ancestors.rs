//! A task that waits for one it stems from is told, and so is everybody else.

use crate::kit::{self, KINDS, on_every_kind, until_async};
use ropewalk::{TaskError, TaskGroup, TaskHandle, Wait, spawn, strand, task, task_group};
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// A place where a task finds the handle of another.
#[derive(Clone, Default)]
struct Left(Arc<Mutex<Option<TaskHandle<()>>>>);

impl Left {
    async fn take(&self) -> TaskHandle<()> {
        until_async("the handle is there", || self.0.lock().unwrap().is_some()).await;
        self.0.lock().unwrap().take().unwrap()
    }
}

/// How the wait is done.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Await,
    WaitInPoll,
    WaitOnStrand,
}

type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits for what was left, as a descendant so many generations down, or as the task itself.
fn descend(left: Left, generations: usize, way: Way, tell: Sender<TaskError>) -> Body {
    Box::pin(async move {
        if generations > 0 {
            let mut group = TaskGroup::new();
            let named = task::Builder::new().name(format!("generation {generations}"));
            group.spawn_as(named, descend(left, generations - 1, way, tell));
            group.join_all().await;
            return;
        }
        let handle = left.take().await;
        let end = match way {
            Way::Await => handle.await,
            Way::WaitInPoll => handle.wait(),
            Way::WaitOnStrand => {
                let strand = strand::spawn_local(move || handle.wait()).unwrap();
                strand_result(strand).await
            }
        };
        tell.send(end.unwrap_err()).unwrap();
    })
}

async fn strand_result(strand: TaskHandle<Result<(), TaskError>>) -> Result<(), TaskError> {
    strand.await.unwrap()
}

#[test]
fn refused_and_reported() {
    const NAME: &str = "groups::ancestors::refused_and_reported";
    let ways = [Way::Await, Way::WaitInPoll];
    if !kit::is_child() {
        let output = kit::run_as_child(NAME, |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let reports: Vec<_> = text.lines().filter(|line| line.contains("the wait is refused")).collect();
        assert_eq!(reports.len(), KINDS.len() * ways.len() * 4, "{text}");
        for report in reports {
            assert!(report.matches("groups/ancestors.rs:").count() == 2, "both places: {report}");
            assert!(report.contains("\"root\""), "its name: {report}");
        }
        assert!(text.contains("\"generation 1\""), "{text}");
        return;
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let mut refused = 0;
        for way in ways {
            for generations in 0..4 {
                let (left, (tell, told)) = (Left::default(), channel());
                let root = task::Builder::new().name("root");
                let root = root.spawn_on(&runtime.handle(), descend(left.clone(), generations, way, tell));
                let abort = root.abort_handle();
                *left.0.lock().unwrap() = Some(root);
                runtime.block_on(until_async("the root has ended, detached", || abort.is_finished()));
                assert!(matches!(told.recv().unwrap(), TaskError::Ancestor));
                refused += 1;
                assert_eq!(runtime.metrics().refused_waits, refused);
            }
        }
    });
}

/// Who is no descendant may wait for a parent: a sibling, a task spawned without a group, a strand.
#[test]
fn others_may_wait() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let gate = kit::Gate::new();
            let passed = gate.passed();
            let parent = spawn(async move {
                let mut group = TaskGroup::new();
                group.spawn(passed);
                group.join_all().await;
            });
            let mut group = TaskGroup::new();
            group.spawn(async move { parent.await.is_ok() });
            gate.open();
            assert!(group.join_next().await.unwrap().unwrap());
            assert_eq!(runtime.metrics().refused_waits, 0);
        });
    });
}

/// A strand that a descendant started does not count as one: it is in no group. Its wait ends when the root is told to stop.
#[test]
fn a_strand_is_in_no_group() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (left, (tell, _told)) = (Left::default(), channel());
        let root = runtime.spawn(descend(left.clone(), 1, Way::WaitOnStrand, tell));
        let abort = root.abort_handle();
        *left.0.lock().unwrap() = Some(root);
        runtime.block_on(until_async("the strand waits", || left.0.lock().unwrap().is_none()));
        abort.cancel();
        runtime.block_on(until_async("the root has ended", || abort.is_finished()));
    });
}

/// A task, or a child of it, gets hold of the group that it is in: it could wait for ever, and that is said once.
#[test]
fn a_wait_for_ones_own_group_is_reported() {
    for (all, below) in [(true, false), (true, true), (false, false), (false, true)] {
        on_every_kind(|kind| {
            let runtime = kind.build();
            let slot = Arc::new(Mutex::new(None::<TaskGroup<()>>));
            let mut group = TaskGroup::new();
            let member = join_from_inside(slot.clone(), all);
            let abort = group.spawn_on(&runtime.handle(), async move {
                match below {
                    true => _ = task_group(|group| _ = group.spawn(member)).await,
                    false => member.await,
                }
            });
            *slot.lock().unwrap() = Some(group);
            runtime.block_on(until_async("it is reported", || runtime.metrics().refused_waits == 1));
            abort.cancel();
            runtime.block_on(until_async("it has ended", || abort.is_finished()));
            assert_eq!(runtime.metrics().refused_waits, 1);
        });
    }
}

async fn join_from_inside(slot: Arc<Mutex<Option<TaskGroup<()>>>>, all: bool) {
    until_async("the group is here", || slot.lock().unwrap().is_some()).await;
    let mut group = slot.lock().unwrap().take().expect("it is here");
    match all {
        true => _ = group.join_all().await,
        false => _ = group.join_next().await,
    }
}
