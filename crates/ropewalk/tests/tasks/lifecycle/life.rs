//! Leads one life and holds it against the model.

use super::body::{Output, Script};
use super::model::{End, Legacy, legacies};
use super::table::{Act, Fate, Life, Moment};
use crate::kit::{Probe, RuntimeKind, panic_of, until, until_async};
use ropewalk::{Handle, Runtime, TaskError, TaskHandle, Wait};
use std::future::pending;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Sender, channel};

/// What a handle gave.
type Given = Result<Output, TaskError>;

/// Leads `life` in a runtime of its own.
pub fn lead(kind: RuntimeKind, life: Life) {
    let probe = Probe::new();
    let runtime = kind.builder().clock(probe.clock()).build().unwrap();
    let (handle, script) = (runtime.handle(), Script::new(life));
    let given = run(kind, runtime, &script);
    until("the workers have left", || handle.metrics().pools.is_empty());
    let unhandled = handle.metrics().unhandled_panics;
    check(&script, given.map(end_of), unhandled);
    drop((handle, script));
    probe.assert_freed();
}

/// Spawns the task, does to it what its fate is, and drops the runtime.
fn run(kind: RuntimeKind, runtime: Runtime, script: &Script) -> Option<Given> {
    let fate = script.life.fate;
    let others = (fate.moment() == Moment::Unpolled).then(|| Occupied::all_but_one(kind, &runtime));
    if script.life.act == Act::WaitsInPoll && matches!(fate, Fate::Orphaned(_)) {
        // The task's stack waits for something that comes when the runtime goes down.
        let opener = script.gate.open_on_drop();
        drop(runtime.spawn(async move {
            pending::<()>().await;
            drop(opener);
        }));
    }
    let (runtime, task) = spawn(runtime, script);
    drop(others);
    let Some(runtime) = runtime else {
        return task.map(Wait::wait);
    };
    if fate.moment() == Moment::Paused {
        runtime.block_on(until_async("the task pauses", || match script.life.act.pauses() {
            true => script.is_paused(),
            false => task.as_ref().is_none_or(TaskHandle::is_finished),
        }));
    }
    do_it(runtime, script, task)
}

/// Spawns the task on a worker, and does there what is to be done before its first poll.
fn spawn(runtime: Runtime, script: &Script) -> (Option<Runtime>, Option<TaskHandle<Output>>) {
    let (handle, script) = (runtime.handle(), script.clone());
    let inner = handle.clone();
    let spawner = handle.spawn(async move {
        let task = script.spawn(&inner);
        match script.life.fate {
            Fate::Detached(Moment::Unpolled) => {
                drop(task);
                return (Some(runtime), None);
            }
            Fate::Cancelled(Moment::Unpolled) => task.cancel(),
            Fate::Orphaned(Moment::Unpolled) => {
                drop(runtime);
                return (None, Some(task));
            }
            _ => {}
        }
        (Some(runtime), Some(task))
    });
    handle.block_on(spawner).unwrap()
}

/// The task has come to its moment: does to it what its fate is. The answer is what the handle gave, if it was kept.
fn do_it(runtime: Runtime, script: &Script, task: Option<TaskHandle<Output>>) -> Option<Given> {
    let Life { act, fate, .. } = script.life;
    let open_and_await = |runtime: &Runtime, task: TaskHandle<Output>| {
        script.gate.open();
        runtime.block_on(task)
    };
    match fate {
        Fate::Awaited if !act.ends() => Some(await_while_it_goes_down(runtime, task?)),
        Fate::Awaited => Some(open_and_await(&runtime, task?)),
        Fate::Detached(Moment::Over) => {
            script.gate.open();
            runtime.block_on(until_async("the task is over", || task.as_ref().unwrap().is_finished()));
            None
        }
        Fate::Detached(_) => {
            drop(task);
            script.gate.open();
            let gone = || script.ledger.futures_dropped.load(SeqCst) == 1;
            runtime.block_on(until_async("the task is over", || !act.ends() || gone()));
            None
        }
        Fate::Cancelled(Moment::Unpolled | Moment::Running) => {
            let task = task?;
            let ended = || task.is_finished() || script.is_paused();
            runtime.block_on(until_async("the poll has ended", ended));
            Some(open_and_await(&runtime, task))
        }
        Fate::Cancelled(Moment::Paused) => {
            task.as_ref()?.cancel();
            Some(open_and_await(&runtime, task?))
        }
        Fate::Cancelled(Moment::Over) => {
            script.gate.open();
            runtime.block_on(until_async("the task is over", || task.as_ref().unwrap().is_finished()));
            task.as_ref()?.cancel();
            Some(runtime.block_on(task?))
        }
        Fate::CancelledTwice => {
            let (task, abort) = (task?, script.abort.lock().unwrap().take().unwrap());
            task.cancel();
            task.cancel();
            let given = open_and_await(&runtime, task);
            abort.cancel();
            Some(given)
        }
        Fate::Aborted => {
            let abort = script.abort.lock().unwrap().take().unwrap();
            drop(task);
            abort.cancel();
            script.gate.open();
            runtime.block_on(until_async("the task is over", || abort.is_finished()));
            None
        }
        Fate::Orphaned(moment) => {
            if moment == Moment::Over {
                script.gate.open();
                runtime.block_on(until_async("the task is over", || task.as_ref().unwrap().is_finished()));
            }
            drop(runtime);
            task.map(Wait::wait)
        }
    }
}

/// Another thread waits for the task while this one drops the runtime.
fn await_while_it_goes_down(runtime: Runtime, task: TaskHandle<Output>) -> Given {
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| task.wait());
        drop(runtime);
        waiter.join().unwrap()
    })
}

fn end_of(given: Given) -> End {
    match given {
        Ok(output) => {
            panic_of(|| drop(output));
            End::Value
        }
        Err(TaskError::Cancelled) => End::Cancelled,
        Err(TaskError::Shutdown) => End::Shutdown,
        Err(TaskError::Panicked(_)) => End::Panicked,
        Err(other) => panic!("a new kind of end: {other}"),
    }
}

fn check(script: &Script, given: Option<End>, unhandled: u64) {
    let ledger = &script.ledger;
    let count = |counter: &std::sync::atomic::AtomicUsize| counter.load(SeqCst);
    assert_eq!(count(&ledger.futures_dropped), 1, "drops of the future");
    assert_eq!(count(&ledger.dropped_abroad), 0, "drops of a pinned future away from home");
    assert_eq!(count(&ledger.outputs_dropped), count(&ledger.outputs_made), "drops of the output");
    let possible = legacies(script.life);
    let fits = |legacy: &Legacy| {
        given.is_none_or(|end| end == legacy.end)
            && legacy.unhandled == unhandled
            && usize::from(legacy.output) == count(&ledger.outputs_made)
    };
    let outputs = count(&ledger.outputs_made);
    assert!(
        possible.iter().any(fits),
        "given {given:?}, outputs {outputs}, unhandled {unhandled}; possible: {possible:?}"
    );
}

/// Workers that are busy until this is dropped.
struct Occupied {
    _let_go: Vec<Sender<()>>,
}

impl Occupied {
    /// Leaves one worker free, so that what is spawned there stays there.
    fn all_but_one(kind: RuntimeKind, runtime: &Runtime) -> Self {
        let (ready, all_ready) = channel();
        let occupy = |handle: &Handle| {
            let (let_go, wait) = channel::<()>();
            let ready = ready.clone();
            drop(handle.spawn(async move {
                ready.send(()).unwrap();
                let _closed = wait.recv(); // holds the worker
            }));
            let_go
        };
        let let_go: Vec<_> = (1..kind.threads()).map(|_| occupy(&runtime.handle())).collect();
        let_go.iter().for_each(|_| all_ready.recv().unwrap());
        Self { _let_go: let_go }
    }
}
