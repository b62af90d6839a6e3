//! Wakers that a task clones in its own poll: they are counted when the poll ends (`task/owed.rs`), and may be gone by then.

use super::lab::{Bench, Lab, run};
use crate::prim::{self, Lock, model, thread};
use crate::task::{Async, Runnable, TaskHandle};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

type Plain = Lab<false, true>;

/// Where a poll leaves wakers for others.
type Desk = prim::Arc<[Lock<Option<Waker>>; 2]>;

fn desk() -> Desk {
    prim::Arc::new([Lock::new(None), Lock::new(None)])
}

/// A task whose first poll leaves two wakers on the desk; the answer to that poll is `first`, later it waits for ever.
fn leaves_two(bench: &Arc<Bench>, desk: &Desk, first: Poll<()>) -> (Runnable, TaskHandle<()>) {
    let desk = desk.clone();
    let mut polled = false;
    let body = poll_fn(move |cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Pending;
        }
        desk.iter().for_each(|place| *place.lock() = Some(cx.waker().clone()));
        first
    });
    bench.emplace::<Plain, _>(Async(Box::pin(bench.watched(body))))
}

/// Somebody who finds wakers there while the poll is still under way, or later, or not at all.
fn takes_two(desk: &Desk) -> thread::JoinHandle<()> {
    let desk = desk.clone();
    thread::spawn(move || {
        let first = desk[0].lock().take();
        drop(first);
        let second = desk[1].lock().take();
        second.into_iter().for_each(Waker::wake);
    })
}

fn clear(desk: &Desk) {
    for place in desk.iter() {
        let left = place.lock().take();
        drop(left);
    }
}

// The task waits, without a handle. Its wakers are dropped and used up before, while and after they are counted: when the
// last one is gone, and not before, the task is found to be unreachable.
//
// mutation: suspend-does-not-pay
// - in crates/core/src/task/state.rs: `self.0.fetch_add(paid.wrapping_sub(RUNNING), AcqRel)`
// + `self.0.fetch_sub(RUNNING, AcqRel)`
//
// mutation: suspend-tells-what-was-before-it-paid
// - in crates/core/src/task/state.rs: `Snapshot(before.wrapping_add(paid)).checked()`
// + `Snapshot(before).checked()`
//
// mutation: what-is-owed-is-paid-twice
// - in crates/core/src/task/owed.rs: `note.owed.set(0);`
// + `note.owed.set(owed);`
//
// mutation: a-clone-is-owed-after-the-poll
// - in crates/core/src/task/owed.rs: `note.task.set(null());`
// + `note.task.set(note.task.get());`
#[test]
fn model_owed_wakers_of_a_task_that_waits() {
    model(|| {
        let (bench, desk) = (Bench::new(), desk());
        let (runnable, handle) = leaves_two(&bench, &desk, Poll::Pending);
        drop(handle);
        let other = takes_two(&desk);
        run(runnable);
        let left = desk[0].lock().take();
        if let Some(waker) = left {
            let another = waker.clone(); // no poll of this task is under way on this thread now
            thread::spawn(move || drop((another, waker))).join().unwrap();
        }
        other.join().unwrap();
        clear(&desk);
        bench.run_queue();
        bench.assert_gone();
    });
}

// The task ends in the poll in which it cloned the wakers: they keep the cell.
//
// mutation: a-task-that-ends-does-not-pay
// - in crates/core/src/task/state.rs: `Snapshot(self.0.fetch_add(paid, Relaxed)).checked();`
// + `Snapshot(self.0.fetch_add(0, Relaxed)).checked();`
#[test]
fn model_owed_wakers_of_a_task_that_ends() {
    model(|| {
        let (bench, desk) = (Bench::new(), desk());
        let (runnable, handle) = leaves_two(&bench, &desk, Poll::Ready(()));
        let other = takes_two(&desk);
        run(runnable);
        drop(handle);
        other.join().unwrap();
        clear(&desk);
        bench.run_queue();
        bench.assert_gone();
    });
}

#[cfg(all(feature = "std", not(any(loom, shuttle))))]
mod one_thread {
    use super::*;
    use crate::task::owed::MOST;
    use crate::task::{Ran, TaskError};
    use std::cell::{Cell, RefCell};
    use std::panic::resume_unwind;
    use std::pin::Pin;
    use std::task::Context;

    /// What a poll does after it cloned its waker some times.
    #[derive(Clone, Copy, Debug)]
    enum Then {
        Waits,
        Ends,
        Panics,
        IsCancelled,
        Yields,
        WakesItself,
        DropsThem,
        RunsAnother,
    }
    use Then::*;

    const ALL: [Then; 8] = [Waits, Ends, Panics, IsCancelled, Yields, WakesItself, DropsThem, RunsAnother];

    std::thread_local!(static YIELDED: Cell<bool> = const { Cell::new(false) });

    /// However the poll goes on: as long as one of the wakers is there, so is the cell, and no longer.
    #[test]
    fn every_clone_counts_however_the_poll_ends() {
        for then in ALL {
            for clones in 0..4 {
                for before_handle in [false, true] {
                    check(then, clones, before_handle);
                }
            }
        }
    }

    /// Beyond the limit they are counted one by one (OW3).
    #[test]
    fn there_is_no_limit_to_clones_in_one_poll() {
        for clones in [MOST - 1, MOST, MOST + 1, 3 * MOST] {
            check(Waits, clones, true);
            check(Ends, clones, false);
        }
    }

    fn check(then: Then, clones: usize, before_handle: bool) {
        let bench = Bench::new();
        let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (runnable, handle) = {
            let (kept, mut polled) = (kept.clone(), false);
            let body = poll_fn(move |cx: &mut Context<'_>| {
                if std::mem::replace(&mut polled, true) {
                    return Poll::Pending;
                }
                kept.lock().unwrap().extend((0..clones).map(|_| cx.waker().clone()));
                go_on(then, cx, &kept)
            });
            bench.emplace::<Plain, _>(Async(Box::pin(bench.watched(body))))
        };
        let mut handle = Some(handle);
        let task = runnable.task();
        if matches!(then, IsCancelled) {
            CANCEL.with(|cancel| *cancel.borrow_mut() = Some(task.clone()));
        }
        match YIELDED.with(|yielded| runnable.run_with(yielded)) {
            Ran::Woken(again) | Ran::Yielded(again) => run(again),
            Ran::Idle | Ran::Done => {}
        }
        drop(task);
        if before_handle {
            take(then, handle.take());
        }
        while let Some(waker) = { kept.lock().unwrap().pop() } {
            let here = bench.tally.freed.load(std::sync::atomic::Ordering::Relaxed);
            assert_eq!(here, 0, "{then:?}: freed, and a waker is there");
            drop(waker);
            bench.run_queue();
        }
        take(then, handle.take());
        bench.run_queue();
        bench.assert_gone();
    }

    std::thread_local!(static CANCEL: RefCell<Option<crate::task::TaskRef>> = const { RefCell::new(None) });

    fn go_on(then: Then, cx: &mut Context<'_>, kept: &std::sync::Mutex<Vec<Waker>>) -> Poll<()> {
        match then {
            Waits => {}
            Ends => return Poll::Ready(()),
            Panics => resume_unwind(Box::new("in poll")),
            IsCancelled => {
                let task = CANCEL.with(|cancel| cancel.borrow_mut().take());
                task.expect("it was left there").cancel();
            }
            Yields => YIELDED.set(true),
            WakesItself => {
                let own = cx.waker().clone(); // by value: it is owed when it is used up
                own.wake();
            }
            DropsThem => {
                let mut kept = kept.lock().unwrap();
                let half = kept.len() / 2;
                kept.truncate(half);
            }
            RunsAnother => {
                let other = Bench::new();
                let (runnable, handle) = other.short::<Plain>();
                run(runnable);
                drop(handle);
                other.assert_gone();
                kept.lock().unwrap().push(cx.waker().clone());
            }
        }
        Poll::Pending
    }

    /// Takes what the handle has to give, so that no panic is left over.
    fn take(then: Then, handle: Option<TaskHandle<()>>) {
        let Some(mut handle) = handle else { return };
        let end = Pin::new(&mut handle).poll(&mut Context::from_waker(Waker::noop()));
        match (then, end) {
            (Ends, Poll::Ready(Ok(()))) | (IsCancelled, Poll::Ready(Err(TaskError::Cancelled))) => {}
            (Panics, Poll::Ready(Err(TaskError::Panicked(_)))) => {}
            (Waits | Yields | WakesItself | DropsThem | RunsAnother, Poll::Pending) => {}
            (_, end) => panic!("{then:?}: {end:?}"),
        }
    }
}
