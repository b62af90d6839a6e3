use super::*;
use crate::kit::{Counter, poll, poll_with, ready, waiting};
use crate::prim;
use std::sync::Arc;

// mutation: rwlock-writer-takes-too-little
// - in crates/core/src/sync/rwlock.rs: `const TO_WRITE: usize = MAX_PERMITS;`
// + `const TO_WRITE: usize = MAX_PERMITS - 1;`
#[test]
fn model_rwlock_writers_are_alone() {
    prim::model(|| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let other = lock.clone();
        let thread = prim::thread::spawn(move || {
            other.try_write().map(|mut pair| (pair.0, pair.1) = (pair.0 + 1, pair.1 + 1)).is_ok()
        });
        if let Ok(pair) = lock.try_read() {
            assert_eq!(pair.0, pair.1);
        }
        let there = thread.join().unwrap();
        assert_eq!(lock.try_read().unwrap().0, u32::from(there));
    });
}

// mutation: rwlock-downgrade-keeps-nothing
// - in crates/core/src/sync/rwlock/guard.rs: `lock.permits.release(TO_WRITE - TO_READ);`
// + `lock.permits.release(TO_WRITE); core::mem::forget(lock.permits.try_take(0));`
#[test]
fn model_rwlock_downgrade_lets_no_writer_in_between() {
    prim::model(|| {
        let lock = Arc::new(RwLock::new(0));
        let mut guard = lock.try_write().unwrap();
        let other = lock.clone();
        let thread = prim::thread::spawn(move || other.try_write().map(|mut value| *value += 10).is_ok());
        *guard += 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, 1);
        drop(guard);
        let there = thread.join().unwrap();
        assert_eq!(*lock.try_read().unwrap(), if there { 11 } else { 1 });
    });
}

/// A writer in line while the last of two readers leaves: both leave at once, and one of them must serve it.
// mutation: rwlock-reader-gives-nothing-back
// - in crates/core/src/sync/rwlock/guard.rs: `self.lock.permits.release(TO_READ);`
// + `self.lock.permits.release(0);`
#[test]
fn model_rwlock_last_readers_against_each_other_serve_the_writer() {
    prim::model(|| {
        let lock = Arc::new(RwLock::new(0));
        let (one, other) = (lock.clone().try_read_owned().unwrap(), lock.try_read().unwrap());
        let (counter, waker) = Counter::new();
        let mut writer = Box::pin(lock.write());
        assert!(poll_with(&mut writer, &waker).is_pending());
        let thread = prim::thread::spawn(move || drop(one));
        drop(other);
        thread.join().unwrap();
        assert_eq!(counter.count(), 1);
        *ready(&mut writer) += 1;
        assert_eq!(*lock.try_read().unwrap(), 1);
    });
}

// mutation: permits-only-one-is-served
// - in crates/core/src/sync/permits/serve.rs: `while self.unfinished {`
// + `while false {`
#[test]
fn model_rwlock_readers_in_line_come_in_together() {
    prim::model(|| {
        let lock = Arc::new(RwLock::new(0));
        let guard = lock.clone().try_write_owned().unwrap();
        let (mut first, mut second) = (waiting(lock.read()), waiting(lock.read()));
        let thread = prim::thread::spawn(move || drop(guard));
        let early = poll(&mut first);
        thread.join().unwrap();
        let both = (early, ready(&mut second));
        if both.0.is_pending() {
            drop(ready(&mut first));
        }
        drop(both);
        assert!(lock.try_write().is_ok());
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain;
