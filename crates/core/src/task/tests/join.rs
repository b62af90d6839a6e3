//! Races of whoever waits for a task against its end.

use super::lab::{Bench, Lab, ask, ask_for, run};
use super::watch::Bell;
use crate::prim::real::Ordering::Relaxed as Count;
use crate::prim::{model, thread};
use std::sync::Arc;
use std::task::Poll;

type Plain = Lab<false, true>;

// Who asks too early is woken; who asks in time, or is woken, finds the output.
//
// mutation: register-overwrites-done
// - in crates/core/src/task/join.rs: `match self.0.compare_exchange(now, new, AcqRel, Acquire) {`
// + `match Ok::<usize, usize>(self.0.swap(new, AcqRel)) {`
//
// mutation: finish-does-not-publish-the-output
// - in crates/core/src/task/join.rs: `self.0.swap(TAG_DONE | (outcome as usize) << OUTCOME_SHIFT, AcqRel)`
// + `self.0.swap(TAG_DONE | (outcome as usize) << OUTCOME_SHIFT, Acquire)`
//
// mutation: finish-does-not-acquire-the-waiter
// - in crates/core/src/task/join.rs: `self.0.swap(TAG_DONE | (outcome as usize) << OUTCOME_SHIFT, AcqRel)`
// + `self.0.swap(TAG_DONE | (outcome as usize) << OUTCOME_SHIFT, Release)`
//
// mutation: register-does-not-publish-the-waiter
// - in crates/core/src/task/join.rs: `match self.0.compare_exchange(now, new, AcqRel, Acquire) {`
// + `match self.0.compare_exchange(now, new, Acquire, Acquire) {`
//
// mutation: the-waiter-is-not-woken
// - in crates/core/src/task/raw.rs: `catch(|| waiter.wake())`
// + `catch(|| drop(waiter))`
#[test]
fn model_join_against_complete() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = bench.short::<Plain>();
        let other = thread::spawn(move || run(runnable));
        let bell = Bell::new();
        let first = ask_for(&mut handle, &bell.clone().into());
        other.join().unwrap();
        let rung = bell.rung.load(Count);
        let end = match first {
            Poll::Pending => {
                assert_eq!(rung, 1, "it was told to wait, and nobody woke it");
                ask(&mut handle)
            }
            ready => ready,
        };
        assert!(matches!(end, Poll::Ready(Ok(5))), "{end:?}");
        assert_eq!(Arc::strong_count(&bell), 1, "the waiter was dropped");
        bench.assert_outputs(1);
        bench.assert_gone();
    });
}

// The waiter changes its mind about who is to be woken: the last one is, and no waker is lost or dropped twice.
//
// mutation: register-overwrites-done
// - in crates/core/src/task/join.rs: `match self.0.compare_exchange(now, new, AcqRel, Acquire) {`
// + `match Ok::<usize, usize>(self.0.swap(new, AcqRel)) {`
//
// mutation: the-other-waker-is-lost
// - in crates/core/src/task/join.rs: `drop(unsafe { decode_waiter(taken) });`
// + `let _ = taken;`
//
// mutation: the-first-waker-stays
// - in crates/core/src/task/join.rs: `if now & TAG == TAG_TASK`
// + `if now != OPEN || now & TAG == TAG_TASK`
#[test]
fn model_join_waiter_replaced_against_complete() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = bench.short::<Plain>();
        let bells = [Bell::new(), Bell::new()];
        let other = thread::spawn(move || run(runnable));
        let mut end = ask_for(&mut handle, &bells[0].clone().into());
        let waited = end.is_pending();
        if waited {
            end = ask_for(&mut handle, &bells[1].clone().into());
        }
        other.join().unwrap();
        let rung = [0, 1].map(|at: usize| bells[at].rung.load(Count));
        match end.is_pending() {
            true => assert_eq!(rung, [0, 1], "the last one is woken"),
            false if waited => assert_eq!(rung, [1, 0], "the first one was there when it ended"),
            false => assert_eq!(rung, [0, 0]),
        }
        drop(handle);
        assert_eq!(bells.each_ref().map(Arc::strong_count), [1, 1], "the wakers were dropped");
        bench.assert_outputs(1);
        bench.assert_gone();
    });
}

// The waiters are tasks, whose wakers are stored without a box.
//
// mutation: any-task-passes-for-the-waiter
// - in crates/core/src/task/join.rs: `&& Some(now - TAG_TASK) == waker::task_of(waker).map(|task| task.addr().get())`
// + `&& waker::task_of(waker).is_some()`
//
// mutation: the-reference-stays-with-the-waker
// - in crates/core/src/task/join.rs: `let _reference_moves_into_the_word = ManuallyDrop::new(waker);`
// + `let _reference_moves_into_the_word = waker;`
#[test]
fn model_joining_task_replaced_against_complete() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = bench.short::<Plain>();
        let benches = [Bench::new(), Bench::new()];
        let waiting = benches.each_ref().map(|bench| {
            let (runnable, handle) = bench.task::<Plain, ()>(|| Poll::Pending);
            let task = runnable.task();
            run(runnable);
            drop(handle);
            task
        });
        let other = thread::spawn(move || run(runnable));
        let mut end = Poll::Pending;
        for task in [&waiting[0], &waiting[0], &waiting[1]] {
            if end.is_pending() {
                end = ask_for(&mut handle, &task.waker());
            }
        }
        other.join().unwrap();
        if end.is_pending() {
            assert_eq!(benches.each_ref().map(|bench| bench.queued()), [0, 1], "the last one is woken");
        }
        drop(handle);
        drop(waiting);
        bench.assert_outputs(1);
        bench.assert_gone();
        for bench in benches {
            bench.run_queue();
            bench.assert_gone();
        }
    });
}

// The handle waited and goes away while the task ends: its waker is dropped by one of them.
//
// mutation: withdraw-removed
// - in crates/core/src/task/handle.rs: `header.join.withdraw();`
// + `let _ = &header.join;`
//
// mutation: withdraw-loses-the-waker
// - in crates/core/src/task/join.rs: `drop(unsafe { decode_waiter(now) });`
// + `let _ = now;`
//
// mutation: withdraw-takes-what-the-completer-took
// - in crates/core/src/task/join.rs: `if self.0.compare_exchange(now, OPEN, AcqRel, Acquire).is_ok() {`
// + `if self.0.swap(OPEN, AcqRel) != OPEN {`
#[test]
fn model_waiting_handle_drop_against_complete() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = bench.short::<Plain>();
        let bell = Bell::new();
        assert!(ask_for(&mut handle, &bell.clone().into()).is_pending());
        let other = thread::spawn(move || drop(handle));
        run(runnable);
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&bell), 1, "the waiter was dropped");
        bench.assert_outputs(1);
        bench.assert_gone();
    });
}
