//! Every combination, with what must come of it.

use crate::kit::{DEADLINE, Gate, Probe, RuntimeKind, guarded, on_every_kind, strand_in, until_async};
use ropewalk::{
    Handle, Runtime, ShutdownError, TaskError, TaskGroup, TaskHandle, Wait, spawn, spawn_local, strand,
    yield_now,
};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

/// What is there to be ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    None,
    /// Ends by itself, after it has spawned something.
    Ends,
    Waits,
    /// Is always ready to run.
    Yields,
    Local,
    Strand,
    /// A task with children, the last of which ends by itself.
    Family,
    /// A task that is over but for its children, who end by themselves.
    Held,
    /// A blocking job that ends by itself.
    Job,
}

/// How it goes down.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Patiently,
    AtOnce,
    Now,
    Dropped,
}

/// From where.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Thread,
    TaskOfAnother,
    StrandOfAnother,
    OwnTask,
    OwnStrand,
    /// Inside its own `block_on`.
    OwnRoot,
    /// In a job of its blocking pool.
    OwnJob,
}

const WORKS: [Work; 9] = [
    Work::None,
    Work::Ends,
    Work::Waits,
    Work::Yields,
    Work::Local,
    Work::Strand,
    Work::Family,
    Work::Held,
    Work::Job,
];
const WAYS: [Way; 4] = [Way::Patiently, Way::AtOnce, Way::Now, Way::Dropped];
const PLACES: [Place; 7] = [
    Place::Thread,
    Place::TaskOfAnother,
    Place::StrandOfAnother,
    Place::OwnTask,
    Place::OwnStrand,
    Place::OwnRoot,
    Place::OwnJob,
];

impl Work {
    /// Whether it ends by itself.
    fn ends(self) -> bool {
        matches!(self, Work::None | Work::Ends | Work::Family | Work::Held | Work::Job)
    }
}

async fn some_turns() {
    for _ in 0..20 {
        yield_now().await;
    }
}

/// Starts the work; it has begun when this returns. The token is dropped with it.
fn start(runtime: &Runtime, work: Work, token: Arc<()>) -> Option<TaskHandle<()>> {
    let begun = Gate::new();
    let there = begun.clone();
    let task = match work {
        Work::None => return None,
        Work::Ends => runtime.spawn(async move {
            there.open();
            some_turns().await;
            spawn(some_turns()).await.unwrap();
            drop(token);
        }),
        Work::Waits => runtime.spawn(async move {
            there.open();
            pending::<()>().await;
            drop(token);
        }),
        Work::Yields => runtime.spawn(async move {
            let _token = token;
            there.open();
            loop {
                yield_now().await;
            }
        }),
        Work::Local => {
            let make = async move {
                spawn_local(async move {
                    there.open();
                    pending::<()>().await;
                    drop(token);
                })
            };
            runtime.block_on(runtime.spawn(make)).unwrap().unwrap()
        }
        Work::Strand => strand_in(runtime, move || {
            there.open();
            pending::<()>().wait();
            drop(token);
        }),
        Work::Job => runtime.spawn_blocking(move || {
            there.open();
            (0..20).for_each(|_| std::thread::yield_now());
            drop(token);
        }),
        Work::Family | Work::Held => runtime.spawn(async move {
            let mut group = TaskGroup::new();
            let entered = Gate::new();
            let inside = entered.clone();
            group.spawn(async move {
                inside.open();
                if work == Work::Held {
                    some_turns().wait(); // in its poll: no cancellation ends it early
                } else {
                    some_turns().await;
                }
                drop(token);
            });
            entered.passed().await;
            there.open();
            if work == Work::Family {
                group.join_all().await;
            }
        }),
    };
    runtime.block_on(begun.passed());
    Some(task)
}

fn go_down(runtime: Runtime, way: Way) -> Result<(), ShutdownError> {
    match way {
        Way::Patiently => runtime.shutdown(DEADLINE),
        Way::AtOnce => runtime.shutdown(Duration::ZERO),
        Way::Now => {
            runtime.shutdown_now();
            Ok(())
        }
        Way::Dropped => {
            drop(runtime);
            Ok(())
        }
    }
}

/// Goes down from there; the answer, and whether that was inside the runtime itself.
fn go_down_from(place: Place, runtime: Runtime, way: Way) -> Result<(), ShutdownError> {
    let handle = runtime.handle();
    let other = RuntimeKind::Threads(1).build();
    match place {
        Place::Thread => go_down(runtime, way),
        Place::TaskOfAnother => other.block_on(other.spawn(async move { go_down(runtime, way) })).unwrap(),
        Place::StrandOfAnother => strand_in(&other, move || go_down(runtime, way)).wait().unwrap(),
        Place::OwnTask => handle.block_on(handle.spawn(async move { go_down(runtime, way) })).unwrap(),
        Place::OwnStrand => {
            let inside = async move { strand::spawn_local(move || go_down(runtime, way)).unwrap() };
            let strand = handle.block_on(handle.spawn(inside)).unwrap();
            handle.block_on(strand).unwrap()
        }
        Place::OwnRoot => handle.block_on(async { go_down(runtime, way) }),
        Place::OwnJob => handle.spawn_blocking(move || go_down(runtime, way)).wait().unwrap(),
    }
}

fn check(kind: RuntimeKind, work: Work, way: Way, place: Place) {
    let probe = Probe::new();
    let runtime = kind.builder().clock(probe.clock()).build().unwrap();
    let (handle, token) = (runtime.handle(), Arc::new(()));
    // What does not end by itself is ended by the deadline, which is then a short one.
    let waits = work.ends() && place != Place::OwnJob; // which cannot wait for the others
    let way = if way == Way::Patiently && !waits { Way::AtOnce } else { way };
    let task = start(&runtime, work, token.clone());
    let bound = matches!(work, Work::Local | Work::Strand | Work::Held) && kind.is_hosted();
    let bound = bound && matches!(place, Place::TaskOfAnother | Place::StrandOfAnother | Place::OwnJob);
    if bound && way == Way::Patiently {
        return; // it would wait all that time for this thread to drive it
    }
    let end = go_down_from(place, runtime, way);
    if bound {
        // It belongs to this thread, and nobody else may touch it.
        assert_eq!(end.is_ok(), way != Way::AtOnce);
        assert!(end.err().is_none_or(|account| !account.left.is_empty()));
        return;
    }
    match way {
        Way::Patiently => end.expect("all have ended"),
        Way::AtOnce if !work.ends() => {
            let account = end.unwrap_err();
            assert_eq!((account.cancelled, account.left.len()), (1, 0), "{account}");
            assert_eq!(account.tasks.len(), 1, "{account}");
            assert!(
                account.to_string().contains("shutdown/table.rs")
                    || account.to_string().contains("kit/mod.rs"),
                "{account}"
            );
        }
        _ => drop(end),
    }
    let refused: TaskHandle<()> = handle.spawn(async {});
    assert!(matches!(refused.wait(), Err(TaskError::Shutdown)));
    match task.map(Wait::wait) {
        None => {}
        Some(Ok(())) => assert!(work.ends()),
        Some(Err(TaskError::Shutdown)) => assert!(way != Way::Patiently),
        Some(Err(other)) => panic!("{other}"),
    }
    drop(handle);
    probe.assert_freed();
    assert_eq!(Arc::strong_count(&token), 1, "all is dropped");
}

#[test]
fn every_combination() {
    on_every_kind(|kind| {
        for work in WORKS {
            for way in WAYS {
                for place in PLACES {
                    guarded(format!("{kind:?} {work:?} {way:?} {place:?}"), || check(kind, work, way, place));
                }
            }
        }
    });
}

/// While it waits, what its tasks spawn is accepted, in its other pools, too; what comes from outside is not.
#[test]
fn who_may_still_come() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let pool = ropewalk::Pool::builder().name("other").build(&runtime.handle()).unwrap();
        let (gate, refused, begun) = (Gate::new(), Gate::new(), Gate::new());
        let (passed, there, handle) = (gate.passed(), begun.clone(), runtime.handle());
        let inside = handle.clone();
        let task = runtime.spawn(async move {
            there.open();
            passed.await;
            let here = spawn(async { 1 });
            let elsewhere = pool.spawn(async { 2 });
            let late = ropewalk::Pool::builder().name("late").build(&inside).unwrap();
            let in_a_new_one = late.spawn(async { 3 });
            here.await.unwrap() + elsewhere.await.unwrap() + in_a_new_one.await.unwrap()
        });
        runtime.block_on(begun.passed());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // From outside, until it is refused; what was accepted before that runs.
                loop {
                    let guest = handle.spawn(async {});
                    if let Err(TaskError::Shutdown) = guest.wait() {
                        break;
                    }
                }
                refused.open();
                gate.open();
            });
            runtime.shutdown(DEADLINE).unwrap();
        });
        assert_eq!(task.wait().unwrap(), 6);
        assert!(refused.is_open());
    });
}

/// Somebody else drives a runtime without threads, and then leaves it: who shuts it down waits, and takes over.
#[test]
fn driven_by_another_thread() {
    for kind in [RuntimeKind::Caller, RuntimeKind::Hosted(4)] {
        guarded("driven by another", || {
            let runtime = kind.build();
            let (gate, begun): (Gate, Gate) = Default::default();
            let (passed, there) = (gate.passed(), begun.clone());
            let task = runtime.spawn(async move {
                there.open();
                passed.await;
                some_turns().await;
                5
            });
            let handle: Handle = runtime.handle();
            std::thread::scope(|scope| {
                let driver = scope.spawn(|| {
                    handle.block_on(async {
                        begun.passed().await;
                        gate.open();
                    });
                });
                scope.spawn(|| runtime.shutdown(DEADLINE).unwrap());
                driver.join().unwrap();
            });
            assert_eq!(task.wait().unwrap(), 5);
        });
    }
}

/// A deadline that passes while everybody sleeps.
#[test]
fn the_deadline_wakes() {
    on_every_kind(|kind| {
        for place in PLACES {
            let runtime = kind.build();
            let task = start(&runtime, Work::Waits, Arc::new(())).unwrap();
            let handle = runtime.handle();
            let inside = handle.clone();
            let wait = move || inside.shutdown(Duration::from_millis(30));
            let end = match place {
                Place::Thread => wait(),
                Place::OwnTask => handle.block_on(handle.spawn(async move { wait() })).unwrap(),
                Place::OwnRoot => handle.block_on(async { wait() }),
                Place::OwnJob => handle.spawn_blocking(wait).wait().unwrap(),
                Place::OwnStrand => {
                    let strand = handle
                        .block_on(handle.spawn(async move { strand::spawn_local(wait).unwrap() }))
                        .unwrap();
                    handle.block_on(strand).unwrap()
                }
                Place::TaskOfAnother | Place::StrandOfAnother => {
                    let other = RuntimeKind::Threads(1).build();
                    let beside = other.spawn(async { until_async("a while", || true).await });
                    let end = other.block_on(other.spawn(async move { wait() })).unwrap();
                    beside.wait().unwrap();
                    end
                }
            };
            assert_eq!(end.unwrap_err().cancelled, 1);
            assert!(matches!(task.wait(), Err(TaskError::Shutdown)));
        }
    });
}
