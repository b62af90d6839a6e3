use super::*;
use crate::kit::Counter;
use crate::prim::{self, AtomicBool, UnsafeCell};
use crate::{block_on_simple, noop_waker};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;

type Outcome = Poll<Result<(), Closed>>;
const WOKEN: Outcome = Poll::Ready(Ok(()));
const CLOSED: Outcome = Poll::Ready(Err(Closed));

fn poll(wait: &mut Pin<Box<Wait<'_>>>) -> Outcome {
    poll_with(wait, &noop_waker())
}
fn poll_with(wait: &mut Pin<Box<Wait<'_>>>, waker: &Waker) -> Outcome {
    wait.as_mut().poll(&mut Context::from_waker(waker))
}
/// A waiter that is in the queue already.
fn waiter(queue: &WaitQueue) -> Pin<Box<Wait<'_>>> {
    let mut wait = Box::pin(queue.wait());
    assert_eq!(poll(&mut wait), Poll::Pending);
    wait
}
/// Checks the links, and that the announcement is right (W5, here in both directions). Returns who waits, who is released.
fn check(queue: &WaitQueue) -> (usize, usize) {
    let lists = queue.lists.lock();
    let waiting = lists.waiting.assert_valid();
    assert!(
        queue.is_closed() || (queue.state.load(Ordering::Relaxed) == queue_state::WAITING) == (waiting > 0)
    );
    (waiting, lists.releasing.assert_valid())
}

// mutation: wait-queue-waker-without-barrier
// - in crates/core/src/wait_queue.rs: `fence(Ordering::SeqCst); // the waker's barrier`
// + `fence(Ordering::AcqRel);`
// mutation: wait-queue-waiter-without-barrier
// - in crates/core/src/wait_queue.rs: `fence(Ordering::SeqCst); // the waiter's barrier`
// + `fence(Ordering::AcqRel);`
// mutation: wait-queue-does-not-ask-again
// - in crates/core/src/wait_queue/wait.rs: `if !should_wait() {`
// + `if false {`
// mutation: wait-queue-announces-after-asking
// - in crates/core/src/wait_queue/wait.rs: `if !should_wait() {`
// + `self.queue.retract(&lists); let wait = should_wait(); _ = self.queue.announce(); if !wait {`
#[test]
fn model_wait_queue_wake_one_against_wait_if() {
    prim::model(|| {
        let shared = Arc::new((WaitQueue::new(), AtomicBool::new(false)));
        let other = shared.clone();
        let thread = prim::thread::spawn(move || {
            other.1.store(true, Ordering::Relaxed);
            other.0.wake_one();
        });
        let (queue, ready) = &*shared;
        block_on_simple(queue.wait_if(|| !ready.load(Ordering::Relaxed))).unwrap();
        assert!(ready.load(Ordering::Relaxed));
        thread.join().unwrap();
        assert_eq!(check(queue), (0, 0));
    });
}

// mutation: wait-queue-stores-after-unlocking
// - in crates/core/src/wait_queue.rs: `otherwise();`
// + `drop(lists); otherwise();`
#[test]
fn model_wait_queue_wake_one_or_store_against_wait_if() {
    prim::model(|| {
        let shared = Arc::new((WaitQueue::new(), AtomicBool::new(false)));
        let other = shared.clone();
        let thread =
            prim::thread::spawn(move || other.0.wake_one_or(|| other.1.store(true, Ordering::Relaxed)));
        let (queue, stored) = &*shared;
        block_on_simple(queue.wait_if(|| !stored.swap(false, Ordering::Relaxed))).unwrap();
        thread.join().unwrap();
        assert!(!stored.load(Ordering::Relaxed), "handed over or stored and taken, not both");
    });
}

// mutation: wait-queue-drop-keeps-the-turn
// - in crates/core/src/wait_queue/wait.rs: `if self.leave() {`
// + `if self.leave() && false {`
// mutation: wait-queue-leave-does-not-look-again
// - in crates/core/src/wait_queue/wait.rs: `let state = self.node.state.load(Ordering::Relaxed); // it may have been chosen`
// + `let state = waiter_state::WAITING; // it may have been chosen`
#[test]
fn model_wait_queue_dropping_a_chosen_waiter_passes_the_turn_on() {
    prim::model(|| {
        let queue = Arc::new(WaitQueue::new());
        let first = waiter(&queue);
        let mut second = waiter(&queue);
        let other = queue.clone();
        let thread = prim::thread::spawn(move || assert!(other.wake_one()));
        drop(first);
        thread.join().unwrap();
        assert_eq!(poll(&mut second), WOKEN);
        assert_eq!(check(&queue), (0, 0));
    });
}

// mutation: wait-queue-outcome-not-released
// - in crates/core/src/wait_queue/waiter.rs: `state.store(outcome, Ordering::Release);`
// + `state.store(outcome, Ordering::Relaxed);`
// mutation: wait-queue-outcome-not-acquired
// - in crates/core/src/wait_queue/wait.rs: `match self.node.state.load(Ordering::Acquire) {`
// + `match self.node.state.load(Ordering::Relaxed) {`
#[test]
fn model_wait_queue_outcome_seen_without_the_lock_carries_the_data() {
    struct Shared(WaitQueue, UnsafeCell<u32>);
    // SAFETY: the cell is written before `wake_one` and read after the waiter saw its outcome, which loom checks.
    unsafe impl Sync for Shared {}
    // SAFETY: an integer and a queue.
    unsafe impl Send for Shared {}
    prim::model(|| {
        let shared = Arc::new(Shared(WaitQueue::new(), UnsafeCell::new(0)));
        let mut wait = waiter(&shared.0);
        let other = shared.clone();
        let thread = prim::thread::spawn(move || {
            // SAFETY: the reader looks only after it was woken.
            other.1.with_mut(|value| unsafe { *value = 7 });
            other.0.wake_one_or(|| ()); // without the fence of `wake_one`: the outcome's own release is on trial
        });
        if poll(&mut wait) == WOKEN {
            // SAFETY: the outcome was seen.
            assert_eq!(shared.1.with(|value| unsafe { *value }), 7);
        }
        drop(wait);
        thread.join().unwrap();
    });
}

// mutation: wait-queue-renew-does-not-look-again
// - in crates/core/src/wait_queue/wait.rs: `if state_now != waiter_state::WAITING {`
// + `if false {`
// mutation: wait-queue-renew-keeps-the-old-waker
// - in crates/core/src/wait_queue/wait.rs: `(*waker).replace(new)`
// + `{ let _ = waker; Some(new) }`
#[test]
fn model_wait_queue_new_waker_against_wake_one() {
    prim::model(|| {
        let queue = Arc::new(WaitQueue::new());
        let mut wait = waiter(&queue);
        let other = queue.clone();
        let thread = prim::thread::spawn(move || assert!(other.wake_one()));
        let (counter, waker) = Counter::new();
        let polled = poll_with(&mut wait, &waker);
        thread.join().unwrap();
        if polled == Poll::Pending {
            assert_eq!(counter.count(), 1, "Pending promises that the latest waker is called");
            assert_eq!(poll(&mut wait), WOKEN);
        }
    });
}

// mutation: wait-queue-arrivals-join-the-released
// - in crates/core/src/wait_queue/wait.rs: `lists.waiting.push_back(self.node());`
// + `lists.releasing.push_back(self.node());`
// mutation: wait-queue-wake-all-goes-on-to-newcomers
// - in crates/core/src/wait_queue/sweep.rs: `let first = lists.releasing.front()?;`
// + `let Some(first) = lists.releasing.front() else { return lists.waiting.pop_front() };`
#[test]
fn model_wait_queue_wake_all_against_arrival() {
    // Batches of one: the arrival can come before, between and after the two wake-ups.
    prim::model(|| {
        let queue = Arc::new(WaitQueue::new());
        let (mut first, mut second) = (waiter(&queue), waiter(&queue));
        let other = queue.clone();
        let thread = prim::thread::spawn(move || other.wake_all());
        let first_early = poll(&mut first);
        let mut third = waiter(&queue);
        let woken = thread.join().unwrap();
        assert_eq!(poll(&mut second), WOKEN);
        if first_early == WOKEN {
            assert_eq!(poll(&mut third), Poll::Pending, "it came after `wake_all` had begun");
        } else {
            assert_eq!(poll(&mut first), WOKEN);
        }
        let late = woken == 2;
        assert_eq!(queue.wake_one(), late, "a waiter that was left waiting is in reach");
        assert_eq!(check(&queue), (0, 0));
    });
}

// mutation: wait-queue-wake-one-takes-the-released
// - in crates/core/src/wait_queue.rs: `self.choose(|lists| lists.waiting.pop_front(), otherwise)`
// + `self.choose(|lists| lists.releasing.pop_front().or_else(|| lists.waiting.pop_front()), otherwise)`
#[test]
fn model_wait_queue_wake_one_between_batches_goes_to_the_newcomer() {
    prim::model(|| {
        let queue = Arc::new(WaitQueue::new());
        let (mut first, mut second) = (waiter(&queue), waiter(&queue));
        let other = queue.clone();
        let thread = prim::thread::spawn(move || other.wake_all());
        if poll(&mut first) == WOKEN {
            let mut newcomer = waiter(&queue);
            assert!(queue.wake_one());
            assert_eq!(poll(&mut newcomer), WOKEN);
        }
        thread.join().unwrap();
        assert_eq!(poll(&mut second), WOKEN);
    });
}

// mutation: wait-queue-unlinks-from-the-wrong-list
// - in crates/core/src/wait_queue.rs: `if epoch == self.epoch {`
// + `if epoch <= self.epoch {`
// mutation: wait-queue-passes-on-a-release
// - in crates/core/src/wait_queue/wait.rs: `state == waiter_state::CHOSEN`
// + `state == waiter_state::CHOSEN || state == waiter_state::RELEASED`
#[test]
fn model_wait_queue_dropping_a_released_waiter() {
    prim::model(|| {
        let queue = Arc::new(WaitQueue::new());
        let (mut first, second) = (waiter(&queue), waiter(&queue));
        let other = queue.clone();
        let thread = prim::thread::spawn(move || other.wake_all());
        let mut newcomer = (poll(&mut first) == WOKEN).then(|| waiter(&queue));
        drop(second);
        thread.join().unwrap();
        if let Some(newcomer) = &mut newcomer {
            assert_eq!(poll(newcomer), Poll::Pending, "a release is nobody else's turn");
        }
        assert_eq!(check(&queue), (usize::from(newcomer.is_some()), 0));
    });
}

// mutation: wait-queue-wake-all-stops-after-a-batch
// - in crates/core/src/wait_queue/sweep.rs: `while self.unfinished {`
// + `while false {`
#[test]
fn model_wait_queue_two_wake_alls_leave_nobody() {
    prim::model(|| {
        let queue = Arc::new(WaitQueue::new());
        let (mut first, mut second) = (waiter(&queue), waiter(&queue));
        let other = queue.clone();
        let thread = prim::thread::spawn(move || other.wake_all());
        let here = queue.wake_all();
        assert_eq!(here + thread.join().unwrap(), 2);
        assert_eq!((poll(&mut first), poll(&mut second)), (WOKEN, WOKEN));
        assert_eq!(check(&queue), (0, 0));
    });
}

// mutation: wait-queue-close-forgets-the-waiters
// - in crates/core/src/wait_queue.rs: `Sweep::closed(self).run(lists);`
// + `drop(lists);`
// mutation: wait-queue-enter-ignores-close
// - in crates/core/src/wait_queue/wait.rs: `if !open {`
// + `if false {`
// mutation: wait-queue-close-says-released
// - in crates/core/src/wait_queue/sweep.rs: `Whom::Everybody => waiter_state::CLOSED,`
// + `Whom::Everybody => waiter_state::RELEASED,`
#[test]
fn model_wait_queue_close_against_wait() {
    prim::model(|| {
        let queue = Arc::new(WaitQueue::new());
        let other = queue.clone();
        let thread = prim::thread::spawn(move || other.close());
        assert_eq!(block_on_simple(queue.wait()), Err(Closed));
        assert!(thread.join().unwrap());
        assert_eq!(check(&queue), (0, 0));
    });
}

// mutation: wait-queue-wake-one-ignores-close
// - in crates/core/src/wait_queue.rs: `let first = if self.is_closed() { None } else {`
// + `let first = {`
#[test]
fn model_wait_queue_close_against_close_and_wake_one() {
    prim::model(|| {
        let queue = Arc::new(WaitQueue::new());
        let (mut first, mut second) = (waiter(&queue), waiter(&queue));
        let other = queue.clone();
        let closing = prim::thread::spawn(move || other.close());
        let other = queue.clone();
        let waking = prim::thread::spawn(move || other.wake_one());
        let closed_here = queue.close();
        assert_ne!(closed_here, closing.join().unwrap());
        let expected = if waking.join().unwrap() { WOKEN } else { CLOSED };
        assert_eq!((poll(&mut first), poll(&mut second)), (expected, CLOSED));
        assert_eq!(poll(&mut Box::pin(queue.wait())), CLOSED);
    });
}

/// What does not depend on timing.
#[cfg(not(any(loom, shuttle)))]
mod plain;
