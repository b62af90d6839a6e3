//! What belongs to the task that runs now, not to the worker.

use super::super::budget::BUDGET;
use crate::local::Locals;
use crate::runtime::Handle;
use crate::thread::Holds;
use crate::wait::HandlerStack;
use crate::{context, strand};
use ropewalk_core::budget;
use ropewalk_core::task::Header;
use std::cell::Cell;
use std::ptr::NonNull;

/// What belongs to the task (or strand) that runs now, not to the worker. Put away and brought back with the stack.
#[derive(Default)]
pub(crate) struct Frame {
    pub(crate) current: Cell<Option<NonNull<Header>>>,
    /// Operations that were refused because the budget was used up; counts on from task to task.
    pub(crate) refusals: Cell<u32>,
    /// The task asked to go behind everything else when its poll ends.
    pub(crate) yielded: Cell<bool>,
    pub(crate) handlers: HandlerStack,
    pub(crate) locals: Locals,
    pub(crate) holds: Holds,
    /// The runtimes that a parked stack had entered; while it runs, `context` has them.
    entered: Vec<Handle>,
    /// The strand whose stack this is.
    pub(crate) strand: Cell<Option<NonNull<strand::Seat>>>,
}

impl Frame {
    pub(crate) fn put_away(&self) -> Frame {
        Frame {
            current: Cell::new(self.current.take()),
            refusals: self.refusals.clone(),
            yielded: Cell::new(self.yielded.take()),
            handlers: self.handlers.take(),
            locals: self.locals.take(),
            holds: self.holds.take(),
            entered: context::go_away(),
            strand: Cell::new(self.strand.take()),
        }
    }

    pub(crate) fn bring_back(&self, frame: Frame) {
        self.current.set(frame.current.get());
        budget::grant(BUDGET); // it may have been long since
        self.refusals.set(frame.refusals.get());
        self.yielded.set(frame.yielded.get());
        self.handlers.set(frame.handlers);
        self.locals.set(frame.locals);
        self.holds.set(frame.holds);
        context::come_back(frame.entered);
        self.strand.set(frame.strand.get());
    }
}
