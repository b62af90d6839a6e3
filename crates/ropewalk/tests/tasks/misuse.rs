//! What must not be done has a stated outcome: an error that names the knob and its range, a value given back, or the
//! panic that the documentation promises.

mod builder;
mod panics;

use crate::kit::{
    self, Gate, KINDS, ON_PURPOSE, RuntimeKind, guarded, on_every_kind, panic_of, quiet, until_async,
};
use ropewalk::{
    BlockInTask, Handler, HandlerGaveUp, Pool, RuntimeError, SpawnLocalError, TaskError, Wait, spawn_local,
    strand, with_handler, yield_now,
};
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

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
                Err(RuntimeError::Setting { knob: "name", given, .. }) => {
                    assert!(given.contains(name), "{given}")
                }
                other => panic!("{other:?}"),
            }
        }
        let main = runtime.pool("main").unwrap();
        match main.resize(2).err() {
            Some(RuntimeError::Misuse(what)) if kind.is_hosted() => {
                assert!(what.contains("no threads"), "{what}")
            }
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
            Err(RuntimeError::Misuse(what)) => {
                assert!(what.contains("other") && what.contains("inside"), "{what}")
            }
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
                Some(spawn_local(body).unwrap())
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
            runtime.block_on(task.unwrap()).unwrap();
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
    let error = strand::spawn_local(move || *there).unwrap_err();
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
        let strand = runtime.spawn(async { strand::spawn_local(|| yield_now().wait()).unwrap().await });
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
