//! Who is inside a transaction, and since when: so that what was replaced is dropped as soon as nobody can look at it any more, and
//! not before.
//!
//! A transaction reads without locks and without counting: it looks at values where they are, and others may replace them at any
//! time. So it announces itself, with the time at which it started, in a [`Slot`]. Who replaced something looks who is there:
//!
//! ```text
//! transaction: enter(start), leave                   who replaced: retire(moment, remains)
//!   1. start = a time that the clock has shown         1. (lock, look at the clock, publish at `moment`)
//!   2. slot = start              <- barrier            2. nobody with start < moment: drop them, done
//!   3. read, and look at what was read                 3. move the clock on to `moment`, if it is not there
//!   4. slot = empty; if it was marked: collect         4. lock; put them on the list, in the order of moments; if they are the
//!                                                         first, mark the oldest slot, or if it is not older, take them out; unlock
//! ```
//!
//! # Invariants
//!
//! - **P1** What was replaced at `moment` is looked at only by transactions that announced a start before `moment`. For one that read its
//!   start from the clock at `moment` or later sees the lock of that commit (C1), and takes no value from under it. And one whose
//!   slot was looked at (2) before it announced itself sees that lock too: lock, look and the loads of words are SeqCst, and it passed
//!   its barrier after that look.
//! - **P2** A start is never announced later than it is: one that was read long ago only keeps things longer. Since the clock is moved on (3),
//!   those who come after do not keep them.
//! - **P3** If the list is not empty, a slot was marked whose start is before the moment of the first on it, and who emptied that slot has not yet
//!   collected. Collecting takes out all that nobody older is there for, and marks the oldest slot if something is left. The list is changed
//!   under the lock. So what is on it is dropped, at the latest, when all have left that were there before its moment.
//! - **P4** No code of the user runs under the lock: it is dropped after.

use super::clock::Clock;
use super::var::Core;
use super::{held::Held, stats::Counters};
use ropewalk_core::prim::{
    AtomicBool, AtomicPtr, AtomicU64, BriefLock, Ordering::*, Padded, store_before_loads,
};
use std::collections::VecDeque;
use std::ptr::{NonNull, null_mut};

/// Everybody's slots, and what waits for them.
pub(super) struct Presence {
    /// Slots are added, used again, and never removed.
    first: AtomicPtr<Slot>,
    /// What was replaced, and when; in that order.
    remains: BriefLock<VecDeque<(u64, Remains)>>,
}

/// Where one thread announces its transactions. (More than one only if a transaction begins while another one of the thread is not over.)
pub(super) struct Slot {
    /// 0: no transaction. Otherwise `start + 1` in bits 63 to 1, and in bit 0 whether somebody waits for its end (AWAITED). Its owner
    /// enters and leaves, others set the bit; the table is at the head of this file.
    announced: Padded<AtomicU64>,
    taken: AtomicBool,
    next: *const Slot,
    pub(super) counters: Counters,
}

/// The mark: somebody waits for the end of this transaction.
const AWAITED: u64 = 1;

/// Something that nobody can reach any more, except transactions that are under way.
pub(super) enum Remains {
    /// A value, and how to release it.
    Value(Held, unsafe fn(Held)),
    /// A variable without handles.
    Variable(NonNull<Core>),
}

// SAFETY: values and variables can be sent (the bounds of `TVar`), and they are its own.
unsafe impl Send for Remains {}
// SAFETY: `next` is set before a slot is shown, and slots are never removed.
unsafe impl Send for Presence {}
// SAFETY: as above.
unsafe impl Sync for Presence {}

impl Drop for Remains {
    fn drop(&mut self) {
        // SAFETY: nobody else can reach it (P1), and it is dropped once.
        unsafe {
            match *self {
                Self::Value(held, release) => release(held),
                Self::Variable(core) => drop(Box::from_raw(core.as_ptr())),
            }
        }
    }
}

impl Presence {
    #[cfg(not(any(loom, shuttle)))]
    pub(super) const fn new() -> Self {
        Self { first: AtomicPtr::new(null_mut()), remains: BriefLock::new(VecDeque::new()) }
    }
    #[cfg(any(loom, shuttle))]
    pub(super) fn new() -> Self {
        Self { first: AtomicPtr::new(null_mut()), remains: BriefLock::new(VecDeque::new()) }
    }

    /// SeqCst, as the looks at them: who is missed has not announced itself yet (P1).
    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        let first: *const Slot = self.first.load(SeqCst);
        // SAFETY: slots are never removed.
        std::iter::successors(unsafe { first.as_ref() }, |slot| unsafe { slot.next.as_ref() })
    }

    /// A slot for the caller alone, until it [gives it back](Slot::give_back).
    pub(super) fn slot(&self) -> &Slot {
        let take = |slot: &&Slot| !slot.taken.load(Relaxed) && !slot.taken.swap(true, Acquire);
        self.slots().find(take).unwrap_or_else(|| self.new_slot())
    }

    fn new_slot(&self) -> &Slot {
        let slot = Box::leak(Box::new(Slot {
            announced: Padded(AtomicU64::new(0)),
            taken: AtomicBool::new(true),
            next: self.first.load(Relaxed),
            counters: Counters::default(),
        }));
        while let Err(first) = self.first.compare_exchange(slot.next.cast_mut(), slot, SeqCst, Relaxed) {
            slot.next = first;
        }
        slot
    }

    /// What was replaced at `moment`, which is published. What nobody looks at any more is left in `remains`, for the caller to drop; the
    /// rest is dropped by one of those who might look at it.
    pub(super) fn retire(&self, clock: &Clock, moment: u64, remains: &mut Vec<Remains>) {
        if !self.slots().any(|slot| slot.started_before(moment)) {
            return;
        }
        clock.reach(moment);
        let mut kept = self.remains.lock();
        let at = kept.partition_point(|(other, _)| *other <= moment);
        for thing in remains.drain(..) {
            kept.insert(at, (moment, thing)); // at the end, or almost
        }
        if at == 0 {
            self.take_out(&mut kept, remains); // who is marked may not be one of those; or all of them have left meanwhile
        }
    }

    /// By whom something may have waited for.
    #[cold]
    pub(super) fn collect(&self, into: &mut Vec<Remains>) {
        self.take_out(&mut self.remains.lock(), into);
    }

    /// Takes out what nobody looks at any more. If something is left, the oldest transaction is marked (P3).
    fn take_out(&self, kept: &mut VecDeque<(u64, Remains)>, into: &mut Vec<Remains>) {
        while let Some(&(first, _)) = kept.front() {
            let starts = self.slots().filter_map(|slot| Some((slot.start()?, slot)));
            let oldest = starts.min_by_key(|(start, _)| *start);
            match oldest {
                Some((start, slot)) if start < first => {
                    if slot.mark(start) {
                        return;
                    } // it has left: look again
                }
                _ => {
                    let until = oldest.map_or(u64::MAX, |(start, _)| start);
                    let free = kept.partition_point(|(moment, _)| *moment <= until);
                    into.extend(kept.drain(..free).map(|(_, thing)| thing));
                }
            }
        }
    }

    /// Whether a transaction is under way, of those that the caller knows to have begun.
    pub(super) fn is_anybody_there(&self) -> bool {
        self.slots().any(|slot| slot.announced.load(Acquire) != 0)
    }
}

impl Slot {
    /// A transaction starts, with what the clock said.
    #[inline(always)]
    pub(super) fn enter(&self, start: u64) {
        store_before_loads(&self.announced, (start + 1) << 1);
    }

    /// It has ended, and looks at nothing any more. Returns whether it must [collect](Presence::collect).
    #[inline(always)]
    #[must_use]
    pub(super) fn leave(&self) -> bool {
        self.announced.swap(0, AcqRel) & AWAITED != 0
    }

    pub(super) fn give_back(&self) {
        self.taken.store(false, Release);
    }

    /// When the transaction in it started, if there is one. SeqCst, as the lock that was before (P1).
    fn start(&self) -> Option<u64> {
        (self.announced.load(SeqCst) >> 1).checked_sub(1)
    }

    fn started_before(&self, moment: u64) -> bool {
        self.start().is_some_and(|start| start < moment)
    }

    /// Marks the transaction in it, if it is (still) one that started then.
    fn mark(&self, start: u64) -> bool {
        let plain = (start + 1) << 1;
        let marked = self.announced.compare_exchange(plain, plain | AWAITED, AcqRel, Acquire);
        marked.is_ok() || marked == Err(plain | AWAITED)
    }
}

/// Models end: then nobody is left.
impl Drop for Presence {
    fn drop(&mut self) {
        let mut slot = self.first.load(Relaxed);
        while !slot.is_null() {
            // SAFETY: `new_slot` made it from a box, and nobody else is left.
            slot = unsafe { Box::from_raw(slot) }.next.cast_mut();
        }
    }
}
