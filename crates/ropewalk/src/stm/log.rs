//! What a transaction has read and written so far.

use super::held::Held;
use super::presence::Remains;
use super::var::Core;
use super::word::Word;
use ropewalk_core::prim::pause;
use std::collections::HashMap;

/// A variable that was read, and the version it had.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) core: *const Core,
    pub(super) version: u64,
}

/// A variable that is to be written. The value is the log's own.
pub(super) struct Write {
    pub(super) core: *const Core,
    pub(super) value: Held,
    /// What its word was, once the commit has locked it.
    pub(super) before: Word,
}

impl Read {
    /// Whether the variable still has the version that was read, and nobody is about to replace it. `patient`: who has it locked will be
    /// refused, and is waited for.
    #[inline(always)]
    pub(super) fn is_so(&self, patient: bool) -> bool {
        let mut looks = 0;
        loop {
            // SAFETY: the transaction is under way, and the variable was there when it was read (V2).
            let word = unsafe { &*self.core }.word.load();
            if word.is_free_at(self.version) {
                return true;
            }
            if !patient || !word.is_locked() {
                return false;
            }
            looks += 1;
            pause(looks);
        }
    }

    #[inline(always)]
    pub(super) fn order(&self) -> usize {
        // SAFETY: the transaction is under way, and the variable was there when it was read (V2).
        unsafe { &*self.core }.order()
    }
}

impl Write {
    #[inline(always)]
    pub(super) fn order(&self) -> usize {
        // SAFETY: as above.
        unsafe { &*self.core }.order()
    }
}

/// What was read. One variable may be in it more than once; not without end.
#[derive(Default)]
pub(super) struct Reads {
    all: Vec<Read>,
    /// At this length those that are there twice are taken out.
    tidy_at: usize,
}

/// So much is searched from end to end; what is longer has an index.
pub(super) const SHORT: usize = 16;

/// What is to be written, in the order of writing. After a [mark](Self::mark) a variable is written once more, and the later entry counts.
#[derive(Default)]
pub(super) struct Writes {
    all: Vec<Write>,
    /// A bit for each variable that may be in it.
    filter: u64,
    mark: usize,
    /// A variable may be in it twice: it was written before a mark and after it.
    twice: bool,
    /// Where the last entry of each variable is, if there are many.
    index: HashMap<usize, usize>,
}

/// A place in the log to which it can be undone, and the one that held before.
#[must_use]
pub(super) struct Mark {
    here: usize,
    outer: usize,
}

impl Reads {
    #[inline(always)]
    pub(super) fn push(&mut self, core: &Core, version: u64) {
        if self.all.len() >= self.tidy_at {
            self.tidy();
        }
        self.all.push(Read { core, version });
    }

    /// All versions of a variable in it are the same, or the transaction would have ended.
    #[cold]
    fn tidy(&mut self) {
        if !self.all.is_empty() {
            self.all.sort_unstable_by_key(Read::order);
            self.all.dedup_by_key(|read| read.core);
        }
        self.tidy_at = (self.all.len() * 2).max(64);
    }

    #[inline(always)]
    pub(super) fn all(&self) -> &[Read] {
        &self.all
    }

    /// Each variable once.
    pub(super) fn each(&mut self) -> &[Read] {
        self.tidy();
        &self.all
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.all.clear();
        if self.all.capacity() > LARGE {
            *self = Self::default();
        }
    }
}

/// A log that has grown beyond this is not kept for the next transaction.
const LARGE: usize = 4096;

impl Writes {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What this transaction has written to the variable.
    #[inline(always)]
    pub(super) fn find(&self, core: &Core) -> Option<Held> {
        if self.filter & bit(core) == 0 { None } else { self.position(core).map(|at| self.all[at].value) }
    }

    #[inline]
    fn position(&self, core: &Core) -> Option<usize> {
        if self.all.len() > SHORT {
            return self.index.get(&std::ptr::from_ref(core).addr()).copied();
        }
        self.all.iter().rposition(|write| std::ptr::eq(write.core, core))
    }

    /// Returns a value of our own that this one replaces.
    #[inline(always)]
    pub(super) fn write(&mut self, core: &Core, value: Held) -> Option<Held> {
        let known = if self.filter & bit(core) == 0 { None } else { self.position(core) };
        if let Some(at) = known.filter(|at| *at >= self.mark) {
            return Some(std::mem::replace(&mut self.all[at].value, value));
        }
        self.twice |= known.is_some();
        self.push(core, value);
        None
    }

    /// Of a variable that is not in it.
    #[inline(always)]
    pub(super) fn push(&mut self, core: &Core, value: Held) {
        self.filter |= bit(core);
        self.all.push(Write { core, value, before: Word::default() });
        if self.all.len() > SHORT {
            self.note();
        }
    }

    /// Keeps the index, for the entry that came last.
    #[cold]
    fn note(&mut self) {
        let from = if self.all.len() == SHORT + 1 { 0 } else { self.all.len() - 1 };
        let entries = self.all.iter().enumerate().skip(from);
        self.index.extend(entries.map(|(at, write)| (write.core.addr(), at)));
    }

    /// What is written from now on can be undone alone.
    pub(super) fn mark(&mut self) -> Mark {
        let here = self.all.len();
        Mark { here, outer: std::mem::replace(&mut self.mark, here) }
    }

    /// It stays.
    pub(super) fn merge(&mut self, mark: Mark) {
        self.mark = mark.outer;
    }

    /// It is undone; what was written goes into `unused`.
    pub(super) fn undo(&mut self, Mark { here, outer }: Mark, unused: &mut Vec<Remains>) {
        let undone = self.all.drain(here..);
        // SAFETY: the transaction is under way, and the variable was there when it was written (V2).
        unused.extend(undone.filter_map(|write| unsafe { &*write.core }.remains_of(write.value)));
        self.mark = outer;
        self.index.clear();
        self.filter = self.all.iter().fold(0, |filter, write| filter | bit(write.core));
        if self.all.len() > SHORT {
            let entries = self.all.iter().enumerate();
            self.index.extend(entries.map(|(at, write)| (write.core.addr(), at)));
        }
    }

    /// For the commit: in the order of their addresses, each variable once, with the value that counts.
    #[inline(always)]
    pub(super) fn in_order(&mut self, unused: &mut Vec<Remains>) -> &mut [Write] {
        if let [first, second] = &mut self.all[..]
            && first.order() > second.order()
        {
            std::mem::swap(first, second);
        } else if self.all.len() > 2 {
            self.all.sort_by_key(Write::order); // stable: the later one is behind
        }
        if self.twice {
            self.drop_earlier(unused);
        }
        &mut self.all
    }

    #[cold]
    fn drop_earlier(&mut self, unused: &mut Vec<Remains>) {
        let mut after = self.all.iter().skip(1).map(|write| write.core).collect::<Vec<_>>().into_iter();
        let earlier = self.all.extract_if(.., |write| after.next() == Some(write.core));
        // SAFETY: as in `undo`.
        unused.extend(earlier.filter_map(|write| unsafe { &*write.core }.remains_of(write.value)));
    }

    /// They are published, so the values are not the log's any more.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.all.clear();
        self.filter = 0;
        self.mark = 0;
        self.twice = false;
        if !self.index.is_empty() {
            self.index.clear();
        }
        if self.all.capacity() > LARGE {
            *self = Self::default();
        }
    }

    /// They are not; while the transaction is under way.
    pub(super) fn discard(&mut self, unused: &mut Vec<Remains>) {
        self.undo(Mark { here: 0, outer: 0 }, unused);
        self.forget();
    }
}

#[inline(always)]
fn bit(core: *const Core) -> u64 {
    1 << ((core.addr() >> 7) % 64) // of a line and of the one beside it
}
