//! The roll under races: who waits is told of every end, and every end is told once.

use super::*;
use ropewalk_core::prim::real::{AtomicUsize, Ordering::SeqCst};
use ropewalk_core::prim::{model, thread};
use ropewalk_core::task::{Runnable, TaskHandle, spawn};
use std::sync::{Arc, Mutex};
use std::task::Wake;

/// Somebody who waits.
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A task that nobody runs, to be in the roll, and what holds it.
fn member() -> (TaskRef, TaskHandle<()>, Arc<Mutex<Vec<Runnable>>>) {
    let queue = Arc::new(Mutex::new(Vec::new()));
    let pushed = queue.clone();
    let handle = spawn(std::future::pending(), move |runnable| pushed.lock().unwrap().push(runnable));
    let task = queue.lock().unwrap()[0].task();
    (task, handle, queue)
}

/// A task that waits, and where its `Runnable` goes.
type Member = (TaskHandle<()>, Arc<Mutex<Vec<Runnable>>>);

/// A roll of `count` members.
fn roll(count: u32) -> (Arc<Roll>, Vec<Member>) {
    let (roll, mut held) = (Arc::new(Roll::new()), Vec::new());
    for seat in 0..count {
        let (task, handle, queue) = member();
        roll.take_seat(seat, task);
        held.push((handle, queue));
    }
    (roll, held)
}

/// Lets go of the members: a dropped Runnable ends its task.
fn let_go(held: Vec<Member>) {
    for (handle, queue) in held {
        drop(handle);
        let runnables = std::mem::take(&mut *queue.lock().unwrap());
        drop(runnables);
    }
}

// Two end while somebody waits for any of them: whoever is told to wait is called.
//
// mutation: nobody-is-called
// - in crates/ropewalk/src/group/roll.rs: `let waiter = state.waiter.take_if(|(_, wanted)| all || *wanted == Wanted::Any);`
// + `let waiter: Option<(Waker, Wanted)> = None;`
//
// mutation: only-the-last-end-is-told
// - in crates/ropewalk/src/group/roll.rs: `let waiter = state.waiter.take_if(|(_, wanted)| all || *wanted == Wanted::Any);`
// + `let waiter = state.waiter.take_if(|_| all);`
//
// mutation: an-end-is-not-seen
// - in crates/ropewalk/src/group/roll.rs: `Wanted::Any => !state.ready.is_empty() || state.alive == 0,`
// + `Wanted::Any => state.alive == 0,`
#[test]
fn model_roll_ends_against_a_wait_for_any() {
    model(|| {
        let (roll, held) = roll(2);
        let others = roll.clone();
        let other = thread::spawn(move || others.ended(0, false, None));
        let mut joined = 0;
        let bell = Arc::new(Bell(AtomicUsize::new(0)));
        let waker = Waker::from(bell.clone());
        let first = roll.poll(&mut Context::from_waker(&waker), Wanted::Any);
        other.join().unwrap();
        assert!(first.is_ready() || bell.0.load(SeqCst) == 1, "told to wait, and never called");
        assert!(roll.poll(&mut Context::from_waker(&waker), Wanted::Any).is_ready());
        while roll.next_ended().is_some() {
            joined += 1;
        }
        assert_eq!(joined, 1);
        roll.ended(1, false, None);
        assert_eq!((roll.next_ended(), roll.next_ended()), (Some(1), None));
        let_go(held);
    });
}

// Two end while somebody waits for both: it is called when both have ended, and not before.
//
// mutation: all-is-any
// - in crates/ropewalk/src/group/roll.rs: `Wanted::All => state.alive == 0,`
// + `Wanted::All => !state.ready.is_empty(),`
//
// mutation: called-too-early
// - in crates/ropewalk/src/group/roll.rs: `let waiter = state.waiter.take_if(|(_, wanted)| all || *wanted == Wanted::Any);`
// + `let waiter = state.waiter.take_if(|_| !all);`
#[test]
fn model_roll_ends_against_a_wait_for_all() {
    model(|| {
        let (roll, held) = roll(2);
        let threads = [0, 1].map(|seat| {
            let roll = roll.clone();
            thread::spawn(move || roll.ended(seat, false, None))
        });
        let bell = Arc::new(Bell(AtomicUsize::new(0)));
        let waker = Waker::from(bell.clone());
        let first = roll.poll(&mut Context::from_waker(&waker), Wanted::All);
        if first.is_ready() {
            assert_eq!(roll.0.lock().alive, 0);
        }
        let [(), ()] = threads.map(|thread| thread.join().unwrap());
        assert!(first.is_ready() || bell.0.load(SeqCst) == 1, "told to wait, and never called");
        assert!(roll.poll(&mut Context::from_waker(&waker), Wanted::All).is_ready());
        let_go(held);
    });
}

// One fails while another comes: the newcomer is cancelled, by one of the two.
//
// mutation: a-newcomer-is-not-cancelled
// - in crates/ropewalk/src/group/roll.rs: `let late = state.failed.then(|| task.clone());`
// + `let late: Option<TaskRef> = None;`
//
// mutation: those-present-are-not-cancelled
// - in crates/ropewalk/src/group/roll.rs: `if first { self.tasks() } else { Vec::new() }`
// + `let _ = first; Vec::new()`
#[test]
fn model_roll_failure_against_a_newcomer() {
    model(|| {
        let (roll, mut held) = roll(1);
        roll.set_fail_fast(true);
        let others = roll.clone();
        let other = thread::spawn(move || others.ended(0, true, None));
        let (task, handle, queue) = member();
        roll.take_seat(1, task.clone());
        other.join().unwrap();
        assert!(task.is_cancelled());
        drop(task);
        held.push((handle, queue));
        roll.ended(1, true, None);
        let_go(held);
    });
}
