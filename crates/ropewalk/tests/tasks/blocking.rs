//! The blocking pool: every life a job can have, its order and growth, what it sees of its runtime, and its end.

mod end;
mod growth;
mod inside;
mod life;
mod stress;

use crate::kit::{Gate, RuntimeKind, until};
use ropewalk::{Runtime, TaskHandle, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Those that differ for a blocking pool: with threads, and without.
const KINDS: [RuntimeKind; 3] = [RuntimeKind::Threads(2), RuntimeKind::Caller, RuntimeKind::Hosted(2)];

/// A runtime whose blocking pool has at most `most` threads.
fn narrow(kind: RuntimeKind, most: usize) -> Runtime {
    kind.builder().blocking_threads(0, most).build().unwrap()
}

/// A job that holds its thread until the gate is opened. It runs when this returns.
fn plug(runtime: &Runtime, gate: &Gate) -> TaskHandle<()> {
    let (started, passed) = (Arc::new(AtomicBool::new(false)), gate.passed());
    let here = started.clone();
    let job = runtime.spawn_blocking(move || {
        here.store(true, SeqCst);
        passed.wait()
    });
    until("the plug runs", || started.load(SeqCst));
    job
}
