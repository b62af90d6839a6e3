//! Every life of a job: how far it is x what it does x what is done to it.

use super::{KINDS, plug};
use crate::kit::{self, Gate, Probe, RuntimeKind, until};
use ropewalk::{Runtime, TaskError, TaskHandle, Wait, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// How far the job is when something is done to it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Queued,
    Running,
    Done,
}

/// What the job does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Returns,
    Panics,
    /// What the closure holds panics when it is dropped, whether the closure was called or not.
    DropOfClosurePanics,
    DropOfOutputPanics,
}

/// What is done to it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Awaited,
    Detached,
    Cancelled,
    Aborted,
    /// The runtime waits for it.
    ShutDown,
    /// The runtime does not.
    RuntimeDropped,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Life(Stage, Act, Fate);

/// What is seen of a life.
#[derive(Debug, PartialEq)]
struct Seen {
    end: Option<End>,
    runs: usize,
    closures: usize,
    outputs: usize,
    unhandled: u64,
}

#[derive(Debug, PartialEq)]
enum End {
    Value,
    Cancelled,
    Shutdown,
    Panicked,
}

/// What is right, by the documentation alone.
fn expected(Life(stage, act, fate): Life) -> Seen {
    let stopped = match (stage, fate) {
        (Stage::Queued, Fate::Cancelled | Fate::Aborted) => Some(End::Cancelled),
        (Stage::Queued, Fate::RuntimeDropped) => Some(End::Shutdown),
        _ => None,
    };
    let runs = usize::from(stopped.is_none());
    let ran = match act {
        Act::Panics | Act::DropOfClosurePanics => End::Panicked,
        Act::Returns | Act::DropOfOutputPanics => End::Value,
    };
    let end = match stopped {
        Some(_) if act == Act::DropOfClosurePanics => End::Panicked,
        Some(stopped) => stopped,
        None => ran,
    };
    let outputs = usize::from(end == End::Value);
    let detached = fate == Fate::Detached;
    let unhandled = u64::from(detached && (end == End::Panicked || act == Act::DropOfOutputPanics));
    Seen { end: (!detached).then_some(end), runs, closures: 1, outputs, unhandled }
}

#[derive(Default)]
struct Account {
    runs: AtomicUsize,
    closures: AtomicUsize,
    outputs: AtomicUsize,
    started: AtomicBool,
}

struct Held(Arc<Account>, bool);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.closures.fetch_add(1, SeqCst);
        assert!(!self.1, "on purpose, in the drop of the closure");
    }
}

struct Output(Arc<Account>, bool);

impl Drop for Output {
    fn drop(&mut self) {
        self.0.outputs.fetch_add(1, SeqCst);
        assert!(!self.1, "on purpose, in the drop of the output");
    }
}

/// The job under test. It goes on when `gate` is open.
fn job(runtime: &Runtime, account: &Arc<Account>, act: Act, gate: &Gate) -> TaskHandle<Output> {
    let (account, passed) = (account.clone(), gate.passed());
    let held = Held(account.clone(), act == Act::DropOfClosurePanics);
    runtime.spawn_blocking(move || {
        account.runs.fetch_add(1, SeqCst);
        account.started.store(true, SeqCst);
        passed.wait();
        drop(held);
        assert!(act != Act::Panics, "on purpose, in the closure");
        Output(account, act == Act::DropOfOutputPanics)
    })
}

fn end_of(result: Result<Output, TaskError>) -> End {
    let end = match &result {
        Ok(_) => End::Value,
        Err(TaskError::Cancelled) => End::Cancelled,
        Err(TaskError::Shutdown) => End::Shutdown,
        Err(TaskError::Panicked(panic)) => {
            assert!(panic.spawned_at().file().ends_with("life.rs"), "{panic}");
            assert!(panic.message().starts_with("on purpose"), "{panic}");
            End::Panicked
        }
        Err(other) => panic!("another error: {other}"),
    };
    kit::panic_of(|| drop(result)); // that of the output is the test's own
    end
}

/// Opens the gates when the runtime refuses jobs; the runtime is being dropped meanwhile.
fn open_when_closed(runtime: &Runtime, gates: [Gate; 2]) -> thread::JoinHandle<()> {
    let handle = runtime.handle();
    thread::spawn(move || {
        until("it is closed", || matches!(handle.spawn_blocking(|| ()).wait(), Err(TaskError::Shutdown)));
        gates.iter().for_each(Gate::open);
    })
}

fn lead(kind: RuntimeKind, Life(stage, act, fate): Life) -> Seen {
    let (probe, account) = (Probe::new(), Arc::new(Account::default()));
    let runtime = kind.builder().blocking_threads(0, 1).clock(probe.clock()).build().unwrap();
    let (before, gate) = (Gate::new(), Gate::new());
    let plugged = (stage == Stage::Queued).then(|| plug(&runtime, &before));
    let handle = job(&runtime, &account, act, &gate);
    let reached = || match stage {
        Stage::Queued => runtime.metrics().blocking.queued == 1,
        Stage::Running => account.started.load(SeqCst),
        Stage::Done => handle.is_finished(),
    };
    if stage == Stage::Done {
        gate.open();
    }
    until("the job is so far", reached);
    let go_on = || {
        before.open();
        gate.open();
    };
    let (mut end, handles) = (None, runtime.handle());
    match fate {
        Fate::Awaited => {
            go_on();
            end = Some(end_of(handle.wait()));
        }
        Fate::Detached => {
            kit::panic_of(|| drop(handle));
            go_on();
        }
        Fate::Cancelled | Fate::Aborted => {
            let abort = handle.abort_handle();
            if fate == Fate::Cancelled {
                handle.cancel()
            } else {
                abort.cancel()
            }
            abort.cancel(); // twice is the same as once
            if stage == Stage::Queued {
                assert_eq!(account.closures.load(SeqCst), 1, "it is removed at once");
                assert_eq!(runtime.metrics().blocking.queued, 0);
            } else {
                assert_eq!(handle.is_finished(), stage == Stage::Done, "a job that runs is not interrupted");
                go_on();
            }
            end = Some(end_of(handle.wait()));
            go_on();
        }
        Fate::ShutDown => {
            go_on();
            runtime.shutdown(Duration::MAX).unwrap();
            end = Some(end_of(handle.wait()));
            return settle(end, account, probe, handles, plugged);
        }
        Fate::RuntimeDropped => {
            let opener = open_when_closed(&runtime, [before, gate]);
            drop(runtime);
            opener.join().unwrap();
            end = Some(end_of(handle.wait()));
            return settle(end, account, probe, handles, plugged);
        }
    }
    until("the job is over", || {
        let blocking = runtime.metrics().blocking;
        blocking.queued + blocking.running == 0
    });
    drop(runtime);
    settle(end, account, probe, handles, plugged)
}

/// What was seen in the end, when nothing is left of the runtime.
fn settle(
    end: Option<End>,
    account: Arc<Account>,
    probe: Probe,
    handle: ropewalk::Handle,
    plug: Option<TaskHandle<()>>,
) -> Seen {
    let unhandled = handle.metrics().unhandled_panics;
    if let Some(plug) = plug {
        plug.wait().unwrap();
    }
    drop(handle);
    probe.assert_freed();
    let count = |what: &AtomicUsize| what.load(SeqCst);
    Seen {
        end,
        runs: count(&account.runs),
        closures: count(&account.closures),
        outputs: count(&account.outputs),
        unhandled,
    }
}

#[test]
fn every_life() {
    kit::quiet();
    let (mut lives, mut wrong) = (0, Vec::new());
    for kind in KINDS {
        for stage in [Stage::Queued, Stage::Running, Stage::Done] {
            for act in [Act::Returns, Act::Panics, Act::DropOfClosurePanics, Act::DropOfOutputPanics] {
                for fate in [
                    Fate::Awaited,
                    Fate::Detached,
                    Fate::Cancelled,
                    Fate::Aborted,
                    Fate::ShutDown,
                    Fate::RuntimeDropped,
                ] {
                    let life = Life(stage, act, fate);
                    let seen = kit::guarded(format!("{kind:?} {life:?}"), || lead(kind, life));
                    if seen != expected(life) {
                        wrong.push(format!("{kind:?} {life:?}: {seen:?} and not {:?}", expected(life)));
                    }
                    lives += 1;
                }
            }
        }
    }
    assert_eq!(lives, KINDS.len() * 3 * 4 * 6);
    assert!(wrong.is_empty(), "{} went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A job that runs learns that it was asked to stop, and may act on it.
#[test]
fn a_running_job_may_ask_whether_it_was_cancelled() {
    kit::guarded("asks", || {
        let runtime = super::narrow(RuntimeKind::Threads(1), 1);
        let started = Arc::new(AtomicBool::new(false));
        let here = started.clone();
        let job = runtime.spawn_blocking(move || {
            here.store(true, SeqCst);
            until("it was asked to stop", task::is_cancelled);
            "stopped by itself"
        });
        until("it runs", || started.load(SeqCst));
        job.cancel();
        assert_eq!(job.wait().unwrap(), "stopped by itself");
    });
}

/// A panic names the job and where it was spawned, and the thread goes on with the next one.
#[test]
fn the_pool_survives_a_panic_and_names_it() {
    kit::quiet();
    kit::guarded("survives", || {
        let runtime = super::narrow(RuntimeKind::Threads(1), 1);
        let thread_of = || runtime.spawn_blocking(|| thread::current().id()).wait().unwrap();
        let before = thread_of();
        let pool = runtime.pool("main").unwrap();
        let job = task::Builder::new().name("splicer").pool(&pool);
        let error = job.spawn_blocking(|| panic!("on purpose")).wait().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("\"splicer\"") && text.contains("blocking/life.rs"), "{text}");
        assert_eq!(thread_of(), before);
    });
}
