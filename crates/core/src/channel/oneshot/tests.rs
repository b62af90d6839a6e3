use super::*;
use crate::kit::Counter;
use crate::prim::{self, Arc};
use crate::{block_on_simple, noop_waker};
use core::task::Poll;

fn poll_now<T>(receiver: &mut Receiver<T>, waker: &Waker) -> Poll<Result<T, RecvError>> {
    Pin::new(receiver).poll(&mut Context::from_waker(waker))
}

// mutation: oneshot-fill-not-released
// - in crates/core/src/channel/oneshot/word.rs: `let before = self.0.fetch_add(FILLED, AcqRel);`
// + `let before = self.0.fetch_add(FILLED, Acquire);`
// mutation: oneshot-look-not-acquired
// - in crates/core/src/channel/oneshot/word.rs: `Seen(self.0.load(Acquire))`
// + `Seen(self.0.load(Relaxed))`
// mutation: oneshot-fill-overlooks-who-waits
// - in crates/core/src/channel/oneshot/word.rs: `RX_WAITS => Ended::Awaited, // with a value`
// + `RX_WAITS => Ended::Quietly,`
// mutation: oneshot-announces-after-the-end
// - in crates/core/src/channel/oneshot/word.rs: `self.change(ENDED | CLOSED, |now| now | RX_WAITS).err()`
// + `self.change(CLOSED, |now| now | RX_WAITS).err()`
#[test]
fn model_oneshot_send_against_recv() {
    prim::model(|| {
        let (sender, receiver) = channel();
        let thread = prim::thread::spawn(move || sender.send(Arc::new(7)).unwrap());
        assert_eq!(*block_on_simple(receiver).unwrap(), 7);
        thread.join().unwrap();
    });
}

// mutation: oneshot-fill-not-acquired
// - in crates/core/src/channel/oneshot/word.rs: `let before = self.0.fetch_add(FILLED, AcqRel);`
// + `let before = self.0.fetch_add(FILLED, Release);`
// mutation: oneshot-slot-not-released
// - in crates/core/src/channel/oneshot/word.rs: `match self.0.compare_exchange_weak(now, next, AcqRel, Acquire) {`
// + `match self.0.compare_exchange_weak(now, next, Acquire, Acquire) {`
// mutation: oneshot-takes-the-slot-without-withdrawing
// - in crates/core/src/channel/oneshot/word.rs: `self.change(ENDED | CLOSED, |now| now & !RX_WAITS).err()`
// + `self.change(ENDED | CLOSED, |now| now).err()`
// mutation: oneshot-takes-before-the-sender-let-go
// - in crates/core/src/channel/oneshot/word.rs: `self.0 & (FILLED | ABANDONED | CLOSED | RX_WAITS) == FILLED`
// + `self.0 & (FILLED | ABANDONED | CLOSED) == FILLED`
// mutation: oneshot-overtaken-sleeps
// - in crates/core/src/channel/oneshot.rs: `cx.waker().wake_by_ref();`
// + `;`
#[test]
fn model_oneshot_send_against_another_waker() {
    prim::model(|| {
        let (sender, mut receiver) = channel();
        assert!(poll_now(&mut receiver, &noop_waker()).is_pending());
        let thread = prim::thread::spawn(move || sender.send(Arc::new(7)).unwrap());
        assert_eq!(*block_on_simple(receiver).unwrap(), 7);
        thread.join().unwrap();
    });
}

/// A receiver that has waited, and what counts its wakers: the cell keeps one until it is freed.
fn waited<T>() -> (Sender<T>, Receiver<T>, std::sync::Arc<Counter>) {
    let (counter, waker) = Counter::new();
    let (sender, mut receiver) = channel();
    assert!(poll_now(&mut receiver, &waker).is_pending());
    (sender, receiver, counter)
}

// mutation: oneshot-refused-overlooked
// - in crates/core/src/channel/oneshot/word.rs: `match before & (CLOSED | RX_WAITS) {`
// + `match before & RX_WAITS {`
#[test]
fn model_oneshot_send_against_drop() {
    prim::model(|| {
        let (sender, receiver) = channel();
        let value = Arc::new(7);
        let kept = value.clone();
        let thread = prim::thread::spawn(move || drop(receiver));
        let sent = sender.send(value);
        thread.join().unwrap();
        drop(sent);
        assert_eq!(Arc::strong_count(&kept), 1, "dropped by the receiver, or given back");
    });
}

// mutation: oneshot-leave-forgets-what-came-meanwhile
// - in crates/core/src/channel/oneshot/word.rs: `if now.has_let_go() { now } else { Seen(self.0.fetch_add(GONE, AcqRel)) }`
// + `if now.has_let_go() { now } else { self.0.fetch_add(GONE, AcqRel); now }`
// mutation: oneshot-let-go-of-a-waiter-that-left
// - in crates/core/src/channel/oneshot/word.rs: `self.0.fetch_sub(RX_WAITS, AcqRel) & GONE != 0`
// + `{ self.0.fetch_sub(RX_WAITS, AcqRel); false }`
// mutation: oneshot-refused-keeps-the-cell
// - in crates/core/src/channel/oneshot/word.rs: `self.0.fetch_add(ABANDONED, AcqRel) & GONE != 0`
// + `{ self.0.fetch_add(ABANDONED, AcqRel); false }`
#[test]
fn model_oneshot_send_against_drop_of_one_that_waited() {
    prim::model(|| {
        let (sender, receiver, counter) = waited();
        let value = Arc::new(7);
        let kept = value.clone();
        let thread = prim::thread::spawn(move || drop(receiver));
        let sent = sender.send(value);
        thread.join().unwrap();
        drop(sent);
        assert_eq!(Arc::strong_count(&kept), 1, "dropped by the receiver, or given back");
        assert_eq!(std::sync::Arc::strong_count(&counter), 1, "the cell is freed");
    });
}

// mutation: oneshot-abandon-overlooks-who-left
// - in crates/core/src/channel/oneshot/word.rs: `found if found & GONE != 0 => Ended::Last,`
// + `found if found & GONE != 0 => Ended::Quietly,`
#[test]
fn model_oneshot_both_ends_go() {
    prim::model(|| {
        let (sender, receiver, counter) = waited::<u32>();
        let thread = prim::thread::spawn(move || drop(receiver));
        drop(sender);
        thread.join().unwrap();
        assert_eq!(std::sync::Arc::strong_count(&counter), 1, "the cell is freed");
    });
}

// mutation: oneshot-abandon-overlooks-who-waits
// - in crates/core/src/channel/oneshot/word.rs: `match before & (GONE | CLOSED | RX_WAITS) {`
// + `match before & (GONE | CLOSED) {`
// mutation: oneshot-abandon-not-released
// - in crates/core/src/channel/oneshot/word.rs: `let before = self.0.fetch_add(ABANDONED, AcqRel);`
// + `let before = self.0.fetch_add(ABANDONED, Relaxed);`
#[test]
fn model_oneshot_dropping_the_sender_against_recv() {
    prim::model(|| {
        let (sender, receiver) = channel::<Arc<u32>>();
        let thread = prim::thread::spawn(move || drop(sender));
        assert!(block_on_simple(receiver).is_err());
        thread.join().unwrap();
    });
}

// mutation: oneshot-closes-after-the-end
// - in crates/core/src/channel/oneshot/word.rs: `let closed = self.change(ENDED | CLOSED, |now|`
// + `let closed = self.change(CLOSED, |now|`
#[test]
fn model_oneshot_close_against_send() {
    prim::model(|| {
        let (sender, mut receiver) = channel();
        let thread = prim::thread::spawn(move || sender.send(Arc::new(7)));
        receiver.close();
        let received = receiver.try_recv();
        drop(receiver);
        match (thread.join().unwrap(), received) {
            (Ok(()), Ok(value)) | (Err(value), Err(TryRecvError::Closed)) => assert_eq!(*value, 7),
            other => panic!("lost or doubled: {other:?}"),
        }
    });
}

// mutation: oneshot-close-overlooks-the-sender
// - in crates/core/src/channel/oneshot/word.rs: `closed.is_ok_and(|before| before & TX_WAITS != 0)`
// + `closed.is_ok_and(|before| before & RX_WAITS != 0)`
// mutation: oneshot-sender-announces-after-close
// - in crates/core/src/channel/oneshot/word.rs: `self.change(CLOSED, |now| now | TX_WAITS).is_ok()`
// + `self.change(0, |now| now | TX_WAITS).is_ok()`
// mutation: oneshot-sender-takes-the-slot-without-withdrawing
// - in crates/core/src/channel/oneshot/word.rs: `self.change(CLOSED, |now| now & !TX_WAITS).is_ok()`
// + `self.change(CLOSED, |now| now).is_ok()`
#[test]
fn model_oneshot_closed_against_drop() {
    prim::model(|| {
        let (mut sender, receiver) = channel::<u32>();
        assert!(sender.poll_closed(&mut Context::from_waker(&noop_waker())).is_pending());
        let thread = prim::thread::spawn(move || drop(receiver));
        block_on_simple(sender.closed());
        assert!(sender.is_closed());
        thread.join().unwrap();
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;
    use crate::kit::{Census, panicking_waker, poll, poll_with, waiting};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn what_was_sent_is_received_once() {
        let census = Census::default();
        let (sender, mut receiver) = channel();
        assert_eq!(receiver.try_recv().unwrap_err(), TryRecvError::Empty);
        sender.send(census.citizen(1)).unwrap();
        assert_eq!(receiver.try_recv().unwrap().1, 1);
        assert_eq!(receiver.try_recv().unwrap_err(), TryRecvError::Closed);
        assert!(receiver.is_terminated());
        assert_eq!(census.alive(), 0);
    }

    /// Sender: sends, drops. Receiver: waited before or not; drops before, after; closes before, after, and then looks.
    #[test]
    fn every_order_of_ends_accounts_for_the_value() {
        for waited in [false, true] {
            for sends in [false, true] {
                for receiver_first in [false, true] {
                    for closes in [false, true] {
                        ends(waited, sends, receiver_first, closes);
                    }
                }
            }
        }
    }

    fn ends(waited: bool, sends: bool, receiver_first: bool, closes: bool) {
        let what = (waited, sends, receiver_first, closes);
        let census = Census::default();
        let (counter, waker) = Counter::new();
        let (sender, mut receiver) = channel();
        if waited {
            assert!(poll_now(&mut receiver, &waker).is_pending());
        }
        let value = census.citizen(1);
        let end = move || sends.then(|| sender.send(value).map_err(|value| value.1));
        end_receiver(receiver, receiver_first, closes, end, what);
        assert_eq!(counter.count(), usize::from(waited && !receiver_first), "{what:?}");
        assert_eq!(census.alive(), 0, "{what:?}");
    }

    fn end_receiver(
        mut receiver: Receiver<crate::kit::Citizen>,
        first: bool,
        closes: bool,
        end: impl FnOnce() -> Option<Result<(), u32>>,
        what: (bool, bool, bool, bool),
    ) {
        let refused = |sent: Option<Result<(), u32>>| sent.is_none_or(|sent| sent == Err(1));
        match (first, closes) {
            (true, false) => {
                drop(receiver);
                assert!(refused(end()), "{what:?}");
            }
            (true, true) => {
                receiver.close();
                assert!(refused(end()), "{what:?}");
                assert_eq!(receiver.try_recv().unwrap_err(), TryRecvError::Closed, "{what:?}");
            }
            (false, _) => {
                let sent = end();
                if closes {
                    receiver.close();
                }
                let got = receiver.try_recv().map(|value| value.1);
                assert_eq!(got, sent.map_or(Err(TryRecvError::Closed), |_| Ok(1)), "{what:?}");
            }
        }
    }

    #[test]
    fn an_unreceived_value_goes_with_the_receiver() {
        let census = Census::default();
        let (sender, receiver) = channel();
        sender.send(census.citizen(1)).unwrap();
        assert_eq!(census.alive(), 1);
        drop(receiver);
        assert_eq!(census.alive(), 0);
    }

    #[test]
    fn closed_is_told_by_close_and_by_drop_and_survives_being_dropped() {
        let (mut sender, mut receiver) = channel::<u32>();
        let (counter, waker) = Counter::new();
        let mut closed = Box::pin(sender.closed());
        assert!(poll_with(&mut closed, &waker).is_pending());
        drop(closed);
        receiver.close();
        assert_eq!(counter.count(), 1);
        block_on_simple(sender.closed());
        assert_eq!(sender.send(1), Err(1));
        assert_eq!(block_on_simple(&mut receiver), Err(RecvError));
        let (mut sender, receiver) = channel::<u32>();
        let mut closed = waiting(sender.closed());
        drop(receiver);
        assert!(poll(&mut closed).is_ready());
    }

    #[test]
    fn a_sender_that_waited_may_send() {
        let (mut sender, mut receiver) = channel();
        assert!(sender.poll_closed(&mut Context::from_waker(&noop_waker())).is_pending());
        sender.send(3).unwrap();
        receiver.close();
        assert_eq!(block_on_simple(receiver), Ok(3));
    }

    #[test]
    fn a_waker_that_panics_does_not_take_the_value_with_it() {
        let (sender, mut receiver) = channel();
        assert!(poll_now(&mut receiver, &panicking_waker()).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| sender.send(1))).is_err());
        assert_eq!(receiver.try_recv(), Ok(1));
    }

    #[test]
    #[should_panic = "oneshot `Receiver` polled after it completed"]
    fn polling_after_the_end_panics() {
        let (sender, mut receiver) = channel();
        sender.send(()).unwrap();
        assert_eq!(block_on_simple(&mut receiver), Ok(()));
        let _ = block_on_simple(&mut receiver);
    }

    #[test]
    fn values_that_may_travel_make_ends_that_may() {
        fn may_travel<T: Send + Sync>(_: &T) {}
        may_travel(&channel::<core::cell::Cell<u32>>());
    }
}
