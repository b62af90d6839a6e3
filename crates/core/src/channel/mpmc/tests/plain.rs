use super::*;
use crate::channel::SendError;
use crate::kit::Counter;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::vec;

#[test]
fn capacity_is_kept_for_any_number() {
    for capacity in 1..=9 {
        let (sender, receiver) = bounded(capacity);
        assert_eq!(sender.capacity(), Some(capacity));
        for round in 0..40 {
            for n in 0..capacity {
                assert_eq!(sender.len(), n);
                assert_eq!(sender.try_send((round, n)), Ok(()));
            }
            assert_eq!(sender.try_send((round, 99)), Err(TrySendError::Full((round, 99))));
            for n in 0..capacity {
                assert_eq!(receiver.try_recv(), Ok((round, n)));
            }
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        }
    }
}

#[test]
fn unbounded_keeps_order_over_many_blocks() {
    let (sender, receiver) = unbounded();
    assert_eq!(sender.capacity(), None);
    for round in 0..20 {
        (0..500).for_each(|n| sender.try_send(n).unwrap());
        for n in 0..500 {
            assert_eq!(receiver.len(), 500 - n, "round {round}");
            assert_eq!(receiver.try_recv(), Ok(n));
        }
        assert!(receiver.is_empty());
    }
}

#[test]
fn recv_many_takes_what_is_there_up_to_max() {
    for (sender, receiver) in [bounded(100), unbounded()] {
        (0..80).for_each(|n| sender.try_send(n).unwrap());
        let mut into = vec![1000];
        assert_eq!(block_on_simple(receiver.recv_many(&mut into, 0)), Ok(0));
        assert_eq!(block_on_simple(receiver.recv_many(&mut into, 70)), Ok(70));
        assert_eq!(block_on_simple(receiver.recv_many(&mut into, 70)), Ok(10));
        assert!(into.into_iter().eq(core::iter::once(1000).chain(0..80)));
        drop(sender);
        assert_eq!(block_on_simple(receiver.recv_many(&mut vec![], 1)), Err(RecvError));
    }
}

#[test]
fn a_permit_keeps_its_place_and_blocks_nobody_else() {
    let (sender, receiver) = bounded(3);
    let permit = sender.try_reserve().unwrap();
    let other = sender.try_reserve().unwrap();
    sender.try_send(1).unwrap();
    assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(receiver.try_recv(), Ok(1), "it does not stand behind the permits");
    drop(other);
    sender.try_send(3).unwrap();
    permit.send(4).unwrap();
    assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(3), Ok(4)));
    let late = sender.try_reserve().unwrap();
    receiver.close();
    assert_eq!(late.send(5), Err(SendError(5)));
    assert!(matches!(sender.try_reserve(), Err(TrySendError::Closed(()))));
}

#[test]
fn a_permit_given_back_calls_a_sender() {
    let (sender, receiver) = bounded(1);
    let permit = sender.try_reserve().unwrap();
    let (mut send, woken) = (Box::pin(sender.send(1)), Woken::new());
    assert!(woken.poll(&mut send).is_pending());
    drop(permit);
    assert_eq!(woken.count(), 1);
    assert_eq!(woken.poll(&mut send), Poll::Ready(Ok(())));
    assert_eq!(receiver.len(), 1);
}

#[test]
fn without_room_a_sender_meets_a_receiver() {
    let (sender, receiver) = bounded(0);
    assert_eq!(sender.try_send(0), Err(TrySendError::Full(0)));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    let (mut send, woken) = (Box::pin(sender.send(1)), Woken::new());
    assert!(woken.poll(&mut send).is_pending());
    assert_eq!(receiver.try_recv(), Ok(1));
    assert_eq!(woken.count(), 1);
    assert_eq!(woken.poll(&mut send), Poll::Ready(Ok(())));
    let mut recv = Box::pin(receiver.recv());
    assert!(woken.poll(&mut recv).is_pending());
    assert_eq!(sender.try_send(2), Ok(()));
    assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)), "it is spoken for");
    assert_eq!(woken.poll(&mut recv), Poll::Ready(Ok(2)));
}

#[test]
fn without_room_what_was_given_to_one_who_left_is_for_the_next() {
    let (sender, receiver) = bounded(0);
    let recv = waiting(receiver.recv());
    let permit = sender.try_reserve().unwrap();
    drop(recv);
    permit.send(1).unwrap();
    assert_eq!(receiver.try_recv(), Ok(1));
    let recv = waiting(receiver.recv());
    sender.try_send(2).unwrap();
    drop(recv);
    sender.close();
    assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(2), Err(TryRecvError::Closed)));
}

#[test]
fn without_room_a_receiver_calls_who_reserves() {
    let (sender, receiver) = bounded(0);
    let (mut reserve, woken) = (Box::pin(sender.reserve()), Woken::new());
    assert!(woken.poll(&mut reserve).is_pending());
    let mut recv = waiting(receiver.recv());
    assert_eq!(woken.count(), 1);
    let Poll::Ready(Ok(permit)) = woken.poll(&mut reserve) else { panic!("a receiver waits") };
    permit.send(1).unwrap();
    assert_eq!(poll(&mut recv), Poll::Ready(Ok(1)));
}

#[test]
fn closing_returns_what_was_not_accepted() {
    for capacity in [0, 1] {
        let (sender, receiver) = bounded(capacity);
        (0..capacity).for_each(|n| sender.try_send(n).unwrap());
        let (mut send, woken) = (Box::pin(sender.send(9)), Woken::new());
        assert!(woken.poll(&mut send).is_pending());
        assert!(receiver.close());
        assert!(!sender.close(), "closing twice is harmless");
        assert_eq!(woken.count(), 1);
        assert_eq!(woken.poll(&mut send), Poll::Ready(Err(SendError(9))));
        assert_eq!(receiver.try_recv().ok(), (capacity == 1).then_some(0));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
        assert_eq!(sender.try_send(10), Err(TrySendError::Closed(10)));
        assert_eq!(block_on_simple(sender.send(11)), Err(SendError(11)));
    }
}

#[test]
fn a_cancelled_send_gives_its_value_back() {
    for capacity in [0, 1] {
        let (sender, receiver) = bounded(capacity);
        (0..capacity).for_each(|n| sender.try_send(n).unwrap());
        let mut send = waiting(sender.send(9));
        assert_eq!(send.as_mut().into_value(), Some(9));
        assert_eq!(send.as_mut().into_value(), None);
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut send))).is_err(), "there is nothing to send");
        drop(send);
        assert_eq!(receiver.len(), capacity);
        assert_eq!(Box::pin(sender.send(10)).as_mut().into_value(), Some(10), "never polled");
    }
}

#[test]
fn a_send_polled_after_its_end_panics_and_leaves_the_channel_in_order() {
    for (sender, receiver) in [bounded(0), bounded(2), unbounded()] {
        let mut recv = waiting(receiver.recv());
        let mut send = Box::pin(sender.send(1));
        let first = poll(&mut send);
        assert_eq!(poll(&mut recv), Poll::Ready(Ok(1)));
        assert!(first.is_ready() || poll(&mut send).is_ready());
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut send))).is_err());
        drop(send);
        let mut recv = waiting(receiver.recv());
        assert_eq!(sender.try_send(2), Ok(()));
        assert_eq!(poll(&mut recv), Poll::Ready(Ok(2)));
    }
}

#[test]
fn the_last_sender_lets_receivers_drain() {
    for (sender, receiver) in [bounded(4), unbounded()] {
        let weak = sender.downgrade();
        let clone = weak.upgrade().unwrap();
        assert!(clone.same_channel(&sender) && clone.sender_count() == 2);
        sender.try_send(1).unwrap();
        drop(sender);
        assert!(!receiver.is_closed());
        drop(clone);
        assert!(receiver.is_closed() && weak.upgrade().is_none());
        assert_eq!(receiver.clone().try_recv(), Ok(1));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    }
}

/// Counts its drops, and panics in the one it is told to.
struct Bomb(Rc<Cell<u32>>, u32);
impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        assert!(self.0.get() != self.1, "boom");
    }
}

#[test]
fn the_last_receiver_drops_what_is_queued_once_whatever_panics() {
    for (sender, receiver) in [bounded(8), unbounded()] {
        let drops = Rc::new(Cell::new(0));
        (0..8).for_each(|_| assert!(sender.try_send(Bomb(drops.clone(), 3)).is_ok()));
        let other = receiver.clone();
        drop(receiver);
        assert_eq!(drops.get(), 0);
        assert!(catch_unwind(AssertUnwindSafe(|| drop(other))).is_err());
        assert_eq!(drops.get(), 8);
        assert!(sender.is_closed());
        let returned = sender.try_send(Bomb(drops.clone(), 0));
        assert!(matches!(&returned, Err(TrySendError::Closed(_))));
        assert_eq!(drops.get(), 8);
    }
}

#[test]
fn a_panicking_waker_loses_no_value_and_no_other_waiter() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("a waker");
        }
    }
    for (sender, receiver) in [bounded(4), unbounded()] {
        let mut first = Box::pin(receiver.recv());
        let waker = Waker::from(std::sync::Arc::new(Panics));
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let (mut second, woken) = (Box::pin(receiver.recv()), Woken::new());
        assert!(woken.poll(&mut second).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| sender.try_send(1))).is_err());
        sender.try_send(2).unwrap();
        assert_eq!(woken.count(), 1);
        assert_eq!((woken.poll(&mut second), poll(&mut first)), (Poll::Ready(Ok(1)), Poll::Ready(Ok(2))));
        let mut first = Box::pin(receiver.recv());
        assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let mut second = Box::pin(receiver.recv());
        assert!(woken.poll(&mut second).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| sender.close())).is_err());
        assert_eq!(woken.count(), 2, "closing goes on to the others");
    }
}

#[test]
fn a_stream_ends_with_the_channel() {
    let (sender, receiver) = bounded(4);
    let mut stream = Box::pin(receiver.into_stream());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(stream.as_mut().poll_next(&mut cx).is_pending());
    (0..3).for_each(|n| sender.try_send(n).unwrap());
    assert_eq!(stream.as_mut().poll_next(&mut cx), Poll::Ready(Some(0)));
    assert_eq!(stream.as_mut().poll_next(&mut cx), Poll::Ready(Some(1)));
    assert_eq!(stream.receiver().len(), 1);
    drop(sender);
    assert_eq!(stream.as_mut().poll_next(&mut cx), Poll::Ready(Some(2)));
    assert_eq!(stream.as_mut().poll_next(&mut cx), Poll::Ready(None));
}

#[test]
fn a_stream_dropped_after_it_was_called_calls_the_next() {
    for (sender, receiver) in [bounded(2), bounded(0), unbounded()] {
        let (mut first, mut second) =
            (Box::pin(receiver.clone().into_stream()), Box::pin(receiver.into_stream()));
        let ((one, waker), (two, other)) = (Counter::new(), Counter::new());
        assert!(first.as_mut().poll_next(&mut Context::from_waker(&waker)).is_pending());
        assert!(second.as_mut().poll_next(&mut Context::from_waker(&other)).is_pending());
        let mut send = Box::pin(sender.send(7));
        let sent = send.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!((one.count(), two.count()), (1, 0));
        drop(first);
        assert_eq!(two.count(), 1, "it passes its turn on, {sent:?}");
        let value = second.as_mut().poll_next(&mut Context::from_waker(Waker::noop()));
        assert_eq!(value, Poll::Ready(Some(7)));
    }
}

#[test]
#[should_panic(expected = "capacity 268435457 is not in 0..=268435456")]
fn a_capacity_too_large_is_refused() {
    drop(bounded::<()>(MAX_CAPACITY + 1));
}
