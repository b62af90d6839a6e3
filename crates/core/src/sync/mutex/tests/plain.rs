use super::*;
use crate::kit::{call, now};
use crate::sync::permits::MOST_OVERTAKINGS;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::ToString;
use std::sync::Mutex as StdMutex;

fn sends<T: Send>(_: &T) {}
fn shares<T: Sync>(_: &T) {}

#[test]
fn guards_and_futures_travel_with_what_they_guard() {
    static MUTEX: Mutex<Cell<u32>> = Mutex::new(Cell::new(1)); // Send, not Sync: in a mutex it can be shared
    shares(&MUTEX);
    sends(&MUTEX.lock());
    sends(&MUTEX.try_lock().unwrap());
    let number = Arc::new(Mutex::new(1));
    sends(&number.clone().lock_owned());
    let guard = now(number.clone().lock_owned());
    sends(&guard);
    shares(&guard);
    let mapped = OwnedMutexGuard::map(guard, |number| number);
    sends(&mapped);
    shares(&mapped);
    drop(mapped);
    let mapped = MutexGuard::map(number.try_lock().unwrap(), |number| number);
    sends(&mapped);
    shares(&mapped);
}

#[test]
fn a_static_mutex_needs_no_start() {
    static MUTEX: Mutex<u32> = Mutex::new(1);
    *now(MUTEX.lock()) += 1;
    assert_eq!(format!("{MUTEX:?}"), "Mutex { value: 2 }");
    let guard = MUTEX.try_lock().unwrap();
    assert_eq!(format!("{MUTEX:?} {guard}"), "Mutex { value: <locked> } 2");
}

#[test]
fn the_value_may_be_unsized_and_comes_out_again() {
    let mutex: Arc<Mutex<dyn ToString + Send>> = Arc::new(Mutex::new(7));
    assert_eq!(now(mutex.lock()).to_string(), "7");
    assert_eq!(now(mutex.lock_owned()).to_string(), "7");
    let mut mutex = Mutex::from(1);
    *mutex.get_mut() += 1;
    assert_eq!(mutex.into_inner(), 2);
    assert_eq!(Mutex::<u32>::default().into_inner(), 0);
}

#[test]
fn held_means_held() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.try_lock().unwrap();
    let refused = mutex.try_lock().unwrap_err();
    assert!(refused.to_string().contains("try later"), "{refused}");
    assert!(mutex.clone().try_lock_owned().is_err());
    assert!(core::ptr::eq(MutexGuard::mutex(&guard), &*mutex));
    drop(guard);
    let guard = mutex.clone().try_lock_owned().unwrap();
    assert!(mutex.try_lock().is_err());
    assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
}

#[test]
fn mapped_guards_hold_the_lock_and_reach_the_part() {
    let mutex = Arc::new(Mutex::new((1, [2, 3])));
    let pair = MutexGuard::map(mutex.try_lock().unwrap(), |value| &mut value.1);
    let mut last = MappedMutexGuard::map(pair, |pair| &mut pair[1]);
    *last = 4;
    assert!(mutex.try_lock().is_err());
    drop(last);
    let guard = MutexGuard::try_map(mutex.try_lock().unwrap(), |_| None::<&mut u8>).unwrap_err();
    let guard = MutexGuard::try_map(guard, |value| Some(&mut value.1)).unwrap();
    let guard = MappedMutexGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    assert_eq!(*MappedMutexGuard::try_map(guard, |pair| pair.last_mut()).unwrap(), 4);
    let guard = mutex.clone().try_lock_owned().unwrap();
    let guard = OwnedMutexGuard::try_map(guard, |_| None::<&mut u8>).unwrap_err();
    let guard = OwnedMutexGuard::try_map(guard, |value| Some(&mut value.1)).unwrap();
    let mut first = OwnedMappedMutexGuard::map(guard, |pair| &mut pair[0]);
    *first = 5;
    assert!(mutex.try_lock().is_err());
    drop(first);
    assert_eq!(*mutex.try_lock().unwrap(), (1, [5, 4]));
    assert_eq!(Arc::strong_count(&mutex), 1);
}

/// The documented answer to a holder that panics: the lock is free, the value is as it was left.
#[test]
fn a_holder_that_panics_unlocks_and_does_not_poison() {
    let mutex = Arc::new(Mutex::new(vec![1]));
    let end = catch_unwind(AssertUnwindSafe(|| {
        let mut guard = mutex.try_lock().unwrap();
        guard.push(2);
        panic!("half way");
    }));
    assert!(end.is_err());
    assert_eq!(*mutex.try_lock().unwrap(), [1, 2]);
    let end = catch_unwind(AssertUnwindSafe(|| {
        drop(MutexGuard::map(mutex.try_lock().unwrap(), |_| -> &mut u32 { panic!("no part") }));
    }));
    assert!(end.is_err() && mutex.try_lock().is_ok());
}

#[test]
fn waiters_are_served_in_the_order_in_which_they_came() {
    let mutex = Mutex::new(());
    let log = Arc::new(StdMutex::new(Vec::new()));
    let mut held = Some(mutex.try_lock().unwrap());
    let mut waiters: Vec<_> = (0..5)
        .map(|id| {
            let (log, mut waiter) = (log.clone(), Box::pin(mutex.lock()));
            assert!(poll_with(&mut waiter, &call(move || log.lock().unwrap().push(id))).is_pending());
            waiter
        })
        .collect();
    for (id, waiter) in waiters.iter_mut().enumerate() {
        drop(held.take());
        assert_eq!(*log.lock().unwrap(), (0..=id).collect::<Vec<_>>(), "one is woken at a time");
        held = Some(ready(waiter));
    }
    assert!(mutex.try_lock().is_err());
}

/// The bound of the documentation, exactly: so many newcomers pass one that was called and does not come, and no more.
#[test]
fn overtaking_is_bounded_by_number() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut waiter = waiting(mutex.lock());
    drop(guard);
    for _ in 0..MOST_OVERTAKINGS {
        drop(mutex.try_lock().unwrap());
    }
    assert!(mutex.try_lock().is_err(), "the lock is free, and kept");
    let late = waiting(mutex.lock());
    drop(ready(&mut waiter));
    drop(late);
    assert!(mutex.try_lock().is_ok());
}

/// And by the waiter's own look: once it came in vain, nobody passes it any more.
#[test]
fn a_waiter_that_missed_its_call_is_granted_the_lock() {
    let mutex = Arc::new(Mutex::new(0));
    let mut waiter = missed(&mutex);
    drop(mutex.held_guard());
    assert!(mutex.try_lock().is_err(), "it is the waiter's, who did not run yet");
    *ready(&mut waiter) += 1;
    assert_eq!(*mutex.try_lock().unwrap(), 1);
}

/// While the first in line was called and did not come, one behind it that happens to be polled may overtake it too.
#[test]
fn a_waiter_behind_one_that_was_called_may_overtake_it() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let (mut first, mut second) = (waiting(mutex.lock()), waiting(mutex.lock()));
    assert!(poll(&mut second).is_pending() && poll(&mut first).is_pending());
    let (counter, waker) = Counter::new();
    assert!(poll_with(&mut first, &waker).is_pending(), "a new waker is taken");
    drop(guard);
    assert_eq!(counter.count(), 1);
    let overtook = ready(&mut second);
    assert!(poll_with(&mut first, &waker).is_pending());
    drop(overtook);
    assert_eq!(counter.count(), 2);
    drop(ready(&mut first));
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn cancelled_at_each_stage_nothing_is_lost() {
    let mutex = Arc::new(Mutex::new(0));
    drop(mutex.lock()); // never polled
    drop(Box::pin(mutex.clone().lock_owned()));
    let guard = mutex.try_lock().unwrap();
    drop(waiting(mutex.lock())); // in line
    drop(waiting(mutex.clone().lock_owned()));
    let called = waiting(mutex.lock());
    drop(guard);
    drop(called); // called
    let granted = missed(&mutex);
    drop(mutex.held_guard());
    drop(granted); // granted
    assert!(mutex.try_lock().is_ok());
    assert_eq!(Arc::strong_count(&mutex), 1);
}

#[test]
#[should_panic = "polled after it completed"]
fn polled_after_completion() {
    let mutex = Mutex::new(());
    let mut lock = Box::pin(mutex.lock());
    drop(ready(&mut lock));
    let _ = poll(&mut lock);
}

/// A waker that panics when the lock is handed on: the lock is not lost, nor anybody's turn.
#[test]
fn a_waker_that_panics_loses_nothing() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut first = Box::pin(mutex.lock());
    assert!(poll_with(&mut first, &call(|| panic!("a bad waker"))).is_pending());
    let (counter, waker) = Counter::new();
    let mut second = Box::pin(mutex.lock());
    assert!(poll_with(&mut second, &waker).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(guard))).is_err());
    drop(first);
    assert_eq!(counter.count(), 1);
    drop(ready(&mut second));
    assert!(mutex.try_lock().is_ok());
}

/// A waker that locks and unlocks the same mutex: no lock of ours is held then.
#[test]
fn a_waker_may_use_the_mutex() {
    static MUTEX: Mutex<u32> = Mutex::new(0);
    let guard = MUTEX.try_lock().unwrap();
    let mut waiter = Box::pin(MUTEX.lock());
    assert!(poll_with(&mut waiter, &call(|| *MUTEX.try_lock().unwrap() += 1)).is_pending());
    drop(guard);
    assert_eq!(*ready(&mut waiter), 1);
}
