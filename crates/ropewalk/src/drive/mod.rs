//! The driver contract: what the one polling worker sleeps in, in place of its own futex.
//!
//! Of the workers that have nothing to do, one holds the driver (through [`Seam`](crate::sched::park::Seam)) and
//! sleeps in it; the others sleep on their own words. A driver turns events into wake-ups and no more: it calls
//! wakers, a waker pushes a task into a queue, and `sched` decides who runs it. A driver runs no task, and `sched`
//! knows nothing of sockets or timers.
//!
//! # What plugs in here
//!
//! - **Readiness** (epoll, kqueue, IOCP): `park` is the poll call with the timeout, `poll` the same with zero, and
//!   `unpark` the event that the poll call is also waiting for (an eventfd, a user event).
//! - **Completion** (io_uring): `park` submits what is pending and waits for one completion or the timeout, `poll`
//!   submits and reaps without waiting, `unpark` completes something that the ring waits for.
//! - **Timers** are no driver of their own: they are the timeout. Each shard of the wheel publishes its next deadline
//!   in an atomic. The polling worker takes the driver, *then* reads all of them, and passes the earliest as the
//!   timeout; when `park` or `poll` has returned it advances every shard that is due, also those of workers that
//!   sleep. Whoever publishes an earlier deadline calls
//!   [`Seam::deadline_moved`](crate::sched::park::Seam::deadline_moved) afterwards, which cuts the sleep short. The
//!   order and its proof are in `sched/README.md`.
//! - **Several at once**: a driver that holds others sleeps in one of them, which the rest can wake.
//!
//! None of them changes the sleep protocol: to it a driver is a place to sleep with a sticky wake-up.

use core::fmt::Debug;
use core::time::Duration;

pub(crate) mod futex;
#[cfg(unix)]
pub(crate) mod io;
#[cfg(unix)]
mod switch;
pub(crate) mod time;

/// What the polling worker sleeps in. Drivers wake; they never run tasks.
///
/// 1. `park` and `poll` are called by the one thread that holds the seam, and each call happens before the next, so a
///    driver may keep what only they touch in plain memory behind a lock that is never contended.
/// 2. `unpark` is called by anyone, at any time, also when nobody sleeps.
/// 3. The wake-up is sticky: an `unpark` that came since the last `park` returned makes the next `park` return soon.
///    Several collapse into one.
/// 4. `park` may return early, for no reason at all. Callers look again.
pub(crate) trait Driver: Debug + Send + Sync {
    /// Sleeps until [`unpark`](Self::unpark), an event, or the end of `timeout` (`None`: no limit), and collects the
    /// events that came. While some are collected and not delivered it does not sleep.
    fn park(&self, timeout: Option<Duration>);

    /// Collects the events that came, without sleeping. Called every few dozen ticks under load.
    fn poll(&self);

    /// Ends the `park` under way, or else the next one.
    fn unpark(&self);

    /// Whether something was collected and not delivered; a guess, right for who collected it.
    fn has_events(&self) -> bool {
        false
    }

    /// Turns what was collected into wake-ups, and says how many events there were. Called by anyone, also by two at once:
    /// without the seam, since wakers are the user's code.
    fn deliver(&self) -> usize {
        0
    }

    /// Whether events may come, so that somebody must look for them.
    fn is_watching(&self) -> bool {
        false
    }
}

impl Driver for Box<dyn Driver> {
    fn park(&self, timeout: Option<Duration>) {
        (**self).park(timeout);
    }

    fn poll(&self) {
        (**self).poll();
    }

    fn unpark(&self) {
        (**self).unpark();
    }

    fn has_events(&self) -> bool {
        (**self).has_events()
    }

    fn deliver(&self) -> usize {
        (**self).deliver()
    }

    fn is_watching(&self) -> bool {
        (**self).is_watching()
    }
}
