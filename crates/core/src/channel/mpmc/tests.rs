use super::*;
use crate::block_on_simple;
use crate::channel::{RecvError, TrySendError};
use crate::prim;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::boxed::Box;

type Outcome<F> = Poll<<F as Future>::Output>;

fn poll<F: Future>(future: &mut Pin<Box<F>>) -> Outcome<F> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}
/// A future that waits already.
fn waiting<F: Future>(future: F) -> Pin<Box<F>> {
    let mut future = Box::pin(future);
    assert!(poll(&mut future).is_pending());
    future
}

// mutation: channel-receiver-does-not-look-again
// - in crates/core/src/channel/bounded/receiving.rs: `!tail.is_closed() && self.head.load().index() == tail.index()`
// + `{ let _ = tail; true }`
// mutation: channel-receiver-is-not-announced
// - in crates/core/src/channel/bounded/receiving.rs: `let tail = self.tail.announce(); // a receiver`
// + `let tail = self.tail.load();`
// mutation: channel-sender-calls-nobody
// - in crates/core/src/channel/mpmc.rs: `self.call_receiver_if(owes); // the mark was there`
// + `let _ = owes;`
#[test]
fn model_channel_send_against_a_receiver_that_falls_asleep() {
    prim::model(|| {
        let (sender, receiver) = bounded(1);
        let other = sender.clone(); // so that no closing wakes the receiver
        let thread = prim::thread::spawn(move || other.try_send(7).unwrap());
        assert_eq!(block_on_simple(receiver.recv()), Ok(7));
        thread.join().unwrap();
        drop(sender);
    });
}

// mutation: channel-sender-does-not-look-again
// - in crates/core/src/channel/bounded.rs: `!tail.is_closed() && self.room(head, tail) == 0`
// + `{ let _ = (tail, head); true }`
// mutation: channel-sender-is-not-announced
// - in crates/core/src/channel/bounded.rs: `let head = self.head.announce(); // a sender`
// + `let head = self.head.load();`
#[test]
fn model_channel_recv_against_a_sender_that_falls_asleep() {
    prim::model(|| {
        let (sender, receiver) = bounded(1);
        sender.try_send(1).unwrap();
        let thread = prim::thread::spawn(move || (receiver.try_recv(), receiver));
        assert_eq!(block_on_simple(sender.send(2)), Ok(()));
        let (first, receiver) = thread.join().unwrap();
        assert_eq!((first, receiver.try_recv()), (Ok(1), Ok(2)));
    });
}

// mutation: channel-others-are-not-announced-again
// - in crates/core/src/channel/bounded/receiving.rs: `let tail = self.tail.announce(); // receivers again`
// + `let tail = self.tail.load();`
// mutation: channel-calls-only-one
// - in crates/core/src/channel/bounded/receiving.rs: `values > called as u64 && values <= self.places`
// + `values > called as u64 && false`
#[test]
fn model_channel_two_values_for_two_sleepers() {
    prim::model(|| {
        let (sender, receiver) = bounded(2);
        let (mut one, mut two) = (waiting(receiver.recv()), waiting(receiver.recv()));
        let woken = [Woken::new(), Woken::new()];
        assert!(woken[0].poll(&mut one).is_pending() && woken[1].poll(&mut two).is_pending());
        let other = sender.clone();
        let thread = prim::thread::spawn(move || other.try_send(1).unwrap());
        sender.try_send(2).unwrap();
        thread.join().unwrap();
        assert_eq!((woken[0].count(), woken[1].count()), (1, 1), "two values call two");
        let both = (woken[0].poll(&mut one), woken[1].poll(&mut two));
        assert!(matches!(
            both,
            (Poll::Ready(Ok(1)), Poll::Ready(Ok(2))) | (Poll::Ready(Ok(2)), Poll::Ready(Ok(1)))
        ));
    });
}

// mutation: channel-two-places-call-one
// - in crates/core/src/channel/bounded.rs: `self.room(head, self.tail.load()) > called as u64`
// + `self.room(head, self.tail.load()) > called as u64 && false`
// mutation: channel-other-senders-are-not-announced-again
// - in crates/core/src/channel/bounded.rs: `let head = self.head.announce(); // senders again`
// + `let head = self.head.load();`
#[test]
fn model_channel_two_places_for_two_sleepers() {
    prim::model(|| {
        let (sender, receiver) = bounded(2);
        (0..2).for_each(|n| sender.try_send(n).unwrap());
        let (mut one, mut two) = (waiting(sender.send(2)), waiting(sender.send(3)));
        let woken = [Woken::new(), Woken::new()];
        assert!(woken[0].poll(&mut one).is_pending() && woken[1].poll(&mut two).is_pending());
        let other = receiver.clone();
        let thread = prim::thread::spawn(move || other.try_recv().unwrap());
        let here = receiver.try_recv().unwrap();
        assert_eq!(here + thread.join().unwrap(), 1);
        assert_eq!((woken[0].count(), woken[1].count()), (1, 1), "two places call two");
        assert!(woken[0].poll(&mut one).is_ready() && woken[1].poll(&mut two).is_ready());
    });
}

// mutation: channel-dropped-receiver-keeps-its-turn
// - in crates/core/src/channel/receiver/waiting.rs: `if self.stop() {`
// + `if self.stop() && false {`
#[test]
fn model_channel_dropping_a_chosen_receiver_calls_the_next() {
    prim::model(|| {
        let (sender, receiver) = bounded(1);
        let chosen = waiting(receiver.recv());
        let mut next = Box::pin(receiver.recv());
        let woken = Woken::new();
        assert!(woken.poll(&mut next).is_pending());
        let thread = prim::thread::spawn(move || {
            sender.try_send(7).unwrap();
            sender
        });
        drop(chosen);
        let _open = thread.join().unwrap();
        assert_eq!(woken.count(), 1);
        assert_eq!(woken.poll(&mut next), Poll::Ready(Ok(7)));
    });
}

// mutation: channel-dropped-sender-keeps-its-turn
// - in crates/core/src/channel/sender.rs: `if stand_up(seat) {`
// + `if stand_up(seat) && false {`
#[test]
fn model_channel_dropping_a_chosen_sender_calls_the_next() {
    prim::model(|| {
        let (sender, receiver) = bounded(1);
        sender.try_send(1).unwrap();
        let chosen = waiting(sender.send(2));
        let mut next = Box::pin(sender.send(3));
        let woken = Woken::new();
        assert!(woken.poll(&mut next).is_pending());
        let thread = prim::thread::spawn(move || {
            receiver.try_recv().unwrap();
            receiver
        });
        drop(chosen);
        let receiver = thread.join().unwrap();
        assert_eq!(woken.count(), 1);
        assert_eq!(woken.poll(&mut next), Poll::Ready(Ok(())));
        assert_eq!(receiver.try_recv(), Ok(3));
    });
}

// mutation: channel-sends-into-a-closed-ring
// - in crates/core/src/channel/bounded.rs: `if tail.is_closed() || !self.has_room(tail) {`
// + `if !self.has_room(tail) {`
#[test]
fn model_channel_close_against_send() {
    prim::model(|| {
        let (sender, receiver) = bounded(1);
        let other = sender.clone();
        let thread = prim::thread::spawn(move || other.close());
        let sent = sender.try_send(7);
        match block_on_simple(receiver.recv()) {
            Ok(value) => assert_eq!((sent, value), (Ok(()), 7)),
            Err(RecvError) => assert_eq!(sent, Err(TrySendError::Closed(7)), "returned"),
        }
        assert!(thread.join().unwrap());
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(sender.try_send(8), Err(TrySendError::Closed(8)));
    });
}

// mutation: channel-close-wakes-nobody
// - in crates/core/src/channel/mpmc.rs: `let _others = Closing(&self.values); // also if a waker panics`
// + ``
#[test]
fn model_channel_close_against_a_receiver_that_falls_asleep() {
    prim::model(|| {
        let (sender, receiver) = bounded::<u32>(1);
        let thread = prim::thread::spawn(move || sender.close());
        assert_eq!(block_on_simple(receiver.recv()), Err(RecvError));
        assert!(thread.join().unwrap());
    });
}

// mutation: channel-last-receiver-leaves-values
// - in crates/core/src/channel/mpmc.rs: `while let Ok(value) = self.0.try_recv(&guess) {`
// + `if let Ok(value) = self.0.try_recv(&guess) {`
#[test]
fn model_channel_last_receiver_against_send() {
    prim::model(|| {
        let (sender, receiver) = bounded(2);
        let token = prim::Arc::new(());
        sender.try_send(token.clone()).unwrap();
        let thread = prim::thread::spawn(move || drop(receiver));
        let sent = sender.try_send(token.clone());
        thread.join().unwrap();
        let returned = usize::from(sent.is_err());
        assert_eq!(prim::Arc::strong_count(&token), 1 + returned, "dropped, or returned");
    });
}

// mutation: channel-permit-does-not-look-at-the-head
// - in crates/core/src/channel/bounded.rs: `while let Err(now) = self.head.exchange(head, head.advanced(0)) {`
// + `while false { let now = head;`
#[test]
fn model_channel_permit_given_back_against_a_sender_that_falls_asleep() {
    prim::model(|| {
        let (sender, receiver) = bounded(1);
        let other = sender.clone();
        let thread = prim::thread::spawn(move || {
            if let Ok(permit) = other.try_reserve() {
                drop(permit);
            }
        });
        assert_eq!(block_on_simple(sender.send(7)), Ok(()));
        thread.join().unwrap();
        assert_eq!(receiver.try_recv(), Ok(7));
    });
}

// mutation: weak-sender-revives-what-is-closed
// - in crates/core/src/channel/sender.rs: `let more = |senders| (senders > 0).then_some(senders + 1);`
// + `let more = |senders: usize| Some(senders + 1);`
// mutation: weak-sender-counts-without-exchange
// - in crates/core/src/channel/sender.rs: `self.shared.senders.fetch_update(AcqRel, Acquire, more).ok()?;`
// + `self.shared.senders.store(more(self.shared.senders.load(Acquire))?, Release);`
#[test]
fn model_channel_upgrade_against_the_last_sender() {
    prim::model(|| {
        let (sender, receiver) = bounded(1);
        let weak = sender.downgrade();
        let thread = prim::thread::spawn(move || drop(sender));
        let again = weak.upgrade();
        if let Some(again) = &again {
            assert_eq!(again.try_send(7), Ok(()), "a sender keeps the channel open");
        }
        thread.join().unwrap();
        assert_eq!(receiver.is_closed(), again.is_none());
        assert_eq!(receiver.try_recv().ok(), again.as_ref().map(|_| 7));
        drop(again);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
        assert!(weak.upgrade().is_none());
    });
}

/// Counts how often it is woken. Not modelled: read after joining.
struct Woken(std::sync::Arc<Count>);
#[derive(Default)]
struct Count(prim::real::AtomicUsize);
impl std::task::Wake for Count {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, prim::real::Ordering::SeqCst);
    }
}
impl Woken {
    fn new() -> Self {
        Self(std::sync::Arc::default())
    }
    fn poll<F: Future>(&self, future: &mut Pin<Box<F>>) -> Outcome<F> {
        future.as_mut().poll(&mut Context::from_waker(&self.0.clone().into()))
    }
    fn count(&self) -> usize {
        self.0.0.load(prim::real::Ordering::SeqCst)
    }
}

/// What does not depend on timing.
#[cfg(not(any(loom, shuttle)))]
mod plain;
