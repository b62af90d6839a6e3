//! A scope under races: the parent goes on when the last child has left, and not before.

use super::*;
use ropewalk_core::prim::real::{AtomicUsize, Ordering::SeqCst};
use ropewalk_core::prim::{UnsafeCell, model, thread};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::task::Wake;

/// Somebody who waits.
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// What lies in the call of a scope: the scene, and something that children borrow.
struct Call {
    scene: Scene,
    borrowed: UnsafeCell<u32>,
}
// SAFETY: children take turns, or the model finds that they do not.
unsafe impl Sync for Call {}
// SAFETY: as above.
unsafe impl Send for Call {}

fn call(kind: Kind) -> Arc<Call> {
    Arc::new(Call { scene: Scene::new(kind), borrowed: UnsafeCell::new(0) })
}

/// A child without a task: only its place in the list.
fn enrol(call: &Call) -> Box<Tie> {
    let tie = Box::new(Tie::new(Some(&call.scene)));
    let mut members = call.scene.members.lock();
    members.alive += 1;
    // SAFETY: it is in no list, and stays where it is until it leaves this one.
    unsafe { members.list.push_back(NonNull::from(&*tie)) };
    drop(members);
    tie
}

fn id(number: u64) -> TaskId {
    TaskId::new(NonZeroU64::new(number).expect("not zero"))
}

/// A waiting parent: polls until it may go on, and never sleeps without being sure to be woken.
fn wait_for_all(call: &Call) {
    let bell = Arc::new(Bell(AtomicUsize::new(0)));
    let waker = Waker::from(bell.clone());
    let mut heard = 0;
    while call.scene.poll_empty(&mut Context::from_waker(&waker)).is_pending() {
        while bell.0.load(SeqCst) == heard {
            thread::yield_now();
        }
        heard = bell.0.load(SeqCst);
    }
}

// Two children leave while the parent waits for them: it goes on, and what they did to what they borrow is there.
//
// mutation: the-last-child-wakes-nobody
// - in crates/ropewalk/src/strand/scene.rs: `let waiting = if members.alive == 0 { std::mem::take(&mut members.waiting) } else { Vec::new() };`
// + `let waiting: Vec<Waker> = Vec::new();`
//
// mutation: the-parent-does-not-look-again
// - in crates/ropewalk/src/strand/scene.rs: `let empty = members.alive == 0;`
// + `let empty = false;`
//
// mutation: one-child-is-enough
// - in crates/ropewalk/src/strand/scene.rs: `if self.members.lock().alive == 0 {`
// + `if self.members.lock().alive <= 1 {`
#[test]
fn model_scope_children_leave_against_the_parent() {
    model(|| {
        let call = call(Kind::Scope);
        let ties = [enrol(&call), enrol(&call)];
        let children: Vec<_> = ties
            .into_iter()
            .enumerate()
            .map(|(number, tie)| {
                let call = call.clone();
                thread::spawn(move || {
                    if number == 0 {
                        call.borrowed.with(|_| ());
                        return call.scene.leave(&tie); // there is nothing to drop
                    }
                    call.scene.unlist(&tie, id(1), None);
                    call.borrowed.with(|_| ());
                    call.scene.left();
                })
            })
            .collect();
        wait_for_all(&call);
        // SAFETY: nobody borrows it any more; the model would tell.
        call.borrowed.with_mut(|borrowed| unsafe { *borrowed += 1 });
        children.into_iter().for_each(|child| child.join().unwrap());
        assert!(call.scene.members.lock().list.is_empty());
    });
}

// A child of a nursery panics while its owner is about to wait: it is told, or sees it.
//
// mutation: the-owner-is-not-told
// - in crates/ropewalk/src/strand/scene.rs: `let (owner, children) = (members.owner.take(), members.references());`
// + `let (owner, children): (Option<Waker>, _) = (None, members.references());`
//
// mutation: the-owner-does-not-look
// - in crates/ropewalk/src/strand/scene.rs: `let failed = members.said.is_some();`
// + `let failed = false;`
#[test]
fn model_nursery_fails_against_its_owners_wait() {
    model(|| {
        let call = call(Kind::Nursery);
        let tie = enrol(&call);
        let child = {
            let call = call.clone();
            thread::spawn(move || {
                call.scene.unlist(&tie, id(1), Some("on purpose".into()));
                call.scene.left();
            })
        };
        let bell = Arc::new(Bell(AtomicUsize::new(0)));
        let failed = call.scene.poll_failed(&Waker::from(bell.clone()));
        child.join().unwrap();
        assert!(failed || bell.0.load(SeqCst) == 1, "it would sleep for ever");
        assert!(call.scene.poll_failed(Waker::noop()));
    });
}

// Two children of a nursery panic at once: one failure, both kept.
//
// mutation: a-second-panic-is-lost
// - in crates/ropewalk/src/strand/scene.rs: `if !members.is_taken(id) {`
// + `if !members.is_taken(id) && members.said.is_none() {`
#[test]
fn model_nursery_two_panics() {
    model(|| {
        let call = call(Kind::Nursery);
        let ties = [enrol(&call), enrol(&call)];
        let children: Vec<_> = ties
            .into_iter()
            .zip(1..)
            .map(|(tie, number)| {
                let call = call.clone();
                thread::spawn(move || {
                    call.scene.unlist(&tie, id(number), Some(number.to_string()));
                    call.scene.left();
                })
            })
            .collect();
        children.into_iter().for_each(|child| child.join().unwrap());
        let mut members = call.scene.members.lock();
        assert!(members.doomed && members.said.is_some());
        members.take_from_handle(id(1));
        assert_eq!(members.with_handle, [(id(2), "2".to_owned())]);
    });
}

// A handle takes a panic while the child is about to note it: nobody is told twice.
//
// mutation: a-panic-is-told-twice
// - in crates/ropewalk/src/strand/scene.rs: `self.taken.len() < known`
// + `self.taken.len() < known && known > 9`
#[test]
fn model_scope_a_panic_is_taken_against_its_note() {
    model(|| {
        let call = call(Kind::Scope);
        let tie = enrol(&call);
        let child = {
            let call = call.clone();
            thread::spawn(move || {
                call.scene.unlist(&tie, id(1), Some("on purpose".into()));
                call.scene.left();
            })
        };
        call.scene.panic_taken(id(1));
        child.join().unwrap();
        assert!(call.scene.members.lock().with_handle.is_empty());
    });
}
