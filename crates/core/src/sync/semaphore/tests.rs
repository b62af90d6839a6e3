use super::*;
use crate::kit::{Counter, poll, poll_with, ready, waiting};
use crate::prim::{self, UnsafeCell};
use std::sync::Arc;

// mutation: permits-called-one-does-not-serve-the-next
// - in crates/core/src/sync/permits/claim.rs: `Serve::waiting(self).run(line); // there may be more than it took`
// + `drop(line);`
#[test]
fn model_semaphore_permits_added_while_one_is_called() {
    prim::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let (counter, waker) = Counter::new();
        let (mut first, mut second) = (waiting(semaphore.acquire()), Box::pin(semaphore.acquire()));
        assert!(poll_with(&mut second, &waker).is_pending());
        semaphore.add_permits(1).unwrap(); // calls the first
        let other = semaphore.clone();
        let thread = prim::thread::spawn(move || other.add_permits(1).unwrap());
        let one = ready(&mut first);
        thread.join().unwrap();
        assert_eq!(counter.count(), 1);
        drop((one, ready(&mut second)));
        assert_eq!(semaphore.available_permits(), 2);
    });
}

/// A large request leaves while permits come that are enough for the small one behind it.
// mutation: permits-small-ones-are-forgotten
// - in crates/core/src/sync/permits/claim.rs: `Serve::waiting(self).run(line); // who is first now may want less`
// + `drop(line);`
#[test]
fn model_semaphore_large_request_leaves_against_release() {
    prim::model(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let permit = semaphore.clone().try_acquire_owned().unwrap();
        let large = waiting(semaphore.acquire_many(2));
        let (counter, waker) = Counter::new();
        let mut small = Box::pin(semaphore.acquire());
        assert!(poll_with(&mut small, &waker).is_pending());
        let thread = prim::thread::spawn(move || drop(permit));
        drop(large);
        thread.join().unwrap();
        assert_eq!(counter.count(), 1);
        drop(ready(&mut small));
        assert_eq!(semaphore.available_permits(), 1);
    });
}

// mutation: permits-close-tells-nobody
// - in crates/core/src/sync/permits.rs: `Serve::closing(self).run(line);`
// + `drop(line);`
// mutation: permits-enter-after-close
// - in crates/core/src/sync/permits/word.rs: `_ if now.is_closed() => return Queued::Closed,`
// + `_ if false => return Queued::Closed,`
// mutation: permits-closed-is-granted
// - in crates/core/src/sync/permits/serve.rs: `Waiter::settle(node, state::CLOSED)`
// + `Waiter::settle(node, state::GRANTED)`
#[test]
fn model_semaphore_close_against_acquire() {
    prim::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let other = semaphore.clone();
        let thread = prim::thread::spawn(move || other.close());
        assert_eq!(crate::block_on_simple(semaphore.acquire()).unwrap_err(), AcquireError::Closed);
        assert!(thread.join().unwrap());
        assert_eq!(semaphore.available_permits(), 0);
    });
}

/// Whoever was called when it is closed is told; whoever was granted its permits keeps them.
// mutation: permits-closed-counts-as-granted
// - in crates/core/src/sync/permits/serve.rs: `Waiter::settle(node, state::CLOSED)`
// + `Waiter::settle(node, state::GRANTED)`
#[test]
fn model_semaphore_close_against_release() {
    prim::model(|| {
        let semaphore = Arc::new(Semaphore::new(1));
        let permit = semaphore.clone().try_acquire_owned().unwrap();
        let mut waiter = waiting(semaphore.acquire());
        let thread = prim::thread::spawn(move || drop(permit));
        semaphore.close();
        thread.join().unwrap();
        assert_eq!(ready(&mut waiter).unwrap_err(), AcquireError::Closed);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

// mutation: permits-reduced-while-they-are-granted
// - in crates/core/src/sync/permits.rs: `let _nobody_is_served_meanwhile = self.line.lock();`
// + `let _ = self.line.lock();`
#[test]
fn model_semaphore_forget_permits_against_grant() {
    prim::model(|| {
        let semaphore = Arc::new(Semaphore::new(0));
        let mut waiters = [waiting(semaphore.acquire()), waiting(semaphore.acquire())];
        let other = semaphore.clone();
        let thread = prim::thread::spawn(move || other.add_permits(2).unwrap());
        let gone = semaphore.forget_permits(2);
        thread.join().unwrap();
        let had = waiters.iter_mut().filter_map(|waiter| match poll(waiter) {
            Poll::Ready(permit) => Some(permit.unwrap()),
            Poll::Pending => None,
        });
        let had: Vec<_> = had.collect();
        assert_eq!(had.len() + gone, 2, "{semaphore:?}");
        drop((had, waiters));
        assert_eq!(semaphore.available_permits(), 2 - gone);
    });
}

// mutation: permits-grant-does-not-acquire
// - in crates/core/src/sync/permits/word.rs: `self.bits.fetch_sub((n << PERMIT_SHIFT) + flag, Acquire)`
// + `self.bits.fetch_sub((n << PERMIT_SHIFT) + flag, Relaxed)`
#[test]
fn model_semaphore_permits_granted_on_behalf_of_another_carry_its_data() {
    struct Shared(Semaphore, UnsafeCell<u32>);
    // SAFETY: the cell is written before its permits are added and read by who has them, which loom checks.
    unsafe impl Sync for Shared {}
    // SAFETY: an integer and a semaphore.
    unsafe impl Send for Shared {}
    prim::model(|| {
        let shared = Arc::new(Shared(Semaphore::new(0), UnsafeCell::new(0)));
        let semaphore = &shared.0;
        let first = waiting(semaphore.acquire());
        let (mut second, third) = (waiting(semaphore.acquire_many(2)), waiting(semaphore.acquire()));
        semaphore.add_permits(1).unwrap(); // calls the first
        let other = shared.clone();
        let thread = prim::thread::spawn(move || {
            // SAFETY: nobody reads before the second has its permits, for which these are needed.
            other.1.with_mut(|value| unsafe { *value = 7 });
            other.0.add_permits(2).unwrap();
        });
        drop(first); // serves the second, if the permits are there already
        if let Poll::Ready(permits) = poll(&mut second) {
            // SAFETY: see above.
            assert_eq!(shared.1.with(|value| unsafe { *value }), 7);
            drop(permits);
        }
        thread.join().unwrap();
        drop((second, third));
        assert_eq!(semaphore.available_permits(), 3);
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain;
