//! The handle of a strand.

use super::scene::Scene;
use super::{StrandError, rethrow};
use crate::{context, wait};
use ropewalk_core::task::{AbortHandle, TaskHandle, TaskId};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A strand that was started. Dropping it leaves the strand alone: its scope still waits for it.
///
/// On a strand, in a task's poll or on a thread it is [`join`](Self::join)ed; in `async` code it is awaited, and gives what
/// [`try_join`](Self::try_join) does.
#[must_use = "a strand that is not joined is cancelled when its scope ends, unless that waits for all (`join_all`)"]
pub struct Strand<'scope, T> {
    task: TaskHandle<T>,
    /// `None`: it is nobody's child.
    scene: Option<&'scope Scene>,
}

impl<'scope, T> Strand<'scope, T> {
    pub(super) fn new(task: TaskHandle<T>, scene: Option<&'scope Scene>) -> Self {
        Self { task, scene }
    }

    /// Waits for its end, and gives its value.
    ///
    /// ```
    /// use ropewalk::strand;
    /// let length = ropewalk::run(|| strand::scope(|s| s.spawn(|| "rope".len()).join()));
    /// assert_eq!(length, 4);
    /// ```
    ///
    /// # Panics
    /// With what it panicked with; and if it was cancelled, or the runtime was shut down.
    #[track_caller]
    #[inline]
    pub fn join(self) -> T {
        value_of(self.try_join())
    }

    /// Waits for its end, and says how it ended.
    ///
    /// ```
    /// use ropewalk::strand::{self, StrandError};
    /// let ended = ropewalk::run(|| strand::scope(|s| s.spawn(|| panic!("frayed")).try_join()));
    /// assert!(matches!(ended, Err(StrandError::Panicked(panic)) if panic.message() == "frayed"));
    /// ```
    ///
    /// # Errors
    /// It panicked, or it was cancelled, or the runtime was shut down.
    #[inline]
    pub fn try_join(self) -> Result<T, StrandError> {
        let task = self.task.as_raw();
        context::with_worker(|worker| {
            if let (Some(worker), Some(task)) = (worker, task) {
                worker.run_at_once(task);
            }
        });
        wait(self)
    }

    /// Asks it to end: what it waits for now, or next, unwinds with [`Interrupted`](super::Interrupted). One that was not started
    /// yet does not run.
    pub fn cancel(&self) {
        self.task.cancel();
    }

    /// Cancels it from elsewhere, also when this handle is gone.
    pub fn abort_handle(&self) -> AbortHandle {
        self.task.abort_handle()
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Its id; `None` after it was awaited.
    pub fn id(&self) -> Option<TaskId> {
        self.task.id()
    }
}

/// What somebody gets who insists on a value.
#[track_caller]
pub(super) fn value_of<T>(ended: Result<T, StrandError>) -> T {
    match ended {
        Ok(value) => value,
        Err(StrandError::Panicked(panic)) => rethrow(panic.into_payload()),
        Err(StrandError::Cancelled) => panic!("ropewalk: a strand that was to be joined was cancelled"),
        Err(error) => panic!("ropewalk: a strand that was to be joined gave no value: {error}"),
    }
}

impl<T> Future for Strand<'_, T> {
    type Output = Result<T, StrandError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = Pin::new(&mut self.task).poll(cx);
        if let (Poll::Ready(Err(StrandError::Panicked(panic))), Some(scene)) = (&ended, self.scene) {
            scene.panic_taken(panic.task());
        }
        ended
    }
}

impl<T> Unpin for Strand<'_, T> {}

impl<T> fmt::Debug for Strand<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strand").field("task", &self.task).finish_non_exhaustive()
    }
}
