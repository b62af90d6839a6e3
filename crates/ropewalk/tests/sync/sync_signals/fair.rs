//! A task that always finds its signal ready still lets others run: each operation spends budget.

use ropewalk::Runtime;
use ropewalk::channel::{broadcast, oneshot, watch};
use ropewalk::sync::{CancellationToken, Notify, RateLimiter};
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

/// One worker; `busy` repeats its operation until the task beside it has run.
fn lets_others_run<F: Future<Output = ()> + Send>(busy: impl FnOnce(Arc<AtomicBool>) -> F + Send + 'static) {
    let runtime = Runtime::builder().worker_threads(0).build().unwrap();
    crate::kit::guarded("a busy task", || {
        runtime.block_on(async {
            let ran = Arc::new(AtomicBool::new(false));
            let busy = ropewalk::spawn({
                let ran = ran.clone();
                async move { busy(ran).await }
            });
            drop(ropewalk::spawn(async move { ran.store(true, SeqCst) })); // detached
            busy.await.unwrap();
        });
    });
}

#[test]
fn notify() {
    lets_others_run(|ran| async move {
        let notify = Notify::new();
        while !ran.load(SeqCst) {
            notify.notify_one();
            notify.notified().await;
        }
    });
}

#[test]
fn oneshot_of_a_value_and_of_a_dropped_sender() {
    lets_others_run(|ran| async move {
        while !ran.load(SeqCst) {
            let (sender, receiver) = oneshot::channel();
            sender.send(1).unwrap();
            assert_eq!(receiver.await, Ok(1));
        }
    });
    lets_others_run(|ran| async move {
        while !ran.load(SeqCst) {
            let (sender, receiver) = oneshot::channel::<u32>();
            drop(sender);
            assert!(receiver.await.is_err());
        }
    });
}

#[test]
fn oneshot_closed() {
    lets_others_run(|ran| async move {
        let (mut sender, _) = oneshot::channel::<u32>();
        while !ran.load(SeqCst) {
            sender.closed().await;
        }
    });
}

#[test]
fn watch() {
    lets_others_run(|ran| async move {
        let (sender, mut receiver) = watch::channel(0);
        while !ran.load(SeqCst) {
            sender.send_modify(|value| *value += 1);
            receiver.changed().await.unwrap();
        }
    });
    lets_others_run(|ran| async move {
        let (_sender, mut receiver) = watch::channel(0);
        while !ran.load(SeqCst) {
            assert_eq!(*receiver.wait_for(|value| *value == 0).await.unwrap(), 0);
        }
    });
}

#[test]
fn broadcast_that_is_read_and_that_is_overwritten() {
    lets_others_run(|ran| async move {
        let (sender, mut receiver) = broadcast::channel(1);
        while !ran.load(SeqCst) {
            sender.send(1).unwrap();
            assert_eq!(receiver.recv().await, Ok(1));
        }
    });
    lets_others_run(|ran| async move {
        let (sender, mut receiver) = broadcast::channel(1);
        while !ran.load(SeqCst) {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            assert_eq!(receiver.recv().await, Err(broadcast::RecvError::Lagged(1)));
            assert_eq!(receiver.recv().await, Ok(2));
        }
    });
}

#[test]
fn streams_of_a_watch_and_of_a_broadcast() {
    lets_others_run(|ran| async move {
        let (sender, receiver) = watch::channel(0);
        let mut stream = Box::pin(receiver.into_stream());
        while !ran.load(SeqCst) {
            sender.send_modify(|value| *value += 1);
            assert!(poll_fn(|cx| stream.as_mut().poll_next(cx)).await.is_some());
        }
    });
    lets_others_run(|ran| async move {
        let (sender, receiver) = broadcast::channel(1);
        let mut stream = Box::pin(receiver.into_stream());
        while !ran.load(SeqCst) {
            sender.send(1).unwrap();
            assert_eq!(poll_fn(|cx| stream.as_mut().poll_next(cx)).await, Some(Ok(1)));
        }
    });
}

#[test]
fn cancelled() {
    lets_others_run(|ran| async move {
        let token = CancellationToken::new();
        token.cancel();
        while !ran.load(SeqCst) {
            token.cancelled().await;
        }
    });
}

#[test]
fn rate_limiter() {
    lets_others_run(|ran| async move {
        let limiter = RateLimiter::new(1_000_000, Duration::from_millis(1)).unwrap();
        while !ran.load(SeqCst) {
            limiter.acquire().await;
        }
    });
}
