//! The state word of [`Permits`](super::Permits). Only this file knows its bits.
//!
//! ```text
//!  63 ...... 11 | 10 ...... 3 | 2      | 1      | 0
//!  permits free | overtakings | CLOSED | CALLED | QUEUED
//! ```
//!
//! | QUEUED | CALLED | what a newcomer may do with free permits | what a release does |
//! |---|---|---|---|
//! | 0 | 0 | take them | adds its permits |
//! | 1 | 0 | nothing: they are for those in line | adds them, then serves the line |
//! | 1 | 1 | take them, if less than [`MOST_OVERTAKINGS`] did so since the first in line was called | adds them |
//!
//! QUEUED, CALLED and CLOSED change only under the line's lock; permits and overtakings change at any time, each by one
//! read-modify-write of this very word. So whoever changes a flag sees the permits as they are at that moment, and whoever
//! adds permits sees the flags: no fence is needed between them.

use crate::prim::{AtomicUsize, Ordering::*, real};
use core::fmt;

const QUEUED: usize = 1;
const CALLED: usize = 1 << 1;
const CLOSED: usize = 1 << 2;
const OVERTAKING: usize = 1 << 3;
const OVERTAKINGS: usize = 0xff << 3;
const PERMIT_SHIFT: u32 = 11;

/// As many permits as fit.
pub(in crate::sync) const MAX_PERMITS: usize = usize::MAX >> PERMIT_SHIFT;

/// How often newcomers may take what the first in line was called for, before it is kept for that one.
pub(in crate::sync) const MOST_OVERTAKINGS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 255 };

pub(super) struct Word {
    bits: AtomicUsize,
    /// What `bits` most likely are, while nobody waits; zero if that is not known. It is no more than a guess: an exchange
    /// that starts from a wrong one fails, and it is forgotten. To look first costs more than it seems: behind the
    /// exchange that gave the permits back, a load of the same word waits for that to be done.
    guess: real::AtomicUsize,
}

/// What the word said at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::sync) struct Snapshot(usize);

/// What became of somebody who wants to join the line.
#[must_use]
pub(super) enum Queued {
    /// There were permits; they are the caller's, and it does not wait.
    Taken,
    /// Nobody waits any more.
    Closed,
    /// The flag is set: link the node.
    Waiting,
}

impl Word {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new(permits: usize) -> Self {
        Self { bits: AtomicUsize::new(permits << PERMIT_SHIFT), guess: real::AtomicUsize::new(0) }
    }
    #[cfg(any(loom, shuttle))]
    pub(super) fn new(permits: usize) -> Self {
        Self { bits: AtomicUsize::new(permits << PERMIT_SHIFT), guess: real::AtomicUsize::new(0) }
    }

    pub(super) fn load(&self) -> Snapshot {
        Snapshot(self.bits.load(Relaxed))
    }

    /// What the word says, or most likely does, for one who wants `n` permits.
    #[inline(always)]
    pub(super) fn likely(&self, n: usize) -> Snapshot {
        let guess = Snapshot(self.guess.load(Relaxed));
        if guess.permits() >= n { guess } else { self.learn() }
    }

    #[cold]
    fn learn(&self) -> Snapshot {
        let now = self.load();
        if !now.has(QUEUED | CALLED | CLOSED) {
            self.guess.store(now.0, Relaxed);
        }
        now
    }

    /// Takes `n` permits as a newcomer. The first try is on the guess that the word is `guess`, which costs no load.
    #[inline(always)]
    pub(super) fn take(&self, guess: Snapshot, n: usize) -> Result<(), Snapshot> {
        let less = guess.less_a_newcomers(n).ok_or(guess)?;
        match self.bits.compare_exchange(guess.0, less, Acquire, Relaxed) {
            Ok(_) => Ok(()),
            Err(seen) => self.take_again(Snapshot(seen), n),
        }
    }

    /// The guess was wrong, or another was faster.
    #[cold]
    fn take_again(&self, mut now: Snapshot, n: usize) -> Result<(), Snapshot> {
        self.guess.store(0, Relaxed);
        loop {
            let less = now.less_a_newcomers(n).ok_or(now)?;
            match self.bits.compare_exchange_weak(now.0, less, Acquire, Relaxed) {
                Ok(_) => return Ok(()),
                Err(seen) => now = Snapshot(seen),
            }
        }
    }

    /// Gives `n` permits back. Returns whether those in line must be served by the caller.
    #[inline(always)]
    #[must_use]
    pub(super) fn put(&self, n: usize) -> bool {
        let before = self.bits.fetch_add(n << PERMIT_SHIFT, Release);
        before & (QUEUED | CALLED) == QUEUED
    }

    /// Announces a waiter for `n` permits, unless it can have them. Under the line's lock, as all that follow.
    pub(super) fn queue(&self, n: usize) -> Queued {
        let mut now = self.load();
        loop {
            let (next, answer) = match now.less_a_newcomers(n) {
                _ if now.is_closed() => return Queued::Closed,
                Some(next) => (next, Queued::Taken),
                None if now.has(QUEUED) => return Queued::Waiting,
                None => (now.0 | QUEUED, Queued::Waiting),
            };
            match self.bits.compare_exchange(now.0, next, Acquire, Relaxed) {
                Ok(_) => return answer,
                Err(seen) => now = Snapshot(seen),
            }
        }
    }

    /// Takes `n` permits for the first in line, which the caller has seen there: nobody else can have taken them, because
    /// the line is not empty and nobody is called. `last`: the line is empty now.
    pub(super) fn grant(&self, n: usize, last: bool) {
        let flag = if last { QUEUED } else { 0 };
        let before = Snapshot(self.bits.fetch_sub((n << PERMIT_SHIFT) + flag, Acquire));
        debug_assert!(before.serves(n));
    }

    /// Says that the first in line was called.
    pub(super) fn call(&self) {
        let before = Snapshot(self.bits.fetch_or(CALLED, Relaxed));
        debug_assert!(before.has(QUEUED) && !before.has(CALLED | OVERTAKINGS));
    }

    /// The one that was called came for its `n` permits. Returns whether it has them; if `stay` is set and it has not, it
    /// is not called any more. `last`: without it the line is empty.
    pub(super) fn come(&self, n: usize, last: bool, stay: bool) -> bool {
        let mut now = self.load();
        loop {
            let enough = now.permits() >= n;
            let answered = now.0 & !(CALLED | OVERTAKINGS);
            let after = match (enough, stay) {
                (true, _) => (answered & !if last { QUEUED } else { 0 }) - (n << PERMIT_SHIFT),
                (false, true) => answered,
                (false, false) => return false,
            };
            match self.bits.compare_exchange(now.0, after, Acquire, Relaxed) {
                Ok(_) => return enough,
                Err(seen) => now = Snapshot(seen),
            }
        }
    }

    /// A waiter left the line. `called`: it was the one that was called. `last`: the line is empty now.
    pub(super) fn leave(&self, called: bool, last: bool) {
        let mut gone = if last { QUEUED } else { 0 };
        if called {
            gone |= CALLED | OVERTAKINGS;
        }
        if gone != 0 {
            self.bits.fetch_and(!gone, Relaxed);
        }
    }

    /// Lets nobody in any more. Returns `false` if it was so already.
    pub(super) fn close(&self) -> bool {
        self.bits.fetch_or(CLOSED, Release) & CLOSED == 0
    }

    /// Takes at most `n` free permits away, out of turn and for good; returns how many.
    pub(super) fn reduce(&self, n: usize) -> usize {
        let mut now = self.load();
        loop {
            let some = now.permits().min(n);
            match self.bits.compare_exchange_weak(now.0, now.0 - (some << PERMIT_SHIFT), Acquire, Relaxed) {
                Ok(_) => return some,
                Err(seen) => now = Snapshot(seen),
            }
        }
    }
}

impl Snapshot {
    /// Nobody waits, and `n` permits are free.
    pub(in crate::sync) const fn free(n: usize) -> Self {
        Self(n << PERMIT_SHIFT)
    }

    pub(super) const fn permits(self) -> usize {
        self.0 >> PERMIT_SHIFT
    }

    pub(super) const fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// The first in line, if it wants `n`, can be served now.
    pub(super) fn serves(self, n: usize) -> bool {
        self.0 & (QUEUED | CALLED | CLOSED) == QUEUED && self.permits() >= n
    }

    /// Whoever is first takes what becomes free, so looking again soon may help.
    pub(super) fn is_contended(self) -> bool {
        match self.0 & (QUEUED | CALLED | CLOSED) {
            0 => true,
            flags => flags == QUEUED | CALLED && self.overtakings() < MOST_OVERTAKINGS,
        }
    }

    /// The word after a newcomer took `n` permits.
    #[inline(always)]
    fn less_a_newcomers(self, n: usize) -> Option<usize> {
        if self.permits() < n {
            return None;
        }
        let less = self.0 - (n << PERMIT_SHIFT);
        match self.0 & (QUEUED | CALLED | CLOSED) {
            0 => Some(less),
            _ if self.is_contended() => Some(less + OVERTAKING),
            _ => None,
        }
    }

    const fn overtakings(self) -> usize {
        (self.0 & OVERTAKINGS) / OVERTAKING
    }

    const fn has(self, flags: usize) -> bool {
        self.0 & flags != 0
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits")
            .field("free", &self.permits())
            .field("queued", &self.has(QUEUED))
            .field("called", &self.has(CALLED))
            .field("overtakings", &self.overtakings())
            .field("closed", &self.is_closed())
            .finish()
    }
}
