//! Threads of the operating system, one to one: for work that computes, calls foreign code that blocks, or must keep
//! real-time deadlines.
//!
//! ```
//! use ropewalk::{Wait, thread};
//!
//! let sum = thread::spawn(|| (1..=100u64).sum::<u64>())?;
//! assert_eq!(sum.wait().unwrap(), 5050); // a handle is a future: `.await` it, `.wait()` for it, or `join` it
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A thread started inside a runtime belongs to it as far as free functions go: [`spawn`](crate::spawn) there means the
//! same runtime as where the thread was started, and a panic that nobody takes follows that runtime's policy. The runtime
//! does not wait for the thread. Task locals that are inherited go along.
//!
//! [`Mutex`], [`Condvar`], [`RwLock`] and [`Semaphore`] block the thread they are used on. Their guards are never `Send`,
//! so the compiler refuses a task that holds one over an `.await`. Local tasks need not be `Send`: for them there is a lint,
//! `await_holding_invalid_type`, with the list in Ropewalk's own `clippy.toml`, which is there to be copied. And in debug
//! builds a [`wait`](crate::wait()) on a strand or in a task panics if a guard is held there.

mod builder;
mod cell;
mod handle;
mod held;
mod latch;
mod lock;
mod rwlock;
mod scope;
mod semaphore;
mod settings;

pub use builder::Builder;
pub use handle::JoinHandle;
pub(crate) use held::Holds;
pub use lock::{Condvar, Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use scope::{Scope, scope};
pub use semaphore::{Permit, Semaphore};
pub(crate) use settings::set_class;
pub use settings::{Class, SettingError};
pub use std::thread::ThreadId;

use crate::context;
use std::io;
use std::time::Duration;

/// Starts a thread that runs `f`. Dropping the handle detaches it.
///
/// ```
/// let thread = ropewalk::thread::spawn(|| 6 * 7)?;
/// assert_eq!(thread.join().unwrap(), 42);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The system gives no thread, or no memory for its stack; `f` is dropped.
#[track_caller]
pub fn spawn<F, T>(f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f)
}

/// Lets another thread have the core. On a worker that is not what a task wants: see [`yield_now`](crate::yield_now()).
pub fn yield_now() {
    std::thread::yield_now();
}

/// Holds the thread itself for `duration`. On a worker nothing else runs there meanwhile, what it had queued is left to
/// the others, and it is counted; a task or strand sleeps without that.
///
/// ```
/// ropewalk::thread::sleep(std::time::Duration::from_micros(50));
/// ```
pub fn sleep(duration: Duration) {
    about_to_block();
    std::thread::sleep(duration);
}

/// The id of this thread.
pub fn id() -> ThreadId {
    std::thread::current().id()
}

/// The name of this thread, if it has one.
///
/// ```
/// use ropewalk::thread;
/// let thread = thread::Builder::new().name("scribe").spawn(thread::name)?;
/// assert_eq!(thread.join().unwrap().as_deref(), Some("scribe"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn name() -> Option<String> {
    std::thread::current().name().map(str::to_owned)
}

/// The thread is about to be held. If it is a worker's, what is queued there becomes everybody's, and it is counted.
fn about_to_block() {
    context::with_worker(|worker| {
        if let Some(worker) = worker {
            worker.hold();
        }
    });
}
