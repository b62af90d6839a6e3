//! A runtime goes down from anywhere: nothing hangs, nothing is lost, nothing is left.

use super::body::{Output, Script};
use super::kit::{self, Gate, KINDS, Probe, RuntimeKind, guarded, on_every_kind, until, until_async};
use super::table::{Act, Fate, Life, MAKINGS, Making, Moment};
use ropewalk::{Handle, Pool, Runtime, ShutdownError, TaskError, TaskHandle, Wait, strand};
use std::future::{Future, pending, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// Tasks of every kind that wait and yield for ever: what must be ended when the runtime goes down.
struct Crowd(Vec<(Script, TaskHandle<Output>)>);

impl Crowd {
    fn gather(runtime: &Handle, makings: &'static [Making]) -> Self {
        let inner = runtime.clone();
        let gathered = runtime.spawn(async move {
            let acts = [Act::WaitsForEver, Act::YieldsForEver, Act::CompletesLater];
            let lives = makings.iter().flat_map(|making| acts.map(|act| (*making, act)));
            let spawn = |(making, act)| {
                let script = Script::new(Life { making, act, fate: Fate::Orphaned(Moment::Paused) });
                let task = script.spawn(&inner);
                (script, task)
            };
            Crowd(lives.map(spawn).collect())
        });
        let crowd = runtime.block_on(gathered).unwrap();
        runtime.block_on(until_async("all are there", || crowd.0.iter().all(|(script, _)| script.is_paused())));
        crowd
    }

    /// Everybody was told, everything was dropped once, and what outlived the runtime (handles, abort handles, wakers in
    /// the gates) still does no harm.
    fn assert_over(self) {
        for (script, task) in self.0 {
            let end = task.wait();
            assert!(matches!(end, Err(TaskError::Shutdown)), "{:?}: {:?}", script.life, end.err());
            assert_eq!(script.ledger.futures_dropped.load(SeqCst), 1, "{:?}", script.life);
            assert_eq!(script.ledger.dropped_abroad.load(SeqCst), 0, "{:?}", script.life);
            let abort = script.abort.lock().unwrap().take().unwrap();
            until("it is finished", || abort.is_finished());
            abort.cancel();
            script.gate.open();
        }
    }
}

/// What does not belong to a thread.
const FREE: [Making; 4] = [Making::Lean, Making::Injected, Making::Named, Making::Big];

/// A runtime with a crowd in it.
fn inhabited(kind: RuntimeKind) -> (Runtime, Crowd, Probe) {
    inhabited_by(kind, &MAKINGS)
}

/// The same for a runtime that may be dropped on another thread: if this one drives it, nothing in it is bound here.
fn inhabited_for_others(kind: RuntimeKind) -> (Runtime, Crowd, Probe) {
    inhabited_by(kind, if kind.is_hosted() { &FREE } else { &MAKINGS })
}

fn inhabited_by(kind: RuntimeKind, makings: &'static [Making]) -> (Runtime, Crowd, Probe) {
    let probe = Probe::new();
    let runtime = kind.builder().clock(probe.clock()).build().unwrap();
    let crowd = Crowd::gather(&runtime.handle(), makings);
    (runtime, crowd, probe)
}

fn on_every_pair(test: impl Fn(RuntimeKind, RuntimeKind)) {
    for outer in KINDS {
        on_every_kind(|inner| guarded(format!("{inner:?} in {outer:?}"), || test(outer, inner)));
    }
}

#[test]
fn dropped_on_a_plain_thread() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        drop(runtime);
        crowd.assert_over();
        assert!(probe.is_freed(), "dropping on a plain thread waits for all of it");
    });
}

#[test]
fn dropped_in_a_task_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let task = handle.spawn(async move { drop(runtime) });
        handle.block_on(task).unwrap();
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_in_a_strand_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let task = handle.spawn(async move { strand::spawn(move || drop(runtime)).unwrap() });
        let strand = handle.block_on(task).unwrap();
        handle.block_on(strand).unwrap();
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_by_the_root_of_its_own_block_on() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let late = handle.block_on(async move {
            drop(runtime);
            ropewalk::yield_now().await;
            ropewalk::spawn(async {}).await
        });
        assert!(matches!(late, Ok(()) | Err(TaskError::Shutdown)));
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_with_the_future_of_a_task_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let holder = handle.spawn(async move {
            pending::<()>().await;
            drop(runtime);
        });
        holder.cancel(); // the destructor of the task drops the runtime
        assert!(matches!(handle.block_on(holder), Err(TaskError::Cancelled)));
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_with_the_output_of_a_task_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        drop(handle.spawn(async move { runtime })); // detached: the worker drops the output
        let over = || crowd.0.iter().all(|(_, task)| task.is_finished());
        handle.block_on(until_async("all is over", over));
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

#[test]
fn dropped_in_a_task_of_another_runtime() {
    on_every_pair(|outer, inner| {
        let (runtime, crowd, probe) = inhabited_for_others(inner);
        let outer = outer.build();
        outer.block_on(outer.spawn(async move { drop(runtime) })).unwrap();
        crowd.assert_over();
        probe.assert_freed();
    });
}

#[test]
fn dropped_in_a_strand_of_another_runtime() {
    on_every_pair(|outer, inner| {
        let (runtime, crowd, probe) = inhabited_for_others(inner);
        let outer = outer.build();
        let strand = outer.spawn(async move { strand::spawn(move || drop(runtime)).unwrap() });
        let strand = outer.block_on(strand).unwrap();
        outer.block_on(strand).unwrap();
        crowd.assert_over();
        probe.assert_freed();
    });
}

#[test]
fn dropped_inside_block_on_of_another_runtime() {
    on_every_pair(|outer, inner| {
        let (runtime, crowd, probe) = inhabited(inner);
        outer.build().block_on(async move { drop(runtime) });
        crowd.assert_over();
        probe.assert_freed();
    });
}

#[test]
fn dropped_while_another_thread_is_in_its_block_on() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited_for_others(kind);
        let (handle, entered, done) = (runtime.handle(), Arc::new(AtomicBool::new(false)), Gate::new());
        std::thread::scope(|scope| {
            let (entered, passed) = (entered.clone(), done.passed());
            scope.spawn(move || {
                handle.block_on(async move {
                    entered.store(true, SeqCst);
                    passed.await;
                    // What the root spawns now runs or is refused, and it is told.
                    assert!(matches!(ropewalk::spawn(async {}).await, Ok(()) | Err(TaskError::Shutdown)));
                });
            });
            until("it is entered", || done.waiting() > 0);
            if kind.is_hosted() {
                drop(runtime); // does not wait: the other thread drives it to its end
            } else {
                drop(runtime);
                assert!(crowd.0.iter().all(|(_, task)| task.is_finished()));
            }
            done.open();
        });
        crowd.assert_over();
        probe.assert_freed();
    });
}

/// Each spawn of another thread is run, or its owner is told; never both, never neither.
#[test]
fn dropped_while_others_spawn_into_it() {
    const SPAWNERS: usize = 3;
    on_every_kind(|kind| {
        for round in 0..40 {
            let probe = Probe::new();
            let runtime = kind.builder().clock(probe.clock()).build().unwrap();
            let (ran, started) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let spawners: Vec<_> = (0..SPAWNERS)
                .map(|_| {
                    let (handle, ran, started) = (runtime.handle(), ran.clone(), started.clone());
                    std::thread::spawn(move || spawn_until_refused(&handle, &ran, &started))
                })
                .collect();
            // The runtime runs on for a while, a longer one each time.
            let enough = || started.load(SeqCst) > SPAWNERS * round;
            until("they have started", || {
                if kind.is_hosted() {
                    runtime.try_tick().unwrap();
                }
                enough()
            });
            drop(runtime);
            let handles: Vec<_> = spawners.into_iter().flat_map(|spawner| spawner.join().unwrap()).collect();
            let (mut values, mut refused) = (0, 0);
            let total = handles.len();
            for handle in handles {
                match handle.wait() {
                    Ok(()) => values += 1,
                    Err(TaskError::Shutdown) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
            }
            assert_eq!((values, values + refused), (ran.load(SeqCst), total));
            probe.assert_freed();
        }
    });
}

fn spawn_until_refused(handle: &Handle, ran: &Arc<AtomicUsize>, started: &AtomicUsize) -> Vec<TaskHandle<()>> {
    let mut handles = Vec::new();
    // A few more after the first refusal: that state lasts.
    let mut refused = 0;
    while refused < 5 {
        let ran = ran.clone();
        let task = handle.spawn(async move { drop(ran.fetch_add(1, SeqCst)) });
        started.fetch_add(1, SeqCst);
        // What is refused is over at once.
        refused += usize::from(handle.metrics().pools.is_empty() && task.is_finished());
        handles.push(task);
        std::thread::yield_now();
    }
    handles
}

#[test]
fn what_outlives_the_runtime_is_told_so() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let (handle, main) = (runtime.handle(), runtime.pool("main").unwrap());
        drop(runtime);
        crowd.assert_over();
        assert!(matches!(handle.spawn(async {}).wait(), Err(TaskError::Shutdown)));
        assert!(matches!(main.spawn(async { [0u8; 4096] }).wait(), Err(TaskError::Shutdown)));
        let named = ropewalk::task::Builder::new().name("late").pool(&main).spawn(async {});
        assert!(matches!(named.wait(), Err(TaskError::Shutdown)));
        assert!(handle.pool("main").is_none());
        assert!(main.resize(1).is_err());
        assert!(Pool::builder().name("late").build(&handle).is_err());
        assert_eq!(handle.block_on(async { 5 }), 5, "polling needs no worker");
        assert_eq!(handle.metrics().unhandled_panics, 0);
        drop((handle, main));
        probe.assert_freed();
    });
}

#[test]
fn a_graceful_shutdown_waits() {
    on_every_kind(|kind| {
        for deadline in [kit::DEADLINE, Duration::MAX] {
            let probe = Probe::new();
            let runtime = kind.builder().clock(probe.clock()).build().unwrap();
            let tasks: Vec<_> = (0..50)
                .map(|turns| {
                    runtime.spawn(async move {
                        for _ in 0..turns {
                            ropewalk::yield_now().await;
                        }
                        let child = ropewalk::spawn(async { ropewalk::yield_now().await });
                        child.await.unwrap();
                    })
                })
                .collect();
            assert_eq!(runtime.shutdown(deadline), Ok(()));
            tasks.into_iter().for_each(|task| task.wait().unwrap());
            probe.assert_freed();
        }
    });
}

#[test]
fn a_shutdown_past_its_deadline_says_how_many_were_cancelled() {
    on_every_kind(|kind| {
        for deadline in [Duration::ZERO, Duration::from_millis(2)] {
            let (runtime, crowd, probe) = inhabited(kind);
            let done = runtime.spawn(async {});
            runtime.block_on(done).unwrap();
            let cancelled = crowd.0.len() as u64;
            let alive = || runtime.metrics().pools[0].alive;
            until("what is over is counted", || alive() == cancelled);
            let error = runtime.shutdown(deadline).unwrap_err();
            assert_eq!(error, ShutdownError { cancelled });
            assert!(error.to_string().contains(&cancelled.to_string()), "{error}");
            crowd.assert_over();
            probe.assert_freed();
        }
    });
}

#[test]
fn shut_down_by_a_task_of_its_own() {
    on_every_kind(|kind| {
        let (runtime, crowd, probe) = inhabited(kind);
        let handle = runtime.handle();
        let others = crowd.0.len() as u64;
        let task = handle.spawn(async move { runtime.shutdown(Duration::from_millis(1)) });
        let error = handle.block_on(task).unwrap().unwrap_err();
        assert_eq!(error.cancelled, others + 1, "itself included: it cannot wait for its own end");
        crowd.assert_over();
        drop(handle);
        probe.assert_freed();
    });
}

/// The runtime is ended by a panic and then dropped: going down twice is the same as once.
#[test]
fn going_down_twice() {
    kit::quiet();
    on_every_kind(|kind| {
        let probe = Probe::new();
        let builder = kind.builder().unhandled_panic(ropewalk::UnhandledPanic::Terminate).clock(probe.clock());
        let runtime = builder.build().unwrap();
        let crowd = Crowd::gather(&runtime.handle(), &MAKINGS);
        drop(runtime.spawn(async { panic!("{}: the end", kit::ON_PURPOSE) }));
        let raised = kit::panic_of(|| runtime.block_on(pending::<()>())).unwrap();
        assert!(raised.contains("the end"), "{raised}");
        assert_eq!(runtime.shutdown(kit::DEADLINE), Ok(()), "nothing was alive any more");
        crowd.assert_over();
        probe.assert_freed();
    });
}

/// Pools made by hand go down with their runtime.
#[test]
fn other_pools_go_down_too() {
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let pool = Pool::builder().name("other").workers(2).build(&runtime.handle()).unwrap();
        let tasks: Vec<_> = (0..20).map(|_| pool.spawn(pending::<()>())).collect();
        drop(runtime);
        for task in tasks {
            assert!(matches!(task.wait(), Err(TaskError::Shutdown)));
        }
        drop(pool);
        probe.assert_freed();
    });
}

/// A pool that is made while its runtime goes down either goes down with it or is refused.
#[test]
fn a_pool_made_while_the_runtime_goes_down() {
    for _ in 0..50 {
        let probe = Probe::new();
        let runtime = Runtime::builder().worker_threads(1).clock(probe.clock()).build().unwrap();
        let (handle, go) = (runtime.handle(), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let handle = handle;
                go.wait();
                if let Ok(pool) = Pool::builder().name("late").build(&handle) {
                    assert!(matches!(pool.spawn(pending::<()>()).wait(), Err(TaskError::Shutdown)));
                }
            });
            go.wait();
            drop(runtime);
        });
        probe.assert_freed();
    }
}

/// The destructor of a task makes a pool in the runtime that is going down.
#[test]
fn a_pool_made_by_a_destructor_while_the_runtime_goes_down() {
    struct MakePool(Handle, Arc<Mutex<Option<Pool>>>);
    impl Drop for MakePool {
        fn drop(&mut self) {
            *self.1.lock().unwrap() = Pool::builder().name("late").build(&self.0).ok();
        }
    }
    on_every_kind(|kind| {
        let probe = Probe::new();
        let runtime = kind.builder().clock(probe.clock()).build().unwrap();
        let made = Arc::new(Mutex::new(None));
        let guard = MakePool(runtime.handle(), made.clone());
        let task = runtime.spawn(async move {
            pending::<()>().await;
            drop(guard);
        });
        drop(runtime);
        assert!(task.wait().is_err());
        assert!(made.lock().unwrap().is_none(), "the runtime was going down already");
        probe.assert_freed();
    });
}

/// A stack that waits for what never comes is left behind, with a word to say so, and does not hold up the rest.
#[test]
fn a_stack_that_waits_for_ever_is_left_behind_and_named() {
    if !kit::is_child() {
        let output = kit::run_as_child("shutdown::a_stack_that_waits_for_ever_is_left_behind_and_named", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        let reports: Vec<_> = text.lines().filter(|line| line.contains("left behind at shutdown")).collect();
        assert_eq!(reports.len(), KINDS.len(), "{text}");
        for report in reports {
            assert!(report.contains("lifecycle/shutdown.rs"), "names the place: {report}");
            assert!(!report.contains("src/sched"), "shows nothing internal: {report}");
        }
        return;
    }
    on_every_kind(|kind| {
        let (runtime, crowd, _stays) = inhabited(kind);
        let gate = Gate::new();
        let (passed, other) = (gate.passed(), gate.passed());
        let _stuck = runtime.spawn(async move { passed.wait() });
        runtime.block_on(until_async("it waits", || gate.waiting() > 0));
        drop(runtime);
        crowd.assert_over();
        drop(other);
    });
}

/// So is a strand whose destructor waits for ever while it unwinds.
#[test]
fn a_strand_that_never_finishes_unwinding_is_left_behind() {
    struct WaitOnDrop(Gate);
    impl Drop for WaitOnDrop {
        fn drop(&mut self) {
            self.0.passed().wait();
        }
    }
    if !kit::is_child() {
        let output = kit::run_as_child("shutdown::a_strand_that_never_finishes_unwinding_is_left_behind", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("left behind at shutdown").count(), KINDS.len(), "{text}");
        return;
    }
    on_every_kind(|kind| {
        let (runtime, crowd, _stays) = inhabited(kind);
        let (gate, there) = (Gate::new(), Gate::new());
        let (guard, passed) = (WaitOnDrop(gate.clone()), there.passed());
        let strand = runtime.spawn(async move {
            let body = move || {
                let _guard = guard;
                passed.wait();
            };
            strand::spawn(body).unwrap()
        });
        let _strand = runtime.block_on(strand).unwrap();
        runtime.block_on(until_async("it waits", || there.waiting() > 0));
        drop(runtime);
        crowd.assert_over();
    });
}

#[test]
fn a_local_task_of_a_thread_that_is_gone_is_named() {
    // The runtime is bound to a thread that has ended: nobody may ever touch the local task again.
    if !kit::is_child() {
        let output = kit::run_as_child("shutdown::a_local_task_of_a_thread_that_is_gone_is_named", |_| {});
        let text = kit::stderr_of(&output);
        assert!(output.status.success(), "{text}");
        assert!(text.contains("left behind at shutdown"), "{text}");
        return;
    }
    let runtime = RuntimeKind::Caller.build();
    let script = Script::new(Life {
        making: Making::Local,
        act: Act::WaitsForEver,
        fate: Fate::Orphaned(Moment::Paused),
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (inner, handle) = (script.clone(), runtime.handle());
            runtime.block_on(async move { drop(inner.spawn(&handle)) });
            runtime.run_until_stalled().unwrap();
        });
    });
    assert!(script.is_paused());
    drop(runtime);
    assert_eq!(script.ledger.futures_dropped.load(SeqCst), 0, "it must not be dropped on another thread");
}

/// The waker of a wait that is long over is called while the runtime goes down: nothing is left of it.
#[test]
fn a_stale_wake_up_while_the_runtime_goes_down() {
    on_every_kind(|kind| {
        for round in 0..150 {
            let probe = Probe::new();
            let runtime = kind.builder().clock(probe.clock()).build().unwrap();
            let (stale, gate) = (Gate::new(), Gate::new());
            let (to_stale, to_gate) = (stale.passed(), gate.passed());
            let task = runtime.spawn(async move {
                let (mut to_stale, mut to_gate) = (Box::pin(to_stale), Box::pin(to_gate));
                let either = poll_fn(|cx| match to_stale.as_mut().poll(cx) {
                    Poll::Pending => to_gate.as_mut().poll(cx),
                    ready => ready,
                });
                either.wait();
            });
            runtime.block_on(until_async("it waits", || gate.waiting() > 0));
            gate.open();
            runtime.block_on(task).unwrap();
            let go = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    go.wait();
                    (0..round % 30).for_each(|_| std::hint::spin_loop());
                    stale.open();
                });
                go.wait();
                (0..round % 7 * 20).for_each(|_| std::hint::spin_loop());
                drop(runtime);
            });
            probe.assert_freed();
        }
    });
}
