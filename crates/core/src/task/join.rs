//! The join word: how a finishing task meets the one who waits for it.
//!
//! ```text
//!            register                finish
//!   Open ───────────────▶ Waiting ───────────▶ Done(outcome)
//!    │  ◀───────────────                            ▲
//!    │     withdraw              finish             │
//!    └──────────────────────────────────────────────┘
//! ```
//!
//! * **J1** Only the handle moves the word between `Open` and `Waiting`; only the completer moves it to `Done`, by one
//!   swap that also takes the waiter. `Done` is final.
//! * **J2** The output is written before that swap: who reads `Done` (acquire) may read the output.
//! * **J3** The completer does not touch the word after the swap, so a joiner on another thread may free the cell.
//!
//! A waiter is one word. Wakers of our own tasks, the common case, are stored as the task's pointer; any other waker is
//! boxed. (A `Waker` is two words, and every task would pay for the second.)

use super::outcome::Outcome;
use super::{Header, waker};
use crate::prim::{AtomicUsize, Ordering::*};
use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::task::Waker;

const OPEN: usize = 0;
const TAG: usize = 0b111;
const TAG_TASK: usize = 0b001;
const TAG_BOXED: usize = 0b010;
const TAG_DONE: usize = 0b100;
const OUTCOME_SHIFT: u32 = 3;

pub(super) struct JoinWord(AtomicUsize);

/// A waiter that is no task of ours. (A bare `Waker` in a box leaves no room for the tag where pointers have 32 bits.)
#[repr(align(8))]
struct Boxed(Waker);

const _: () = assert!(align_of::<Header>() > TAG && align_of::<Boxed>() > TAG);

/// What a handle learns when it asks to be woken.
#[must_use]
pub(super) enum Registered {
    /// The waker will be called.
    Waiting,
    /// The output is there (J2).
    Done(Outcome),
}

impl JoinWord {
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(OPEN))
    }

    /// The outcome, once the output may be read.
    pub(super) fn done(&self) -> Option<Outcome> {
        decode_done(self.0.load(Acquire))
    }

    /// Leaves `waker` to be called at the end. Only the handle calls this (J1).
    pub(super) fn register(&self, waker: &Waker) -> Registered {
        let now = self.0.load(Acquire);
        if let Some(outcome) = decode_done(now) {
            return Registered::Done(outcome);
        }
        if now & TAG == TAG_TASK
            && Some(now - TAG_TASK) == waker::task_of(waker).map(|task| task.addr().get())
        {
            return Registered::Waiting;
        }
        let new = encode(waker.clone());
        let (taken, answer) = match self.0.compare_exchange(now, new, AcqRel, Acquire) {
            Ok(old) => (old, Registered::Waiting),
            // J1: nobody but the completer can have moved it.
            Err(seen) => (new, Registered::Done(decode_done(seen).expect("only Done overtakes the handle"))),
        };
        // SAFETY: J1: either the exchange took the old waiter out of the word, or the new one never got in.
        drop(unsafe { decode_waiter(taken) });
        answer
    }

    /// Takes a registered waiter back (the handle goes away). Only the handle calls this (J1).
    pub(super) fn withdraw(&self) {
        let now = self.0.load(Acquire);
        if now == OPEN || decode_done(now).is_some() {
            return;
        }
        if self.0.compare_exchange(now, OPEN, AcqRel, Acquire).is_ok() {
            // SAFETY: J1: the exchange took the waiter out of the word, so it is ours.
            drop(unsafe { decode_waiter(now) });
        }
    }

    /// Publishes the output and takes the waiter. Only the completer calls this, once.
    #[must_use]
    pub(super) fn finish(&self, outcome: Outcome) -> Option<Waker> {
        let before = self.0.swap(TAG_DONE | (outcome as usize) << OUTCOME_SHIFT, AcqRel);
        debug_assert!(decode_done(before).is_none(), "a task finished twice");
        // SAFETY: J1: the swap took the waiter out of the word.
        unsafe { decode_waiter(before) }
    }
}

fn decode_done(word: usize) -> Option<Outcome> {
    (word & TAG == TAG_DONE).then(|| Outcome::from_bits(word >> OUTCOME_SHIFT))
}

fn encode(waker: Waker) -> usize {
    match waker::task_of(&waker) {
        Some(task) => {
            let _reference_moves_into_the_word = ManuallyDrop::new(waker);
            task.as_ptr().expose_provenance() | TAG_TASK
        }
        None => Box::into_raw(Box::new(Boxed(waker))).expose_provenance() | TAG_BOXED,
    }
}

/// # Safety
/// The caller took `word` out of the atomic (or never put it there), so that it alone owns the waiter.
unsafe fn decode_waiter(word: usize) -> Option<Waker> {
    match word & TAG {
        TAG_TASK => {
            let task = core::ptr::with_exposed_provenance_mut(word - TAG_TASK);
            // SAFETY: `encode` made it from a task's waker, whose reference moved into the word.
            Some(unsafe { waker::from_task(core::ptr::NonNull::new_unchecked(task)) })
        }
        TAG_BOXED => {
            let boxed: *mut Boxed = core::ptr::with_exposed_provenance_mut(word - TAG_BOXED);
            // SAFETY: `encode` made it by `Box::into_raw`, and the caller owns it.
            Some(unsafe { Box::from_raw(boxed) }.0)
        }
        _ => None,
    }
}
