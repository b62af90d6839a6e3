//! Races up to the end of a task: wake-ups against each other, against the poll and against yields.

use super::lab::{Bench, Lab, Value, ask, run};
use super::watch::Note;
use crate::prim::real::Ordering::Relaxed as Count;
use crate::prim::{Arc, AtomicUsize, Ordering::Relaxed, model, thread};
use crate::task::{Ran, TaskError};
use std::cell::Cell;
use std::task::{Poll, Waker};

type Plain = Lab<false, true>;

// Whenever the wake-up comes (before the poll, during it, after it), a poll follows that sees what was written before
// it, although the number itself orders nothing.
//
// mutation: start-does-not-acquire
// - in crates/core/src/task/state.rs: `self.0.fetch_add(SCHEDULED, AcqRel)`
// + `self.0.fetch_add(SCHEDULED, Release)`
//
// mutation: wake-of-a-scheduled-task-writes-nothing
// - in crates/core/src/task/state.rs: `now => (Woken::Nothing, Some(now.0 | SCHEDULED)),`
// + `now => (Woken::Nothing, if now.is_scheduled() { None } else { Some(now.0 | SCHEDULED) }),`
//
// mutation: wake-during-poll-is-lost
// - in crates/core/src/task/state.rs: `now => (Woken::Nothing, Some(now.0 | SCHEDULED)),`
// + `now => (Woken::Nothing, Some(now.0)),`
//
// mutation: wake-does-not-release
// - in crates/core/src/task/state.rs: `self.0.compare_exchange_weak(now, next, AcqRel, Acquire)`
// + `self.0.compare_exchange_weak(now, next, Acquire, Acquire)`
//
// mutation: woken-while-it-ran-is-ignored
// - in crates/core/src/task/raw.rs: `if before.is_scheduled() {`
// + `if false {`
#[test]
fn model_wake_against_poll() {
    model(|| wake_against_poll(|waker| waker.wake_by_ref()));
}

// As above, but the waker goes as it wakes.
//
// mutation: wake-during-poll-is-lost
// - in crates/core/src/task/state.rs: `now => (Woken::Nothing, Some((now.0 | SCHEDULED).wrapping_sub(REF))),`
// + `now => (Woken::Nothing, Some(now.0.wrapping_sub(REF))),`
//
// mutation: wake-of-an-idle-task-is-lost
// - in crates/core/src/task/state.rs: `(Woken::Submit, Some((now.0 | RUNNING) - REF)),`
// + `(Woken::Nothing, Some((now.0 | RUNNING) - REF)),`
//
// mutation: start-does-not-acquire
// - in crates/core/src/task/state.rs: `self.0.fetch_add(SCHEDULED, AcqRel)`
// + `self.0.fetch_add(SCHEDULED, Release)`
#[test]
fn model_wake_by_value_against_poll() {
    model(|| wake_against_poll(Waker::wake));
}

/// The body waits for a number that another thread writes before it wakes.
fn wake_against_poll(wake: fn(Waker)) {
    let bench = Bench::new();
    let number = Arc::new(AtomicUsize::new(0));
    let poll = {
        let (bench, number) = (bench.clone(), number.clone());
        move || match number.load(Relaxed) {
            0 => Poll::Pending,
            number => Poll::Ready(bench.value(number)),
        }
    };
    let (runnable, mut handle) = bench.task::<Plain, _>(poll);
    let waker = runnable.task().waker();
    let other = thread::spawn(move || {
        number.store(5, Relaxed);
        wake(waker);
    });
    run(runnable);
    other.join().unwrap();
    bench.run_queue();
    assert!(
        matches!(ask(&mut handle), Poll::Ready(Ok(5))),
        "no poll saw what was written before the wake-up"
    );
    bench.assert_gone();
    bench.assert_outputs(1);
}

// The second poll comes because of the wake-up, so it may read what the waker wrote, without any atomic.
//
// mutation: wake-does-not-release
// - in crates/core/src/task/state.rs: `self.0.compare_exchange_weak(now, next, AcqRel, Acquire)`
// + `self.0.compare_exchange_weak(now, next, Acquire, Acquire)`
#[test]
fn model_wake_during_poll_runs_it_again() {
    model(|| {
        let bench = Bench::new();
        let note = Arc::new(Note::new());
        let poll = {
            let (bench, note, mut polls) = (bench.clone(), note.clone(), 0);
            move || {
                polls += 1;
                if polls == 1 { Poll::Pending } else { Poll::Ready(bench.value(note.read())) }
            }
        };
        let (runnable, mut handle) = bench.task::<Plain, _>(poll);
        let (waker, again) = (runnable.task().waker(), runnable.task());
        let other = thread::spawn(move || {
            note.write(5);
            waker.wake();
        });
        let ran = runnable.run();
        let woken = matches!(ran, Ran::Woken(_));
        if let Ran::Woken(runnable) = ran {
            run(runnable);
        }
        other.join().unwrap();
        // If it came before the first poll, that poll has used it up.
        bench.run_queue();
        assert!(!woken || again.is_finished(), "woken while it ran, so it ran twice");
        again.wake();
        drop(again);
        bench.run_queue();
        assert!(matches!(ask(&mut handle), Poll::Ready(Ok(5))));
        bench.assert_gone();
    });
}

// The task was woken when it was idle, so it is RUNNING in the queue, when another wakes it. Whenever that comes, the last
// poll sees what was written before both, and the task is queued no more often than it was woken.
//
// mutation: wake-of-a-queued-task-is-lost
// - in crates/core/src/task/state.rs: `now => (Woken::Nothing, Some(now.0 | SCHEDULED)),`
// + `now => (Woken::Nothing, Some(now.0)),`
//
// mutation: both-submit-it
// - in crates/core/src/task/state.rs: `self.0 & (SCHEDULED | RUNNING | COMPLETE) == 0`
// + `self.0 & (SCHEDULED | COMPLETE) == 0`
//
// mutation: an-idle-task-stays-idle
// - in crates/core/src/task/state.rs: `(Woken::Submit, Some(now.0 | RUNNING)),`
// + `(Woken::Submit, Some(now.0)),`
#[test]
fn model_wake_of_a_woken_task() {
    model(|| {
        let bench = Bench::new();
        let numbers = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let seen = std::sync::Arc::new(std::sync::Mutex::new(0));
        let poll = {
            let (numbers, seen) = (numbers.clone(), seen.clone());
            move || {
                *seen.lock().unwrap() = numbers.iter().map(|number| number.load(Relaxed)).sum::<usize>();
                Poll::<Value>::Pending
            }
        };
        let (runnable, handle) = bench.task::<Plain, _>(poll);
        let (task, other_task) = (runnable.task(), runnable.task());
        run(runnable);
        numbers[0].store(3, Relaxed);
        task.wake();
        let other = thread::spawn(move || {
            numbers[1].store(2, Relaxed);
            other_task.wake();
        });
        bench.run_queue();
        other.join().unwrap();
        bench.run_queue();
        assert_eq!(*seen.lock().unwrap(), 5, "no poll saw what was written before both wake-ups");
        assert!(bench.tally.scheduled.load(Count) <= 2);
        drop((task, handle));
        bench.run_queue();
        bench.assert_gone();
    });
}

// A wake-up may bring the task to another thread, while the first has hardly left it.
//
// mutation: suspend-does-not-release
// - in crates/core/src/task/state.rs: `self.0.fetch_add(paid.wrapping_sub(RUNNING), AcqRel)`
// + `self.0.fetch_add(paid.wrapping_sub(RUNNING), Acquire)`
//
// mutation: a-running-task-is-submitted
// - in crates/core/src/task/state.rs: `self.0 & (SCHEDULED | RUNNING | COMPLETE) == 0`
// + `self.0 & (SCHEDULED | COMPLETE) == 0`
//
// mutation: a-scheduled-task-is-submitted
// - in crates/core/src/task/state.rs: `self.0 & (SCHEDULED | RUNNING | COMPLETE) == 0`
// + `self.0 & (RUNNING | COMPLETE) == 0`
#[test]
fn model_wake_moves_the_task_to_another_thread() {
    model(|| {
        let bench = Bench::new();
        let poll = {
            let (bench, mut polls) = (bench.clone(), 0);
            move || {
                polls += 1;
                if polls == 1 { Poll::Pending } else { Poll::Ready(bench.value(polls)) }
            }
        };
        let (runnable, mut handle) = bench.task::<Plain, _>(poll);
        let again = runnable.task();
        let other = {
            let (bench, task) = (bench.clone(), runnable.task());
            thread::spawn(move || {
                task.wake();
                bench.run_queue();
            })
        };
        run(runnable);
        other.join().unwrap();
        again.wake();
        drop(again);
        bench.run_queue();
        assert!(matches!(ask(&mut handle), Poll::Ready(Ok(2))));
        bench.assert_gone();
    });
}

// The task waits, without a handle; its three wakers are used up in three ways at once. It is polled once more at least,
// and since it waits again without a waker, it is dropped.
//
// mutation: submitting-wake-keeps-the-reference
// - in crates/core/src/task/state.rs: `(Woken::Submit, Some((now.0 | RUNNING) - REF)),`
// + `(Woken::Submit, Some(now.0 | RUNNING)),`
//
// mutation: other-wake-keeps-the-reference
// - in crates/core/src/task/state.rs: `(Woken::Nothing, Some((now.0 | SCHEDULED).wrapping_sub(REF))),`
// + `(Woken::Nothing, Some(now.0 | SCHEDULED)),`
//
// mutation: wake-by-value-submits-nothing
// - in crates/core/src/task/raw.rs: `H::schedule(woken);`
// + `core::mem::forget(woken);`
//
// mutation: idle-without-references-is-alive
// - in crates/core/src/task/raw.rs: `if !H::FINDS_TASKS && before.refs() == 0 {`
// + `if false {`
#[test]
fn model_wakers_used_up_in_three_ways() {
    model(|| {
        let bench = Bench::new();
        let (runnable, handle) = bench.task::<Plain, ()>(|| Poll::Pending);
        let by_value = runnable.task().waker();
        let (by_ref, dropped) = (by_value.clone(), by_value.clone());
        drop(handle);
        run(runnable);
        let others = [thread::spawn(move || by_value.wake()), thread::spawn(move || drop(dropped))];
        by_ref.wake_by_ref();
        drop(by_ref);
        others.into_iter().for_each(|other| other.join().unwrap());
        bench.run_queue();
        let polls = bench.tally.polls.load(Count);
        assert!((2..=3).contains(&polls), "two wake-ups, {} polls", polls - 1);
        bench.assert_gone();
    });
}

std::thread_local!(static YIELDED: Cell<bool> = const { Cell::new(false) });

// The task goes to the back of the queue by itself while a wake-up comes in, and is woken again there: it is queued once
// all the same, and the last poll sees what was written before the first wake-up.
//
// mutation: a-task-that-yields-counts-as-idle
// - in crates/core/src/task/raw.rs: `if yielded {`
// + `if yielded { _ = state.suspend(0);`
//
// mutation: start-takes-a-wake-up-without-acquiring-it
// - in crates/core/src/task/state.rs: `self.0.fetch_and(!SCHEDULED, AcqRel)`
// + `self.0.fetch_and(!SCHEDULED, Release)`
#[test]
fn model_yield_against_wake() {
    model(|| {
        let bench = Bench::new();
        let (number, seen) = (Arc::new(AtomicUsize::new(0)), std::sync::Arc::new(std::sync::Mutex::new(0)));
        let poll = {
            let (number, seen) = (number.clone(), seen.clone());
            move || {
                YIELDED.set(true);
                *seen.lock().unwrap() = number.load(Relaxed);
                Poll::<Value>::Pending
            }
        };
        let (runnable, mut handle) = bench.task::<Plain, _>(poll);
        let (task, waker) = (runnable.task(), runnable.task().waker());
        let other = thread::spawn(move || {
            number.store(5, Relaxed);
            waker.wake();
        });
        let Ran::Yielded(runnable) = YIELDED.with(|yielded| runnable.run_with(yielded)) else {
            panic!("it asked to go to the back")
        };
        task.wake();
        run(runnable);
        other.join().unwrap();
        bench.run_queue();
        assert_eq!(*seen.lock().unwrap(), 5, "no poll saw what was written before the wake-up");
        assert_eq!(task.state_name(), "waiting");
        task.cancel();
        drop(task);
        bench.run_queue();
        assert!(matches!(ask(&mut handle), Poll::Ready(Err(TaskError::Cancelled))));
        bench.assert_gone();
    });
}

// A task of a foreign executor loses its last waker while it is polled or just after: it is queued exactly once more, to
// be dropped, and never polled again.
//
// mutation: idle-without-references-is-alive
// - in crates/core/src/task/raw.rs: `if !H::FINDS_TASKS && before.refs() == 0 {`
// + `if false {`
//
// mutation: the-last-waker-leaves-it-alive
// - in crates/core/src/task/state.rs: `0 if self.is_idle() => Dropped::Unreachable,`
// + `0 if self.is_idle() => Dropped::Alive,`
//
// mutation: claimed-by-both
// - in crates/core/src/task/state.rs: `0 if self.is_idle() => Dropped::Unreachable,`
// + `0 if !self.is_scheduled() => Dropped::Unreachable,`
//
// mutation: unreachable-is-polled-again
// - in crates/core/src/task/state.rs: `self.0.fetch_or(SCHEDULED | CANCELLED, AcqRel)`
// + `self.0.fetch_or(SCHEDULED, AcqRel)`
#[test]
fn model_unreachable_task_is_dropped_once() {
    model(|| {
        let bench = Bench::new();
        let handle = bench.spawn(|| Poll::<()>::Pending);
        let runnable = bench.next().expect("spawn queues it");
        let waker = runnable.task().waker();
        drop(handle);
        let other = thread::spawn(move || drop(waker));
        run(runnable);
        other.join().unwrap();
        bench.run_queue();
        assert_eq!(bench.tally.scheduled.load(Count), 2, "by spawn, and to be dropped");
        assert_eq!(bench.tally.polls.load(Count), 1);
        bench.assert_gone();
    });
}

// The queueing function lives in the cell. While it is still at work after having queued the task, another thread runs
// the task to its end.
//
// mutation: the-function-is-not-kept
// - in crates/core/src/task/foreign.rs: `let keep: TaskRef = task.task();`
// + `let keep = core::mem::ManuallyDrop::new(TaskRef(task.as_raw()));`
#[test]
fn model_queueing_function_outlives_its_task() {
    model(|| {
        let bench = Bench::new();
        let mut polls = 0;
        let handle = bench.spawn(move || {
            polls += 1;
            if polls == 1 { Poll::Pending } else { Poll::Ready(()) }
        });
        let runnable = bench.next().expect("spawn queues it");
        let waker = runnable.task().waker();
        drop(handle);
        run(runnable);
        let other = thread::spawn(move || waker.wake());
        bench.run_queue();
        other.join().unwrap();
        bench.run_queue();
        bench.assert_gone();
    });
}
