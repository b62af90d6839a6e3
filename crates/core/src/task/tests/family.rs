//! Races of a family: the end of a child against the end of its parent, and whatever else happens to the parent then.

use super::lab::{Bench, Lab, Value, ask, run};
use super::watch::Note;
use crate::prim::{Arc, Lock, model, thread};
use crate::task::{Async, Header, Runnable, TaskError, TaskHandle};
use std::future::poll_fn;
use std::task::Poll;

type Plain = Lab<false, true>;

/// A parent with one child, both made and neither over; the parent has not run since it made the child.
struct Home {
    parent: std::sync::Arc<Bench>,
    child: std::sync::Arc<Bench>,
    /// What the child wrote before it ended, if it was not cancelled first.
    note: Arc<Note>,
    handle: TaskHandle<Value>,
    of_child: TaskHandle<Value>,
}

/// The parent ends in its second poll; the child, in its first.
fn found() -> (Home, Runnable) {
    let (parent, child, note) = (Bench::new(), Bench::new(), Arc::new(Note::new()));
    let born = Arc::new(Lock::new(None::<(Runnable, TaskHandle<Value>)>));
    let (runnable, handle) = {
        let (parent, child, note, born) = (parent.clone(), child.clone(), note.clone(), born.clone());
        let mut polls = 0;
        let inner = parent.clone();
        let body = poll_fn(move |cx| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(inner.value(5));
            }
            let membership = inner.enrol(Header::of_waker(cx.waker()).expect("a waker of ours"));
            let (value, note) = (child.clone(), note.clone());
            let (runnable, handle) = child.task::<Plain, _>(move || {
                note.write(7);
                Poll::Ready(value.value(6))
            });
            child.join_family(runnable.task(), membership);
            *born.lock() = Some((runnable, handle));
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        parent.emplace::<Plain, _>(Async(parent.watched(body)))
    };
    let crate::task::Ran::Woken(runnable) = runnable.run() else { panic!("it woke itself") };
    runnable.schedule();
    let (child_runnable, of_child) = born.lock().take().expect("it has a child");
    (Home { parent, child, note, handle, of_child }, child_runnable)
}

impl Home {
    /// Everything is over: the child's doings come before the parent's end, and nothing is left.
    fn assert_gone(self) {
        let Home { parent, child, of_child, handle, .. } = self;
        drop((of_child, handle));
        child.forget_family();
        parent.forget_family();
        parent.assert_gone();
        child.assert_gone();
    }
}

// The child ends while the parent does: the parent's handle is done when both are, and not before. Who has the parent's
// output has all that the child did.
//
// mutation: the-parent-does-not-wait
// - in crates/core/src/task/raw.rs: `if now.is_parent() && !H::may_end(this) {`
// + `if now.is_parent() && !H::may_end(this) && false {`
//
// mutation: the-parent-is-not-left-to-be-woken
// - in crates/core/src/task/family.rs: `members.waiting = Some(unsafe { Header::reference(parent) });`
// + `let _ = unsafe { Header::reference(parent) };`
//
// mutation: a-wake-up-while-it-is-held-is-lost
// - in crates/core/src/task/state.rs: `let again = now.is_scheduled() || handle && !now.has_handle();`
// + `let again = handle && !now.has_handle();`
//
// mutation: the-held-parent-is-polled
// - in crates/core/src/task/state.rs: `self.0 & (CANCELLED | HELD) != 0`
// + `self.0 & CANCELLED != 0`
//
// mutation: the-child-leaves-before-it-is-over
// - in crates/core/src/task/raw.rs: `let waiter = if handle { header.join.finish(outcome) } else { None };`
// + `H::ended(this, Ended { failed: false, panic: None, leaves_nothing: true }); let waiter = if handle { header.join.finish(outcome) } else { None };`
#[test]
fn model_child_ends_against_parent_ends() {
    model(|| {
        let (mut home, child) = found();
        let other = {
            let parent = home.parent.clone();
            thread::spawn(move || {
                run(child);
                parent.run_queue();
            })
        };
        home.parent.run_queue();
        if let Poll::Ready(end) = ask(&mut home.handle) {
            assert_eq!(end.expect("it gave its value"), 5);
            home.note.read(); // the parent is over, so the child is: it does not write any more
            assert!(home.of_child.is_finished());
        }
        other.join().unwrap();
        home.parent.run_queue();
        home.child.run_queue();
        assert!(home.handle.is_finished() && home.of_child.is_finished());
        home.assert_gone();
    });
}

// The parent is cancelled from elsewhere while its child ends: its handle says so when the child is over.
//
// mutation: the-last-child-does-not-wake
// - in crates/core/src/task/family.rs: `let waiting = if members.alive == 0 { members.waiting.take() } else { None };`
// + `let waiting: Option<TaskRef> = None;`
//
// mutation: the-outcome-is-not-kept
// - in crates/core/src/task/state.rs: `let held = HELD | (outcome as usize) << KIN_SHIFT;`
// + `let held = HELD; let _ = outcome;`
#[test]
fn model_child_ends_against_parent_cancelled() {
    model(|| {
        let (mut home, child) = found();
        let abort = home.handle.abort_handle();
        abort.cancel();
        let other = {
            let parent = home.parent.clone();
            thread::spawn(move || {
                run(child);
                parent.run_queue();
            })
        };
        abort.cancel();
        home.parent.run_queue();
        other.join().unwrap();
        home.parent.run_queue();
        assert!(matches!(ask(&mut home.handle), Poll::Ready(Err(TaskError::Cancelled))));
        drop(abort);
        home.assert_gone();
    });
}

// The handle goes while the parent is held back: the output is dropped once, and the parent ends all the same.
//
// mutation: a-handle-that-goes-while-it-is-held-is-not-noticed
// - in crates/core/src/task/state.rs: `let again = now.is_scheduled() || handle && !now.has_handle();`
// + `let again = now.is_scheduled();`
//
// mutation: the-output-waits-for-the-child
// - in crates/core/src/task/handle.rs: `Detached::Held => return TaskRef(task).wake(),`
// + `Detached::Held => return drop(TaskRef(task)),`
//
// mutation: the-output-is-dropped-twice
// - in crates/core/src/task/raw.rs: `outcome = Outcome::Cancelled;`
// + `let _ = &mut outcome;`
#[test]
fn model_handle_dropped_against_parent_held() {
    model(|| {
        let (home, child) = found();
        let Home { parent, child: of, note, handle, of_child } = home;
        let other = {
            let parent = parent.clone();
            thread::spawn(move || {
                parent.witness.used();
                drop(handle);
                parent.run_queue();
            })
        };
        parent.run_queue();
        other.join().unwrap();
        parent.run_queue();
        parent.assert_outputs(1); // though its child goes on
        run(child);
        parent.run_queue();
        parent.assert_outputs(1);
        note.read();
        drop(of_child);
        of.forget_family();
        parent.forget_family();
        parent.assert_gone();
        of.assert_gone();
    });
}

// The child is suspended, and only the end of its parent ends it.
//
// mutation: the-children-are-not-cancelled
// - in crates/core/src/task/family.rs: `children.iter().for_each(TaskRef::cancel);`
// + `drop(children);`
#[test]
fn model_parent_ends_against_child_that_waits() {
    model(|| {
        let (mut home, child) = found();
        drop(child); // instead of it, one that waits for ever
        let waits = Bench::new();
        let membership = home.parent.enrol_another();
        let (runnable, of_waits) = waits.task::<Plain, Value>(|| Poll::Pending);
        waits.join_family(runnable.task(), membership);
        let other = {
            let waits = waits.clone();
            thread::spawn(move || {
                run(runnable);
                waits.run_queue();
            })
        };
        home.parent.run_queue();
        other.join().unwrap();
        waits.run_queue();
        home.parent.run_queue();
        assert!(matches!(ask(&mut home.handle), Poll::Ready(Ok(5))));
        drop(of_waits);
        waits.forget_family();
        waits.assert_gone();
        home.assert_gone();
    });
}
