//! Signals of the operating system, sent for real. Each test of this process has a signal of its own; what is about the
//! default action happens in processes of its own.
//! A program of its own: handlers of signals are for the whole process.
#![cfg(all(unix, not(tsan)))] // TSan holds signals back until the thread calls libc, which one asleep on a futex does not

mod kit;

#[path = "os_signals/actions.rs"]
mod actions;
#[cfg(target_os = "linux")]
#[path = "os_signals/hogs.rs"]
mod hogs;
#[cfg(target_os = "linux")] // by real-time signals, which not every system has
#[path = "os_signals/listening.rs"]
mod listening;

use ropewalk::signal::unix::SignalKind;
use rustix::process::{Signal, getpid, kill_process};

/// Sends a signal to this process. When this returns, its handler has been called, if this thread does not block it and
/// no other thread took it; else it will be in a moment.
fn send(kind: SignalKind) {
    // SAFETY: the number is one of the system's; none of those the C library keeps for itself is sent.
    let signal = unsafe { Signal::from_raw_unchecked(kind.as_raw()) };
    kill_process(getpid(), signal).expect("a process may signal itself");
}
