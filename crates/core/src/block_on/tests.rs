use super::parked::Parker;
use super::*;
use crate::prim::{self, UnsafeCell};
use core::future::{pending, poll_fn, ready};
use std::sync::{Arc, Mutex, mpsc};

/// Written by the waking thread, read by the woken one: only the wake-up itself orders the two.
struct Payload(UnsafeCell<u32>);
// SAFETY: one thread writes before it wakes, the other reads after it was woken (B1); loom checks it.
unsafe impl Sync for Payload {}
// SAFETY: an integer.
unsafe impl Send for Payload {}

// mutation: parker-does-not-end-a-sleep
// - in crates/core/src/block_on.rs: `self.woken.notify_one();`
// + ``
// mutation: parker-sleeps-although-woken
// - in crates/core/src/block_on.rs: `if *state == State::Awake {`
// + `if true {`
// mutation: parker-notifies-before-it-says-so
// - in crates/core/src/block_on.rs: `if mem::replace(&mut *self.state.lock(), State::Woken) == State::Asleep {`
// + `let was = *self.state.lock(); *self.state.lock() = State::Woken; if was == State::Asleep {`
#[test]
fn model_block_on_is_woken_from_another_thread_before_or_after_it_parks() {
    prim::model(|| {
        let payload = Arc::new(Payload(UnsafeCell::new(0)));
        let mut thread = None;
        let value = block_on_simple(poll_fn(|cx| {
            if thread.is_some() {
                // SAFETY: the writer woke us after its write.
                return Poll::Ready(payload.0.with(|value| unsafe { *value }));
            }
            let (payload, waker) = (payload.clone(), cx.waker().clone());
            thread = Some(prim::thread::spawn(move || {
                // SAFETY: the reader looks only after it was woken.
                payload.0.with_mut(|value| unsafe { *value = 7 });
                waker.wake();
            }));
            Poll::Pending
        }));
        assert_eq!(value, 7);
        thread.unwrap().join().unwrap();
    });
}

// mutation: parker-sleeps-although-woken
// - in crates/core/src/block_on.rs: `if *state == State::Awake {`
// + `if true {`
#[test]
fn model_parker_keeps_one_of_two_wake_ups() {
    prim::model(|| {
        let parker = Arc::new(Parker::new());
        let other = parker.clone();
        let thread = prim::thread::spawn(move || other.unpark());
        parker.unpark();
        parker.park();
        thread.join().unwrap();
        parker.unpark();
        parker.park();
    });
}

#[test]
fn a_ready_future_is_polled_once() {
    assert_eq!(block_on_simple(ready(3)), 3);
    assert_eq!(spin(ready(3)), 3);
}

/// Wakes itself in its first poll and is done in the second.
async fn twice() {
    let mut polled = false;
    poll_fn(move |cx| {
        cx.waker().wake_by_ref();
        if core::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn a_wake_up_before_the_park_is_not_lost() {
    block_on_simple(twice());
    spin(twice());
}

#[test]
fn a_waker_kept_from_an_earlier_call_costs_one_poll_at_most() {
    let mut kept = None;
    block_on_simple(poll_fn(|cx| {
        kept = Some(cx.waker().clone());
        Poll::Ready(())
    }));
    kept.unwrap().wake();
    block_on_simple(twice());
    let (waker, wakers) = mpsc::channel::<Waker>();
    let waking = std::thread::spawn(move || wakers.into_iter().for_each(Waker::wake));
    let mut polls = 0;
    block_on_simple(poll_fn(|cx| {
        polls += 1;
        waker.send(cx.waker().clone()).unwrap();
        if polls == 5 { Poll::Ready(()) } else { Poll::Pending }
    }));
    drop(waker);
    waking.join().unwrap();
}

/// The outer future's wake-up comes while the inner call runs: the inner call must not eat it (B2).
#[test]
fn a_nested_call_leaves_the_outer_wake_up_alone() {
    let outer_waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let mut polls = 0;
    block_on_simple(poll_fn(|cx| {
        polls += 1;
        if polls == 2 {
            return Poll::Ready(());
        }
        *outer_waker.lock().unwrap() = Some(cx.waker().clone());
        let mut inner_polls = 0;
        block_on_simple(poll_fn(|inner| {
            inner_polls += 1;
            assert!(!inner.waker().will_wake(cx.waker()));
            if inner_polls == 1 {
                outer_waker.lock().unwrap().take().unwrap().wake();
                inner.waker().wake_by_ref();
                return Poll::Pending;
            }
            block_on_simple(twice());
            Poll::Ready(())
        }));
        assert_eq!(inner_polls, 2);
        Poll::Pending
    }));
    assert_eq!(polls, 2);
}

#[test]
fn a_panic_in_the_future_leaves_the_thread_usable() {
    let panicked = std::panic::catch_unwind(|| block_on_simple(async { panic!("on purpose") }));
    assert!(panicked.is_err());
    block_on_simple(twice());
}

#[test]
fn the_thread_keeps_its_parker() {
    let waker = || block_on_simple(poll_fn(|cx| Poll::Ready(cx.waker().clone())));
    let (first, second) = (waker(), waker());
    assert_eq!(first.will_wake(&second), cfg!(not(any(loom, shuttle))));
}

#[test]
fn it_works_while_the_thread_is_ending() {
    struct AtExit;
    impl Drop for AtExit {
        fn drop(&mut self) {
            block_on_simple(twice());
        }
    }
    std::thread_local!(static AT_EXIT: AtExit = const { AtExit });
    std::thread::spawn(|| {
        AT_EXIT.with(|_| ());
        block_on_simple(twice());
    })
    .join()
    .unwrap();
}

#[test]
fn the_noop_waker_does_nothing() {
    let waker = noop_waker();
    waker.wake_by_ref();
    assert!(waker.will_wake(&noop_waker()));
    let mut never = pin!(pending::<()>());
    assert!(never.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    waker.wake();
}
