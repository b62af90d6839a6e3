use super::*;
use crate::kit::now;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn sends_and_shares<T: Send + Sync>(_: &T) {}

#[test]
fn guards_and_futures_travel_with_what_they_guard() {
    static LOCK: RwLock<u32> = RwLock::new(1);
    fn sends<T: Send>(_: &T) {}
    sends(&LOCK.read());
    sends(&LOCK.write());
    sends_and_shares(&LOCK.try_read().unwrap());
    sends_and_shares(&LOCK.try_write().unwrap());
    let lock = Arc::new(RwLock::new(1));
    sends_and_shares(&lock.clone().try_read_owned().unwrap());
    sends_and_shares(&lock.clone().try_write_owned().unwrap());
    sends(&lock.clone().read_owned());
    sends(&lock.write_owned());
}

#[test]
fn many_read_one_writes() {
    let lock = Arc::new(RwLock::new(1));
    let readers: Vec<_> = (0..100).map(|_| now(lock.read())).collect();
    assert!(lock.try_write().is_err() && lock.clone().try_write_owned().is_err());
    assert_eq!(format!("{lock:?}"), "RwLock { value: 1 }");
    drop(readers);
    let mut writer = now(lock.clone().write_owned());
    *writer += 1;
    assert!(lock.try_read().is_err() && lock.try_write().is_err() && lock.clone().try_read_owned().is_err());
    assert_eq!(format!("{lock:?} {writer}"), "RwLock { value: <locked> } 2");
    let reader = OwnedRwLockWriteGuard::downgrade(writer);
    assert_eq!(*reader + *now(lock.clone().read_owned()), 4);
    drop(reader);
    assert_eq!(Arc::into_inner(lock).unwrap().into_inner(), 2);
}

/// An owned future that is dropped at any stage gives back its turn and its `Arc`.
#[test]
fn owned_futures_cancelled_at_each_stage_lose_nothing() {
    let lock = Arc::new(RwLock::new(0));
    drop(lock.clone().read_owned()); // never polled
    drop(lock.clone().write_owned());
    let writer = lock.try_write().unwrap();
    drop(waiting(lock.clone().read_owned())); // in line
    drop(waiting(lock.clone().write_owned()));
    let (called, mut next) = (waiting(lock.clone().write_owned()), waiting(lock.clone().read_owned()));
    drop(writer);
    drop(called); // called: the turn goes to the next
    drop(ready(&mut next));
    let writer = lock.try_write().unwrap();
    let (granted, last) = (waiting(lock.clone().read_owned()), waiting(lock.clone().read_owned()));
    drop(writer);
    drop(granted); // granted, because the other was served too
    drop(last);
    drop(next);
    assert!(lock.try_write().is_ok());
    assert_eq!(Arc::strong_count(&lock), 1);
}

/// Readers that keep coming do not keep a writer out: those after it queue behind it.
#[test]
fn a_writer_is_not_starved_by_readers() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let mut writer = waiting(lock.write());
    let mut late = waiting(lock.read());
    assert!(lock.try_read().is_err(), "it is the writer's turn");
    drop(reader);
    let guard = ready(&mut writer);
    assert!(poll(&mut late).is_pending());
    drop(guard);
    drop(ready(&mut late));
}

/// Writers that keep coming do not keep a reader out.
#[test]
fn a_reader_is_not_starved_by_writers() {
    let lock = RwLock::new(0);
    let writer = lock.try_write().unwrap();
    let mut reader = waiting(lock.read());
    let mut late = waiting(lock.write());
    drop(writer);
    let guard = ready(&mut reader);
    assert!(poll(&mut late).is_pending());
    drop(guard);
    *ready(&mut late) += 1;
    assert!(lock.try_read().is_ok());
}

#[test]
fn a_downgrade_lets_readers_in_and_writers_wait() {
    let lock = RwLock::new(0);
    let writer = lock.try_write().unwrap();
    let (mut first, mut second) = (waiting(lock.read()), waiting(lock.write()));
    let reader = RwLockWriteGuard::downgrade(writer);
    let other = ready(&mut first);
    assert!(poll(&mut second).is_pending());
    drop((reader, other));
    *ready(&mut second) = 1;
}

#[test]
fn cancelled_at_each_stage_nothing_is_lost() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let writer = waiting(lock.write());
    let mut behind = waiting(lock.read());
    drop(writer); // who is behind it need not wait any more
    drop(ready(&mut behind));
    let called = waiting(lock.write());
    drop(reader);
    drop(called);
    let writer = lock.try_write().unwrap();
    let granted = [waiting(lock.read()), waiting(lock.read()), waiting(lock.read())];
    drop(writer);
    drop(granted);
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_holder_that_panics_unlocks_and_does_not_poison() {
    let lock = RwLock::new(0);
    let end = catch_unwind(AssertUnwindSafe(|| {
        *lock.try_write().unwrap() = 1;
        let _guard = lock.try_write().unwrap();
        panic!("half way");
    }));
    assert!(end.is_err());
    let end = catch_unwind(AssertUnwindSafe(|| {
        let _guard = lock.try_read().unwrap();
        panic!("reading");
    }));
    assert!(end.is_err());
    assert_eq!(*lock.try_write().unwrap(), 1);
}
