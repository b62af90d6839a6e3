//! What a signal does to the process: before anybody listens, meanwhile, and after.

use crate::kit::{guarded, is_child, run_as_child, stderr_of};
use crate::send;
use ropewalk::Wait;
use ropewalk::signal::ctrl_c;
use ropewalk::signal::unix::{SignalKind, signal};
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// Runs `body` in a process of its own: by which signal that ended, if it did.
fn ended_by(test: &str, body: impl FnOnce()) -> Option<i32> {
    if is_child() {
        body();
        std::process::exit(0);
    }
    let output = run_as_child(test, |_| {});
    let signal = output.status.signal();
    assert!(signal.is_some() || output.status.success(), "{}", stderr_of(&output));
    signal
}

#[test]
fn a_signal_to_which_nobody_listens_does_what_it_did() {
    let by = ended_by("actions::a_signal_to_which_nobody_listens_does_what_it_did", || {
        let _another = signal(SignalKind::hangup()).unwrap();
        send(SignalKind::terminate());
        std::thread::park();
    });
    assert_eq!(by, Some(libc::SIGTERM));
}

#[test]
fn ctrl_c_is_received_instead_of_ending_the_process() {
    let by = ended_by("actions::ctrl_c_is_received_instead_of_ending_the_process", || {
        for _ in 0..3 {
            let (pressed, again) = (ctrl_c(), ctrl_c());
            send(SignalKind::interrupt());
            guarded("ctrl-c", || pressed.wait().unwrap());
            guarded("ctrl-c elsewhere", || ropewalk::block_on(again).unwrap());
        }
    });
    assert_eq!(by, None);
}

#[test]
fn when_the_last_listener_is_gone_the_default_is_back() {
    let by = ended_by("actions::when_the_last_listener_is_gone_the_default_is_back", || {
        // SAFETY: it takes nothing but the default action, which a program in the background may not have inherited.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
        let (pressed, kept) = (ctrl_c(), signal(SignalKind::interrupt()).unwrap());
        drop(pressed);
        send(SignalKind::interrupt()); // somebody listens
        drop(kept);
        send(SignalKind::interrupt());
        std::thread::park();
    });
    assert_eq!(by, Some(libc::SIGINT));
}

#[test]
fn a_signal_that_was_ignored_is_ignored_again() {
    let by = ended_by("actions::a_signal_that_was_ignored_is_ignored_again", || {
        // SAFETY: it ignores a signal.
        unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
        let mut listener = signal(SignalKind::user_defined1()).unwrap();
        send(SignalKind::user_defined1());
        guarded("not ignored", || listener.recv().wait());
        drop(listener);
        send(SignalKind::user_defined1());
    });
    assert_eq!(by, None);
}

#[test]
fn a_handler_that_was_there_is_still_called() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn handler(_: libc::c_int) {
        CALLS.fetch_add(1, SeqCst);
    }
    let by = ended_by("actions::a_handler_that_was_there_is_still_called", || {
        // SAFETY: the handler changes an atomic only.
        unsafe { libc::signal(libc::SIGUSR2, handler as *const () as usize) };
        for round in 0..3 {
            let mut listener = signal(SignalKind::user_defined2()).unwrap();
            send(SignalKind::user_defined2());
            guarded("both", || listener.recv().wait());
            drop(listener);
            send(SignalKind::user_defined2());
            crate::kit::until("the old one is called", || CALLS.load(SeqCst) == 2 * round + 2);
        }
    });
    assert_eq!(by, None);
}

#[test]
fn a_handler_put_over_ours_stays_and_ours_does_not_call_itself() {
    static OURS: AtomicUsize = AtomicUsize::new(0);
    extern "C" fn over(signal: libc::c_int) {
        // SAFETY: the address is that of the handler that was there before, which takes information.
        let ours: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            unsafe { std::mem::transmute(OURS.load(SeqCst)) };
        ours(signal, std::ptr::null_mut(), std::ptr::null_mut());
    }
    let by = ended_by("actions::a_handler_put_over_ours_stays_and_ours_does_not_call_itself", || {
        let first = signal(SignalKind::user_defined1()).unwrap();
        // SAFETY: the new handler calls ours, as a handler that is put over another should.
        unsafe { OURS.store(libc::signal(libc::SIGUSR1, over as *const () as usize), SeqCst) };
        drop(first);
        let mut second = signal(SignalKind::user_defined1()).unwrap();
        send(SignalKind::user_defined1());
        guarded("through the other", || second.recv().wait());
    });
    assert_eq!(by, None);
}
