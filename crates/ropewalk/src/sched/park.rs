//! Where a thread sleeps, and how it is woken wherever that is.
//!
//! Each sleeper owns one word with five values. The owner moves it along the solid arrows, everybody else only
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
//! `STANDING_BY` is to the second berth what `POLLING` is to the first, the driver's.
//!
//! Invariants:
//!
//! 1. `NOTIFIED` is a wake-up not yet consumed. It is never overwritten by the owner without being consumed:
//!    `lie_down` only starts from `EMPTY`, and `get_up` reads what it replaces.
//! 2. Whoever replaces `PARKED` or the name of a berth by `NOTIFIED` wakes the place named there, after the replacement.
//! 3. A berth's name is set by its holder only, and the berth is released after `get_up`.
//!
//! **An unpark between the last check and the sleep is never lost.** Take an `unpark` and the owner's next `lie_down`
//! in the order of the word. If `unpark` comes first, `lie_down` meets `NOTIFIED`, consumes it, and the owner does not
//! sleep (1). If it comes second, it reads the place and wakes it (2):
//!
//! - `PARKED`: a change of the word, then `wake`. [`Futex::wait`] does not sleep through that.
//! - a berth: [`Driver::unpark`], which is sticky. Only a `park` of its driver that returned earlier could have
//!   consumed it; but all of those returned before the owner took the berth, hence before its `lie_down` (3), hence
//!   before this `unpark`.
//!
//! In each case what the waker wrote before `unpark` is visible after `park`: `give` releases, `get_up` acquires.
//!
//! The `unpark` of a driver may come late, when its owner has left by itself and another worker is in there. That
//! one returns early, which is always allowed, and has lost nothing.
//!
//! # Deadlines
//!
//! Timers publish deadlines; the one in the driver sleeps until the earliest.
//!
//! ```text
//! publisher: deadline_moved                         sleeper: Berth::announce
//!   1. (the caller published a deadline)              1. wake_at = NEVER: it may sleep for ever
//!   2. SeqCst fence        <- barrier                 2. SeqCst fence        <- barrier
//!   3. deadline < wake_at: unpark                     3. read all deadlines
//!                                                     4. wake_at = the earliest; sleep until then
//!                                                     5. awake: wake_at = 0
//! ```
//!
//! The fences are in some order. If the publisher's is first, the sleeper's step 3 reads the deadline. If it is second,
//! step 3 reads what the sleeper's step 1 wrote, or something later: `NEVER`, and it is unparked; the earliest of what was
//! read, and it is unparked if this one is earlier; or 0, and then the sleeper has woken since, and its next step 2 comes
//! after the publisher's fence (or step 3 would have read its next step 1), so it reads the deadline then.
//!
//! **Standing by.** The one in the driver leaves it when something is to be done, and may not come back for long: a task
//! that holds its thread. So the next that goes to sleep takes the second berth, and sleeps by the same protocol until the
//! earliest deadline is overdue by [`OVERDUE`]. If it was seen to, there is another one by then, or none. It also looks for
//! events while the poller is away: `park/watch.rs`.

mod watch;

use super::futex::{Futex, Word};
use super::recorder::Slept;
use crate::drive::Driver;
use crate::drive::futex::FutexDriver;
use core::time::Duration;
use ropewalk_core::prim::{AtomicBool, AtomicU64, Ordering, Padded, fence};
use std::sync::Arc;
use std::task::Wake;
use watch::Watch;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const POLLING: u32 = 2;
const NOTIFIED: u32 = 3;
const STANDING_BY: u32 = 4;

/// No deadline.
pub(crate) const NEVER: u64 = u64::MAX;
/// How long, in nanoseconds, a deadline is overdue before the one standing by sees to it.
const OVERDUE: u64 = 10_000_000;

/// Until when to sleep: in the time that deadlines are published in, and as the driver understands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) wake_at: u64,
    pub(crate) timeout: Option<Duration>,
}

impl Limit {
    #[cfg(test)]
    pub(crate) const NONE: Self = Self { wake_at: NEVER, timeout: None };

    /// So much later.
    fn put_off(self, by: u64) -> Self {
        let timeout = self.timeout.map(|timeout| timeout.saturating_add(Duration::from_nanos(by)));
        Self { wake_at: self.wake_at.saturating_add(by), timeout }
    }
}

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

    /// Sleeps until [`unpark`](Self::unpark): in the driver if it is free, else standing by, else on the worker's own word.
    /// May return early; an `unpark` since the last return makes it return at once.
    ///
    /// `limit` is asked only if a berth is taken, and after it is: the sleepers on words are not to wake when a deadline
    /// comes, that is the polling worker's business.
    pub(crate) fn park(&self, seam: &Seam<impl Driver>, limit: impl FnOnce() -> Limit) -> Slept {
        if let Some(held) = seam.polling.take() {
            self.lie_in(&held, POLLING, limit, |limit| limit);
            seam.poller_left();
            held.0.retract();
            Slept::Driver
        } else {
            self.lie_beside(seam, None, limit)
        }
    }

    /// The same, but the driver is left to others, also if it is free: to somebody whom the caller has unparked since it came
    /// out of it. That one will come to it; but a task may hold it up, as it may a poller, and it may have been the one who
    /// stood by. So this sleep is no longer than that one's.
    pub(crate) fn park_beside(&self, seam: &Seam<impl Driver>, limit: impl FnOnce() -> Limit) -> Slept {
        self.lie_beside(seam, Some(watch::NAP), limit)
    }

    fn lie_beside(
        &self,
        seam: &Seam<impl Driver>,
        at_most: Option<Duration>,
        limit: impl FnOnce() -> Limit,
    ) -> Slept {
        if let Some(held) = seam.standing_by.take() {
            self.lie_in(&held, STANDING_BY, limit, |limit| seam.watched(limit));
            seam.watch.get_up();
            held.0.retract();
            Slept::StandingBy
        } else {
            self.token.sleep(at_most);
            Slept::Own
        }
    }

    /// Sleeps on the worker's own word, at most that long; the berths are left to others. True: there was an `unpark`.
    pub(crate) fn doze(&self, at_most: Duration) -> bool {
        self.token.sleep(Some(at_most))
    }

    fn lie_in(
        &self,
        held: &Held<'_, impl Driver>,
        place: u32,
        limit: impl FnOnce() -> Limit,
        also: impl FnOnce(Limit) -> Limit,
    ) {
        let limit = also(held.0.announce(limit));
        // A deadline that is past needs no sleep, and what came meanwhile is looked for anyway.
        if limit.timeout != Some(Duration::ZERO) && self.token.lie_down(place) {
            held.0.driver.park(limit.timeout);
            self.token.get_up();
        }
    }

    /// Wakes the worker wherever it sleeps, or else keeps it from sleeping the next time. `seam` is the one that it
    /// parks with.
    pub(crate) fn unpark(&self, seam: &Seam<impl Driver>) {
        match self.token.give() {
            PARKED => self.token.0.0.wake(1),
            POLLING => seam.polling.driver.unpark(),
            STANDING_BY => seam.standing_by.driver.unpark(),
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
            PARKED | STANDING_BY => WorkerState::Idle,
            POLLING => WorkerState::Polling,
            _ => WorkerState::Busy,
        }
    }
}

/// The driver and who has it, and who stands by.
#[derive(Debug)]
pub(crate) struct Seam<S = FutexDriver> {
    polling: Berth<Box<dyn Driver>>,
    standing_by: Berth<S>,
    watch: Watch,
}

/// A place to sleep in until a deadline: at most one thread at a time is there.
#[derive(Debug)]
struct Berth<D> {
    driver: D,
    taken: AtomicBool,
    /// Until when its holder sleeps; 0: it does not.
    wake_at: AtomicU64,
    /// By how much longer it sleeps than deadlines say.
    put_off: u64,
}

impl Seam {
    pub(crate) fn new(driver: Box<dyn Driver>) -> Self {
        Self::with_second(driver, FutexDriver::default())
    }
}

impl<S: Driver> Seam<S> {
    fn with_second(driver: Box<dyn Driver>, second: S) -> Self {
        Self { polling: Berth::new(driver, 0), standing_by: Berth::new(second, OVERDUE), watch: Watch::new() }
    }

    /// The one in the driver comes out: somebody must look for events if it does not come back.
    fn poller_left(&self) {
        if self.polling.driver.is_watching() && self.watch.left() {
            self.standing_by.driver.unpark();
        }
    }

    /// How long the one standing by sleeps if files are watched.
    fn watched(&self, limit: Limit) -> Limit {
        if !self.polling.driver.is_watching() {
            return limit; // `watch_begins` tells it
        }
        let poller_sleeps = || self.polling.wake_at.load(Ordering::Relaxed) != 0;
        Limit { timeout: self.watch.lie_down(limit.timeout, poller_sleeps), ..limit }
    }

    /// The first file is watched: whoever stands by begins anew.
    #[cfg(unix)]
    pub(crate) fn watch_begins(&self) {
        self.standing_by.driver.unpark();
    }

    /// Whether files are watched.
    pub(crate) fn is_watching(&self) -> bool {
        self.polling.driver.is_watching()
    }

    /// Looks for events without sleeping, unless somebody has the driver: then they are seen to. True if it looked.
    pub(crate) fn poll(&self) -> bool {
        let Some(held) = self.polling.take() else { return false };
        held.0.driver.poll();
        true
    }

    /// Whether events were collected and not delivered.
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        self.polling.driver.has_events()
    }

    /// Turns the events that were collected into wake-ups, and says how many there were.
    #[inline]
    pub(crate) fn deliver(&self) -> usize {
        self.polling.driver.deliver()
    }

    /// To be called after publishing a deadline that may be the earliest: whoever sleeps past it comes out, and reads the
    /// deadlines again when it goes back.
    pub(crate) fn deadline_moved(&self, deadline: u64) {
        fence(Ordering::SeqCst); // barrier of the publisher: the deadline is out, then the sleepers are looked at
        self.polling.cut_short(deadline);
        self.standing_by.cut_short(deadline);
    }

    /// The same for a pool whose one thread sleeps elsewhere, by [`announce`](Self::announce).
    pub(crate) fn is_slept_past(&self, deadline: u64) -> bool {
        fence(Ordering::SeqCst); // barrier of the publisher, as above
        deadline < self.polling.wake_at.load(Ordering::Relaxed)
    }

    /// Sleeps elsewhere than in the driver, by the same protocol.
    pub(crate) fn announce(&self, limit: impl FnOnce() -> Limit) -> Limit {
        self.polling.announce(limit)
    }

    /// It does not sleep any more.
    pub(crate) fn retract(&self) {
        self.polling.retract();
    }

    /// Whether nobody has the driver just now. While that is so, somebody awake owes it a look (README.md).
    pub(crate) fn is_free(&self) -> bool {
        !self.polling.taken.load(Ordering::Relaxed)
    }
}

impl<D: Driver> Berth<D> {
    fn new(driver: D, put_off: u64) -> Self {
        Self { driver, taken: AtomicBool::new(false), wake_at: AtomicU64::new(0), put_off }
    }

    fn take(&self) -> Option<Held<'_, D>> {
        let free = self.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        free.then(|| Held(self))
    }

    fn announce(&self, limit: impl FnOnce() -> Limit) -> Limit {
        self.wake_at.store(NEVER, Ordering::Relaxed);
        fence(Ordering::SeqCst); // barrier of the sleeper: it is announced, then the deadlines are read
        let limit = limit().put_off(self.put_off);
        self.wake_at.store(limit.wake_at, Ordering::Relaxed);
        limit
    }

    fn retract(&self) {
        self.wake_at.store(0, Ordering::Relaxed);
    }

    /// Gets its holder up if it would sleep past `deadline`.
    fn cut_short(&self, deadline: u64) {
        if deadline.saturating_add(self.put_off) < self.wake_at.load(Ordering::Relaxed) {
            self.driver.unpark();
        }
    }
}

/// The right to poll a driver and to sleep in it. Dropping it gives it back.
struct Held<'a, D>(&'a Berth<D>);

impl<D> Drop for Held<'_, D> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
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

    /// Consumes an `unpark`, if there was one, without sleeping.
    #[cfg(unix)]
    pub(crate) fn take_unpark(&self) -> bool {
        self.token.get_up()
    }

    /// Whether its thread sleeps, and nobody has woken it.
    #[cfg(feature = "deadlock_detection")]
    pub(crate) fn is_parked(&self) -> bool {
        self.token.0.load(Ordering::Acquire) == PARKED
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
