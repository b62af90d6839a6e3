//! Sizes, texts, and what a single call promises.

use super::lab::{Bench, Lab, Value, ask, run};
use crate::prim::real::{AtomicUsize, Ordering::Relaxed};
use crate::task::{
    Async, Body, Header, Host, Orders, PanicInfo, Ran, Runnable, TaskError, TaskHandle, TaskId, layout, spawn,
};
use std::alloc::Layout;
use std::any::Any;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type Plain = Lab<false, true>;

/// A host that keeps nothing beside its tasks and never runs: only its layouts are looked at.
struct Lean;

// SAFETY: no task is ever made in it.
unsafe impl Host for Lean {
    type Extra = ();
    const KIND: u8 = 0;
    const FINDS_TASKS: bool = true;
    fn schedule(_: Runnable) {
        unreachable!()
    }
    fn keeps_itself_alive(_: NonNull<Header>) -> bool {
        unreachable!()
    }
    unsafe fn dealloc(_: NonNull<Header>, _: Layout) {
        unreachable!()
    }
    fn name(_: &()) -> Option<&str> {
        unreachable!()
    }
    fn unhandled(_: NonNull<Header>, _: PanicInfo) {
        unreachable!()
    }
}

fn size_of_task<F: Future>(_: F) -> usize {
    layout::<Async<F>, Lean>().size()
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_cell_is_small() {
    assert_eq!(size_of::<Header>(), 40);
    assert!(size_of_task(async {}) <= 48, "an empty task takes {} bytes", size_of_task(async {}));
    // Body and output share their place.
    assert_eq!(size_of_task(async { [1_u64; 4] }), 40 + 32);
    assert_eq!(size_of::<TaskHandle<u8>>(), 16);
    assert_eq!(size_of::<Option<Runnable>>(), 8);
}

#[test]
fn errors_say_what_happened() {
    assert_eq!(TaskError::Cancelled.to_string(), "the task was cancelled");
    assert_eq!(TaskError::Shutdown.to_string(), "the runtime shut down before the task finished");
    assert!(TaskError::Cancelled.is_cancelled() && TaskError::Shutdown.is_cancelled());
    assert!(!TaskError::Cancelled.is_panic() && TaskError::Shutdown.into_panic().is_none());
}

/// A panic that ended a task, as its handle gives it.
fn panic_with(payload: impl Any + Send, name: Option<&str>) -> TaskError {
    let id = TaskId::new(NonZeroU64::new(9).unwrap());
    let here = std::panic::Location::caller();
    TaskError::Panicked(PanicInfo::new(Box::new(payload), ("task", id), name, here))
}

#[test]
fn panics_name_task_and_place() {
    let place = format!("{}:", file!());
    for (error, name, message) in [
        (panic_with("lost", None), None, "lost"),
        (panic_with("lost".to_string(), Some("diver")), Some("diver"), "lost"),
        (panic_with(17, None), None, "(a payload that is not text)"),
    ] {
        assert!(error.is_panic() && !error.is_cancelled());
        let text = error.to_string();
        let mut info = error.into_panic().expect("it is one");
        assert_eq!((info.message(), info.name(), info.task().get()), (message, name, 9));
        assert_eq!(info.spawned_at().file(), file!());
        let who = name.map_or("task 9".to_string(), |name| format!("task 9 \"{name}\""));
        assert!(text.starts_with(&format!("{who} (spawned at {place}")), "{text}");
        assert!(text.ends_with(&format!(") panicked: {message}")), "{text}");
        assert_eq!(format!("{info:?}"), format!("PanicInfo({text})"));
        let shared = info.payload_mut().is::<i32>();
        assert_eq!(info.into_payload().is::<i32>(), shared);
    }
}

#[test]
#[cfg(feature = "std")]
fn a_panicking_task_is_described() {
    let bench = Bench::new();
    let line = line!() + 1;
    let (runnable, mut handle) = bench.task::<Plain, Value>(|| resume_unwind(Box::new("the cable snapped")));
    assert!(matches!(runnable.run(), Ran::Done), "the panic stays in the task");
    let Poll::Ready(Err(error)) = ask(&mut handle) else { panic!("it is over") };
    let info = error.into_panic().expect("it panicked");
    assert_eq!((info.message(), info.name()), ("the cable snapped", Some("guinea pig")));
    assert_eq!((info.spawned_at().file(), info.spawned_at().line()), (file!(), line));
    bench.assert_gone();
}

#[test]
fn a_task_is_described_while_it_lives() {
    let bench = Bench::new();
    let (runnable, handle) = bench.task::<Plain, ()>(|| Poll::Pending);
    let task = runnable.task();
    assert_eq!((task.name(), task.kind(), task.state_name()), (Some("guinea pig"), 7, "queued"));
    assert_eq!((handle.id(), task.id().to_string()), (Some(task.id()), "1".to_string()));
    assert!(!task.is_pinned() && !task.is_cancelled() && !task.is_finished() && !handle.is_finished());
    run(runnable);
    assert_eq!(task.state_name(), "waiting");
    assert!(format!("{task:?}").starts_with("task 1 (waiting, spawned at "), "{task:?}");
    assert_eq!(format!("{handle:?}"), format!("TaskHandle({task:?})"));
    handle.cancel();
    assert!(task.is_cancelled());
    bench.run_queue();
    assert!(task.is_finished() && handle.is_finished() && handle.abort_handle().is_finished());
    assert_eq!(task.state_name(), "done");
    drop((task, handle));
    bench.assert_gone();
}

#[test]
fn a_handle_polled_after_the_end_panics() {
    let bench = Bench::new();
    let value = bench.clone();
    let (runnable, mut handle) = bench.task::<Plain, _>(move || Poll::Ready(value.value(5)));
    run(runnable);
    assert!(matches!(ask(&mut handle), Poll::Ready(Ok(5))));
    assert_eq!((handle.id(), handle.is_finished(), handle.abort_handle().id()), (None, true, None));
    assert_eq!(format!("{handle:?}"), "TaskHandle(taken)");
    handle.cancel();
    let payload = catch_unwind(AssertUnwindSafe(|| ask(&mut handle))).expect_err("it gave its output before");
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or(payload.downcast_ref::<String>().map(String::as_str));
    assert_eq!(text, Some("a TaskHandle was polled after it gave its output"));
}

/// The waiter is woken when the output is there and the task is not marked as ended: the output goes with the handle.
#[test]
fn an_output_that_can_be_seen_is_dropped_with_the_handle() {
    struct Drops {
        handle: Mutex<Option<TaskHandle<Arc<()>>>>,
        output: Arc<()>,
        left: AtomicUsize,
    }
    impl Wake for Drops {
        fn wake(self: Arc<Self>) {
            let handle = self.handle.lock().unwrap().take();
            assert!(handle.as_ref().is_some_and(TaskHandle::is_finished));
            drop(handle);
            self.left.store(Arc::strong_count(&self.output), Relaxed);
        }
    }
    let (submit, submitted) = channel();
    let waiter = Arc::new(Drops { handle: Mutex::new(None), output: Arc::new(()), left: 0.into() });
    let output = waiter.output.clone();
    let mut handle = spawn(async { output }, move |task| submit.send(task).unwrap());
    assert!(Pin::new(&mut handle).poll(&mut Context::from_waker(&waiter.clone().into())).is_pending());
    *waiter.handle.lock().unwrap() = Some(handle);
    run(submitted.recv().unwrap());
    assert_eq!(waiter.left.load(Relaxed), 1, "nothing but our own is left of it when the handle is gone");
}

#[test]
fn ids_are_not_used_twice() {
    let ids: Vec<_> = (0..100).map(|_| spawn(async {}, drop).id().expect("not taken")).collect();
    assert!(ids.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1));
}

/// How a body takes its cancellation; every `true` it was polled with is noted.
struct Stubborn {
    noted: Arc<Mutex<Vec<bool>>>,
    ends: fn() -> usize,
    bench: Arc<Bench>,
}

struct Unwound;

impl Body for Stubborn {
    type Output = Value;
    const CANCELLED_BY_POLL: bool = true;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, orders: Orders) -> Poll<Value> {
        let cancelled = orders.is_cancelled();
        let mut noted = self.noted.lock().unwrap();
        noted.push(cancelled);
        if noted.iter().filter(|cancelled| **cancelled).count() == 3 {
            drop(noted);
            return Poll::Ready(self.bench.value((self.ends)()));
        }
        if cancelled {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn is_interruption(payload: &(dyn Any + Send)) -> bool {
        payload.is::<Unwound>()
    }
}

/// Cancels a task that owns a stack while it waits: it is polled until it has ended, in its own way.
fn unwind_by_polls(ends: fn() -> usize) -> Result<usize, TaskError> {
    let (bench, noted) = (Bench::new(), Arc::new(Mutex::new(Vec::new())));
    let (runnable, mut handle) =
        bench.emplace::<Plain, _>(Stubborn { noted: noted.clone(), ends, bench: bench.clone() });
    run(runnable);
    assert!(ask(&mut handle).is_pending());
    handle.cancel();
    bench.run_queue();
    assert_eq!(*noted.lock().unwrap(), [false, true, true, true]);
    let Poll::Ready(end) = ask(&mut handle) else { panic!("it is over") };
    assert_eq!(bench.tally.freed.load(Relaxed), 1);
    end
}

#[test]
fn a_body_with_a_stack_may_end_although_it_was_cancelled() {
    assert!(matches!(unwind_by_polls(|| 5), Ok(5)));
}

#[test]
#[cfg(feature = "std")]
fn a_body_with_a_stack_is_cancelled_by_polls() {
    assert!(matches!(unwind_by_polls(|| resume_unwind(Box::new(Unwound))), Err(TaskError::Cancelled)));
    let other = unwind_by_polls(|| resume_unwind(Box::new("another panic")));
    assert_eq!(other.unwrap_err().into_panic().expect("no interruption").message(), "another panic");
}

#[test]
fn wakers_know_their_task() {
    let bench = Bench::new();
    let (runnable, handle) = bench.task::<Plain, ()>(|| Poll::Pending);
    let waker = runnable.task().waker();
    assert_eq!(Header::of_waker(&waker), Some(runnable.as_raw()));
    assert_eq!(Header::of_waker(Waker::noop()), None);
    assert!(waker.will_wake(&runnable.task().waker()));
    drop((waker, runnable, handle));
    bench.assert_gone();
}
