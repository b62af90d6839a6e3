use super::super::super::channel;
use super::*;
use crate::{block_on_simple, prim};
use core::future::poll_fn;
use std::pin::pin;

// mutation: broadcast-stream-waits-without-looking
// - in crates/core/src/channel/broadcast/receiver/stream.rs: `|| receiver.seems_empty())); // BC3`
// + `|| true));`
#[test]
fn model_broadcast_send_against_a_stream() {
    prim::model(|| {
        let (sender, receiver) = channel(2);
        let thread = prim::thread::spawn(move || {
            assert_eq!(sender.send(7), Ok(1));
            sender
        });
        let mut stream = pin!(receiver.into_stream());
        assert_eq!(block_on_simple(poll_fn(|cx| stream.as_mut().poll_next(cx))), Some(Ok(7)));
        drop(thread.join().unwrap());
        assert_eq!(block_on_simple(poll_fn(|cx| stream.as_mut().poll_next(cx))), None);
    });
}

// mutation: broadcast-stream-is-dropped-and-waits-on
// - in crates/core/src/channel/tied.rs: `unsafe { ManuallyDrop::drop(&mut self.borrower) }`
// + `;`
#[test]
fn model_broadcast_send_against_a_stream_that_is_dropped() {
    prim::model(|| {
        let (sender, receiver) = channel(2);
        let mut place = pin!(Some(receiver.into_stream()));
        let mut cx = Context::from_waker(core::task::Waker::noop());
        assert!(place.as_mut().as_pin_mut().unwrap().poll_next(&mut cx).is_pending());
        let thread = prim::thread::spawn(move || {
            let _count = sender.send(7);
            sender
        });
        place.set(None);
        let sender = thread.join().unwrap();
        assert_eq!((sender.receiver_count(), sender.len(), sender.shared.queue.wake_all()), (0, 0, 0));
    });
}

#[cfg(not(any(loom, shuttle)))]
mod plain {
    use super::*;
    use crate::kit::{Census, Counter};
    use core::task::Waker;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    type Item<T> = Option<Result<T, RecvError>>;

    fn poll<T: Clone>(stream: &mut Pin<Box<IntoStream<T>>>) -> Poll<Item<T>> {
        poll_with(stream, Waker::noop())
    }

    fn poll_with<T: Clone>(stream: &mut Pin<Box<IntoStream<T>>>, waker: &Waker) -> Poll<Item<T>> {
        stream.as_mut().poll_next(&mut Context::from_waker(waker))
    }

    #[test]
    fn values_come_in_order_and_then_the_end() {
        let (sender, receiver) = channel(4);
        let mut stream = Box::pin(receiver.into_stream());
        assert!(poll(&mut stream).is_pending());
        (0..3).for_each(|n| assert_eq!(sender.send(n), Ok(1)));
        assert_eq!(poll(&mut stream), Poll::Ready(Some(Ok(0))));
        assert_eq!(stream.receiver().len(), 2);
        drop(sender);
        assert_eq!(poll(&mut stream), Poll::Ready(Some(Ok(1))));
        assert_eq!(poll(&mut stream), Poll::Ready(Some(Ok(2))));
        assert_eq!(poll(&mut stream), Poll::Ready(None));
        assert_eq!(poll(&mut stream), Poll::Ready(None), "it stays at its end");
    }

    #[test]
    fn what_was_missed_is_an_item_and_the_rest_follows() {
        let (sender, receiver) = channel(3);
        let mut stream = Box::pin(receiver.into_stream());
        assert!(poll(&mut stream).is_pending());
        (0..10).for_each(|n| assert_eq!(sender.send(n), Ok(1)));
        drop(sender);
        assert_eq!(poll(&mut stream), Poll::Ready(Some(Err(RecvError::Lagged(7)))));
        for n in 7..10 {
            assert_eq!(poll(&mut stream), Poll::Ready(Some(Ok(n))));
        }
        assert_eq!(poll(&mut stream), Poll::Ready(None));
    }

    #[test]
    fn the_end_wakes_it() {
        let (sender, receiver) = channel::<u32>(1);
        let mut stream = Box::pin(receiver.into_stream());
        let (counter, waker) = Counter::new();
        assert!(poll_with(&mut stream, &waker).is_pending());
        drop(sender);
        assert_eq!(counter.count(), 1);
        assert_eq!(poll(&mut stream), Poll::Ready(None));
    }

    #[test]
    fn the_last_waker_is_woken_and_only_while_it_waits() {
        let (sender, receiver) = channel(4);
        let mut stream = Box::pin(receiver.into_stream());
        let ((first, one), (second, two)) = (Counter::new(), Counter::new());
        assert!(poll_with(&mut stream, &one).is_pending());
        assert!(poll_with(&mut stream, &two).is_pending());
        assert_eq!(sender.send(1), Ok(1));
        assert_eq!(poll_with(&mut stream, &one), Poll::Ready(Some(Ok(1))));
        assert_eq!(sender.send(2), Ok(1));
        assert_eq!(
            (first.count(), second.count()),
            (0, 1),
            "it does not wait between two polls that gave something"
        );
    }

    #[test]
    fn dropped_while_it_waits_it_leaves_nobody_behind_and_takes_nothing() {
        let (sender, receiver) = channel(4);
        let mut other = receiver.resubscribe();
        let mut stream = Box::pin(receiver.into_stream());
        let (counter, waker) = Counter::new();
        assert!(poll_with(&mut stream, &waker).is_pending());
        drop(stream);
        drop(waker);
        assert_eq!(Arc::strong_count(&counter), 1, "its waker is dropped");
        assert_eq!((sender.receiver_count(), sender.shared.queue.wake_all()), (1, 0));
        assert_eq!(sender.send(1), Ok(1));
        assert_eq!((counter.count(), other.try_recv()), (0, Ok(1)));
    }

    #[test]
    fn woken_and_then_dropped_it_keeps_no_value() {
        let census = Census::default();
        let (sender, receiver) = channel(4);
        let mut stream = Box::pin(receiver.into_stream());
        assert!(poll(&mut stream).is_pending());
        assert!(sender.send(census.citizen(1)).is_ok());
        drop(stream);
        assert_eq!((census.alive(), sender.len()), (0, 0));
    }

    /// The channel is freed by the drop of the stream that waited in it.
    #[test]
    fn a_stream_that_is_the_last_to_go_frees_the_channel() {
        let census = Census::default();
        let (sender, receiver) = channel(4);
        let channel = Arc::downgrade(&receiver.shared);
        let mut stream = Box::pin(receiver.into_stream());
        assert!(poll(&mut stream).is_pending());
        assert!(sender.send(census.citizen(1)).is_ok());
        drop(sender);
        assert_eq!((census.alive(), channel.strong_count()), (1, 1));
        drop(stream);
        assert_eq!((census.alive(), channel.strong_count()), (0, 0));
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
        let (sender, receiver) = channel(4);
        let _other = sender.subscribe(); // so that there is something to clone
        let mut stream = Box::pin(receiver.into_stream());
        assert!(poll(&mut stream).is_pending());
        assert!(sender.send(Bang(true)).is_ok());
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut stream).is_ready())).is_err());
        assert!(poll(&mut stream).is_pending(), "it was seen");
        assert!(sender.send(Bang(false)).is_ok());
        assert!(matches!(poll(&mut stream), Poll::Ready(Some(Ok(Bang(false))))));
    }

    #[test]
    fn another_thread_wakes_it() {
        let (sender, receiver) = channel(4);
        let waits = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let sender = sender;
                for n in 0..100 {
                    while !waits.swap(false, SeqCst) {
                        std::thread::yield_now();
                    }
                    assert_eq!(sender.send(n), Ok(1));
                }
                while !waits.load(SeqCst) {
                    std::thread::yield_now();
                }
            });
            let mut stream = pin!(receiver.into_stream());
            let mut next = || {
                block_on_simple(poll_fn(|cx| {
                    let item = stream.as_mut().poll_next(cx);
                    waits.fetch_or(item.is_pending(), SeqCst);
                    item
                }))
            };
            for n in 0..100 {
                assert_eq!(next(), Some(Ok(n)));
            }
            assert_eq!(next(), None);
        });
    }

    #[test]
    fn values_may_borrow() {
        let text = String::from("hemp jute");
        let (sender, receiver) = channel(4);
        text.split(' ').for_each(|word| assert_eq!(sender.send(word), Ok(1)));
        let mut stream = Box::pin(receiver.into_stream());
        assert_eq!(poll(&mut stream), Poll::Ready(Some(Ok("hemp"))));
        assert!(format!("{stream:?}").starts_with("IntoStream { receiver: Receiver { len: 1"));
    }

    #[test]
    fn what_may_travel() {
        fn may_travel<T: Send + Sync>(_: &T) {}
        let stream = channel::<u32>(1).1.into_stream();
        may_travel(&stream);
        #[cfg(feature = "stream")]
        {
            fn is_stream<T>(_: &impl futures_core::Stream<Item = Result<T, RecvError>>) {}
            is_stream::<u32>(&stream);
        }
    }
}
