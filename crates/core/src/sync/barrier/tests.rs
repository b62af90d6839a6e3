use super::*;
#[cfg(not(any(loom, shuttle)))]
use crate::kit::poll;
use crate::kit::{Counter, now, poll_with, ready, waiting};
use crate::prim::{self, AtomicBool, Ordering};
use std::sync::Arc;

// mutation: barrier-opens-too-late
// - in crates/core/src/sync/barrier.rs: `self.open.store(round.number as usize, Ordering::Release);`
// + ``
// mutation: barrier-trusts-the-wake-up
// - in crates/core/src/sync/barrier.rs: `if !present.is_early() {`
// + `if true {`
#[test]
fn model_barrier_two_rounds() {
    prim::model(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let meet = |barrier: &Barrier| u32::from(crate::block_on_simple(barrier.wait()).is_leader());
        let thread = prim::thread::spawn(move || [meet(&other), meet(&other)]);
        let here = [meet(&barrier), meet(&barrier)];
        let there = thread.join().unwrap();
        assert_eq!([here[0] + there[0], here[1] + there[1]], [1, 1], "one leader a round");
    });
}

// mutation: barrier-cancelled-waiter-stays
// - in crates/core/src/sync/barrier.rs: `round.present -= 1;`
// + `round.present -= 0;`
// mutation: barrier-cancelled-waiter-leaves-twice
// - in crates/core/src/sync/barrier.rs: `if round.number == self.round {`
// + `if round.present > 0 {`
#[test]
fn model_barrier_cancelled_waiter_against_the_last_one() {
    prim::model(|| {
        let barrier = Arc::new(Barrier::new(2));
        let waiter = waiting(barrier.wait());
        let other = barrier.clone();
        let (counter, waker) = Counter::new();
        let gone = Arc::new(AtomicBool::new(false));
        let is_gone = gone.clone();
        let thread = prim::thread::spawn(move || {
            let (mut wait, alone) = (Box::pin(other.wait()), is_gone.load(Ordering::SeqCst));
            let early = poll_with(&mut wait, &waker).is_ready();
            assert!(!(alone && early), "nobody else is present");
            // A round later, one is present whatever happened to the first.
            let mut next = early.then(|| waiting(other.wait()));
            let led = now(other.wait()).is_leader();
            match &mut next {
                Some(next) => assert!(!ready(next).is_leader()),
                None => assert!(!ready(&mut wait).is_leader()),
            }
            (early, led)
        });
        drop(waiter);
        gone.store(true, Ordering::SeqCst);
        let (early, led) = thread.join().unwrap();
        assert!(led);
        assert_eq!(counter.count(), usize::from(!early));
    });
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn nobody_waits_alone() {
    static BARRIER: Barrier = Barrier::new(1);
    assert!(now(BARRIER.wait()).is_leader());
    assert!(now(Barrier::new(0).wait()).is_leader());
    assert_eq!(format!("{BARRIER:?}"), "Barrier { parties: 1, .. }");
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn whoever_comes_last_leads_and_the_rest_goes_on() {
    let barrier = Barrier::new(40);
    for _ in 0..3 {
        let mut waiters: Vec<_> = (1..40).map(|_| waiting(barrier.wait())).collect();
        assert!(waiters.iter_mut().all(|waiter| poll(waiter).is_pending()));
        assert!(now(barrier.wait()).is_leader());
        assert!(waiters.iter_mut().all(|waiter| !ready(waiter).is_leader()));
    }
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn who_is_dropped_is_not_present() {
    let barrier = Barrier::new(3);
    drop(barrier.wait());
    let (first, mut second) = (waiting(barrier.wait()), waiting(barrier.wait()));
    drop(first);
    let mut third = waiting(barrier.wait());
    assert!(now(barrier.wait()).is_leader());
    assert!(!ready(&mut second).is_leader() && !ready(&mut third).is_leader());
    // Released and dropped without noticing: counted, once.
    let released = (waiting(barrier.wait()), waiting(barrier.wait()));
    assert!(now(barrier.wait()).is_leader());
    drop(released);
    let _waits = (waiting(barrier.wait()), waiting(barrier.wait()));
}
