//! What must not be done has a stated outcome: an error that names the knob and its range, a value given back, or the
//! panic that the documentation promises.

mod kit;

#[path = "misuse/panics.rs"]
mod panics;

use kit::{Gate, KINDS, ON_PURPOSE, RuntimeKind, guarded, on_every_kind, panic_of, quiet, until_async};
use ropewalk::{
    BlockInTask, Builder, Handler, HandlerGaveUp, Pool, Runtime, RuntimeError, SpawnLocalError, TaskError, Wait,
    spawn_local, strand, with_handler, yield_now,
};
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The setting that `build` refuses, what it was set to, and what it accepts.
fn refused(builder: Builder) -> (&'static str, String, String) {
    match builder.build() {
        Err(RuntimeError::Setting { knob, given, accepted }) => {
            let error = RuntimeError::Setting { knob, given: given.clone(), accepted: accepted.clone() };
            let text = error.to_string();
            assert!(text.contains(knob) && text.contains(&given) && text.contains(&accepted), "{text}");
            (knob, given, accepted)
        }
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn each_knob_just_outside_its_range() {
    type Set = fn(Builder, usize) -> Builder;
    let knobs: [(&str, Set, &[usize], &str); 6] = [
        ("worker_threads", |builder, n| builder.worker_threads(n), &[1025, usize::MAX], "1 to 1024"),
        ("hosted_workers", |builder, n| builder.hosted_workers(n), &[0, 1025, usize::MAX], "1 to 1024"),
        ("queue_capacity", |builder, n| builder.queue_capacity(n), &[0, 3, 65_537, usize::MAX], "4 to 65536"),
        (
            "global_queue_interval",
            |builder, n| builder.global_queue_interval(n as u32),
            &[0, 1, 65_537, u32::MAX as usize],
            "2 to 65536",
        ),
        (
            "thread_stack_size",
            |builder, n| builder.thread_stack_size(n),
            &[0, 32_767, (1 << 40) + 1, usize::MAX],
            "32768 to 1099511627776",
        ),
        (
            "strand_stack_size",
            |builder, n| builder.strand_stack_size(n),
            &[0, 32_767, (1 << 40) + 1, usize::MAX],
            "32768 to 1099511627776",
        ),
    ];
    for (knob, set, values, range) in knobs {
        for value in values {
            let start = if knob == "hosted_workers" { Builder::new() } else { Builder::new().worker_threads(0) };
            let expected = (knob, value.to_string(), range.to_owned());
            assert_eq!(refused(set(start, *value)), expected);
        }
    }
    // Between the bounds, but not a power of two.
    for capacity in [5, 100, 65_535] {
        let (knob, given, accepted) = refused(Builder::new().worker_threads(0).queue_capacity(capacity));
        assert_eq!((knob, given), ("queue_capacity", capacity.to_string()));
        assert!(accepted.contains("power of two"), "{accepted}");
    }
    let (knob, ..) = refused(Builder::new().hosted_workers(2).worker_threads(2));
    assert_eq!(knob, "hosted_workers");
    let (knob, ..) = refused(Builder::new().worker_threads(0).thread_name("a\0b"));
    assert_eq!(knob, "thread_name");
}

#[test]
fn each_knob_at_the_ends_of_its_range() {
    let good = |builder: Builder| {
        let runtime = builder.build().unwrap();
        let strand = runtime.spawn(async { strand::spawn(|| yield_now().wait()).unwrap().await });
        runtime.block_on(strand).unwrap().unwrap();
    };
    let start = || Builder::new().worker_threads(0);
    good(start().queue_capacity(4));
    good(start().queue_capacity(65_536));
    good(start().global_queue_interval(2));
    good(start().global_queue_interval(65_536));
    good(start().strand_stack_size(32_768));
    good(start().hosted_workers(1));
    good(start().hosted_workers(1024).thread_stack_size(64 * 1024));
    good(Builder::new().worker_threads(1));
}

/// More than the machine has: an error of `build`, not a worker that dies later.
#[test]
fn memory_that_is_not_there() {
    for builder in [Builder::new().worker_threads(2), Builder::new().worker_threads(0)] {
        match builder.thread_stack_size(1 << 40).build() {
            Err(RuntimeError::System(error)) => {
                let text = RuntimeError::System(error).to_string();
                assert!(text.contains("memory"), "{text}");
            }
            Err(other) => panic!("another error: {other}"),
            // Where a system promises more than it has, there is nothing to see.
            Ok(runtime) => assert_eq!(runtime.block_on(async { 1 }), 1),
        }
    }
}

/// A task that wants to wait where there is no memory for another stack is told so; the worker goes on.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_runs_out() {
    const TASKS: usize = 100;
    if !kit::is_child() {
        // A sanitizer reserves more address space than this leaves.
        let output = kit::run_as_small_child("memory_that_runs_out", 1_000_000);
        let text = kit::stderr_of(&output);
        assert!(output.status.success() || text.contains("Sanitizer"), "{text}");
        return;
    }
    quiet();
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Caller] {
        let (runtime, gate) = (kind.builder().thread_stack_size(32 << 20).build().unwrap(), Gate::new());
        std::panic::set_hook(Box::new(|_| {}));
        let wait = |passed| runtime.spawn(async move { Wait::wait(passed) });
        let tasks: Vec<_> = (0..TASKS).map(|_| wait(gate.passed())).collect();
        let told = || tasks.iter().filter(|task| task.is_finished()).count();
        runtime.block_on(until_async("all wait or are told", || told() + gate.waiting() >= TASKS));
        assert_eq!(runtime.block_on(runtime.spawn(async { 5 })).unwrap(), 5);
        gate.open();
        let (mut waited, mut refused) = (0, 0);
        for task in tasks {
            match runtime.block_on(task) {
                Ok(()) => waited += 1,
                Err(TaskError::Panicked(panic)) => {
                    assert!(panic.message().contains("no memory for a stack"), "{panic}");
                    refused += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(waited + refused, TASKS);
        assert!(waited > 0 && refused > 0, "{waited} {refused}");
    }
}

/// In a process of its own: what is in the environment concerns the default number of workers only.
#[test]
fn garbage_in_the_environment() {
    if !kit::is_child() {
        for garbage in ["", "0", "-1", "1025", "two", "2.5", "99999999999999999999999", "not unicode"] {
            let output = kit::run_as_child("garbage_in_the_environment", |command| {
                #[cfg(unix)]
                if garbage == "not unicode" {
                    use std::os::unix::ffi::OsStrExt;
                    command.env("ROPEWALK_THREADS", std::ffi::OsStr::from_bytes(b"\xff\xfe2"));
                    return;
                }
                command.env("ROPEWALK_THREADS", garbage);
            });
            assert!(output.status.success(), "{garbage:?}: {}", kit::stderr_of(&output));
        }
        for good in ["1", " 3 ", "1024"] {
            let output = kit::run_as_child("the_environment_sets_the_default", |command| {
                command.env("ROPEWALK_THREADS", good);
            });
            assert!(output.status.success(), "{good:?}: {}", kit::stderr_of(&output));
        }
        return;
    }
    let (knob, given, accepted) = refused(Builder::new());
    assert_eq!(knob, "ROPEWALK_THREADS");
    assert!(accepted.contains("1 to 1024"), "{accepted}");
    let value = std::env::var_os("ROPEWALK_THREADS").unwrap();
    assert_eq!(given, format!("{value:?}"));
    assert!(Runtime::new().is_err());
    // Who says how many is not concerned.
    assert_eq!(Runtime::builder().worker_threads(1).build().unwrap().block_on(async { 1 }), 1);
    let message = panic_of(|| ropewalk::spawn(async {})).unwrap();
    assert!(message.contains("the default runtime cannot start") && message.contains("ROPEWALK_THREADS"), "{message}");
}

#[test]
fn the_environment_sets_the_default() {
    let Ok(text) = std::env::var("ROPEWALK_THREADS") else { return };
    let count: usize = text.trim().parse().unwrap();
    let runtime = Builder::new().thread_stack_size(32_768).build().unwrap();
    assert_eq!(runtime.metrics().pools[0].active, count);
}

#[test]
fn pools_out_of_range() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let handle = runtime.handle();
        for count in [0, 1025, usize::MAX] {
            match Pool::builder().workers(count).build(&handle) {
                Err(RuntimeError::Setting { knob: "workers", given, accepted }) => {
                    assert_eq!((given, accepted.as_str()), (count.to_string(), "1 to 1024"));
                }
                other => panic!("{other:?}"),
            }
        }
        let pool = Pool::builder().name("other").build(&handle).unwrap();
        for count in [0, 1025] {
            match pool.resize(count).err() {
                Some(RuntimeError::Setting { knob: "resize", given, accepted }) => {
                    assert_eq!((given, accepted.as_str()), (count.to_string(), "1 to 1024"));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(pool.metrics().active, 1, "nothing was changed");
        for name in ["main", "other"] {
            match Pool::builder().name(name).build(&handle) {
                Err(RuntimeError::Setting { knob: "name", given, .. }) => assert!(given.contains(name), "{given}"),
                other => panic!("{other:?}"),
            }
        }
        let main = runtime.pool("main").unwrap();
        match main.resize(2).err() {
            Some(RuntimeError::Misuse(what)) if kind.is_hosted() => assert!(what.contains("no threads"), "{what}"),
            None if !kind.is_hosted() => {}
            other => panic!("{other:?}"),
        }
        assert!(runtime.pool("nobody").is_none());
    });
}

#[test]
fn a_pool_shut_down_from_inside() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let pool = Pool::builder().name("other").build(&runtime.handle()).unwrap();
        let inside = pool.clone();
        let task = pool.spawn(async move { inside.shutdown().await });
        match runtime.block_on(task).unwrap() {
            Err(RuntimeError::Misuse(what)) => assert!(what.contains("other") && what.contains("inside"), "{what}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(runtime.block_on(pool.spawn(async { 1 })).unwrap(), 1, "it goes on");
        let main = runtime.pool("main").unwrap();
        let error = Pool::builder().name("helper").build(&runtime.handle()).unwrap();
        let there = main.clone();
        match runtime.block_on(error.spawn(async move { there.shutdown().await })).unwrap() {
            Err(RuntimeError::Misuse(what)) => assert!(what.contains("main"), "{what}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
    });
}

#[test]
fn a_runtime_with_threads_is_not_driven() {
    for kind in KINDS.into_iter().filter(|kind| !kind.is_hosted()) {
        let runtime = kind.build();
        for error in [runtime.try_tick().err(), runtime.run_until_stalled().err()] {
            match error {
                Some(RuntimeError::Misuse(what)) => assert!(what.contains("worker_threads(0)"), "{what}"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_runtime_is_not_driven_twice() {
    for kind in KINDS.into_iter().filter(|kind| kind.is_hosted()) {
        let runtime = kind.build();
        let inside = runtime.block_on(async { runtime.try_tick() });
        match inside {
            Err(RuntimeError::Misuse(what)) => assert!(what.contains("this thread"), "{what}"),
            other => panic!("{other:?}"),
        }
        let (there, leave) = (Gate::new(), Gate::new());
        std::thread::scope(|scope| {
            let (there, passed) = (&there, leave.passed());
            let runtime = &runtime;
            scope.spawn(move || {
                runtime.block_on(async {
                    there.open();
                    passed.await;
                });
            });
            kit::until("the other thread drives", || there.is_open());
            match runtime.run_until_stalled() {
                Err(RuntimeError::Misuse(what)) => assert!(what.contains("another thread"), "{what}"),
                other => panic!("{other:?}"),
            }
            leave.open();
        });
        runtime.run_until_stalled().unwrap();
        assert!(!runtime.try_tick().unwrap(), "there is nothing to do");
    }
}

/// Local tasks and waiting stacks belong to a thread, and so does the runtime that holds them.
#[test]
fn a_bound_runtime_on_another_thread() {
    quiet();
    for kind in KINDS.into_iter().filter(|kind| kind.is_hosted()) {
        for stack in [false, true] {
            let (runtime, gate) = (kind.build(), Gate::new());
            let passed = gate.passed();
            let task = runtime.block_on(async move {
                let body = async move { if stack { passed.wait() } else { passed.await } };
                spawn_local(body).unwrap()
            });
            runtime.run_until_stalled().unwrap();
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    match runtime.try_tick() {
                        Err(RuntimeError::Misuse(what)) => assert!(what.contains("local tasks"), "{what}"),
                        other => panic!("{other:?}"),
                    }
                    panic_of(|| runtime.block_on(async {}))
                });
                let message = other.join().unwrap().expect("documented panic");
                assert!(message.contains("block_on") && message.contains("local tasks"), "{message}");
            });
            // Nothing was harmed, and when the last one is over any thread will do.
            gate.open();
            runtime.block_on(task).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| assert_eq!(runtime.block_on(async { 5 }), 5));
            });
        }
    }
}

#[test]
fn spawn_local_off_a_worker_gives_the_future_back() {
    let witness = Rc::new(5);
    let there = witness.clone();
    let SpawnLocalError(future) = spawn_local(async move { *there }).unwrap_err();
    assert_eq!(Rc::strong_count(&witness), 2, "it was not dropped");
    assert_eq!(future.wait(), 5);
    let there = witness.clone();
    let error = strand::spawn(move || *there).unwrap_err();
    assert!(error.to_string().contains("spawn_local"), "{error}");
    assert_eq!(error.0(), 5);
    for kind in KINDS {
        let runtime = kind.build();
        let spawned = runtime.block_on(async { spawn_local(async { 6 }).map_err(|_| ()) });
        match (kind.is_hosted(), spawned) {
            (true, Ok(task)) => assert_eq!(runtime.block_on(task).unwrap(), 6, "the root is on a worker"),
            (false, Err(())) => {}
            (_, other) => panic!("{kind:?}: {other:?}"),
        }
    }
}

#[test]
fn a_handle_polled_after_completion() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.build();
        let mut task = runtime.spawn(async { 5 });
        assert!(task.id().is_some());
        assert_eq!(runtime.block_on(&mut task).unwrap(), 5);
        assert!(task.is_finished() && task.id().is_none());
        task.cancel(); // and that is nothing
        assert!(task.abort_handle().is_finished());
        let message = panic_of(|| Pin::new(&mut task).poll(&mut Context::from_waker(Waker::noop()))).unwrap();
        assert!(message.contains("after it gave its output"), "{message}");
        // The same inside a task is a panic of that task.
        let twice = runtime.spawn(async {
            let mut task = ropewalk::spawn(async { 6 });
            let first = (&mut task).await.unwrap();
            let _again = task.await;
            first
        });
        assert!(matches!(runtime.block_on(twice), Err(TaskError::Panicked(_))));
    });
}

/// Polls once and returns, whether or not the future is done.
struct Hasty;

impl Handler for Hasty {
    fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        let _given_up = future.poll(&mut Context::from_waker(Waker::noop()));
    }
}

#[test]
fn a_handler_that_gives_up() {
    let gave_up = |f: &dyn Fn()| {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
        assert_eq!(payload.downcast_ref::<HandlerGaveUp>(), Some(&HandlerGaveUp));
    };
    assert!(HandlerGaveUp.to_string().contains("handler"));
    gave_up(&|| with_handler(&Hasty, || pending::<()>().wait()));
    assert_eq!(with_handler(&Hasty, || async { 5 }.wait()), 5, "what is ready is ready");
    on_every_kind(|kind| {
        let runtime = kind.build();
        let task = runtime.spawn(async move { gave_up(&|| with_handler(&Hasty, || pending::<()>().wait())) });
        runtime.block_on(task).unwrap();
        // Uncaught, it is the task's panic, and the payload says what it was.
        let task = runtime.spawn(async { with_handler(&Hasty, || pending::<()>().wait()) });
        match runtime.block_on(task) {
            Err(TaskError::Panicked(panic)) => assert!(panic.into_payload().is::<HandlerGaveUp>()),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn waiting_in_a_poll_where_that_is_forbidden() {
    quiet();
    on_every_kind(|kind| {
        let runtime = kind.builder().block_in_task(BlockInTask::Panic).build().unwrap();
        let message = |task| match runtime.block_on(task) {
            Err(TaskError::Panicked(panic)) => panic.message().to_owned(),
            other => panic!("{other:?}"),
        };
        let waits = message(runtime.spawn(async { yield_now().wait() }));
        assert!(waits.contains("block_in_task"), "{waits}");
        let blocks = message(runtime.spawn(async { ropewalk::block_on(yield_now()) }));
        assert!(blocks.contains("block_in_task"), "{blocks}");
        for inner in [RuntimeKind::Caller, RuntimeKind::Threads(1)] {
            let inner = inner.build();
            let nested = message(runtime.spawn(async move { inner.block_on(yield_now()) }));
            assert!(nested.contains("block_in_task"), "{nested}");
        }
        // Strands have stacks of their own, and the root is no task.
        let strand = runtime.spawn(async { strand::spawn(|| yield_now().wait()).unwrap().await });
        runtime.block_on(strand).unwrap().unwrap();
        runtime.block_on(async { ropewalk::spawn(yield_now()).wait().unwrap() });
        assert_eq!(runtime.metrics().total(|worker| worker.waits_in_poll), u64::from(kind.is_hosted()));
    });
}

/// A task may await its own handle's end only through others: it is cancelled by itself, and says so.
#[test]
fn a_task_that_cancels_itself() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let slot = std::sync::Arc::new(std::sync::Mutex::new(None::<ropewalk::AbortHandle>));
        let mine = slot.clone();
        let task = runtime.spawn(async move {
            until_async("the handle is there", || mine.lock().unwrap().is_some()).await;
            assert!(!ropewalk::task::is_cancelled());
            mine.lock().unwrap().as_ref().unwrap().cancel();
            assert!(ropewalk::task::is_cancelled());
            yield_now().await;
            unreachable!("{ON_PURPOSE}: it ends at its next suspension");
        });
        *slot.lock().unwrap() = Some(task.abort_handle());
        assert!(matches!(runtime.block_on(task), Err(TaskError::Cancelled)));
        assert!(!ropewalk::task::is_cancelled(), "outside of any task");
    });
}

/// A future may be polled by hand on any thread, with any waker: the operations of the runtime do not mind.
#[test]
fn operations_polled_by_hand() {
    guarded("by hand", || {
        let mut cx = Context::from_waker(Waker::noop());
        let mut turn = Box::pin(yield_now());
        assert!(turn.as_mut().poll(&mut cx).is_pending());
        assert!(turn.as_mut().poll(&mut cx).is_ready());
        let mut budget = Box::pin(ropewalk::task::consume_budget());
        assert_eq!(budget.as_mut().poll(&mut cx), Poll::Ready(()));
        assert_eq!(ropewalk::task::id(), None);
    });
}
