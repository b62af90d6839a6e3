use super::*;
use crate::block_on_simple;
use crate::kit::{poll, waiting};
use crate::prim::{self, UnsafeCell};
use std::sync::Arc;

struct Shared {
    notify: Notify,
    data: UnsafeCell<u32>,
    flag: AtomicBool,
}
// SAFETY: the cell is written before a notification and read after it, which loom checks.
unsafe impl Sync for Shared {}

fn shared() -> Arc<Shared> {
    Arc::new(Shared { notify: Notify::new(), data: UnsafeCell::new(0), flag: AtomicBool::new(false) })
}

// mutation: notify-permit-not-released
// - in crates/core/src/sync/notify.rs: `self.permit.store(true, Ordering::Release);`
// + `self.permit.store(true, Ordering::Relaxed);`
// mutation: notify-permit-not-acquired
// - in crates/core/src/sync/notify.rs: `self.permit.swap(false, Ordering::Acquire)`
// + `self.permit.swap(false, Ordering::Relaxed)`
// mutation: notify-one-stores-nothing
// - in crates/core/src/sync/notify.rs: `self.queue.wake_one_or(|| self.store_permit());`
// + `self.queue.wake_one_or(|| ());`
// mutation: notify-does-not-ask-for-the-permit-again
// - in crates/core/src/sync/notify.rs: `let asked = || !notify.has_passed(rounds) && !notify.take_permit();`
// + `let asked = || !notify.has_passed(rounds);`
#[test]
fn model_notify_one_against_notified() {
    prim::model(|| {
        let shared = shared();
        let other = shared.clone();
        let thread = prim::thread::spawn(move || {
            // SAFETY: before the notification nobody else touches it.
            other.data.with_mut(|data| unsafe { *data = 7 });
            other.notify.notify_one();
        });
        block_on_simple(shared.notify.notified());
        // SAFETY: notified, so the writer is done with it.
        assert_eq!(shared.data.with(|data| unsafe { *data }), 7);
        thread.join().unwrap();
        assert!(!shared.notify.permit.load(Ordering::Relaxed), "handed over or stored and taken, not both");
    });
}

/// Nothing but the look at its own word tells it: no parker, no lock.
// mutation: notified-outcome-not-acquired
// - in crates/core/src/wait_queue/wait.rs: `load(Ordering::Acquire); // by its last poll`
// + `load(Ordering::Relaxed);`
#[test]
fn model_notify_is_seen_by_a_look() {
    prim::model(|| {
        let shared = shared();
        let other = shared.clone();
        let mut notified = core::pin::pin!(shared.notify.notified());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(notified.as_mut().poll(&mut cx).is_pending());
        let thread = prim::thread::spawn(move || {
            // SAFETY: before the notification nobody else touches it.
            other.data.with_mut(|data| unsafe { *data = 7 });
            other.notify.notify_one();
        });
        if notified.as_mut().is_called() {
            // SAFETY: notified, so the writer is done with it.
            assert_eq!(shared.data.with(|data| unsafe { *data }), 7);
        }
        thread.join().unwrap();
        assert!(notified.as_mut().poll(&mut cx).is_ready());
    });
}

// mutation: notify-waiters-counts-no-rounds
// - in crates/core/src/sync/notify.rs: `self.rounds.store(next, Ordering::Release);`
// + `self.rounds.store(next.wrapping_sub(1), Ordering::Release);`
// mutation: notify-does-not-ask-for-the-round-again
// - in crates/core/src/sync/notify.rs: `let asked = || !notify.has_passed(rounds) && !notify.take_permit();`
// + `let asked = || !notify.take_permit();`
#[test]
fn model_notify_waiters_reaches_who_was_made_before_and_not_polled() {
    prim::model(|| {
        let shared = shared();
        let made = shared.notify.notified();
        let other = shared.clone();
        let thread = prim::thread::spawn(move || other.notify.notify_waiters());
        block_on_simple(made);
        thread.join().unwrap();
    });
}

// mutation: notify-waiters-round-not-released
// - in crates/core/src/sync/notify.rs: `self.rounds.store(next, Ordering::Release);`
// + `self.rounds.store(next, Ordering::Relaxed);`
// mutation: notified-round-not-acquired
// - in crates/core/src/sync/notify.rs: `let rounds = self.rounds.load(Ordering::Acquire);`
// + `let rounds = self.rounds.load(Ordering::Relaxed);`
#[test]
fn model_notify_waiters_against_making_then_looking() {
    prim::model(|| {
        let shared = shared();
        let other = shared.clone();
        let thread = prim::thread::spawn(move || {
            other.flag.store(true, Ordering::Relaxed);
            other.notify.notify_waiters();
        });
        let made = shared.notify.notified();
        if !shared.flag.load(Ordering::Relaxed) {
            block_on_simple(made);
        }
        assert!(shared.flag.load(Ordering::Relaxed));
        thread.join().unwrap();
    });
}

// mutation: notified-drop-keeps-the-turn
// - in crates/core/src/sync/notify.rs: `.cancel() {`
// + `.cancel() && false {`
#[test]
fn model_notify_dropping_a_notified_waiter_passes_it_on() {
    prim::model(|| {
        let shared = shared();
        let first = waiting(shared.notify.notified());
        let mut second = waiting(shared.notify.notified());
        let other = shared.clone();
        let thread = prim::thread::spawn(move || other.notify.notify_one());
        drop(first);
        thread.join().unwrap();
        assert!(poll(&mut second).is_ready());
    });
}

// mutation: notified-drop-wakes-but-does-not-store
// - in crates/core/src/sync/notify.rs: `self.notify.notify_one(); // NT4`
// + `self.notify.queue.wake_one();`
#[test]
fn model_notify_dropping_the_only_notified_waiter_stores_it() {
    prim::model(|| {
        let shared = shared();
        let only = waiting(shared.notify.notified());
        let other = shared.clone();
        let thread = prim::thread::spawn(move || other.notify.notify_one());
        drop(only);
        thread.join().unwrap();
        assert!(poll(&mut Box::pin(shared.notify.notified())).is_ready());
    });
}

// mutation: notify-last-goes-to-the-released
// - in crates/core/src/wait_queue.rs: `let last = self.waiting.back()?;`
// + `let last = self.releasing.back().or(self.waiting.back())?;`
#[test]
fn model_notify_last_against_notify_waiters() {
    prim::model(|| {
        let shared = shared();
        let mut first = waiting(shared.notify.notified());
        let mut second = waiting(shared.notify.notified());
        let other = shared.clone();
        let thread = prim::thread::spawn(move || other.notify.notify_waiters());
        shared.notify.notify_last();
        thread.join().unwrap();
        assert!(poll(&mut first).is_ready() && poll(&mut second).is_ready());
        // The last was chosen before it was released, or the permit is there.
        let stored = shared.notify.permit.load(Ordering::Relaxed);
        assert_eq!(poll(&mut Box::pin(shared.notify.notified())).is_ready(), stored);
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;
    use crate::kit::{Counter, panicking_waker, poll_with};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn permits_do_not_add_up() {
        static NOTIFY: Notify = Notify::new();
        NOTIFY.notify_one();
        NOTIFY.notify_last();
        block_on_simple(NOTIFY.notified());
        assert!(poll(&mut Box::pin(NOTIFY.notified())).is_pending());
    }

    #[test]
    fn one_goes_to_the_first_and_last_to_the_last() {
        let notify = Notify::new();
        let mut waits: Vec<_> = (0..4).map(|_| waiting(notify.notified())).collect();
        notify.notify_last();
        notify.notify_one();
        let ready: Vec<_> = waits.iter_mut().map(|wait| poll(wait).is_ready()).collect();
        assert_eq!(ready, [true, false, false, true]);
    }

    #[test]
    fn waiters_stores_nothing_and_leaves_a_permit_alone() {
        let notify = Notify::new();
        notify.notify_waiters();
        assert!(poll(&mut Box::pin(notify.notified())).is_pending());
        notify.notify_one();
        let before = notify.notified();
        notify.notify_waiters();
        block_on_simple(before);
        block_on_simple(notify.notified()); // the permit is still there
    }

    #[test]
    fn an_enabled_one_is_in_line_and_told_once() {
        let notify = Notify::new();
        let (mut enabled, mut later) = (Box::pin(notify.notified()), waiting(notify.notified()));
        assert!(!enabled.as_mut().enable());
        drop(later);
        later = waiting(notify.notified());
        notify.notify_one();
        assert!(enabled.as_mut().enable() && enabled.as_mut().enable());
        assert!(poll(&mut enabled).is_ready() && poll(&mut enabled).is_ready(), "and again");
        drop(enabled);
        assert!(poll(&mut later).is_pending(), "it was used up");
    }

    #[test]
    fn the_waker_of_the_last_poll_counts() {
        let notify = Notify::new();
        let mut enabled = Box::pin(notify.notified());
        assert!(!enabled.as_mut().enable());
        let (counter, waker) = Counter::new();
        assert!(poll_with(&mut enabled, &waker).is_pending());
        notify.notify_waiters();
        assert_eq!(counter.count(), 1);
    }

    #[test]
    fn a_waker_that_panics_has_been_notified() {
        let notify = Notify::new();
        let (mut bad, mut good) = (Box::pin(notify.notified()), waiting(notify.notified()));
        assert!(poll_with(&mut bad, &panicking_waker()).is_pending());
        notify.notify_one();
        assert!(poll(&mut good).is_ready());
        assert!(catch_unwind(AssertUnwindSafe(|| notify.notify_one())).is_err());
        assert!(poll(&mut bad).is_ready());
    }

    #[test]
    fn futures_may_travel_between_threads() {
        fn may_travel<T: Send + Sync>(_: &T) {}
        let notify = Notify::new();
        may_travel(&notify);
        may_travel(&notify.notified());
    }
}
