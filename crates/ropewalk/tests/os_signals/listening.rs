//! What listeners receive.

use crate::kit::{KINDS, guarded, until};
use crate::send;
use ropewalk::signal::unix::{Signal, SignalKind, signal};
use ropewalk::{Wait, block_on, spawn};
use std::io::ErrorKind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

/// A real-time signal nobody else uses. Somebody listens to it until the process ends: one that is still on its way when a
/// test is over would end the process otherwise.
pub fn of_ones_own(offset: i32) -> SignalKind {
    let kind = SignalKind::from_raw(libc::SIGRTMIN() + offset);
    std::mem::forget(signal(kind).unwrap());
    kind
}

#[test]
fn a_signal_before_the_first_wait_is_received() {
    guarded("before the wait", || {
        let mut listener = signal(of_ones_own(1)).unwrap();
        send(of_ones_own(1));
        block_on(listener.recv());
        assert!(!listener.try_recv(), "once");
    });
}

#[test]
fn those_who_wait_in_tasks_strands_and_threads_are_all_woken() {
    guarded("everybody", || {
        let kind = of_ones_own(2);
        let with_threads = KINDS.into_iter().filter(|kind| !kind.is_hosted());
        let runtimes: Vec<_> = with_threads.map(|kind| kind.build()).collect();
        let mut waiting = Vec::new();
        for runtime in &runtimes {
            let mut listener = signal(kind).unwrap();
            waiting.push(runtime.spawn(async move {
                listener.recv().await;
                listener.recv().await;
            }));
        }
        let (mut on_thread, mut inside) = (signal(kind).unwrap(), signal(kind).unwrap());
        let thread = thread::spawn(move || twice(&mut on_thread));
        waiting.push(spawn(async move { twice(&mut inside) }));
        let mut witness = signal(kind).unwrap();
        send(kind);
        witness.recv().wait();
        // More of them, until each has received a second one: those that waited still may have merged some.
        while !waiting.iter().all(|task| task.is_finished()) || !thread.is_finished() {
            send(kind);
            witness.recv().wait();
            thread::yield_now();
        }
        waiting.into_iter().for_each(|task| task.wait().unwrap());
        thread.join().unwrap();
    });
}

fn twice(listener: &mut Signal) {
    listener.recv().wait();
    listener.recv().wait();
}

#[test]
fn a_runtime_on_the_callers_thread_sleeps_until_the_signal() {
    guarded("caller", || {
        let kind = of_ones_own(3);
        for place in KINDS {
            let mut listener = signal(kind).unwrap();
            let sender = thread::spawn(move || send(kind));
            place.build().block_on(listener.recv());
            sender.join().unwrap();
        }
    });
}

#[test]
fn several_that_nobody_asked_for_are_one() {
    let kind = of_ones_own(4);
    let mut listener = signal(kind).unwrap();
    let mut witness = signal(kind).unwrap();
    for _ in 0..100 {
        send(kind);
        guarded("each of them", || witness.recv().wait()); // so that all have been delivered
    }
    guarded("one of them", || listener.recv().wait());
    assert!(!listener.try_recv());
}

#[test]
fn none_is_lost_while_two_threads_send_and_ten_listen() {
    guarded("a storm", || {
        let kind = of_ones_own(5);
        let listeners: Vec<_> = (0..10).map(|_| signal(kind).unwrap()).collect();
        let mut last = signal(kind).unwrap();
        let tasks: Vec<_> = listeners
            .into_iter()
            .map(|mut listener| {
                spawn(async move {
                    // Each signal was seen by somebody before the next was sent, so at least one more comes.
                    for _ in 0..20 {
                        listener.recv().await;
                    }
                })
            })
            .collect();
        while !tasks.iter().all(|task| task.is_finished()) {
            thread::scope(|scope| {
                scope.spawn(|| send(kind));
                send(kind);
            });
            last.recv().wait();
        }
        tasks.into_iter().for_each(|task| task.wait().unwrap());
    });
}

#[test]
fn a_cancelled_wait_loses_nothing_and_leaves_nobody_in_line() {
    let kind = of_ones_own(6);
    let mut listener = signal(kind).unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..3 {
        assert_eq!(pin!(listener.recv()).poll(&mut cx), Poll::Pending);
    }
    send(kind);
    guarded("after cancelled waits", || listener.recv().wait());
    {
        let mut waiting = pin!(listener.recv());
        assert_eq!(waiting.as_mut().poll(&mut cx), Poll::Pending);
        send(kind);
    }
    guarded("of a cancelled wait", || listener.recv().wait());
}

#[test]
fn a_listener_begins_when_it_is_made() {
    let kind = of_ones_own(7);
    let mut early = signal(kind).unwrap();
    send(kind);
    guarded("the early one", || early.recv().wait());
    assert!(!signal(kind).unwrap().try_recv(), "what came before is not its business");
}

#[test]
fn a_waker_that_panics_keeps_nobody_else_from_being_woken() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("{}: a waker", crate::kit::ON_PURPOSE);
        }
    }
    crate::kit::quiet();
    let kind = of_ones_own(8);
    let (mut bad, mut good) = (signal(kind).unwrap(), signal(kind).unwrap());
    let waker = Waker::from(Arc::new(Panics));
    let mut waiting = pin!(bad.recv());
    assert_eq!(waiting.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
    for _ in 0..2 {
        send(kind);
        guarded("the good one", || good.recv().wait());
    }
    until("the bad one is told, too", || {
        waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    });
}

#[test]
fn what_cannot_be_listened_to_is_refused_with_what_can() {
    for number in
        [9, libc::SIGSTOP, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, 0, -1, 65, i32::MAX]
    {
        let kind = SignalKind::from_raw(number);
        let refused = signal(kind).expect_err(&format!("{kind} is refused"));
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        let text = refused.to_string();
        assert!(text.starts_with(&format!("{kind} cannot be listened to: ")), "{text}");
        assert!(text.contains("accepted: ") && text.contains("except SIGKILL, SIGSTOP, SIGSEGV"), "{text}");
    }
    #[cfg(target_env = "gnu")]
    assert_eq!(
        signal(SignalKind::from_raw(33)).unwrap_err().kind(),
        ErrorKind::InvalidInput,
        "the C library's own"
    );
}

#[test]
fn kinds_have_names() {
    assert_eq!(SignalKind::interrupt().to_string(), "SIGINT");
    assert_eq!(format!("{:?}", SignalKind::from_raw(50)), "signal 50");
    assert_eq!(signal(SignalKind::io()).unwrap().kind(), SignalKind::io());
}
