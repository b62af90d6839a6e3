//! Time: sleeping, timeouts, intervals, by the clock of the runtime.
//!
//! Everything here is a plain future: `.await` it in a task, `.wait()` for it on a thread or a strand. It works on foreign
//! executors too, where the default runtime keeps the time.
//!
//! ```
//! use ropewalk::{Wait, time};
//! use std::time::Duration;
//!
//! ropewalk::block_on(async {
//!     time::sleep(Duration::from_micros(200)).await;
//!     let late = time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
//!     assert!(late.is_err());
//! });
//! time::sleep(Duration::from_millis(1)).wait(); // on a plain thread
//! ```
//!
//! **Precision.** A sleep is never over early. Deadlines are kept to the nanosecond, and an idle runtime wakes for one as
//! precisely as the system lets a thread sleep. Under load timers are looked at every
//! [`global_queue_interval`](crate::Builder::global_queue_interval) polls of a worker. If a worker is stuck, the others
//! see to its timers: at once if one of them is busy or sleeps in the driver, within about ten milliseconds if not.
//!
//! **Which clock.** [`sleep`], [`timeout`] and [`Instant::now`] go by the clock of the runtime they are called in, or else the
//! default one's. By default that is the system's monotonic clock, the same for all runtimes. Times of different clocks
//! ([`Builder::clock`](crate::Builder::clock), [`Builder::paused`](crate::Builder::paused)) say nothing about each other.
//!
//! **When a runtime ends**, a sleep that was pending there goes on in the default runtime if it is by the system's clock. By a
//! clock of the runtime's own it is over at once, since that clock has stopped.

mod instant;
mod interval;
mod sleep;
mod timeout;

pub use instant::Instant;
pub use interval::{Interval, MissedTick, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
pub use timeout::{Elapsed, Timeout, timeout, timeout_at};

use crate::context;
use crate::drive::time::Here;
use crate::runtime::ManualClock;
use crate::sched::worker::Timers;
use std::fmt;
use std::time::Duration;

/// Stops the clock of the current runtime, if it is a [`ManualClock`].
///
/// # Errors
/// The runtime goes by another clock.
pub fn pause() -> Result<(), NotManual> {
    manual().map(|clock| clock.pause())
}

/// Lets the clock of the current runtime run with real time, if it is a [`ManualClock`].
///
/// # Errors
/// The runtime goes by another clock.
pub fn resume() -> Result<(), NotManual> {
    manual().map(|clock| clock.resume())
}

/// Moves the clock of the current runtime on, if it is a [`ManualClock`]. In a task it then lets everything run that has
/// become due, as far as the worker's queue has room for it; what that leads to may take more turns.
///
/// ```
/// use ropewalk::time;
/// use std::time::Duration;
///
/// let runtime = ropewalk::Runtime::builder().paused(true).build()?;
/// runtime.block_on(async {
///     let nap = ropewalk::spawn(time::sleep(Duration::from_secs(60)));
///     ropewalk::yield_now().await;
///     time::advance(Duration::from_secs(59)).await.unwrap();
///     assert!(!nap.is_finished());
///     time::advance(Duration::from_secs(1)).await.unwrap();
///     assert!(nap.is_finished());
/// });
/// # Ok::<(), ropewalk::RuntimeError>(())
/// ```
///
/// Cancel safety: the clock is moved by the first poll, or not at all.
///
/// # Errors
/// The runtime goes by another clock.
pub async fn advance(span: Duration) -> Result<(), NotManual> {
    manual()?.advance(span);
    context::with_worker(|worker| worker.map(|worker| worker.see_to_timers(Timers::All)));
    crate::yield_now().await;
    Ok(())
}

fn manual() -> Result<ManualClock, NotManual> {
    Here::with(|here| here.clock().manual()).ok_or(NotManual)
}

/// The clock of the runtime cannot be moved: build it with [`paused`](crate::Builder::paused), or give it a [`ManualClock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotManual;

impl fmt::Display for NotManual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the runtime's clock cannot be moved: build it with `paused(true)` or with a ManualClock")
    }
}

impl std::error::Error for NotManual {}
