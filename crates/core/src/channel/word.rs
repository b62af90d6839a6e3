//! The word at each end of a queue: how far that end has come, who waits for it to go on, and whether it is closed.
//!
//! ```text
//!   63                    24 23          4  3   2   1      0
//!   | index, 40 bits        | reserved, 20 | - | - | CLOSED | WAITING |
//! ```
//!
//! - **index** grows by one with each value that goes in (tail) or out (head). It wraps after 2^40 values: a thread would
//!   have to sleep between a load and its exchange while exactly that many pass.
//! - **reserved** (tail only): places that are promised and not yet filled.
//! - **WAITING** Somebody waits for this end to go on. Advancing the word takes the mark out, in the same exchange; who
//!   took it out owes the waiters a call. That is why neither side needs a fence: both change one word, so one of them
//!   comes first and the other one sees it.
//! - **CLOSED** (tail only): nothing goes in any more. Final.

use crate::contention;
use crate::prim::{AtomicU64, Ordering::*, real, spin_loop};
use core::fmt;

const WAITING: u64 = 1;
const CLOSED: u64 = 2;
const RESERVED_SHIFT: u32 = 4;
const INDEX_SHIFT: u32 = 24;
const RESERVED_MASK: u64 = (1 << (INDEX_SHIFT - RESERVED_SHIFT)) - 1;
const INDEX_MASK: u64 = u64::MAX >> INDEX_SHIFT;

/// How long others are left alone with a word: about a microsecond.
const PAUSES: u32 = 48;

/// What a word was when it was read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

impl Word {
    #[inline(always)]
    pub(super) fn index(self) -> u64 {
        self.0 >> INDEX_SHIFT
    }
    #[inline(always)]
    pub(super) fn reserved(self) -> u64 {
        self.0 >> RESERVED_SHIFT & RESERVED_MASK
    }
    #[inline(always)]
    pub(super) fn is_waiting(self) -> bool {
        self.0 & WAITING != 0
    }
    #[inline(always)]
    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// `by` values further, and the mark taken out.
    #[inline(always)]
    #[must_use]
    pub(super) fn advanced(self, by: u64) -> Self {
        Self(self.0.wrapping_add(by << INDEX_SHIFT) & !WAITING)
    }
    /// With one more place promised, unless the word cannot count that many.
    #[must_use]
    pub(super) fn promised(self) -> Option<Self> {
        (self.reserved() < RESERVED_MASK).then_some(Self(self.0.wrapping_add(1 << RESERVED_SHIFT)))
    }
    /// With one promise less.
    #[must_use]
    pub(super) fn redeemed(self) -> Self {
        Self(self.0 - (1 << RESERVED_SHIFT))
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Word")
            .field("index", &self.index())
            .field("reserved", &self.reserved())
            .field("waiting", &self.is_waiting())
            .field("closed", &self.is_closed())
            .finish()
    }
}

/// The index as the word counts it.
#[inline(always)]
pub(super) fn wrapped(index: u64) -> u64 {
    index & INDEX_MASK
}

/// How far it is from one index to a later one.
#[inline(always)]
pub(super) fn distance(from: u64, to: u64) -> u64 {
    wrapped(to.wrapping_sub(from))
}

/// The word itself. All changes are read-modify-writes with acquire and release, so whoever sees one sees what led to it.
#[derive(Debug)]
pub(super) struct WordCell(AtomicU64);

impl WordCell {
    /// A word at `index`, open, with nobody waiting.
    pub(super) fn new(index: u64) -> Self {
        Self(AtomicU64::new(index << INDEX_SHIFT))
    }

    #[inline(always)]
    pub(super) fn load(&self) -> Word {
        Word(self.0.load(Acquire))
    }

    /// Replaces `old` by `new`. If it is not `old` any more, others are moving it from another core: they are left alone
    /// with it for a moment, because a word that goes back and forth after each value is five times as slow. Then it
    /// tells what the word is now.
    #[inline(always)]
    pub(super) fn exchange(&self, old: Word, new: Word) -> Result<(), Word> {
        self.exchange_guessed(old, new).map_err(|()| self.step_back())
    }

    /// The same for one who only guesses that it is `old`.
    #[inline(always)]
    pub(super) fn exchange_guessed(&self, old: Word, new: Word) -> Result<(), ()> {
        self.0.compare_exchange(old.0, new.0, AcqRel, Relaxed).map(drop).map_err(drop)
    }

    #[cold]
    #[inline(never)]
    fn step_back(&self) -> Word {
        if !cfg!(any(loom, shuttle)) {
            contention::lost();
            (0..PAUSES).for_each(|_| spin_loop());
        }
        self.load()
    }

    /// Goes on by `by`, keeping the marks; returns what the word is now.
    #[inline]
    pub(super) fn skip(&self, by: u64) -> Word {
        let by = by << INDEX_SHIFT;
        Word(self.0.fetch_add(by, AcqRel).wrapping_add(by))
    }

    /// Says that somebody waits; returns what the word was before.
    pub(super) fn announce(&self) -> Word {
        Word(self.0.fetch_or(WAITING, AcqRel))
    }

    /// Closes; returns what the word was before.
    pub(super) fn close(&self) -> Word {
        Word(self.0.fetch_or(CLOSED, AcqRel))
    }
}

/// What a handle remembers of a word: what it was after the handle's last exchange. Loading a word right after an exchange
/// of it costs as much as the exchange (measured: 18 ns together, 11 with a guess). A wrong guess makes an exchange fail,
/// which tells the truth but takes the line away from others; so it is trusted only after it was right some times in a
/// row, which it is where one handle works alone. A right one is as good as a load, so it acquires what the word did.
#[derive(Debug)]
pub(super) struct Guess {
    word: AtomicU64,
    /// How often in a row it was right.
    right: real::AtomicU32,
}

/// How often in a row a guess is compared before it is trusted.
const TRUSTED: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 16 };

impl Guess {
    /// A guess at a new word.
    pub(super) fn new() -> Self {
        Self { word: AtomicU64::new(0), right: real::AtomicU32::new(0) }
    }

    /// What the word probably is.
    #[inline(always)]
    pub(super) fn at(&self, word: &WordCell) -> Word {
        let guess = self.word.load(Acquire);
        let right = self.right.load(Relaxed);
        if right >= TRUSTED {
            return Word(guess);
        }
        let now = word.load();
        self.right.store(if now.0 == guess { right + 1 } else { 0 }, Relaxed);
        now
    }

    /// Replaces `old`, which came from [`at`](Self::at), by `new`, and remembers it.
    #[inline(always)]
    pub(super) fn exchange(&self, word: &WordCell, old: Word, new: Word) -> bool {
        if word.exchange_guessed(old, new).is_err() {
            self.was_wrong(word);
            return false;
        }
        self.set(new);
        true
    }

    /// If it was no guess, somebody is moving the word at this moment.
    #[cold]
    #[inline(never)]
    fn was_wrong(&self, word: &WordCell) {
        if self.right.load(Relaxed) < TRUSTED {
            let _others_go_on = word.step_back();
        }
        self.distrust();
    }

    /// What was guessed did not fit.
    #[inline(always)]
    pub(super) fn distrust(&self) {
        self.right.store(0, Relaxed);
    }

    #[inline(always)]
    pub(super) fn set(&self, word: Word) {
        self.word.store(word.0, Release);
    }
}
