//! What a transaction works with, kept by its thread for the next one: a slot, and memory for its logs.

use super::log::{Reads, Writes};
use super::presence::{Remains, Slot};
use super::space;
use super::stats::Counters;
use super::watch::Watcher;
use crate::runtime::{complain, wake_safely};
use crate::{strand, wait};
use ropewalk_core::prim::Arc;
use ropewalk_core::task::drop_payload;
use std::cell::Cell;
use std::task::Waker;

pub(super) struct Desk {
    pub(super) slot: &'static Slot,
    pub(super) reads: Reads,
    pub(super) writes: Writes,
    /// Values of ours that nobody else has seen.
    pub(super) unused: Vec<Remains>,
    /// What a commit has replaced.
    pub(super) replaced: Vec<Remains>,
    /// What others had replaced, and left to us.
    collected: Vec<Remains>,
    /// Those who waited for what a commit has changed.
    pub(super) wakes: Vec<Arc<Watcher>>,
}

thread_local!(static KEPT: Cell<Option<Box<Desk>>> = const { Cell::new(None) });

/// The thread's own, if it is there. (A model checker's threads are no threads.)
#[cfg_attr(feature = "roaming", inline(never))] // TL1
#[cfg_attr(not(feature = "roaming"), inline(always))]
fn kept() -> Option<Box<Desk>> {
    if cfg!(any(loom, shuttle)) { None } else { KEPT.try_with(Cell::take).ok().flatten() }
}

#[cfg_attr(feature = "roaming", inline(never))] // TL1
#[cfg_attr(not(feature = "roaming"), inline(always))]
fn keep(desk: Box<Desk>) {
    if !cfg!(any(loom, shuttle)) {
        let _ended = KEPT.try_with(|kept| kept.set(Some(desk)));
    }
}

impl Desk {
    /// The thread's, or a new one if that is in use, or the thread ends.
    #[inline(always)]
    pub(super) fn take() -> Box<Self> {
        kept().unwrap_or_else(Self::new)
    }

    #[cold]
    fn new() -> Box<Self> {
        Box::new(Self {
            slot: space().presence.slot(),
            reads: Reads::default(),
            writes: Writes::default(),
            unused: Vec::new(),
            replaced: Vec::new(),
            collected: Vec::new(),
            wakes: Vec::new(),
        })
    }

    /// Nothing that was read is looked at any more.
    #[inline(always)]
    pub(super) fn leave(&mut self) {
        if self.slot.leave() {
            space().presence.collect(&mut self.collected);
        }
    }

    /// After [`leave`](Self::leave): code of the user runs, wakers and destructors; then it is kept for the next one.
    #[inline(always)]
    pub(super) fn put_away(mut self: Box<Self>) {
        self.reads.clear();
        if !(self.wakes.is_empty()
            && self.unused.is_empty()
            && self.replaced.is_empty()
            && self.collected.is_empty())
        {
            self.clear();
        }
        keep(self);
    }

    #[cold]
    fn clear(&mut self) {
        let wakers: Vec<Waker> = self.wakes.drain(..).filter_map(|watcher| watcher.change()).collect();
        self.slot.counters.wakes.add(wakers.len() as u64);
        wakers.into_iter().for_each(wake_safely);
        let all = [&mut self.unused, &mut self.replaced, &mut self.collected];
        for left in all.into_iter().flat_map(|left| left.drain(..)) {
            // The transaction is over, well or not, and the value may be another's: a panic has nowhere to go.
            if let Err(payload) = strand::catch(|| drop(left)) {
                complain(format_args!("the destructor of a value that was in a TVar panicked"));
                drop_payload(payload);
            }
        }
    }

    /// Counts something outside of a transaction.
    pub(super) fn count(what: impl FnOnce(&Counters)) {
        let desk = Self::take();
        what(&desk.slot.counters);
        desk.put_away();
    }

    /// Looks at a variable outside of a transaction.
    pub(super) fn visit<R>(look: impl FnOnce() -> R) -> R {
        if wait::is_in_transaction() {
            return look(); // its slot is announced; and nothing is collected in a body
        }
        let mut desk = Self::take();
        desk.slot.enter(space().clock.now());
        let seen = look();
        desk.leave();
        desk.put_away();
        seen
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.slot.give_back();
    }
}
