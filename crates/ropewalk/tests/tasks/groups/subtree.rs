//! A task ends after its children: however it ends, wherever its group is, whatever the children do.

use crate::kit::{Gate, ON_PURPOSE, Probe, RuntimeKind, on_every_kind, quiet, until_async};
use ropewalk::{
    Pool, Runtime, TaskError, TaskGroup, TaskHandle, Wait, spawn, spawn_local, strand, task, yield_now,
};
use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// How the parent is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Making {
    Lean,
    Named,
    Local,
    Strand,
    Big,
}

/// How its body ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Value,
    Panics,
    Cancelled,
}

/// Where its group is then.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Kept,
    Forgotten,
    Moved,
}

/// What the children do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    HaveEnded,
    Wait,
    Yield,
    /// In their polls, where a cancellation does not reach them.
    WaitInPoll,
    /// They have children of their own, who have.
    Breed,
}

#[derive(Clone, Copy, Debug)]
struct Life(Making, End, Place, Act);

fn lives() -> impl Iterator<Item = Life> {
    use {Act::*, Making::*, Place::*};
    let makings = [Lean, Named, Local, Strand, Big].into_iter();
    let with_ends =
        makings.flat_map(|making| [End::Value, End::Panics, End::Cancelled].map(move |end| (making, end)));
    let with_places =
        with_ends.flat_map(|(making, end)| [Kept, Forgotten, Moved].map(move |place| (making, end, place)));
    with_places.flat_map(|(making, end, place)| {
        [HaveEnded, Wait, Yield, WaitInPoll, Breed].map(move |act| Life(making, end, place, act))
    })
}

/// What the test and the tasks share.
struct World {
    life: Life,
    started: AtomicUsize,
    alive: AtomicUsize,
    /// The parent's body is over.
    over: AtomicBool,
    gate: Gate,
    moved: Mutex<Option<TaskGroup<usize>>>,
}

/// One of those that must be gone when the parent's handle is done.
struct Alive(Arc<World>);

impl Alive {
    fn new(world: &Arc<World>) -> Self {
        world.started.fetch_add(1, SeqCst);
        world.alive.fetch_add(1, SeqCst);
        Self(world.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, SeqCst);
    }
}

struct Over(Arc<World>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.over.store(true, SeqCst);
    }
}

fn child(world: Arc<World>, depth: usize) -> Pin<Box<dyn Future<Output = usize> + Send>> {
    Box::pin(async move {
        let _alive = Alive::new(&world);
        match world.life.3 {
            Act::HaveEnded => {}
            Act::Wait => pending().await,
            Act::Yield => loop {
                yield_now().await;
            },
            Act::WaitInPoll => world.gate.passed().wait(),
            Act::Breed if depth == 0 => pending().await,
            Act::Breed => {
                let mut group = TaskGroup::new();
                for _ in 0..2 {
                    group.spawn(child(world.clone(), depth - 1));
                }
                group.join_all().await;
            }
        }
        depth
    })
}

/// How many children, and children's children, there are.
fn count(act: Act) -> usize {
    if act == Act::Breed { 3 + 3 * 2 + 3 * 2 * 2 } else { 3 }
}

async fn parent(world: Arc<World>) -> usize {
    let _over = Over(world.clone());
    let Life(_, end, place, act) = world.life;
    let mut group = TaskGroup::new();
    for _ in 0..3 {
        group.spawn(child(world.clone(), 2));
    }
    until_async("all have started", || world.started.load(SeqCst) == count(act)).await;
    let mut kept = None;
    match place {
        Place::Kept => kept = Some(group),
        Place::Forgotten => std::mem::forget(group),
        Place::Moved => *world.moved.lock().unwrap() = Some(group),
    }
    match end {
        End::Value => {}
        End::Panics => panic!("{ON_PURPOSE}: the parent"),
        End::Cancelled => {
            world.started.fetch_add(1, SeqCst);
            pending::<()>().await;
        }
    }
    drop(kept);
    7
}

/// Makes a task on a worker.
fn give(runtime: &Runtime, make: impl FnOnce() -> TaskHandle<usize> + Send + 'static) -> TaskHandle<usize> {
    let (give, take) = std::sync::mpsc::channel();
    runtime.block_on(runtime.spawn(async move { give.send(make()).unwrap() })).unwrap();
    take.recv().unwrap()
}

fn start(runtime: &Runtime, world: &Arc<World>) -> TaskHandle<usize> {
    let body = parent(world.clone());
    match world.life.0 {
        Making::Lean => runtime.spawn(body),
        Making::Named => task::Builder::new().name("parent").spawn_on(&runtime.handle(), body),
        Making::Local => give(runtime, move || spawn_local(body).unwrap()),
        Making::Strand => give(runtime, move || strand::spawn_local(move || body.wait()).unwrap()),
        Making::Big => runtime.spawn(async move {
            let big = [1_u8; 2000];
            let value = body.await;
            value + usize::from(std::hint::black_box(big)[5]) - 1
        }),
    }
}

fn lead(runtime: &Runtime, life: Life) {
    let Life(_, end, place, act) = life;
    let world = Arc::new(World {
        life,
        started: AtomicUsize::new(0),
        alive: AtomicUsize::new(0),
        over: AtomicBool::new(false),
        gate: Gate::new(),
        moved: Mutex::new(None),
    });
    let handle = start(runtime, &world);
    runtime.block_on(async {
        if end == End::Cancelled {
            until_async("it is ready", || world.started.load(SeqCst) == count(act) + 1).await;
            handle.cancel();
        }
        if act == Act::WaitInPoll {
            until_async("its body is over", || world.over.load(SeqCst)).await;
            for _ in 0..20 {
                yield_now().await;
            }
            assert!(!handle.is_finished(), "its children run");
            handle.cancel(); // too late: it has its result
            world.gate.open();
        }
        let result = handle.await;
        assert_eq!(world.alive.load(SeqCst), 0, "all have gone before it");
        match (end, result) {
            (End::Value, Ok(7)) | (End::Cancelled, Err(TaskError::Cancelled)) => {}
            (End::Panics, Err(TaskError::Panicked(panic))) => assert!(panic.message().contains("the parent")),
            (_, result) => panic!("{result:?}"),
        }
        if place == Place::Moved {
            let mut group = world.moved.lock().unwrap().take().unwrap();
            assert_eq!(group.len(), 3);
            for result in group.join_all().await {
                match act {
                    Act::HaveEnded | Act::WaitInPoll => assert_eq!(result.unwrap(), 2),
                    _ => assert!(matches!(result, Err(TaskError::Cancelled))),
                }
            }
        }
    });
}

#[test]
fn a_task_ends_after_its_children() {
    quiet();
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let mut led = 0;
        for life in lives() {
            let before = runtime.metrics().unhandled_panics;
            crate::kit::guarded(format!("{kind:?} {life:?}"), || lead(&runtime, life));
            assert_eq!(runtime.metrics().unhandled_panics, before, "{life:?}");
            led += 1;
        }
        assert_eq!(led, 5 * 3 * 3 * 5);
        runtime.block_on(until_async("all is over", || runtime.metrics().pools[0].alive == 0));
        assert!(runtime.tasks().is_empty());
        drop(runtime);
        // Forgotten groups leak what they hold: cells, and with them the pool's memory.
        assert!(!probe.is_freed());
    });
}

/// The handle is dropped before, while and after the task is held back: its output is dropped, and it ends.
#[test]
fn a_held_task_is_detached() {
    on_every_kind(|kind| {
        for held in [false, true] {
            let probe = Probe::new();
            let runtime = kind.builder().clock(probe.clock()).build().unwrap();
            let (gate, output, over) = (Gate::new(), Arc::new(()), Arc::new(()));
            let (passed, value, body) = (gate.passed(), output.clone(), over.clone());
            let task = runtime.spawn(async move {
                let _body = body;
                let started = Gate::new();
                let mut group = TaskGroup::new();
                let there = started.clone();
                group.spawn(async move {
                    there.open();
                    passed.wait();
                });
                started.passed().await;
                std::mem::forget(group);
                value
            });
            let alive = || runtime.metrics().pools[0].alive;
            if held {
                runtime.block_on(until_async("it is held", || Arc::strong_count(&over) == 1));
                assert_eq!(Arc::strong_count(&output), 2, "the value is held back");
                let states: Vec<_> = runtime.tasks().iter().map(|task| task.state).collect();
                assert!(states.contains(&"ending"), "{states:?}");
            }
            drop(task);
            gate.open();
            runtime.block_on(until_async("both are over", || alive() == 0));
            assert_eq!(Arc::strong_count(&output), 1);
            drop(runtime);
        }
    });
}

/// The runtime goes down while a task is held back: it is told, and nothing is left.
#[test]
fn the_runtime_goes_down_while_a_task_is_held() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let (gate, over) = (Gate::new(), Arc::new(()));
        let (passed, body, opener) = (gate.passed(), over.clone(), gate.open_on_drop());
        // What the child waits for comes when the runtime goes down.
        drop(runtime.spawn(async move {
            pending::<()>().await;
            drop(opener);
        }));
        let task = runtime.spawn(async move {
            let _body = body;
            let started = Gate::new();
            let mut group = TaskGroup::new();
            let there = started.clone();
            group.spawn(async move {
                there.open();
                passed.wait();
            });
            started.passed().await;
            5
        });
        runtime.block_on(until_async("it is held", || Arc::strong_count(&over) == 1));
        drop(runtime);
        assert_eq!(task.wait().unwrap(), 5, "it had its value already");
        probe.assert_freed();
    });
}

/// Children in another pool and another runtime are children all the same.
#[test]
fn children_elsewhere() {
    on_every_kind(|kind| {
        let (runtime, far) = (kind.build(), RuntimeKind::Threads(1).build());
        let pool = Pool::builder().name("other").build(&runtime.handle()).unwrap();
        let held = Arc::new(());
        let (token, there) = (held.clone(), far.handle());
        let started = Arc::new(AtomicUsize::new(0));
        let count = started.clone();
        let task = runtime.spawn(async move {
            let mut group = TaskGroup::new();
            let child = || {
                let (token, count) = (token.clone(), count.clone());
                async move {
                    let _token = token;
                    count.fetch_add(1, SeqCst);
                    pending::<()>().await;
                }
            };
            group.spawn(child());
            group.spawn_on(&there, child());
            group.spawn_as(task::Builder::new().pool(&pool), child());
            group.spawn_local(child()).unwrap();
            drop(token);
            pending::<()>().await;
            drop(group);
        });
        runtime.block_on(async {
            until_async("all have started", || started.load(SeqCst) == 4).await;
            task.cancel();
            assert!(matches!(task.await, Err(TaskError::Cancelled)));
            assert_eq!(Arc::strong_count(&held), 1);
        });
    });
}

/// Tasks count against who is current when they are spawned, not against who made the group.
#[test]
fn a_group_filled_by_others() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let (first, second) = (Gate::new(), Gate::new());
            let mut group = TaskGroup::new();
            group.spawn(pending::<u32>()); // outside of any task: counts against nobody
            let passed = first.passed();
            let maker = spawn(async move {
                group.spawn(pending());
                passed.await;
                group
            });
            first.open();
            let mut group = maker.await.unwrap();
            // The maker is over, and so is its child; the one from outside goes on.
            assert!(matches!(group.join_next().await, Some(Err(TaskError::Cancelled))));
            assert_eq!(group.len(), 1);
            let passed = second.passed();
            let filler = spawn(async move {
                group.spawn(async { 5 });
                passed.await;
                group
            });
            second.open();
            let mut group = filler.await.unwrap();
            let end = group.join_next().await.unwrap();
            assert!(matches!(end, Ok(5) | Err(TaskError::Cancelled)), "{end:?}");
            group.cancel_all();
            assert!(matches!(group.join_next().await, Some(Err(TaskError::Cancelled))));
        });
    });
}

/// Destructors spawn: those of the body, while it is dropped, and of the output, when the body is over.
#[test]
fn spawned_by_destructors() {
    struct SpawnOnDrop(Arc<()>);
    impl Drop for SpawnOnDrop {
        fn drop(&mut self) {
            let mut group = TaskGroup::new();
            for n in 0..3 {
                let token = self.0.clone();
                group.spawn(async move {
                    let _token = token;
                    if n > 0 {
                        pending::<()>().await;
                    }
                });
            }
            std::mem::forget(group);
        }
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        for (in_body, detached) in [(true, false), (true, true), (false, false), (false, true)] {
            let (held, gate) = (Arc::new(()), Gate::new());
            let (token, passed) = (held.clone(), gate.passed());
            let task = runtime.spawn(async move {
                let guard = SpawnOnDrop(token);
                passed.await;
                if in_body { None } else { Some(guard) }
            });
            runtime.block_on(async {
                if detached {
                    drop(task);
                    gate.open();
                    until_async("all are over", || runtime.metrics().pools[0].alive == 0).await;
                    assert_eq!(Arc::strong_count(&held), 1);
                    return;
                }
                gate.open();
                let output = task.await.unwrap();
                let expected = if in_body { 1 } else { 2 };
                assert_eq!(Arc::strong_count(&held), expected);
                std::mem::forget(output);
            });
        }
    });
}

/// A long line: each has one child, to the last, and the first is cancelled.
#[test]
fn a_long_line() {
    fn line(left: usize, end: Gate) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            if left == 0 {
                end.open();
                return pending().await;
            }
            let mut group = TaskGroup::new();
            group.spawn(line(left - 1, end));
            group.join_all().await;
        })
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        let end = Gate::new();
        let root = runtime.spawn(line(20_000, end.clone()));
        runtime.block_on(async {
            end.passed().await;
            assert_eq!(runtime.metrics().pools[0].alive, 20_001);
            root.cancel();
            assert!(matches!(root.await, Err(TaskError::Cancelled)));
            until_async("all are counted", || runtime.metrics().pools[0].alive == 0).await;
        });
    });
}

/// Parents end and are cancelled while their children end by themselves, on several workers.
#[test]
fn ends_that_cross() {
    struct Leave(Arc<AtomicUsize>);
    impl Drop for Leave {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    on_every_kind(|kind| {
        let runtime = kind.build();
        runtime.block_on(async {
            let alive = Arc::new(AtomicUsize::new(0));
            for round in 0..300_usize {
                let counted = alive.clone();
                let parent = spawn(async move {
                    let mut group = TaskGroup::new();
                    for n in 0..round % 7 {
                        counted.fetch_add(1, SeqCst);
                        let leave = Leave(counted.clone());
                        group.spawn(async move {
                            let _leave = leave;
                            for _ in 0..(n + round) % 5 {
                                yield_now().await;
                            }
                        });
                    }
                    for _ in 0..round % 4 {
                        yield_now().await;
                    }
                    if round % 3 == 0 {
                        std::mem::forget(group);
                    }
                });
                if round % 5 == 0 {
                    yield_now().await;
                    parent.cancel();
                }
                let end = parent.await;
                assert!(matches!(end, Ok(()) | Err(TaskError::Cancelled)));
                assert_eq!(alive.load(SeqCst), 0, "round {round}");
            }
        });
    });
}
