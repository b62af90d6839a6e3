use super::*;
use crate::block_on_simple;
use crate::prim;

// mutation: watch-change-wakes-nobody
// - in crates/core/src/channel/watch.rs: `self.changed.wake_all(); // a change (WA3)`
// + `;`
// mutation: watch-change-has-no-version
// - in crates/core/src/channel/watch.rs: `self.version.fetch_add(STEP, Ordering::Release); // WA1`
// + `self.version.fetch_add(0, Ordering::Release);`
// mutation: watch-waits-without-looking
// - in crates/core/src/channel/watch/receiver.rs: `let same = || self.version.load(Ordering::Relaxed) == seen;`
// + `let same = || true;`
#[test]
fn model_watch_send_against_changed() {
    prim::model(|| {
        let (sender, mut receiver) = channel(0);
        let thread = prim::thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        });
        block_on_simple(receiver.changed()).unwrap();
        assert_eq!(*receiver.borrow(), 1);
        assert_eq!(receiver.has_changed(), Ok(false));
        drop(thread.join().unwrap());
    });
}

// mutation: watch-version-of-another-value
// - in crates/core/src/channel/watch.rs: `let version = self.version.load(Ordering::Acquire) & !CLOSED; // WA1`
// + `drop(value); let version = self.version.load(Ordering::Acquire) & !CLOSED; let value = self.value.read();`
#[test]
fn model_watch_the_version_belongs_to_the_value() {
    prim::model(|| {
        let (sender, mut receiver) = channel(0);
        let thread = prim::thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        });
        let value = *receiver.borrow_and_update();
        let sender = thread.join().unwrap();
        assert_eq!(receiver.has_changed(), Ok(value == 0));
        drop(sender);
    });
}

// mutation: watch-reads-while-it-is-written
// - in crates/core/src/channel/watch/lent.rs: `if now & WRITING != 0 {`
// + `if false {`
// mutation: watch-writes-while-it-is-read
// - in crates/core/src/channel/watch/lent.rs: `if now & !WANTED == 0 {`
// + `if now & WRITING == 0 {`
// mutation: watch-reader-goes-without-release
// - in crates/core/src/channel/watch/lent.rs: `let before = self.lent.word.fetch_sub(READER, Ordering::Release);`
// + `let before = self.lent.word.fetch_sub(READER, Ordering::Relaxed);`
// mutation: watch-writer-goes-without-release
// - in crates/core/src/channel/watch/lent.rs: `self.lent.word.fetch_sub(WRITING, Ordering::Release);`
// + `self.lent.word.fetch_sub(WRITING, Ordering::Relaxed);`
// mutation: watch-comes-without-acquire
// - in crates/core/src/channel/watch/lent.rs: `self.word.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()`
// + `self.word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()`
// mutation: watch-writer-wakes-nobody
// - in crates/core/src/channel/watch/lent.rs: `self.lent.gate.wake_all(); // the writer goes (WL3)`
// + `;`
#[test]
fn model_watch_a_value_is_lent_or_changed() {
    prim::model(|| {
        let (sender, receiver) = channel([0, 0]);
        let thread = prim::thread::spawn(move || {
            sender.send_modify(|value| {
                value[0] += 1;
                value[1] += 1;
            });
        });
        for _ in 0..2 {
            let value = receiver.borrow();
            assert_eq!(value[0], value[1]);
        }
        thread.join().unwrap();
    });
}

// mutation: watch-last-reader-wakes-nobody
// - in crates/core/src/channel/watch/lent.rs: `self.lent.gate.wake_all(); // the last reader goes (WL3)`
// + `;`
// mutation: watch-writer-waits-without-saying-so
// - in crates/core/src/channel/watch/lent.rs: `} else if now & WANTED != 0 || self.try_move(now, now | WANTED) {`
// + `} else {`
#[test]
fn model_watch_two_writers_and_a_reader_all_get_through() {
    prim::model(|| {
        let lent = Arc::new(Lent::new(0));
        let reading = lent.read();
        let threads = [1, 10].map(|by| {
            let lent = lent.clone();
            prim::thread::spawn(move || *lent.write() += by)
        });
        assert_eq!(*reading, 0);
        drop(reading);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*lent.read(), 11);
    });
}

// mutation: watch-closing-wakes-nobody
// - in crates/core/src/channel/watch.rs: `self.shared.changed.wake_all(); // closed (WA3)`
// + `;`
// mutation: watch-does-not-close
// - in crates/core/src/channel/watch.rs: `self.shared.version.fetch_add(CLOSED, Ordering::Release); // WA2`
// + `;`
#[test]
fn model_watch_the_last_sender_goes_against_changed() {
    prim::model(|| {
        let (sender, mut receiver) = channel(0);
        let thread = prim::thread::spawn(move || {
            sender.send(1).unwrap();
        });
        assert_eq!(block_on_simple(receiver.changed()), Ok(()));
        assert_eq!(block_on_simple(receiver.changed()), Err(RecvError));
        thread.join().unwrap();
        assert_eq!(*receiver.borrow(), 1);
    });
}

// mutation: watch-last-receiver-wakes-nobody
// - in crates/core/src/channel/watch/receiver.rs: `self.shared.left.wake_all(); // WA3`
// + `;`
#[test]
fn model_watch_closed_against_the_last_receiver() {
    prim::model(|| {
        let (sender, receiver) = channel(0);
        let another = receiver.clone();
        let threads = [receiver, another].map(|receiver| prim::thread::spawn(move || drop(receiver)));
        block_on_simple(sender.closed());
        assert_eq!(sender.send(1), Err(SendError(1)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;
    use crate::kit::{Census, Counter, panicking_waker, poll, poll_with, waiting};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    #[test]
    fn only_the_latest_counts() {
        let (sender, mut receiver) = channel("a");
        assert_eq!(receiver.has_changed(), Ok(false));
        sender.send("b").unwrap();
        assert!(receiver.borrow().has_changed());
        assert_eq!(receiver.has_changed(), Ok(true), "a borrow is no update");
        sender.send("c").unwrap();
        assert_eq!(*receiver.borrow_and_update(), "c");
        assert!(!receiver.borrow().has_changed());
        assert_eq!(receiver.has_changed(), Ok(false));
    }

    #[test]
    fn a_last_value_is_seen_before_the_end() {
        let (sender, mut receiver) = channel(0);
        sender.send(1).unwrap();
        drop(sender);
        assert_eq!(receiver.has_changed(), Ok(true));
        assert_eq!(block_on_simple(receiver.changed()), Ok(()));
        assert_eq!(receiver.has_changed(), Err(RecvError));
        assert_eq!(block_on_simple(receiver.changed()), Err(RecvError));
        receiver.mark_changed();
        assert_eq!(block_on_simple(receiver.changed()), Ok(()));
    }

    #[test]
    fn clones_and_subscribers_know_what_they_have_seen() {
        let (sender, mut first) = channel(0);
        sender.send(1).unwrap();
        let (mut clone, late) = (first.clone(), sender.subscribe());
        first.mark_unchanged();
        assert_eq!(
            (first.has_changed(), clone.has_changed(), late.has_changed()),
            (Ok(false), Ok(true), Ok(false))
        );
        assert_eq!(block_on_simple(clone.changed()), Ok(()));
        assert_eq!((sender.receiver_count(), sender.sender_count()), (3, 1));
        assert!(first.same_channel(&late) && !first.same_channel(&channel(0).1));
    }

    #[test]
    fn without_receivers_a_value_comes_back_or_is_stored_all_the_same() {
        let (sender, receiver) = channel(0);
        drop(receiver);
        assert_eq!(sender.send(1), Err(SendError(1)));
        assert_eq!(sender.send_replace(2), 0);
        assert_eq!(*sender.subscribe().borrow(), 2);
    }

    #[test]
    fn a_change_that_is_none_wakes_nobody() {
        let (sender, mut receiver) = channel(0);
        let (counter, waker) = Counter::new();
        let mut changed = Box::pin(receiver.changed());
        assert!(poll_with(&mut changed, &waker).is_pending());
        assert!(!sender.send_if_modified(|_| false));
        assert_eq!(counter.count(), 0);
        sender.send_modify(|value| *value = 5);
        assert_eq!(counter.count(), 1);
        assert_eq!(poll(&mut changed), core::task::Poll::Ready(Ok(())));
    }

    #[test]
    fn wait_for_looks_first_and_after_each_change() {
        let (sender, mut receiver) = channel(3);
        assert_eq!(*block_on_simple(receiver.wait_for(|value| *value == 3)).unwrap(), 3);
        let mut waits = waiting(receiver.wait_for(|value| *value > 4));
        sender.send(4).unwrap();
        assert!(poll(&mut waits).is_pending());
        sender.send(5).unwrap();
        drop(sender);
        assert!(matches!(poll(&mut waits), core::task::Poll::Ready(Ok(value)) if *value == 5));
        drop(waits);
        assert!(block_on_simple(receiver.wait_for(|value| *value == 6)).is_err());
    }

    #[test]
    fn a_panic_while_it_is_changed_tells_nobody_and_locks_nothing() {
        let (sender, receiver) = channel(0);
        let bang = AssertUnwindSafe(|| {
            sender.send_modify(|value| {
                *value = 1;
                panic!("bang");
            });
        });
        assert!(catch_unwind(bang).is_err());
        assert_eq!(receiver.has_changed(), Ok(false));
        assert_eq!(*receiver.borrow(), 1);
        sender.send(2).unwrap();
    }

    #[test]
    fn a_waker_that_panics_leaves_the_others_woken_and_the_value_sent() {
        let (sender, mut first) = channel(0);
        let mut second = first.clone();
        let mut bad = Box::pin(first.changed());
        assert!(poll_with(&mut bad, &panicking_waker()).is_pending());
        let mut good = waiting(second.changed());
        assert!(catch_unwind(AssertUnwindSafe(|| sender.send(1))).is_err());
        assert!(poll(&mut good).is_ready() && poll(&mut bad).is_ready());
    }

    /// A value whose drop looks at the channel: it would wait for ever if it were dropped while the value is locked.
    #[test]
    fn an_old_value_is_dropped_when_the_new_one_can_be_seen() {
        struct Looks(Option<Receiver<Looks>>, u32);
        impl Drop for Looks {
            fn drop(&mut self) {
                if let Some(receiver) = self.0.take() {
                    assert_eq!(receiver.borrow().1, 2);
                }
            }
        }
        let (sender, receiver) = channel(Looks(None, 0));
        sender.send_replace(Looks(Some(receiver.clone()), 1));
        assert!(sender.send(Looks(None, 2)).is_ok());
    }

    #[test]
    fn all_values_are_dropped_once() {
        let census = Census::default();
        let (sender, receiver) = channel(census.citizen(0));
        for id in 1..5 {
            assert!(sender.send(census.citizen(id)).is_ok());
            assert_eq!(census.alive(), 1);
        }
        drop(receiver);
        drop(sender.send(census.citizen(9)));
        assert_eq!(census.alive(), 1);
        drop(sender);
        assert_eq!(census.alive(), 0);
    }

    /// The second borrow holds back for the writer, but not for ever.
    #[test]
    fn borrowing_twice_while_a_sender_waits() {
        let (sender, receiver) = channel(0);
        let first = receiver.borrow();
        let about_to = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                about_to.store(true, SeqCst);
                sender.send(1).unwrap();
            });
            while !about_to.load(SeqCst) {
                std::thread::yield_now();
            }
            for _ in 0..100 {
                assert_eq!(*receiver.borrow(), 0);
            }
            drop(first);
        });
        assert_eq!(*receiver.borrow(), 1);
    }

    #[test]
    fn what_may_travel() {
        fn may_travel<T: Send + Sync>(_: &T) {}
        let (sender, mut receiver) = channel(0);
        may_travel(&sender.closed());
        may_travel(&receiver.changed());
        fn is_send<T: Send>(_: &T) {}
        is_send(&receiver.wait_for(|_| true));
        may_travel(&(sender, receiver));
    }
}
