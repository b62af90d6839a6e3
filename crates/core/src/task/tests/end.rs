//! Races at the end of a task: who takes the output, who is told, who drops what, who frees the cell.

use super::lab::{Bell, Bench, Lab, Value, ask, ask_for, run};
use crate::prim::real::Ordering::Relaxed as Count;
use crate::prim::{model, thread};
use crate::task::{Host, Runnable, TaskError, TaskHandle, TaskRef};
use std::sync::Arc;
use std::task::{Poll, Waker};

type Plain = Lab<false, true>;
type Frail = Lab<false, false>;
type Finder = Lab<true, true>;

/// A task that is over after one poll.
fn short<H: Host<Extra = super::lab::Mark>>(bench: &Arc<Bench>) -> (Runnable, TaskHandle<Value>) {
    let value = bench.clone();
    bench.task::<H, _>(move || Poll::Ready(value.value(5)))
}

// The cancellation comes before the end, or too late; the handle says which, and the task is run by one thread.
//
// mutation: cancel-submits-a-scheduled-task
// - in crates/core/src/task/state.rs: `let answer = if now.is_idle() {`
// + `let answer = if !now.is_running() {`
//
// mutation: cancel-submits-a-running-task
// - in crates/core/src/task/state.rs: `let answer = if now.is_idle() {`
// + `let answer = if !now.is_scheduled() {`
#[test]
fn model_cancel_against_complete() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = short::<Plain>(&bench);
        let other = {
            let (bench, abort) = (bench.clone(), handle.abort_handle());
            thread::spawn(move || {
                abort.cancel();
                bench.run_queue();
            })
        };
        run(runnable);
        other.join().unwrap();
        match ask(&mut handle) {
            Poll::Ready(Ok(5)) => bench.assert_outputs(1),
            Poll::Ready(Err(TaskError::Cancelled)) => {
                bench.assert_outputs(0);
                assert_eq!(bench.tally.polls.load(Count), 0, "only a task that has not run can be cancelled");
            }
            end => panic!("{end:?}"),
        }
        bench.assert_gone();
    });
}

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
        let (runnable, mut handle) = short::<Plain>(&bench);
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

// The handle goes while the task ends: the output is dropped by exactly one of them.
//
// mutation: finish-does-not-look-for-the-handle
// - in crates/core/src/task/state.rs: `if !now.has_handle() {`
// + `if false {`
//
// mutation: detach-does-not-look-for-the-end
// - in crates/core/src/task/state.rs: `if now.is_complete() {`
// + `if false {`
//
// mutation: detach-does-not-release
// - in crates/core/src/task/state.rs: `self.0.compare_exchange_weak(now, next, AcqRel, Acquire)`
// + `self.0.compare_exchange_weak(now, next, Acquire, Acquire)`
#[test]
fn model_handle_drop_against_complete() {
    model(|| {
        let bench = Bench::new();
        let (runnable, handle) = short::<Plain>(&bench);
        let other = {
            let bench = bench.clone();
            thread::spawn(move || {
                bench.witness.used();
                drop(handle);
            })
        };
        run(runnable);
        other.join().unwrap();
        bench.assert_outputs(1);
        bench.assert_gone();
    });
}

// The handle has the output while the completer is not quite done with the cell: whoever comes last frees it.
//
// mutation: nobody-frees-after-the-handle
// - in crates/core/src/task/state.rs: `let last = if now.refs() == 0 { Dropped::Free } else { Dropped::Alive };`
// + `let last = Dropped::Alive;`
//
// mutation: the-handle-frees-too-early
// - in crates/core/src/task/state.rs: `if now.is_complete() && now.refs() == 1 { Dropped::Free }`
// + `if now.refs() == 1 { Dropped::Free }`
//
// mutation: the-handle-does-not-release
// - in crates/core/src/task/state.rs: `self.0.fetch_sub(REF, AcqRel)`
// + `self.0.fetch_sub(REF, Acquire)`
#[test]
fn model_output_taken_while_the_completer_finishes() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = short::<Plain>(&bench);
        let other = thread::spawn(move || run(runnable));
        bench.witness.used();
        let end = ask(&mut handle);
        assert!(matches!(end, Poll::Pending | Poll::Ready(Ok(5))), "{end:?}");
        drop(handle);
        other.join().unwrap();
        bench.assert_outputs(1);
        bench.assert_gone();
    });
}

// The task is over; the handle takes the output while the last waker goes.
//
// mutation: the-handle-frees-without-acquiring
// - in crates/core/src/task/state.rs: `Snapshot(self.0.load(Acquire))`
// + `Snapshot(self.0.load(Relaxed))`
//
// mutation: the-handle-takes-itself-for-the-last
// - in crates/core/src/task/state.rs: `if now.is_complete() && now.refs() == 1 { Dropped::Free }`
// + `if now.is_complete() { Dropped::Free }`
//
// mutation: the-waker-does-not-release
// - in crates/core/src/task/state.rs: `self.0.fetch_sub(REF, AcqRel)`
// + `self.0.fetch_sub(REF, Acquire)`
//
// mutation: the-waker-frees-without-acquiring
// - in crates/core/src/task/state.rs: `self.0.fetch_sub(REF, AcqRel)`
// + `self.0.fetch_sub(REF, Release)`
#[test]
fn model_output_taken_against_waker_drop() {
    model(|| {
        let bench = Bench::new();
        let (runnable, mut handle) = short::<Plain>(&bench);
        let waker = runnable.task().waker();
        run(runnable);
        let other = {
            let bench = bench.clone();
            thread::spawn(move || {
                bench.witness.used();
                drop(waker);
            })
        };
        bench.witness.used();
        assert!(matches!(ask(&mut handle), Poll::Ready(Ok(5))));
        other.join().unwrap();
        bench.assert_outputs(1);
        bench.assert_gone();
    });
}

// The last waker of a detached task goes while it ends.
//
// mutation: the-waker-frees-without-acquiring
// - in crates/core/src/task/state.rs: `self.0.fetch_sub(REF, AcqRel)`
// + `self.0.fetch_sub(REF, Release)`
//
// mutation: the-waker-does-not-release
// - in crates/core/src/task/state.rs: `self.0.fetch_sub(REF, AcqRel)`
// + `self.0.fetch_sub(REF, Acquire)`
//
// mutation: the-completer-frees-without-acquiring
// - in crates/core/src/task/state.rs: `self.0.fetch_add(COMPLETE - RUNNING, AcqRel)`
// + `self.0.fetch_add(COMPLETE - RUNNING, Release)`
//
// mutation: the-completer-does-not-release
// - in crates/core/src/task/state.rs: `self.0.fetch_add(COMPLETE - RUNNING, AcqRel)`
// + `self.0.fetch_add(COMPLETE - RUNNING, Acquire)`
//
// mutation: the-completer-does-not-free
// - in crates/core/src/task/state.rs: `if before.refs() == 0 { Dropped::Free } else { Dropped::Alive }`
// + `Dropped::Alive`
//
// mutation: the-last-waker-does-not-free
// - in crates/core/src/task/state.rs: `0 if self.is_complete() => Dropped::Free,`
// + `0 if self.is_complete() => Dropped::Alive,`
#[test]
fn model_waker_drop_against_complete() {
    model(|| detached_end::<Plain>(drop));
}

// As above, but the waker wakes as it goes.
//
// mutation: the-last-wake-does-not-free
// - in crates/core/src/task/state.rs: `now if now.is_complete() && now.refs() == 1 => (Woken::Free,`
// + `now if now.is_complete() && now.refs() == 1 => (Woken::Nothing,`
//
// mutation: the-last-wake-keeps-its-reference
// - in crates/core/src/task/state.rs: `now => (Woken::Nothing, Some((now.0 | SCHEDULED) - REF)),`
// + `now => (Woken::Nothing, Some(now.0 | SCHEDULED)),`
//
// mutation: the-waker-does-not-release
// - in crates/core/src/task/state.rs: `self.0.compare_exchange_weak(now, next, AcqRel, Acquire)`
// + `self.0.compare_exchange_weak(now, next, Acquire, Acquire)`
//
// mutation: the-completer-does-not-release
// - in crates/core/src/task/state.rs: `self.0.fetch_add(COMPLETE - RUNNING, AcqRel)`
// + `self.0.fetch_add(COMPLETE - RUNNING, Acquire)`
#[test]
fn model_last_wake_against_complete() {
    model(|| detached_end::<Plain>(Waker::wake));
}

// As above, in a host that lives only as long as somebody refers to its tasks: the reference goes after the wake-up.
//
// mutation: the-waker-frees-without-acquiring
// - in crates/core/src/task/state.rs: `self.0.fetch_sub(REF, AcqRel)`
// + `self.0.fetch_sub(REF, Release)`
//
// mutation: the-reference-is-kept
// - in crates/core/src/task/raw.rs: `let task = TaskRef(header);`
// + `let task = ManuallyDrop::new(TaskRef(header));`
#[test]
fn model_last_wake_against_complete_in_a_frail_host() {
    model(|| detached_end::<Frail>(Waker::wake));
}

/// A detached task ends while its last waker is used up. The one that frees the cell comes after all the other did.
fn detached_end<H: Host<Extra = super::lab::Mark>>(use_up: fn(Waker)) {
    let bench = Bench::new();
    let (runnable, handle) = short::<H>(&bench);
    let waker = runnable.task().waker();
    drop(handle);
    let other = {
        let bench = bench.clone();
        thread::spawn(move || {
            bench.witness.used();
            use_up(waker);
        })
    };
    run(runnable);
    other.join().unwrap();
    bench.assert_outputs(1);
    bench.assert_gone();
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
        let (runnable, mut handle) = short::<Plain>(&bench);
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
        let (runnable, mut handle) = short::<Plain>(&bench);
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
        let (runnable, mut handle) = short::<Plain>(&bench);
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

// Somebody who walks the host's memory finds the task, or finds that it is over; what he found stays while he holds it.
//
// mutation: what-is-over-is-found
// - in crates/core/src/task/state.rs: `match now.is_complete() {`
// + `match false {`
//
// mutation: the-find-is-not-counted
// - in crates/core/src/task/state.rs: `false => (true, Some(now.0 + REF)),`
// + `false => (true, Some(now.0)),`
//
// mutation: the-finder-does-not-release
// - in crates/core/src/task/state.rs: `self.0.fetch_sub(REF, AcqRel)`
// + `self.0.fetch_sub(REF, Acquire)`
//
// mutation: the-finder-frees-without-acquiring
// - in crates/core/src/task/state.rs: `self.0.fetch_sub(REF, AcqRel)`
// + `self.0.fetch_sub(REF, Release)`
#[test]
fn model_find_against_complete() {
    struct Place(std::ptr::NonNull<crate::task::Header>);
    // SAFETY: the memory outlives the thread (L1).
    unsafe impl Send for Place {}

    model(|| {
        let bench = Bench::new();
        let (runnable, handle) = short::<Finder>(&bench);
        drop(handle);
        let place = Place(runnable.as_raw());
        let other = {
            let bench = bench.clone();
            thread::spawn(move || {
                let place = place;
                // SAFETY: L1: the memory stays, and its state word with it.
                if let Some(task) = unsafe { TaskRef::find(place.0) } {
                    assert_eq!(task.name(), Some("guinea pig"));
                    bench.witness.used();
                }
            })
        };
        run(runnable);
        other.join().unwrap();
        bench.assert_outputs(1);
        bench.assert_gone();
    });
}
