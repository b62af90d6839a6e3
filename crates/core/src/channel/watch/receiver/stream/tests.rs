use super::super::super::channel;
use super::*;
use crate::{block_on_simple, prim};
use core::future::poll_fn;
use std::pin::pin;

// mutation: watch-stream-waits-without-looking
// - in crates/core/src/channel/watch/receiver/stream.rs: `let same = || shared.version.load(Ordering::Relaxed) == seen;`
// + `let _ = seen; let same = || true;`
#[test]
fn model_watch_send_against_a_stream() {
    prim::model(|| {
        let (sender, receiver) = channel(0);
        let mut stream = pin!(receiver.into_stream());
        let mut next = || block_on_simple(poll_fn(|cx| stream.as_mut().poll_next(cx)));
        assert_eq!(next(), Some(0));
        let thread = prim::thread::spawn(move || {
            sender.send(1).unwrap();
            sender
        });
        assert_eq!(next(), Some(1));
        drop(thread.join().unwrap());
        assert_eq!(next(), None);
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

    fn poll<T: Clone>(stream: &mut Pin<Box<IntoStream<T>>>) -> Poll<Option<T>> {
        poll_with(stream, Waker::noop())
    }

    fn poll_with<T: Clone>(stream: &mut Pin<Box<IntoStream<T>>>, waker: &Waker) -> Poll<Option<T>> {
        stream.as_mut().poll_next(&mut Context::from_waker(waker))
    }

    #[test]
    fn the_present_value_comes_first_and_then_what_is_new() {
        let (sender, receiver) = channel(0);
        let mut stream = Box::pin(receiver.into_stream());
        assert_eq!(stream.receiver().has_changed(), Ok(true), "it was no item yet");
        assert_eq!(poll(&mut stream), Poll::Ready(Some(0)));
        assert!(poll(&mut stream).is_pending());
        (1..=3).for_each(|n| sender.send(n).unwrap());
        assert_eq!(poll(&mut stream), Poll::Ready(Some(3)), "only the latest counts");
        assert!(poll(&mut stream).is_pending());
        sender.send(4).unwrap();
        assert_eq!(poll(&mut stream), Poll::Ready(Some(4)));
        sender.send(5).unwrap();
        drop(sender);
        assert_eq!(poll(&mut stream), Poll::Ready(Some(5)), "before the end");
        assert_eq!(poll(&mut stream), Poll::Ready(None));
        assert_eq!(poll(&mut stream), Poll::Ready(None), "it stays at its end");
    }

    #[test]
    fn the_present_value_comes_once_whatever_was_seen() {
        for seen in [true, false] {
            let (sender, mut receiver) = channel(0);
            sender.send(1).unwrap();
            if seen {
                receiver.mark_unchanged();
            }
            drop(sender);
            let mut stream = Box::pin(receiver.into_stream());
            assert_eq!(poll(&mut stream), Poll::Ready(Some(1)));
            assert_eq!(poll(&mut stream), Poll::Ready(None));
        }
    }

    #[test]
    fn the_end_wakes_it() {
        let (sender, receiver) = channel(0);
        let mut stream = Box::pin(receiver.into_stream());
        let (counter, waker) = Counter::new();
        assert_eq!(poll(&mut stream), Poll::Ready(Some(0)));
        assert!(poll_with(&mut stream, &waker).is_pending());
        drop(sender);
        assert_eq!(counter.count(), 1);
        assert_eq!(poll(&mut stream), Poll::Ready(None));
    }

    #[test]
    fn the_last_waker_is_woken_and_only_while_it_waits() {
        let (sender, receiver) = channel(0);
        let mut stream = Box::pin(receiver.into_stream());
        let ((first, one), (second, two)) = (Counter::new(), Counter::new());
        assert_eq!(poll(&mut stream), Poll::Ready(Some(0)));
        assert!(poll_with(&mut stream, &one).is_pending());
        assert!(poll_with(&mut stream, &two).is_pending());
        sender.send(1).unwrap();
        assert_eq!(poll_with(&mut stream, &one), Poll::Ready(Some(1)));
        sender.send(2).unwrap();
        assert_eq!(
            (first.count(), second.count()),
            (0, 1),
            "it does not wait between two polls that gave something"
        );
    }

    #[test]
    fn dropped_while_it_waits_it_leaves_nobody_behind() {
        let (sender, receiver) = channel(0);
        let mut stream = Box::pin(receiver.into_stream());
        let (counter, waker) = Counter::new();
        assert_eq!(poll(&mut stream), Poll::Ready(Some(0)));
        assert!(poll_with(&mut stream, &waker).is_pending());
        drop(stream);
        drop(waker);
        assert_eq!(Arc::strong_count(&counter), 1, "its waker is dropped");
        assert_eq!((sender.receiver_count(), sender.shared.changed.wake_all()), (0, 0));
        assert_eq!((sender.send_replace(1), counter.count()), (0, 0));
    }

    /// The channel is freed by the drop of the stream that waited in it.
    #[test]
    fn a_stream_that_is_the_last_to_go_frees_the_channel() {
        let census = Census::default();
        let (sender, receiver) = channel(census.citizen(0));
        let channel = Arc::downgrade(&receiver.shared);
        let mut stream = Box::pin(receiver.into_stream());
        assert!(poll(&mut stream).is_ready());
        assert!(poll(&mut stream).is_pending());
        drop(sender);
        assert_eq!((census.alive(), channel.strong_count()), (1, 1));
        drop(stream);
        assert_eq!((census.alive(), channel.strong_count()), (0, 0));
    }

    #[test]
    fn a_clone_that_panics_is_a_value_seen_and_locks_nothing() {
        #[derive(Debug)]
        struct Bang(bool);
        impl Clone for Bang {
            fn clone(&self) -> Self {
                assert!(!self.0, "bang");
                Self(false)
            }
        }
        let (sender, receiver) = channel(Bang(true));
        let mut stream = Box::pin(receiver.into_stream());
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut stream).is_ready())).is_err());
        assert!(poll(&mut stream).is_pending(), "it was seen");
        sender.send(Bang(false)).unwrap();
        assert!(matches!(poll(&mut stream), Poll::Ready(Some(Bang(false)))));
    }

    #[test]
    fn another_thread_wakes_it() {
        let (sender, receiver) = channel(0);
        let waits = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let sender = sender;
                for n in 1..100 {
                    while !waits.swap(false, SeqCst) {
                        std::thread::yield_now();
                    }
                    sender.send(n).unwrap();
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
            let mut last = None;
            while let Some(n) = next() {
                assert!(last < Some(n), "in order, and none twice");
                last = Some(n);
            }
            assert_eq!(last, Some(99));
        });
    }

    #[test]
    fn values_may_borrow() {
        let text = String::from("hemp");
        let (_sender, receiver) = channel(text.as_str());
        let mut stream = Box::pin(receiver.into_stream());
        assert!(format!("{stream:?}").starts_with("IntoStream { receiver: Receiver { has_changed: Ok(true)"));
        assert_eq!(poll(&mut stream), Poll::Ready(Some("hemp")));
    }

    #[test]
    fn what_may_travel() {
        fn may_travel<T: Send + Sync>(_: &T) {}
        let stream = channel(0).1.into_stream();
        may_travel(&stream);
        #[cfg(feature = "stream")]
        {
            fn is_stream<T>(_: &impl futures_core::Stream<Item = T>) {}
            is_stream::<i32>(&stream);
        }
    }
}
