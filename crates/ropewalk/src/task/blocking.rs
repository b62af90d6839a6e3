//! Closures that would hold up a worker, as tasks of the blocking pool.

use super::{Builder, TaskHandle};
use crate::runtime::Handle;
use crate::sched::blocking;
use std::panic::Location;

/// Runs `call` on a thread of the current runtime's blocking pool: for system calls that block, for computations that
/// take long, for libraries that know no async. Outside of any runtime the default one is used.
///
/// ```
/// ropewalk::block_on(async {
///     let file = ropewalk::spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
///     assert!(file.await.unwrap().is_ok());
/// });
/// ```
///
/// Jobs start in the order in which they came. The pool grows while jobs wait and no thread is idle, up to
/// [`blocking_threads`](crate::Builder::blocking_threads); at the maximum they queue, without limit and without blocking
/// whoever brings them.
///
/// **Inside** the closure [`spawn`](crate::spawn) and [`Handle::current`] mean the job's runtime,
/// [`wait`](crate::wait()) parks the thread, [`task::id`](super::id) is the job's, and task locals that are inherited are
/// set as they were where it was started.
///
/// **Cancelling** a job that is queued removes it at once: its closure is dropped by the thread that cancels it, and the
/// handle gives [`TaskError::Cancelled`](super::TaskError::Cancelled). A job that runs is never interrupted: the handle
/// waits for it and gives its value. A long one may ask [`task::is_cancelled`](super::is_cancelled) now and then.
///
/// **Errors** of the handle: a panic of the closure, of its destructor or of the destructors of what it holds;
/// [`Shutdown`](super::TaskError::Shutdown) if the runtime was shut down before it ran;
/// [`NoThread`](super::TaskError::NoThread) if the pool had no thread and the system gave none.
#[track_caller]
pub fn spawn_blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> TaskHandle<T> {
    blocking::spawn(&Handle::current(), call, None, Location::caller(), None)
}

impl Builder {
    /// Runs a closure in the blocking pool, with this name; see [`spawn_blocking`]. A [`pool`](Self::pool) says whose: the
    /// runtime's that the pool belongs to.
    ///
    /// ```
    /// let job = ropewalk::task::Builder::new().name("adder").spawn_blocking(|| 1 + 1);
    /// assert_eq!(ropewalk::wait(job).unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn spawn_blocking<T: Send + 'static>(
        self,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> TaskHandle<T> {
        let runtime = self.pool.map_or_else(Handle::current, |pool| Handle::of_worker(&pool.inner()));
        blocking::spawn(&runtime, call, self.name, Location::caller(), None)
    }
}
