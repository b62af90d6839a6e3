//! Waiting with a limit, wherever it is done. For what is rare and must not depend on any runtime's clock: going down.

use super::{park_thread_until, wait_shielded};
use crate::context;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

/// A thread that does something later, unless this is dropped before.
pub(crate) struct Alarm(Option<Sender<()>>);

impl Alarm {
    /// Without a limit nothing is done. `None`: there is no thread to be had.
    pub(crate) fn set(limit: Option<Duration>, ring: impl FnOnce() + Send + 'static) -> Option<Self> {
        let Some(limit) = limit else { return Some(Self(None)) };
        let (alive, dropped) = channel::<()>();
        let wait = move || {
            if dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                ring();
            }
        };
        let thread = thread::Builder::new().name("ropewalk-alarm".to_owned()).spawn(wait).ok()?;
        drop(thread);
        Some(Self(Some(alive)))
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        drop(self.0.take()); // its thread notices
    }
}

/// Waits where this is called, a plain thread, a task or a strand, until `attempt` is ready, at most until then. `None`: it
/// was not. (Nor was it if on a worker there is no thread to be had for the alarm.)
pub(crate) fn wait_at_most<R>(
    until: Option<Instant>,
    mut attempt: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> Option<R> {
    let mut alarm = None;
    context::with_worker(|worker| match worker {
        None => park_thread_until(until, attempt),
        Some(worker) => wait_shielded(worker, |cx| {
            if let Poll::Ready(value) = attempt(cx) {
                return Poll::Ready(Some(value));
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Poll::Ready(None);
            }
            if alarm.is_none() {
                let waker = cx.waker().clone();
                alarm = Alarm::set(left, move || waker.wake());
            }
            if alarm.is_none() { Poll::Ready(None) } else { Poll::Pending }
        }),
    })
}
