//! Waiting with a limit, wherever it is done. For what is rare and must not depend on any runtime's clock: going down.

use super::{is_root_here, park_thread_until, wait_shielded, wait_to_the_end};
use crate::context;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::task::{Context, Poll, Waker};
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
    let is_root = is_root_here();
    if !is_root && context::with_worker(|worker| worker.is_none()) {
        return park_thread_until(until, attempt);
    }
    let mut alarm: Option<(Waker, Alarm)> = None;
    let timed = |cx: &mut Context<'_>| {
        if let Poll::Ready(value) = attempt(cx) {
            return Poll::Ready(Some(value));
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Poll::Ready(None);
        }
        // What drives meanwhile is polled by others than what does not.
        if !alarm.as_ref().is_some_and(|(waker, _)| waker.will_wake(cx.waker())) {
            let (waker, rung) = (cx.waker().clone(), cx.waker().clone());
            alarm = Alarm::set(left, move || rung.wake()).map(|alarm| (waker, alarm));
        }
        if alarm.is_none() { Poll::Ready(None) } else { Poll::Pending }
    };
    if is_root {
        return wait_to_the_end(timed);
    }
    context::with_worker(|worker| wait_shielded(worker.expect("no plain thread"), timed))
}
