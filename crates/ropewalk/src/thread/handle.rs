//! The right to a thread's value.

use crate::{TaskError, context, wait};
use ropewalk_core::task::TaskHandle;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::{self, Thread, ThreadId};

/// Waits for a thread and takes its value: [`join`](Self::join) it, or use it as a future of `Result<T, TaskError>`.
///
/// Dropping it detaches the thread; a panic there is then reported, never silent.
///
/// **Cancel safety**: polling it and dropping it later loses nothing but the value. **Panics** when polled again after it
/// gave the value.
///
/// ```
/// let answer = ropewalk::block_on(async {
///     let thread = ropewalk::thread::spawn(|| 42).unwrap();
///     thread.await.unwrap()
/// });
/// assert_eq!(answer, 42);
/// ```
#[must_use = "a dropped handle detaches its thread"]
pub struct JoinHandle<T> {
    value: TaskHandle<T>,
    thread: thread::JoinHandle<()>,
}

impl<T> JoinHandle<T> {
    pub(super) fn new(value: TaskHandle<T>, thread: thread::JoinHandle<()>) -> Self {
        Self { value, thread }
    }

    /// Waits for the thread's value as [`wait`](crate::wait()) does: a strand or a task's stack is parked and the worker
    /// goes on; on a plain thread, the thread is parked until the other one has ended altogether. Elsewhere destructors of
    /// thread-locals may still run over there when this returns, as they may when the handle is awaited.
    ///
    /// ```
    /// let thread = ropewalk::thread::spawn(|| panic!("on purpose"))?;
    /// let error: ropewalk::TaskError = thread.join().map(|(): ()| ()).unwrap_err();
    /// assert_eq!(error.into_panic().unwrap().message(), "on purpose");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TaskError::Panicked`] with the message, the payload and the place where the thread was started.
    ///
    /// # Panics
    /// If a thread joins itself, which would never end; if the handle gave its value already; and as
    /// [`wait`](crate::wait()).
    pub fn join(mut self) -> Result<T, TaskError> {
        assert!(self.id() != super::id(), "ropewalk: a thread cannot join itself");
        let result = wait::wait(&mut self.value);
        if context::with_worker(|worker| worker.is_none()) {
            // It does not panic: whatever the function did is in the result.
            let _ended = self.thread.join();
        }
        result
    }

    /// Whether the value is there (or was taken).
    pub fn is_finished(&self) -> bool {
        self.value.is_finished()
    }

    /// The thread: its id, its name, the right to unpark it.
    pub fn thread(&self) -> &Thread {
        self.thread.thread()
    }

    /// The id of the thread.
    pub fn id(&self) -> ThreadId {
        self.thread().id()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.value).poll(cx)
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("thread", self.thread())
            .field("finished", &self.is_finished())
            .finish()
    }
}

/// The native handle.
///
/// ```
/// use std::os::unix::thread::JoinHandleExt;
/// let thread = ropewalk::thread::spawn(|| ())?;
/// let _native = thread.as_pthread_t(); // valid as long as the handle
/// thread.join().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
#[cfg(unix)]
impl<T> std::os::unix::thread::JoinHandleExt for JoinHandle<T> {
    fn as_pthread_t(&self) -> std::os::unix::thread::RawPthread {
        self.thread.as_pthread_t()
    }

    fn into_pthread_t(self) -> std::os::unix::thread::RawPthread {
        self.thread.into_pthread_t()
    }
}

#[cfg(windows)]
impl<T> std::os::windows::io::AsRawHandle for JoinHandle<T> {
    fn as_raw_handle(&self) -> std::os::windows::io::RawHandle {
        self.thread.as_raw_handle()
    }
}
