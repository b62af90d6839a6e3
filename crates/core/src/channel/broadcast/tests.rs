use super::*;
use crate::block_on_simple;
use crate::prim;

// mutation: broadcast-send-wakes-nobody
// - in crates/core/src/channel/broadcast.rs: `self.shared.queue.wake_all(); // BC3`
// + `;`
// mutation: broadcast-tail-not-published
// - in crates/core/src/channel/broadcast.rs: `self.shared.tail.store(ring.tail() as usize, Ordering::Relaxed); // BC3`
// + `;`
#[test]
fn model_broadcast_send_against_recv() {
    prim::model(|| {
        let (sender, mut receiver) = channel(2);
        let thread = prim::thread::spawn(move || {
            sender.send(Arc::new(7)).unwrap();
            sender
        });
        assert_eq!(*block_on_simple(receiver.recv()).unwrap(), 7);
        drop(thread.join().unwrap());
    });
}

// mutation: broadcast-the-last-one-leaves-it-there
// - in crates/core/src/channel/broadcast/ring.rs: `let value = if last { slot.value.take() } else { slot.value.clone() };`
// + `let value = slot.value.clone();`
#[test]
fn model_broadcast_two_receivers_and_who_sees_it_last() {
    prim::model(|| {
        let (sender, mut first) = channel(1);
        let mut second = sender.subscribe();
        let thread = prim::thread::spawn(move || block_on_simple(first.recv()).unwrap());
        assert!(sender.send(Arc::new(7)).is_ok_and(|count| count == 2));
        let here = block_on_simple(second.recv()).unwrap();
        let there = thread.join().unwrap();
        assert_eq!((*here, *there), (7, 7));
        assert_eq!(sender.len(), 0);
        drop(here);
        assert_eq!(Arc::strong_count(&there), 1, "the channel keeps nothing that all have seen");
    });
}

// mutation: broadcast-leaving-passes-nothing
// - in crates/core/src/channel/broadcast/ring.rs: `while *next < end {`
// + `while false {`
// mutation: broadcast-leaving-is-not-counted
// - in crates/core/src/channel/broadcast/ring.rs: `self.receivers -= 1;`
// + `;`
#[test]
fn model_broadcast_send_against_a_receiver_that_leaves() {
    prim::model(|| {
        let (sender, mut stays) = channel(2);
        let leaves = sender.subscribe();
        let value = Arc::new(7);
        let kept = value.clone();
        let thread = prim::thread::spawn(move || drop(leaves));
        assert!(sender.send(value).is_ok());
        thread.join().unwrap();
        drop(block_on_simple(stays.recv()).unwrap());
        assert_eq!((sender.len(), sender.receiver_count()), (0, 1));
        assert_eq!(Arc::strong_count(&kept), 1);
    });
}

// mutation: broadcast-does-not-close
// - in crates/core/src/channel/broadcast.rs: `self.shared.queue.close();`
// + `;`
// mutation: broadcast-closed-before-it-is-empty
// - in crates/core/src/channel/broadcast/receiver.rs: `Found::Nothing if closed => Err(TryRecvError::Closed),`
// + `Found::Nothing => Err(TryRecvError::Closed),`
#[test]
fn model_broadcast_the_last_sender_sends_and_goes() {
    prim::model(|| {
        let (sender, mut receiver) = channel(2);
        let thread = prim::thread::spawn(move || assert_eq!(sender.send(1), Ok(1)));
        assert_eq!(block_on_simple(receiver.recv()), Ok(1));
        assert_eq!(block_on_simple(receiver.recv()), Err(RecvError::Closed));
        thread.join().unwrap();
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;
    use crate::kit::{Census, Counter, panicking_waker, poll, poll_with, waiting};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn everybody_gets_everything_from_when_they_came() {
        let (sender, mut first) = channel(4);
        assert_eq!(sender.send(1), Ok(1));
        let mut second = first.resubscribe();
        assert_eq!(sender.send(2), Ok(2));
        let mut third = sender.subscribe();
        assert_eq!((first.len(), second.len(), third.len(), sender.len()), (2, 1, 0, 2));
        assert_eq!((first.try_recv(), first.try_recv()), (Ok(1), Ok(2)));
        assert_eq!((second.try_recv(), second.try_recv()), (Ok(2), Err(TryRecvError::Empty)));
        assert_eq!(third.try_recv(), Err(TryRecvError::Empty));
        assert!(sender.is_empty() && first.is_empty());
        drop(sender);
        assert_eq!(third.try_recv(), Err(TryRecvError::Closed));
    }

    #[test]
    fn the_slow_are_told_how_many_they_missed() {
        let (sender, mut slow) = channel(3);
        for id in 0..10 {
            assert_eq!(sender.send(id), Ok(1));
        }
        assert_eq!((slow.len(), sender.len()), (10, 3));
        assert_eq!(slow.try_recv(), Err(TryRecvError::Lagged(7)));
        drop(sender);
        for id in 7..10 {
            assert_eq!(block_on_simple(slow.recv()), Ok(id));
        }
        assert_eq!(block_on_simple(slow.recv()), Err(RecvError::Closed));
    }

    #[test]
    fn without_receivers_a_value_comes_back() {
        let (sender, receiver) = channel(1);
        drop(receiver);
        assert_eq!(sender.send(1), Err(SendError(1)));
        let mut late = sender.subscribe();
        assert_eq!(sender.send(2), Ok(1));
        assert_eq!(late.try_recv(), Ok(2));
    }

    #[test]
    fn a_value_goes_when_all_have_it_and_the_last_gets_the_original() {
        let census = Census::default();
        let (sender, mut first) = channel(4);
        let mut second = sender.subscribe();
        assert!(sender.send(census.citizen(1)).is_ok());
        let one = first.try_recv().unwrap();
        assert_eq!(census.alive(), 2, "a clone, and the one that is kept");
        let two = second.try_recv().unwrap();
        assert_eq!(census.alive(), 2, "no further clone");
        drop((one, two));
        assert_eq!(census.alive(), 0);
    }

    #[test]
    fn who_leaves_keeps_nothing() {
        let census = Census::default();
        let (sender, receiver) = channel(4);
        let lagging = sender.subscribe();
        for id in 0..9 {
            assert!(sender.send(census.citizen(id)).is_ok());
        }
        assert_eq!(census.alive(), 4);
        drop(receiver);
        assert_eq!((census.alive(), sender.len(), sender.receiver_count()), (4, 4, 1));
        drop(lagging);
        assert_eq!((census.alive(), sender.len(), sender.receiver_count()), (0, 0, 0));
    }

    /// Values whose clone and drop use the channel: they would deadlock under its lock.
    #[test]
    fn clone_and_drop_are_called_without_the_lock() {
        struct Nosy(Sender<Nosy>);
        impl Clone for Nosy {
            fn clone(&self) -> Self {
                self.0.len();
                Self(self.0.clone())
            }
        }
        impl Drop for Nosy {
            fn drop(&mut self) {
                self.0.len();
            }
        }
        let (sender, mut first) = channel(1);
        let second = sender.subscribe();
        assert!(sender.send(Nosy(sender.clone())).is_ok());
        drop(first.try_recv());
        assert!(sender.send(Nosy(sender.clone())).is_ok()); // overwrites
        drop(second);
        drop(first); // drops the last one
        drop(sender.send(Nosy(sender.clone())));
    }

    #[test]
    fn a_clone_that_panics_is_a_value_seen() {
        struct Bang(bool);
        impl Clone for Bang {
            fn clone(&self) -> Self {
                assert!(!self.0, "bang");
                Self(false)
            }
        }
        let (sender, mut first) = channel(4);
        let mut second = sender.subscribe();
        assert!(sender.send(Bang(true)).is_ok() && sender.send(Bang(false)).is_ok());
        assert!(catch_unwind(AssertUnwindSafe(|| first.try_recv().is_ok())).is_err());
        assert!(first.try_recv().is_ok());
        assert!(second.try_recv().is_ok(), "the last one gets the original");
        assert!(second.try_recv().is_ok() && sender.is_empty());
    }

    #[test]
    fn a_drop_that_panics_does_not_keep_the_rest() {
        #[derive(Clone)]
        struct Bang(#[expect(dead_code, reason = "counts")] Option<crate::kit::Citizen>, bool);
        impl Drop for Bang {
            fn drop(&mut self) {
                assert!(!self.1, "bang");
            }
        }
        let census = Census::default();
        let (sender, receiver) = channel(4);
        for id in 0..3 {
            assert!(sender.send(Bang(Some(census.citizen(id)), id == 0)).is_ok());
        }
        assert!(catch_unwind(AssertUnwindSafe(|| drop(receiver))).is_err());
        assert_eq!((sender.len(), census.alive()), (0, 0));
    }

    #[test]
    fn a_waker_that_panics_leaves_the_others_woken_and_the_value_sent() {
        let (sender, mut first) = channel(1);
        let mut second = sender.subscribe();
        let mut bad = Box::pin(first.recv());
        assert!(poll_with(&mut bad, &panicking_waker()).is_pending());
        let (counter, waker) = Counter::new();
        let mut good = Box::pin(second.recv());
        assert!(poll_with(&mut good, &waker).is_pending());
        assert!(catch_unwind(AssertUnwindSafe(|| sender.send(5))).is_err());
        assert_eq!(counter.count(), 1);
        assert_eq!(poll(&mut bad), core::task::Poll::Ready(Ok(5)));
        assert_eq!(poll(&mut good), core::task::Poll::Ready(Ok(5)));
    }

    #[test]
    fn a_recv_that_is_dropped_has_taken_nothing() {
        let (sender, mut receiver) = channel(1);
        let waits = waiting(receiver.recv());
        assert_eq!(sender.send(1), Ok(1));
        drop(waits);
        assert_eq!(receiver.try_recv(), Ok(1));
    }

    #[test]
    #[should_panic = "`capacity` is 0, but must be from 1 to"]
    fn a_channel_without_room_is_refused() {
        drop(channel::<u32>(0));
    }

    #[test]
    fn what_may_travel() {
        fn may_travel<T: Send + Sync>(_: &T) {}
        let (sender, mut receiver) = channel::<u32>(1);
        may_travel(&receiver.recv());
        assert!(receiver.is_of(&sender) && sender.same_channel(&sender.clone()));
        may_travel(&(sender, receiver));
    }
}
