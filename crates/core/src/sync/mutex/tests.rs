use super::*;
use crate::block_on_simple;
use crate::kit::{Counter, poll, poll_with, ready, waiting};
use crate::prim;
use std::sync::Arc;

// mutation: permits-take-does-not-acquire
// - in crates/core/src/sync/permits/word.rs: `compare_exchange(guess.0, less, Acquire, Relaxed)`
// + `compare_exchange(guess.0, less, Relaxed, Relaxed)`
// mutation: permits-put-does-not-release
// - in crates/core/src/sync/permits/word.rs: `self.bits.fetch_add(n << PERMIT_SHIFT, Release)`
// + `self.bits.fetch_add(n << PERMIT_SHIFT, Relaxed)`
#[test]
fn model_mutex_excludes() {
    prim::model(|| {
        let mutex = Arc::new(Mutex::new(0));
        let other = mutex.clone();
        let thread = prim::thread::spawn(move || other.try_lock().map(|mut value| *value += 1).is_ok());
        let here = mutex.try_lock().map(|mut value| *value += 1).is_ok();
        let there = thread.join().unwrap();
        assert!(here || there);
        assert_eq!(*mutex.try_lock().unwrap(), u32::from(here) + u32::from(there));
    });
}

// mutation: permits-queue-without-saying-so
// - in crates/core/src/sync/permits/word.rs: `None if now.has(QUEUED) => return Queued::Waiting,`
// + `None if true => return Queued::Waiting,`
// mutation: permits-queue-does-not-look-again
// - in crates/core/src/sync/permits/word.rs: `None => (now.0 | QUEUED, Queued::Waiting),`
// + `None => { self.bits.fetch_or(QUEUED, Relaxed); return Queued::Waiting }`
// mutation: permits-release-does-not-serve
// - in crates/core/src/sync/permits/word.rs: `before & (QUEUED | CALLED) == QUEUED`
// + `before & (QUEUED | CALLED) == CALLED`
#[test]
fn model_mutex_unlock_against_queueing() {
    prim::model(|| {
        let mutex = Arc::new(Mutex::new(0));
        let guard = mutex.try_lock().unwrap();
        let other = mutex.clone();
        let thread = prim::thread::spawn(move || *block_on_simple(other.lock()) += 1);
        drop(guard);
        thread.join().unwrap();
        assert_eq!(*mutex.try_lock().unwrap(), 1);
    });
}

// mutation: permits-missed-call-stays
// - in crates/core/src/sync/permits/word.rs: `(false, true) => answered,`
// + `(false, true) => now.0,`
// mutation: permits-come-does-not-acquire
// - in crates/core/src/sync/permits/word.rs: `compare_exchange(now.0, after, Acquire, Relaxed)`
// + `compare_exchange(now.0, after, Relaxed, Relaxed)`
#[test]
fn model_mutex_called_waiter_against_one_who_overtakes() {
    prim::model(|| {
        let mutex = Arc::new(Mutex::new(0));
        let guard = mutex.try_lock().unwrap();
        let (counter, waker) = Counter::new();
        let mut waiter = Box::pin(mutex.lock());
        assert!(poll_with(&mut waiter, &waker).is_pending());
        drop(guard); // calls it
        assert_eq!(counter.count(), 1);
        let other = mutex.clone();
        let thread = prim::thread::spawn(move || other.try_lock().map(|mut value| *value += 1).is_ok());
        let early = poll_with(&mut waiter, &waker).map(|mut value| *value += 1);
        let overtaken = thread.join().unwrap();
        if early.is_pending() {
            assert!(overtaken);
            assert_eq!(counter.count(), 2, "it is woken again");
            *ready(&mut waiter) += 1;
        }
        assert_eq!(*mutex.try_lock().unwrap(), 1 + u32::from(overtaken));
    });
}

// mutation: permits-take-again-does-not-acquire
// - in crates/core/src/sync/permits/word.rs: `compare_exchange_weak(now.0, less, Acquire, Relaxed)`
// + `compare_exchange_weak(now.0, less, Relaxed, Relaxed)`
#[test]
fn model_mutex_two_overtake_one_that_was_called() {
    prim::model(|| {
        let mutex = Arc::new(Mutex::new(0));
        let guard = mutex.try_lock().unwrap();
        let mut waiter = waiting(mutex.lock());
        drop(guard); // calls it
        let other = mutex.clone();
        let thread = prim::thread::spawn(move || other.try_lock().map(|mut value| *value += 1).is_ok());
        let here = mutex.try_lock().map(|mut value| *value += 1).is_ok();
        let there = thread.join().unwrap();
        *ready(&mut waiter) += 1;
        assert_eq!(*mutex.try_lock().unwrap(), 1 + u32::from(here) + u32::from(there));
    });
}

// mutation: permits-grant-is-not-published
// - in crates/core/src/sync/permits/waiter.rs: `node.state.store(outcome, Ordering::Release);`
// + `node.state.store(outcome, Ordering::Relaxed);`
// mutation: permits-grant-is-not-acquired
// - in crates/core/src/sync/permits/claim.rs: `let outcome = node.state.load(Ordering::Acquire);`
// + `let outcome = node.state.load(Ordering::Relaxed);`
#[test]
fn model_mutex_granted_lock_carries_the_data() {
    prim::model(|| {
        let mutex = Arc::new(Mutex::new(0));
        let mut waiter = missed(&mutex);
        let other = mutex.clone();
        let thread = prim::thread::spawn(move || {
            let mut guard = other.held_guard();
            *guard += 1;
        });
        if let Poll::Ready(value) = poll(&mut waiter) {
            assert_eq!(*value, 1);
        }
        drop(waiter);
        thread.join().unwrap();
        assert_eq!(*mutex.try_lock().unwrap(), 1);
    });
}

// mutation: permits-cancelled-call-is-kept
// - in crates/core/src/sync/permits/word.rs: `gone |= CALLED | OVERTAKINGS;`
// + `gone |= OVERTAKINGS;`
// mutation: permits-cancelled-waiter-serves-nobody
// - in crates/core/src/sync/permits/claim.rs: `Serve::waiting(self).run(line); // who is first now may want less`
// + `drop(line);`
#[test]
fn model_mutex_dropped_waiter_against_unlock() {
    prim::model(|| {
        let mutex = Arc::new(Mutex::new(0));
        let guard = mutex.clone().try_lock_owned().unwrap();
        let first = waiting(mutex.lock());
        let (counter, waker) = Counter::new();
        let mut second = Box::pin(mutex.lock());
        assert!(poll_with(&mut second, &waker).is_pending());
        let thread = prim::thread::spawn(move || drop(guard));
        drop(first);
        thread.join().unwrap();
        assert_eq!(counter.count(), 1);
        drop(ready(&mut second));
        assert!(mutex.try_lock().is_ok());
    });
}

/// The same for one that was granted the lock.
// mutation: permits-cancelled-grant-is-kept
// - in crates/core/src/sync/permits/claim.rs: `if outcome == state::GRANTED {`
// + `if outcome != state::GRANTED {`
#[test]
fn model_mutex_dropped_waiter_against_grant() {
    prim::model(|| {
        let mutex = Arc::new(Mutex::new(0));
        let first = missed(&mutex);
        let (counter, waker) = Counter::new();
        let mut second = Box::pin(mutex.lock());
        assert!(poll_with(&mut second, &waker).is_pending());
        let other = mutex.clone();
        let thread = prim::thread::spawn(move || drop(other.held_guard()));
        drop(first);
        thread.join().unwrap();
        assert_eq!(counter.count(), 1);
        drop(ready(&mut second));
        assert!(mutex.try_lock().is_ok());
    });
}

/// A waiter that came too late when it was called, so that the next unlock grants it the lock. The mutex is held: the
/// guard is found again by `held_guard`.
fn missed(mutex: &Arc<Mutex<u32>>) -> Pin<Box<Lock<'_, u32>>> {
    let guard = mutex.try_lock().unwrap();
    let mut waiter = waiting(mutex.lock());
    drop(guard);
    core::mem::forget(mutex.try_lock().unwrap()); // overtakes
    assert!(poll(&mut waiter).is_pending());
    waiter
}

impl<T> Mutex<T> {
    /// The guard that was forgotten.
    fn held_guard(&self) -> MutexGuard<'_, T> {
        assert_eq!(self.permits.available(), 0);
        MutexGuard::new(self)
    }
}

mod behind;
#[cfg(not(any(loom, shuttle)))]
mod plain;
