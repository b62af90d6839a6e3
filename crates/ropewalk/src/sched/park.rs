//! Where a thread sleeps, and how it is woken wherever that is.
//!
//! Each sleeper owns one word with four values. The owner moves it along the solid arrows, everybody else only
//! along the dotted ones; each arrow is one read-modify-write, so no two of them overlap.
//!
//! ```text
//!                lie_down(PARKED)
//!        +---------------------------->  PARKED ......
//!        |<---------- get_up ------------+           :  give: wake the word
//!      EMPTY                                         :
//!        |       lie_down(POLLING)                   v
//!        +---------------------------->  POLLING ..> NOTIFIED
//!        |<---------- get_up ------------+   give:   |  ^
//!        |                          unpark the driver|  :  give: nothing to wake
//!        |<---- get_up, or a lie_down that fails ----+  :
//!        :..............................................:
//! ```
//!
//! Invariants:
//!
//! 1. `NOTIFIED` is a wake-up not yet consumed. It is never overwritten by the owner without being consumed:
//!    `lie_down` only starts from `EMPTY`, and `get_up` reads what it replaces.
//! 2. Whoever replaces `PARKED` or `POLLING` by `NOTIFIED` wakes the place named there, after the replacement.
//! 3. `POLLING` is set by the holder of the seam only, and the seam is released after `get_up`.
//!
//! **An unpark between the last check and the sleep is never lost.** Take an `unpark` and the owner's next `lie_down`
//! in the order of the word. If `unpark` comes first, `lie_down` meets `NOTIFIED`, consumes it, and the owner does not
//! sleep (1). If it comes second, it reads the place and wakes it (2):
//!
//! - `PARKED`: a change of the word, then `wake`. [`Futex::wait`] does not sleep through that.
//! - `POLLING`: [`Driver::unpark`], which is sticky. Only a `park` of the driver that returned earlier could have
//!   consumed it; but all of those returned before the owner took the seam, hence before its `lie_down` (3), hence
//!   before this `unpark`.
//!
//! In each case what the waker wrote before `unpark` is visible after `park`: `give` releases, `get_up` acquires.
//!
//! The `unpark` of a driver may come late, when its owner has left by itself and another worker is in there. That
//! one returns early, which is always allowed, and has lost nothing.

use super::futex::{Futex, Word};
use crate::drive::Driver;
use core::time::Duration;
use ropewalk_core::prim::{AtomicBool, Ordering, Padded, fence};
use std::sync::Arc;
use std::task::Wake;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const POLLING: u32 = 2;
const NOTIFIED: u32 = 3;

/// The word with its four transitions. Nothing else touches it.
#[derive(Debug)]
struct Token(Word);

impl Token {
    fn new() -> Self {
        Self(Word::new(EMPTY))
    }

    /// Owner: announces that it sleeps in `place`. False: there was a wake-up; it is consumed, and the owner is awake.
    #[must_use]
    fn lie_down(&self, place: u32) -> bool {
        let announced = self.0.compare_exchange(EMPTY, place, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !announced {
            self.get_up();
        }
        announced
    }

    /// Owner: is awake. True: there was a wake-up, and it is consumed.
    fn get_up(&self) -> bool {
        self.0.swap(EMPTY, Ordering::Acquire) == NOTIFIED
    }

    /// Anyone: leaves a wake-up, and says where the owner was asleep.
    #[must_use]
    fn give(&self) -> u32 {
        // Always a swap, also over NOTIFIED: each waker's writes must reach the owner, not only the first one's.
        self.0.swap(NOTIFIED, Ordering::Release)
    }

    /// Owner: sleeps on the word. True: there was a wake-up.
    fn sleep(&self, timeout: Option<Duration>) -> bool {
        if !self.lie_down(PARKED) {
            return true;
        }
        self.0.wait(PARKED, timeout);
        self.get_up()
    }
}

/// What a worker is doing, as others see it: for metrics and dumps, out of date as soon as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkerState {
    /// Running tasks, or looking for some.
    Busy,
    /// Asleep on its own word.
    Idle,
    /// Asleep in the driver.
    Polling,
}

/// The place where one worker sleeps. Only that worker calls [`park`](Self::park).
#[derive(Debug)]
pub(crate) struct Parker {
    token: Padded<Token>,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Self { token: Padded(Token::new()) }
    }

    /// Sleeps until [`unpark`](Self::unpark): in the driver if it is free, else on the worker's own word. May return
    /// early; an `unpark` since the last return makes it return at once.
    ///
    /// `timeout` is asked only if the driver is taken, and after it is: the sleepers on words are not to wake when a
    /// deadline comes, that is the polling worker's business (see [`Seam::deadline_moved`]).
    pub(crate) fn park(&self, seam: &Seam, timeout: impl FnOnce() -> Option<Duration>) {
        let Some(held) = seam.take() else {
            self.token.sleep(None);
            return;
        };
        fence(Ordering::SeqCst); // barrier of the poller: the seam is taken, then the deadlines are read
        let timeout = timeout();
        if self.token.lie_down(POLLING) {
            held.driver.park(timeout);
            self.token.get_up();
        }
    }

    /// Wakes the worker wherever it sleeps, or else keeps it from sleeping the next time. `seam` is the one that it
    /// parks with.
    pub(crate) fn unpark(&self, seam: &Seam) {
        match self.token.give() {
            PARKED => self.token.0.0.wake(1),
            POLLING => seam.driver.unpark(),
            _ => {}
        }
    }

    /// Consumes an `unpark`, if there was one, without sleeping: for an owner that waits in another way.
    pub(crate) fn was_unparked(&self) -> bool {
        self.token.get_up()
    }

    /// What the worker is doing.
    pub(crate) fn state(&self) -> WorkerState {
        match self.token.0.0.load(Ordering::Relaxed) {
            PARKED => WorkerState::Idle,
            POLLING => WorkerState::Polling,
            _ => WorkerState::Busy,
        }
    }
}

/// The driver and who has it: at most one thread at a time polls it or sleeps in it.
#[derive(Debug)]
pub(crate) struct Seam {
    driver: Box<dyn Driver>,
    taken: AtomicBool,
}

impl Seam {
    pub(crate) fn new(driver: Box<dyn Driver>) -> Self {
        Self { driver, taken: AtomicBool::new(false) }
    }

    /// Looks for events without sleeping, unless somebody has the driver: then they are seen to. True if it looked.
    pub(crate) fn poll(&self) -> bool {
        let Some(held) = self.take() else { return false };
        held.driver.poll();
        true
    }

    /// To be called after publishing a deadline that may be the earliest: whoever sleeps in the driver comes out, and
    /// reads the deadlines again when it goes back.
    #[allow(dead_code)] // called by the timers, when they come
    pub(crate) fn deadline_moved(&self) {
        fence(Ordering::SeqCst); // barrier of the publisher: the deadline is out, then the seam is looked at
        if self.taken.load(Ordering::Relaxed) {
            self.driver.unpark();
        }
    }

    /// Whether nobody has the driver just now. While that is so, somebody awake owes it a look (README.md).
    #[allow(dead_code)] // asked by the watchdog, when it comes
    pub(crate) fn is_free(&self) -> bool {
        !self.taken.load(Ordering::Relaxed)
    }

    fn take(&self) -> Option<Held<'_>> {
        let free = self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        free.then(|| Held { driver: &*self.driver, taken: &self.taken })
    }
}

/// The right to poll the driver and to sleep in it. Dropping it gives the driver back.
struct Held<'a> {
    driver: &'a dyn Driver,
    taken: &'a AtomicBool,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.taken.store(false, Ordering::Release);
    }
}

/// The same word for a thread that is no worker and waits for one thing: a [`Waker`](std::task::Waker) made from it
/// ends its `park`.
///
/// Only one thread at a time parks on it (two would sleep through each other's wake-ups; nothing worse).
#[derive(Debug)]
pub(crate) struct ThreadParker {
    token: Token,
}

impl ThreadParker {
    pub(crate) fn new() -> Self {
        Self { token: Token::new() }
    }

    /// Sleeps until [`unpark`](Self::unpark) or for at most `timeout`; may return early. True: it was an `unpark`, and
    /// what its caller wrote before is visible now.
    pub(crate) fn park(&self, timeout: Option<Duration>) -> bool {
        self.token.sleep(timeout)
    }

    /// Ends the `park` under way, or else the next one.
    pub(crate) fn unpark(&self) {
        if self.token.give() == PARKED {
            self.token.0.wake(1);
        }
    }
}

impl Default for ThreadParker {
    fn default() -> Self {
        Self::new()
    }
}

impl Wake for ThreadParker {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

#[cfg(test)]
mod tests;
