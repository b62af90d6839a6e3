//! For the tests of the queues: entries that are accounted for. An entry that arrives twice, never, or without the
//! queue having ordered its sender before its receiver is found out.

use super::Entry;
use ropewalk_core::prim::UnsafeCell;
use ropewalk_core::prim::real::{AtomicU32, Ordering};
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

/// A number that travels in place of a task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token(NonZeroUsize);

impl Token {
    pub(crate) fn number(&self) -> usize {
        self.0.get()
    }
}

impl Entry for Token {
    fn into_raw(self) -> NonNull<()> {
        NonNull::without_provenance(self.0)
    }
    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Token(raw.addr())
    }
}

/// The account of the tokens `1..=n`.
pub(crate) struct Ledger(Vec<Line>);

/// Invariant L1: `seal` is touched by whoever issues or redeems the token, and a queue that works orders the two.
struct Line {
    seal: UnsafeCell<usize>,
    issued: AtomicU32,
    redeemed: AtomicU32,
}

// SAFETY: L1; loom checks it.
unsafe impl Sync for Ledger {}
// SAFETY: a line is plain data.
unsafe impl Send for Ledger {}

impl Ledger {
    pub(crate) fn new(tokens: usize) -> Arc<Self> {
        let line =
            || Line { seal: UnsafeCell::new(0), issued: AtomicU32::new(0), redeemed: AtomicU32::new(0) };
        Arc::new(Ledger((0..tokens).map(|_| line()).collect()))
    }

    fn line(&self, number: usize) -> &Line {
        assert!((1..=self.0.len()).contains(&number), "no token has the number {number}");
        &self.0[number - 1]
    }

    /// Makes token `number`, once.
    pub(crate) fn issue(&self, number: usize) -> Token {
        let line = self.line(number);
        assert_eq!(line.issued.fetch_add(1, Ordering::Relaxed), 0, "token {number} issued twice");
        // SAFETY: L1: nobody else has the token yet.
        line.seal.with_mut(|seal| unsafe { *seal = number });
        Token(NonZeroUsize::new(number).expect("numbers start at 1"))
    }

    /// Takes a token back and says which it was.
    pub(crate) fn redeem(&self, token: Token) -> usize {
        let number = token.number();
        let line = self.line(number);
        assert_eq!(line.redeemed.fetch_add(1, Ordering::Relaxed), 0, "token {number} arrived twice");
        // SAFETY: L1: the one holder of the token, after its issuer.
        let seal = line.seal.with_mut(|seal| unsafe { std::mem::take(&mut *seal) });
        assert_eq!(seal, number, "token {number} arrived before it was sealed");
        number
    }

    /// Redeems all that `next` gives and says which they were.
    pub(crate) fn redeem_all(&self, next: impl FnMut() -> Option<Token>) -> Vec<usize> {
        std::iter::from_fn(next).map(|token| self.redeem(token)).collect()
    }

    /// Every token issued was redeemed.
    pub(crate) fn settle(&self) {
        for (at, line) in self.0.iter().enumerate() {
            let (issued, redeemed) =
                (line.issued.load(Ordering::Relaxed), line.redeemed.load(Ordering::Relaxed));
            assert_eq!(issued, redeemed, "token {} was lost", at + 1);
        }
    }
}

/// An entry that counts its drops.
pub(crate) struct Dropped(Arc<AtomicU32>);

impl Dropped {
    pub(crate) fn new(count: &Arc<AtomicU32>) -> Self {
        Dropped(count.clone())
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Entry for Dropped {
    fn into_raw(self) -> NonNull<()> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so its count is moved out once; the pointer of an `Arc` is not null.
        unsafe { NonNull::new_unchecked(Arc::into_raw(std::ptr::read(&this.0)).cast_mut().cast()) }
    }
    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: the contract of `from_raw`: `raw` is the count given up by `into_raw`, given back once.
        Dropped(unsafe { Arc::from_raw(raw.cast().as_ptr()) })
    }
}
