//! The task a worker runs next: the [`lifo`] slot, or, while the worker is alone and nobody could rob it, a plain cell.

use super::lifo;
use ropewalk_core::task::Runnable;
use std::cell::Cell;

pub(crate) struct Next {
    private: Cell<Option<Runnable>>,
    shared: lifo::Owner<Runnable>,
    alone: Cell<bool>,
}

impl Next {
    /// Starts in the shared slot, where a thief of the previous worker may still be looking.
    pub(crate) fn new(shared: lifo::Owner<Runnable>) -> Self {
        Self { private: Cell::new(None), shared, alone: Cell::new(false) }
    }

    /// Makes `task` the next one; the one it displaces is returned.
    #[inline]
    pub(crate) fn put(&self, task: Runnable) -> Option<Runnable> {
        if self.alone.get() { self.private.replace(Some(task)) } else { self.shared.put(task) }
    }

    #[inline]
    pub(crate) fn take(&self) -> Option<Runnable> {
        if self.alone.get() { self.private.take() } else { self.shared.take() }
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
    pub(crate) fn set_alone(&self, alone: bool) {
        let task = self.take();
        self.alone.set(alone);
        if let Some(task) = task {
            let displaced = self.put(task);
            debug_assert!(displaced.is_none(), "only one of the two places is ever used");
        }
    }

    /// The shared end, for the station's next worker. The slot is empty.
    pub(crate) fn into_shared(self) -> lifo::Owner<Runnable> {
        self.set_alone(false);
        self.shared
    }
}
