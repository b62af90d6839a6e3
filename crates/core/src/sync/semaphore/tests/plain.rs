use super::*;
use crate::kit::{call, now};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::string::ToString;

#[test]
fn permits_and_futures_may_travel() {
    fn sends<T: Send + Sync>(_: &T) {}
    static SEMAPHORE: Semaphore = Semaphore::new(1);
    sends(&SEMAPHORE);
    sends(&SEMAPHORE.acquire());
    sends(&SEMAPHORE.try_acquire().unwrap());
    let shared = Arc::new(Semaphore::new(1));
    sends(&shared.clone().acquire_owned());
    sends(&shared.try_acquire_owned().unwrap());
}

/// An owned future that is dropped at any stage gives back its turn and its `Arc`.
#[test]
fn owned_futures_cancelled_at_each_stage_lose_nothing() {
    let semaphore = Arc::new(Semaphore::new(2));
    drop(semaphore.clone().acquire_owned()); // never polled
    drop(semaphore.clone().acquire_many_owned(2));
    let both = semaphore.try_acquire_many(2).unwrap();
    drop(waiting(semaphore.clone().acquire_owned())); // in line
    drop(waiting(semaphore.clone().acquire_many_owned(2)));
    let called = waiting(semaphore.clone().acquire_many_owned(2));
    let mut next = waiting(semaphore.clone().acquire_owned());
    drop(both);
    drop(called); // called: the turn goes to the next
    drop(ready(&mut next).unwrap());
    let both = semaphore.try_acquire_many(2).unwrap();
    let (granted, last) =
        (waiting(semaphore.clone().acquire_owned()), waiting(semaphore.clone().acquire_owned()));
    drop(both);
    assert_eq!(semaphore.available_permits(), 1, "one of them is granted, the other called");
    drop((granted, last, next));
    assert_eq!(semaphore.available_permits(), 2);
    assert_eq!(Arc::strong_count(&semaphore), 1);
}

#[test]
fn permits_come_and_go() {
    let semaphore = Arc::new(Semaphore::new(3));
    let one = now(semaphore.acquire()).unwrap();
    let two = now(semaphore.clone().acquire_many_owned(2)).unwrap();
    assert_eq!((one.permits(), two.permits(), semaphore.available_permits()), (1, 2, 0));
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    assert!(Arc::ptr_eq(two.semaphore(), &semaphore));
    drop((one, two));
    drop(now(semaphore.clone().acquire_owned()).unwrap());
    drop(semaphore.clone().try_acquire_many_owned(3).unwrap());
    assert_eq!(format!("{semaphore:?}"), "Semaphore { available: 3, closed: false, .. }");
    assert_eq!(Arc::strong_count(&semaphore), 1);
}

#[test]
fn none_can_always_be_had_and_too_many_never() {
    let semaphore = Arc::new(Semaphore::new(0));
    let _first = waiting(semaphore.acquire());
    assert_eq!(now(semaphore.acquire_many(0)).unwrap().permits(), 0);
    assert_eq!(semaphore.try_acquire_many(0).unwrap().permits(), 0);
    let asked = Semaphore::MAX_PERMITS + 1;
    assert_eq!(now(semaphore.acquire_many(asked)).unwrap_err(), AcquireError::TooMany { asked });
    assert_eq!(
        now(semaphore.clone().acquire_many_owned(asked)).unwrap_err(),
        AcquireError::TooMany { asked }
    );
    let refused = semaphore.try_acquire_many(asked).unwrap_err();
    assert_eq!(refused, TryAcquireError::TooMany { asked });
    let (max, text) = (Semaphore::MAX_PERMITS.to_string(), refused.to_string());
    assert!(text.contains("acquire_many") && text.contains(&max), "{text}");
    semaphore.close();
    assert_eq!(now(semaphore.acquire_many(0)).unwrap_err(), AcquireError::Closed);
    assert_eq!(semaphore.try_acquire_many(0).unwrap_err(), TryAcquireError::Closed);
}

/// Free and held permits together are bounded: giving back what was taken cannot overflow.
#[test]
fn adding_too_many_is_an_error_and_adds_none() {
    let semaphore = Semaphore::new(Semaphore::MAX_PERMITS);
    let held = semaphore.try_acquire_many(10).unwrap();
    let refused = semaphore.add_permits(1).unwrap_err().to_string();
    assert!(refused.contains("add_permits") && refused.contains("none was added"), "{refused}");
    held.forget();
    semaphore.add_permits(10).unwrap();
    assert!(semaphore.add_permits(1).is_err() && semaphore.add_permits(usize::MAX).is_err());
    assert_eq!(semaphore.available_permits(), Semaphore::MAX_PERMITS);
    assert_eq!(semaphore.forget_permits(usize::MAX), Semaphore::MAX_PERMITS);
    assert_eq!(semaphore.available_permits(), 0);
    semaphore.add_permits(Semaphore::MAX_PERMITS).unwrap();
}

#[test]
#[should_panic = "MAX_PERMITS"]
fn a_semaphore_with_too_many() {
    let _ = Semaphore::new(Semaphore::MAX_PERMITS + 1);
}

#[test]
fn forgotten_permits_are_gone() {
    let semaphore = Arc::new(Semaphore::new(3));
    semaphore.try_acquire().unwrap().forget();
    semaphore.clone().try_acquire_owned().unwrap().forget();
    assert_eq!((semaphore.available_permits(), Arc::strong_count(&semaphore)), (1, 1));
    assert_eq!((semaphore.forget_permits(5), semaphore.available_permits()), (1, 0));
    semaphore.add_permits(2).unwrap();
    assert_eq!(semaphore.available_permits(), 2);
}

#[test]
fn permits_split_and_merge() {
    let (semaphore, another) = (Arc::new(Semaphore::new(4)), Arc::new(Semaphore::new(1)));
    let mut lot = semaphore.try_acquire_many(3).unwrap();
    assert!(lot.split(4).is_none());
    let part = lot.split(2).unwrap();
    assert_eq!((lot.permits(), part.permits()), (1, 2));
    lot.merge(part).unwrap();
    assert_eq!((lot.permits(), semaphore.available_permits()), (3, 1));
    let foreign = lot.merge(another.try_acquire().unwrap()).unwrap_err();
    drop((lot, foreign));
    let mut lot = semaphore.clone().try_acquire_many_owned(4).unwrap();
    let part = lot.split(1).unwrap();
    drop(lot.split(1));
    lot.merge(part).unwrap();
    assert_eq!((lot.permits(), semaphore.available_permits()), (3, 1));
    assert!(lot.merge(another.clone().try_acquire_owned().unwrap()).is_err());
    drop(lot);
    assert_eq!((semaphore.available_permits(), another.available_permits()), (4, 1));
}

#[test]
fn a_large_request_is_not_starved_by_small_ones() {
    let semaphore = Semaphore::new(3);
    let held = semaphore.try_acquire().unwrap();
    let mut large = waiting(semaphore.acquire_many(3));
    assert_eq!(semaphore.available_permits(), 2);
    assert_eq!(
        semaphore.try_acquire().unwrap_err(),
        TryAcquireError::NoPermits,
        "they are for the large one"
    );
    let mut small = waiting(semaphore.acquire());
    drop(held);
    let large = ready(&mut large).unwrap();
    assert!(poll(&mut small).is_pending());
    drop(large);
    drop(ready(&mut small).unwrap());
    assert_eq!(semaphore.available_permits(), 3);
}

/// All whom the permits serve are woken by the one call that brought them.
#[test]
fn many_are_served_at_once() {
    let semaphore = Semaphore::new(0);
    let (counter, waker) = Counter::new();
    let mut waiters: Vec<_> = (0..100).map(|_| Box::pin(semaphore.acquire())).collect();
    assert!(waiters.iter_mut().all(|waiter| poll_with(waiter, &waker).is_pending()));
    semaphore.add_permits(40).unwrap();
    assert_eq!(counter.count(), 40);
    let had: Vec<_> = waiters[..40].iter_mut().map(|waiter| ready(waiter).unwrap()).collect();
    assert!(poll(&mut waiters[40]).is_pending());
    drop((had, waiters));
    assert_eq!(semaphore.available_permits(), 40);
}

#[test]
fn closing_tells_all_who_wait_and_spares_who_has() {
    let semaphore = Semaphore::new(2);
    let held = semaphore.try_acquire_many(2).unwrap();
    let (counter, waker) = Counter::new();
    let mut waiters: Vec<_> = (0..20).map(|_| Box::pin(semaphore.acquire())).collect();
    assert!(waiters.iter_mut().all(|waiter| poll_with(waiter, &waker).is_pending()));
    drop(held); // one is granted its permit, one is called
    assert!(semaphore.close());
    assert!(!semaphore.close() && semaphore.is_closed());
    assert_eq!(counter.count(), 20);
    let first = ready(&mut waiters[0]).unwrap();
    assert!(waiters[1..].iter_mut().all(|waiter| ready(waiter).unwrap_err() == AcquireError::Closed));
    drop(first);
    assert_eq!(semaphore.available_permits(), 2);
    assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
}

/// The permits that a called waiter was to have may be taken away again: then it goes on waiting.
#[test]
fn permits_forgotten_under_a_called_waiter() {
    let semaphore = Semaphore::new(0);
    let mut waiter = waiting(semaphore.acquire());
    semaphore.add_permits(1).unwrap();
    assert_eq!(semaphore.forget_permits(1), 1);
    assert!(poll(&mut waiter).is_pending());
    semaphore.add_permits(1).unwrap();
    drop(ready(&mut waiter).unwrap());
}

/// A waker that panics in the middle of many: the others are served all the same.
#[test]
fn a_waker_that_panics_loses_nothing() {
    let semaphore = Semaphore::new(0);
    let (counter, waker) = Counter::new();
    let mut waiters: Vec<_> = (0..30).map(|_| Box::pin(semaphore.acquire())).collect();
    for (id, waiter) in waiters.iter_mut().enumerate() {
        let bad = call(|| panic!("a bad waker"));
        assert!(poll_with(waiter, if id == 3 { &bad } else { &waker }).is_pending());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(30))).is_err());
    assert_eq!(counter.count(), 29);
    assert_eq!(waiters.iter_mut().map(|waiter| usize::from(poll(waiter).is_ready())).sum::<usize>(), 30);
    assert_eq!(semaphore.available_permits(), 30);
}
