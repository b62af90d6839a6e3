//! Who may take from a queue of a worker's, and by what means: its rings and its slot have one each.
//!
//! While the worker is alone, nobody else takes from it, and it may do so by plain stores. Otherwise everybody takes by exchanges.
//!
//! * **DO1** While thieves are admitted, the owner is not alone; and it has seen that before it takes anything.
//!
//! The owner opens and closes the door itself, when workers come and go. If a task holds it, another one opens the door on its behalf, in two
//! steps: [`knock`](Door::knock), so that the owner sees it has company before it next takes anything, and then [`admit`](Door::admit). How the
//! other knows that it has seen it is in `hold.rs`.

use super::entry::Entry;
use super::lifo;
use super::ring::Producer;
use ropewalk_core::prim::AtomicBool;
use ropewalk_core::prim::Ordering::{Acquire, Relaxed, Release};

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) struct Door {
    /// The owner may take by plain stores.
    alone: AtomicBool,
    /// Thieves are admitted.
    open: AtomicBool,
}

impl Door {
    pub(crate) fn new(open: bool) -> Self {
        Self { alone: AtomicBool::new(!open), open: AtomicBool::new(open) }
    }

    /// Owner: whether a plain store will do.
    #[inline(always)]
    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Relaxed)
    }

    /// Thief: whether it may take anything. Then it sees what the owner did while it was alone.
    #[inline(always)]
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Acquire)
    }

    /// Owner: from now on it has company.
    pub(crate) fn open(&self) {
        self.alone.store(false, Relaxed); // before anybody comes
        self.open.store(true, Release); // what was done alone is seen
    }

    /// Owner: from now on it is alone. What thieves did happens before this (see [`keep_company`]).
    pub(crate) fn close(&self) {
        self.open.store(false, Relaxed);
        self.alone.store(true, Relaxed);
    }

    /// Somebody else: the owner will find that it has company.
    pub(crate) fn knock(&self) {
        self.alone.store(false, Relaxed);
    }

    /// Somebody else: thieves are admitted.
    ///
    /// # Safety
    /// The owner sees the knock before it next takes anything, and what it did before happens before this call.
    pub(crate) unsafe fn admit(&self) {
        self.open.store(true, Release);
    }
}

/// Opens a worker's queues to others, or, if it is `alone`, closes them: then taking a task needs no exchange.
///
/// # Safety
/// If `alone`, nobody is stealing from this worker: what thieves did happens before this call, and those that come later come after the door
/// was opened. (Workers come and go under the census lock, and this is called under it, as is whoever comes for a worker that is held.)
pub(crate) unsafe fn keep_company<T: Entry, const N: usize>(
    rings: [&Producer<T>; N],
    slot: &lifo::Owner<T>,
    alone: bool,
) {
    if alone {
        // SAFETY: passed on to the caller.
        rings.iter().for_each(|ring| unsafe { ring.unshare() });
        slot.door().close();
    } else {
        rings.iter().for_each(|ring| ring.share());
        slot.door().open();
    }
}
