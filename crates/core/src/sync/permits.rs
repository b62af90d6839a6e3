//! Permits and the line of those who wait for them: what [`Mutex`](super::Mutex) (one permit), [`RwLock`](super::RwLock)
//! (all permits to write, one to read) and [`Semaphore`](super::Semaphore) are made of.
//!
//! # Who gets a permit
//!
//! Those in line are served in the order in which they came, and a large request at the front is not passed by small ones
//! behind it. A newcomer that finds too few permits looks once more, after a moment, and then joins the line.
//!
//! The first in line is served in one of two ways. It is **called**: it is woken and the permits stay free, for it or for
//! whoever is faster. Or it is **granted** its permits: they are taken on its behalf, and it owns them before it runs.
//! Calling keeps a contended lock busy, because nobody has to wait until the first in line gets to run; granting is fair,
//! and better where permits are held for long. So it begins with calling:
//!
//! - While one is called, others may overtake it, at most `MOST_OVERTAKINGS` times; then the permits are kept for it.
//!   Those behind it in line may do so too, if they happen to be polled.
//! - If it comes, and finds them taken, it **missed** its call. Newcomers may take nothing any more until it is granted its
//!   permits by a release; and so are the next in line, [`GRANTS`] in all, because one that misses its call shows that
//!   permits are held for longer than it takes to wake up, and calling would wake the others in vain as well. The more
//!   calls in a row were missed, the longer it takes until the next one.
//! - If what is free serves several in line, all of them but the last are granted at once; there is no chain of calls.
//!
//! What the first in line loses to others is thus bounded in two ways: by the time it takes to run after being woken, plus
//! the time for which those hold their permits who were faster; and by 255 overtakings. This file knows no clock:
//! if permits are held for 400 ns, which is long for a lock that is taken so often, 255 overtakings are 100 us.
//!
//! # How no wake-up is lost
//!
//! Flags and permits are one word (`permits/word.rs`), and each step is one read-modify-write of it.
//!
//! ```text
//! waiter                                              releaser
//!   1. lock the line                                    1. add permits (A1)
//!   2. set QUEUED, if the permits are too few (A1)      2. if QUEUED and not CALLED were set then:
//!   3. link the node, unlock                               lock the line, serve the first ones
//! ```
//!
//! If the waiter's step 2 is later than the releaser's step 1, it sees the permits and takes them. If it is earlier, the
//! releaser sees QUEUED, and gets the lock after the node is linked. If it sees CALLED too, the one that was called will
//! come, or leave: both are one more step of the word, under the lock, that sees the permits; both serve the line then.
//!
//! # Invariants
//!
//! - **A1** QUEUED, CALLED and CLOSED are written under the line's lock. While it is free, QUEUED is set exactly if somebody
//!   is linked (after a close: until the last one was told).
//! - **A2** While it is free and the first in line could be served, CALLED is set or somebody is on the way to serve.
//!   CALLED is set exactly if the first node's `called` is; no other node's is.
//! - **A3** The seat of a node is touched under the lock, or by its owner while it is not linked.
//! - **A4** A node leaves WAITING under the lock only. When it is settled by another, the release store of the outcome is
//!   the last access: from then on it is the owner's alone.
//! - **A5** A linked node is valid: `Claim` links only when pinned, and unlinks when dropped. A forgotten one stays
//!   linked and takes its turn with it.
//! - **A6** Permits are conserved: free ones in the word, plus those of settled nodes that did not notice yet, plus those
//!   that callers of `Claim` and `try_take` have, less those they gave back.
//! - **A7** No user code under the lock: wakers are cloned before, woken and dropped after.
//!
//! # Rejected
//!
//! - Granting always (tokio): a contended lock is then handed round at the speed of task switches, 169 ns and more.
//! - Calling always: the first in line may lose for ever.
//! - Taking a called waiter out of the line, as thread locks do: it would have to queue again at the front.

mod claim;
mod serve;
mod waiter;
mod word;

pub(super) use claim::{Claim, HasPermits, Place, Request};
#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) use word::MOST_OVERTAKINGS;
pub(super) use word::{MAX_PERMITS, Snapshot};

use crate::blocked;
use crate::deadlock;
use crate::list::List;
use crate::prim::{BriefGuard, BriefLock, spin_loop};
use core::fmt;
use core::ptr::NonNull;
use core::task::Waker;
use serve::Serve;
use waiter::{Waiter, state};
use word::{Queued, Word};

/// How often one looks again before it waits.
const LOOKS: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 1 };

/// How many are granted their permits, instead of being called, after one missed its call, two in a row did, and so on: who
/// misses its call was woken for nothing, beside the one that runs, and brings another worker into it. (Measured: 8 tasks
/// that hold a lock across a yield, on 2 workers, 185 ns an acquisition with 61 grants after every miss, 135 ns
/// so.) Primes: else, with as many contenders as divide them, it would always be the same one that goes first
/// when one is called again.
const GRANTS: [u16; 4] = if cfg!(any(loom, shuttle)) { [1; 4] } else { [61, 251, 1021, 4093] };

/// Those who wait, and how they are to be served.
struct Line {
    waiters: List<Waiter>,
    /// How many are still granted their permits before the next is called.
    grants: u16,
    /// How many calls in a row were missed.
    missed: u16,
}

impl Line {
    const fn new() -> Self {
        Self { waiters: List::new(), grants: 0, missed: 0 }
    }

    /// The one that was called came too late.
    fn miss(&mut self) {
        self.grants = GRANTS[(self.missed as usize).min(GRANTS.len() - 1)];
        self.missed = self.missed.saturating_add(1);
    }
}

pub(super) struct Permits {
    word: Word,
    line: BriefLock<Line>,
    key: deadlock::Key,
}

/// Why somebody got no permits, and never will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// Nobody gets any, any more.
    Closed,
    /// So many there cannot be.
    TooMany(usize),
}

impl Denied {
    /// A lock is never closed, and nobody wants more of it than there is. (A call where locks are taken, so that they hold
    /// no text of a panic.)
    #[cold]
    #[inline(never)]
    pub(super) fn never(self) -> ! {
        unreachable!("permits of a lock were denied: {self:?}")
    }
}

impl Permits {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new(permits: usize) -> Self {
        let (word, line) = (Word::new(permits), BriefLock::new(Line::new()));
        Self { word, line, key: deadlock::Key::new() }
    }
    #[cfg(any(loom, shuttle))]
    pub(super) fn new(permits: usize) -> Self {
        let (word, line) = (Word::new(permits), BriefLock::new(Line::new()));
        Self { word, line, key: deadlock::Key::new() }
    }

    /// Takes `n` permits as a newcomer, or not: the answer is whether it did.
    #[inline]
    pub(super) fn try_take(&self, n: usize) -> Result<bool, Denied> {
        if self.word.take(self.word.load(), n).is_ok() { Ok(true) } else { self.refuse(n) }
    }

    /// Takes the only permit there is, or not.
    #[inline(always)]
    pub(super) fn try_take_only(&self) -> bool {
        self.word.take(Snapshot::free(1), 1).is_ok()
    }

    /// Gives `n` permits back (A6).
    #[inline(always)]
    pub(super) fn release(&self, n: usize) {
        if self.word.put(n) {
            self.serve();
        }
    }

    /// Who runs now holds them, for those who look for deadlocks; `alone`: nobody else does.
    #[inline(always)]
    pub(super) fn held(&self, alone: bool) {
        deadlock::acquired(&self.key, alone);
    }

    /// Who runs now is about to give back what it [`held`](Self::held).
    #[inline(always)]
    pub(super) fn given_back(&self) {
        deadlock::released(&self.key);
    }

    /// Who holds permits does not say any more who else has to wait.
    #[inline(always)]
    pub(super) fn uncounted(&self) {
        deadlock::counts_no_more(&self.key);
    }

    /// Who runs now has all of them: those who ask for an owner are told.
    #[inline(always)]
    pub(super) fn owned(&self) {
        blocked::took(blocked::address_of(self));
    }

    /// What was [`owned`](Self::owned) is about to be given back, whoever does it.
    #[inline(always)]
    pub(super) fn disowned(&self) {
        blocked::gave_back(blocked::address_of(self));
    }

    /// Ends all waiting. Returns `false` if it was closed already.
    pub(super) fn close(&self) -> bool {
        let line = self.line.lock();
        let first = self.word.close();
        if first {
            Serve::closing(self).run(line);
        }
        first
    }

    /// Takes at most `n` free permits away for good; returns how many.
    pub(super) fn reduce(&self, n: usize) -> usize {
        let _nobody_is_served_meanwhile = self.line.lock();
        self.word.reduce(n)
    }

    pub(super) fn available(&self) -> usize {
        self.word.load().permits()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.word.load().is_closed()
    }

    /// The answer for a newcomer who finds too few permits, or not its turn. None at all can be had always.
    #[cold]
    fn refuse(&self, n: usize) -> Result<bool, Denied> {
        match n {
            _ if self.is_closed() => Err(Denied::Closed),
            1..=MAX_PERMITS => Ok(false),
            0 => Ok(true),
            _ => Err(Denied::TooMany(n)),
        }
    }

    #[cold]
    fn serve(&self) {
        Serve::waiting(self).run(self.line.lock());
    }

    /// Serves the first in line, if that is possible: `Some` if it was. The waker is missing if it was called before.
    fn serve_first(&self, line: &mut Line) -> Option<Option<Waker>> {
        let first = line.waiters.front()?;
        let (want, now) = (self.wanted_by(first, line), self.word.load());
        if !now.serves(want) {
            return None;
        }
        let next = line.waiters.iter().nth(1).map(|next| self.wanted_by(next, line));
        if line.grants > 0 || next.is_some_and(|next| next <= now.permits() - want) {
            line.grants = line.grants.saturating_sub(1);
            line.waiters.pop_front();
            self.word.grant(want, line.waiters.is_empty());
            // SAFETY: taken out under the lock, which is still held (A4).
            return Some(unsafe { Waiter::settle(first, state::GRANTED) });
        }
        self.word.call();
        // SAFETY: a linked node is valid (A5), and `line` shows that the lock is held (A3).
        Some(unsafe {
            first.as_ref().seat(|seat| {
                seat.called = true;
                seat.waker.take()
            })
        })
    }

    fn wanted_by(&self, node: NonNull<Waiter>, _locked: &Line) -> usize {
        // SAFETY: a linked node is valid (A5), and the line is locked (A3).
        unsafe { node.as_ref().seat(|seat| seat.want) }
    }

    /// Takes out a node for good. Returns its waker, to be dropped after unlocking.
    ///
    /// # Safety
    ///
    /// `node` is linked in `line`, the line of these permits.
    unsafe fn unlink(&self, line: &mut Line, node: NonNull<Waiter>) -> (bool, Option<Waker>) {
        // SAFETY: the caller's promise; `line` shows that the lock is held (A3).
        unsafe {
            let was_linked = line.waiters.remove(node);
            debug_assert!(was_linked, "a waiting node is linked");
            node.as_ref().seat(|seat| (core::mem::take(&mut seat.called), seat.waker.take()))
        }
    }

    /// Waits for a moment, while it seems worth it, for `n` permits to be free; the caller goes for them then. It is
    /// a pause of the processor, whoever runs this; [`linger`](crate::linger) is an offer to the runtime, and longer.
    fn look_a_moment_longer(&self, n: usize) {
        for _ in 0..LOOKS {
            let now = self.word.load();
            if now.permits() >= n || !now.is_contended() {
                return;
            }
            spin_loop();
        }
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.word.load().fmt(f)
    }
}
