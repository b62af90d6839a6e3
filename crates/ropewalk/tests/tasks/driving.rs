//! Runtimes without threads that several threads drive, one after the other: every wait inside one goes on when the driver leaves,
//! and whatever ends a wait, nobody is left behind.

mod away;
mod guests;
mod home;
mod idle;
mod nested;
mod soak;
mod unwinding;

use crate::kit::{Gate, RuntimeKind, until};
use ropewalk::{Runtime, RuntimeError};
use std::thread::{Scope, ScopedJoinHandle};

/// Without threads of their own.
const THREADLESS: [RuntimeKind; 3] = [RuntimeKind::Caller, RuntimeKind::Hosted(1), RuntimeKind::Hosted(3)];

/// What the error of `try_tick` says, if it cannot be had here.
fn refusal(runtime: &Runtime) -> Option<String> {
    match runtime.try_tick() {
        Ok(_) => None,
        Err(RuntimeError::Misuse(what)) => Some(what),
        Err(error) => panic!("{error}"),
    }
}

/// Returns when another thread drives it.
fn until_driven(runtime: &Runtime) {
    until("another thread drives", || {
        refusal(runtime).is_some_and(|what| what.contains("another thread is"))
    });
}

/// A thread that drives it, until the gate opens.
fn driver<'s>(scope: &'s Scope<'s, '_>, runtime: &'s Runtime, leave: &Gate) -> ScopedJoinHandle<'s, ()> {
    let passed = leave.passed();
    let thread = scope.spawn(move || runtime.block_on(passed));
    until_driven(runtime);
    thread
}
