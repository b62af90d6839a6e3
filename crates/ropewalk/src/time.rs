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
//! precisely as the system lets a thread sleep. Under load a worker looks
//! at its timers every [`global_queue_interval`](crate::Builder::global_queue_interval) polls, or some sixty microseconds,
//! whichever comes first, between two polls; what is due comes before what merely yields. If a worker is stuck, the others
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
use crate::sched::worker::Worker;
use std::fmt;
use std::time::Duration;

/// So many times [`advance`] lets run what has become due, each time as much as a worker has room for.
const LOTS: u32 = 1024;

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
/// become due; what that leads to may take more turns.
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
    for _ in 0..LOTS {
        let more = context::with_worker(|worker| worker.is_some_and(Worker::wake_what_is_due));
        crate::yield_now().await;
        if !more {
            break;
        }
    }
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
