//! Owner and thief of a stolen half: who comes first makes the scene, and the owner goes on when the thief has left it.

use super::*;
use ropewalk_core::prim::real::{AtomicUsize, Ordering::SeqCst};
use ropewalk_core::prim::{UnsafeCell, model, thread};
use std::panic::Location;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A job that was stolen, and what its half gives.
struct Stolen {
    shown: Shown,
    outcome: UnsafeCell<u32>,
}
// SAFETY: thief and owner touch the outcome one after the other, or the model finds that they do not.
unsafe impl Sync for Stolen {}
// SAFETY: as above.
unsafe impl Send for Stolen {}

// mutation: half-each-has-its-own-scene
// - in crates/ropewalk/src/fork/job.rs: `Err(other) => {`
// + `Err(other) => { if !other.is_null() { return unsafe { &*new }; }`
// mutation: half-is-not-expected
// - in crates/ropewalk/src/strand/scene.rs: `this.members.lock().alive = 1;`
// + ``
#[test]
fn model_owner_and_thief_of_a_half_meet() {
    model(|| {
        let origin = Origin { stack_size: 0, spawned_at: Location::caller(), strand: None };
        let shown = Shown { scene: AtomicPtr::new(null_mut()), is_over: Cell::new(false), origin };
        let stolen = Arc::new(Stolen { shown, outcome: UnsafeCell::new(0) });
        let thief = {
            let stolen = stolen.clone();
            thread::spawn(move || {
                let scene = stolen.shown.scene();
                // SAFETY: the owner looks when this one has left.
                stolen.outcome.with_mut(|outcome| unsafe { *outcome = 7 });
                scene.left();
            })
        };
        let scene = stolen.shown.scene();
        let bell = Arc::new(Bell(AtomicUsize::new(0)));
        let waker = Waker::from(bell.clone());
        let mut heard = 0;
        while scene.poll_empty(&mut Context::from_waker(&waker)).is_pending() {
            while bell.0.load(SeqCst) == heard {
                thread::yield_now();
            }
            heard = bell.0.load(SeqCst);
        }
        // SAFETY: the thief has left.
        assert_eq!(stolen.outcome.with(|outcome| unsafe { *outcome }), 7);
        thief.join().expect("the thief is fine");
        // SAFETY: nobody uses it any more.
        unsafe { stolen.shown.forget_scene() };
    });
}
