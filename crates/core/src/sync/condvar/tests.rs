use super::*;
use crate::kit::{Counter, poll_with, ready, waiting};
use crate::prim;
use crate::sync::Mutex;
use std::sync::Arc;

// mutation: condvar-unlocks-before-it-queues
// - in crates/core/src/sync/condvar.rs: `let polled = wait.as_mut().poll(cx);`
// + `drop(guard.take()); let polled = wait.as_mut().poll(cx);`
#[test]
fn model_condvar_notify_against_wait() {
    prim::model(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = shared.clone();
        let thread = prim::thread::spawn(move || {
            *crate::block_on_simple(other.0.lock()) = true;
            other.1.notify_one();
        });
        crate::block_on_simple(async {
            let guard = shared.0.lock().await;
            assert!(*shared.1.wait_while(guard, |ready| !*ready).await);
        });
        thread.join().unwrap();
    });
}

// mutation: condvar-cancelled-waiter-keeps-its-turn
// - in crates/core/src/sync/condvar.rs: `self.0.wake_one();`
// + `core::hint::black_box(&self.0);`
#[test]
fn model_condvar_cancelled_waiter_passes_its_turn_on() {
    prim::model(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let (mutex, condvar) = &*shared;
        let mut first = waiting(condvar.wait(mutex.try_lock().unwrap()));
        let (counter, waker) = Counter::new();
        let mut second = Box::pin(condvar.wait(mutex.try_lock().unwrap()));
        assert!(poll_with(&mut second, &waker).is_pending());
        let held = mutex.try_lock().unwrap();
        let other = shared.clone();
        let thread = prim::thread::spawn(move || assert!(other.1.notify_one()));
        assert!(poll_with(&mut first, &waker).is_pending(), "the mutex is held");
        drop(first); // before it was notified, after it, or when it wanted the lock
        thread.join().unwrap();
        assert!(counter.count() > 0);
        drop(held);
        drop(ready(&mut second));
        assert!(mutex.try_lock().is_ok());
    });
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn a_static_condvar_needs_no_start_and_remembers_nothing() {
    static CONDVAR: Condvar = Condvar::new();
    assert!(!CONDVAR.notify_one());
    assert_eq!(CONDVAR.notify_all(), 0);
    let mutex = Mutex::new(());
    let waiter = waiting(CONDVAR.wait(mutex.try_lock().unwrap()));
    assert!(mutex.try_lock().is_ok(), "it is unlocked by the first poll");
    drop(waiter);
    drop(CONDVAR.wait(mutex.try_lock().unwrap())); // never polled: the guard goes with it
    assert!(mutex.try_lock().is_ok());
}

#[cfg(not(any(loom, shuttle)))]
#[test]
fn all_are_notified_and_lock_one_after_the_other() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let mut waiters: Vec<_> = (0..20)
        .map(|_| waiting(condvar.wait_while(mutex.try_lock().unwrap(), |value| *value == 0)))
        .collect();
    *mutex.try_lock().unwrap() = 1;
    assert_eq!(condvar.notify_all(), 20);
    for waiter in &mut waiters {
        *ready(waiter) += 1;
    }
    assert_eq!(*mutex.try_lock().unwrap(), 21);
}
