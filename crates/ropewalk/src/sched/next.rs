//! The task a worker runs next: the [`lifo`] slot, or, while the worker is alone and nobody could rob it, a plain cell.

use super::entry::Entry;
use super::lifo;
use super::ring::Producer;
use std::cell::Cell;
use std::ptr::NonNull;

#[cfg(test)]
mod tests;

pub(crate) struct Next<T: Entry> {
    private: Cell<Option<T>>,
    shared: lifo::Owner<T>,
    alone: Cell<bool>,
}

/// Opens a worker's queues to others, or, if it is `alone`, closes them: then taking a task needs no exchange.
///
/// # Safety
/// If `alone`, nobody is stealing from this worker: what thieves did happens before this call, and those that come later
/// come after it. (Workers come and go under the census lock, and this is called under it.)
pub(crate) unsafe fn keep_company<T: Entry>(ring: &Producer<T>, next: &Next<T>, alone: bool) {
    if alone {
        // SAFETY: passed on to the caller.
        unsafe { ring.unshare() };
    } else {
        ring.share();
    }
    next.set_alone(alone);
}

impl<T: Entry> Next<T> {
    /// Starts in the shared slot, where a thief of the previous worker may still be looking.
    pub(crate) fn new(shared: lifo::Owner<T>) -> Self {
        Self { private: Cell::new(None), shared, alone: Cell::new(false) }
    }

    /// Makes `task` the next one; the one it displaces is returned.
    #[inline]
    pub(crate) fn put(&self, task: T) -> Option<T> {
        if self.alone.get() { self.private.replace(Some(task)) } else { self.shared.put(task) }
    }

    #[inline]
    pub(crate) fn take(&self) -> Option<T> {
        if self.alone.get() { self.private.take() } else { self.shared.take() }
    }

    /// Takes the task if it is the one at `raw`.
    #[inline]
    pub(crate) fn take_if(&self, raw: NonNull<()>) -> Option<T> {
        if !self.alone.get() {
            return self.shared.take_if(raw);
        }
        let found = self.private.take()?.into_raw();
        // SAFETY: just taken apart.
        let task = unsafe { T::from_raw(found) };
        if found == raw {
            return Some(task);
        }
        self.private.set(Some(task));
        None
    }

    /// There is nothing in it. A thief may make this true at any time.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        if !self.alone.get() {
            return self.shared.is_empty();
        }
        let task = self.private.take();
        let empty = task.is_none();
        self.private.set(task);
        empty
    }

    /// Moves to the place that fits the company.
    fn set_alone(&self, alone: bool) {
        let task = self.take();
        self.alone.set(alone);
        if let Some(task) = task {
            let displaced = self.put(task);
            debug_assert!(displaced.is_none(), "only one of the two places is ever used");
        }
    }

    /// The shared end, for the station's next worker. The slot is empty.
    pub(crate) fn into_shared(self) -> lifo::Owner<T> {
        self.set_alone(false);
        self.shared
    }
}
