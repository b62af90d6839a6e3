//! What belongs to the task that runs now, not to the worker.

use super::super::budget::BUDGET;
use crate::strand;
use crate::wait::HandlerStack;
use ropewalk_core::task::Header;
use std::cell::Cell;
use std::ptr::NonNull;

/// What belongs to the task (or strand) that runs now, not to the worker. Put away and brought back with the stack.
#[derive(Default)]
pub(crate) struct Frame {
    pub(crate) current: Cell<Option<NonNull<Header>>>,
    pub(crate) budget: Cell<u8>,
    pub(crate) handlers: HandlerStack,
    /// The strand whose stack this is.
    pub(crate) strand: Cell<Option<NonNull<strand::Seat>>>,
}

impl Frame {
    pub(crate) fn put_away(&self) -> Frame {
        Frame {
            current: Cell::new(self.current.take()),
            budget: Cell::new(BUDGET),
            handlers: self.handlers.take(),
            strand: Cell::new(self.strand.take()),
        }
    }

    pub(crate) fn bring_back(&self, frame: Frame) {
        self.current.set(frame.current.get());
        self.budget.set(frame.budget.get());
        self.handlers.set(frame.handlers);
        self.strand.set(frame.strand.get());
    }
}
