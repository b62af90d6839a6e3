//! Races at the end of a task: who takes the output, who drops what, who frees the cell.

use super::lab::{Bench, Lab, Mark, ask, run};
use crate::prim::{model, thread};
use crate::task::{Host, TaskRef};
use std::task::{Poll, Waker};

type Plain = Lab<false, true>;
type Frail = Lab<false, false>;
type Finder = Lab<true, true>;

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
        let (runnable, handle) = bench.short::<Plain>();
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
        let (runnable, mut handle) = bench.short::<Plain>();
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
        let (runnable, mut handle) = bench.short::<Plain>();
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
// - in crates/core/src/task/state.rs: `now => (Woken::Nothing, Some((now.0 | SCHEDULED).wrapping_sub(REF))),`
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
fn detached_end<H: Host<Extra = Mark>>(use_up: fn(Waker)) {
    let bench = Bench::new();
    let (runnable, handle) = bench.short::<H>();
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

// Somebody who walks the host's memory finds the task, or finds that it is over; what he found stays while he holds it.
//
// mutation: what-is-over-is-found
// - in crates/core/src/task/state.rs: `match now.is_complete() {`
// + `match false {`
//
// mutation: the-find-is-not-counted
// - in crates/core/src/task/state.rs: `false => (true, Some(now.0.wrapping_add(REF))),`
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
        let (runnable, handle) = bench.short::<Finder>();
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
