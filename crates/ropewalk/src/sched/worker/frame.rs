//! What belongs to the task that runs now, not to the worker.

use super::super::budget::BUDGET;
use crate::context;
use crate::runtime::Handle;
use crate::strand::{Belongings, Seat, Spans};
use crate::thread::Holds;
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
    /// Of what is not a strand; see [`own`](Self::own).
    belongings: Belongings,
    /// The runtimes that a parked stack had entered; while it runs, `context` has them.
    entered: Vec<Handle>,
    /// The spans that it had entered.
    spans: Spans,
    /// The strand whose stack this is.
    pub(crate) strand: Cell<Option<NonNull<Seat>>>,
}

impl Frame {
    /// What is on the stack that runs now.
    #[inline]
    pub(crate) fn own(&self) -> &Belongings {
        match self.strand.get() {
            // SAFETY: the strand that runs here is alive while it runs.
            Some(seat) => unsafe { &seat.as_ref().own },
            None => &self.belongings,
        }
    }

    /// Another task begins.
    #[inline]
    pub(crate) fn begin(&self) {
        self.yielded.set(false);
        self.belongings.holds.set(Holds::new());
    }

    pub(crate) fn put_away(&self) -> Frame {
        Frame {
            current: Cell::new(self.current.take()),
            refusals: self.refusals.clone(),
            yielded: Cell::new(self.yielded.take()),
            belongings: self.belongings.take(),
            entered: context::go_away(),
            spans: Spans::leave(),
            strand: Cell::new(self.strand.take()),
        }
    }

    pub(crate) fn bring_back(&self, frame: Frame) {
        self.current.set(frame.current.get());
        budget::grant(BUDGET); // it may have been long since
        self.refusals.set(frame.refusals.get());
        self.yielded.set(frame.yielded.get());
        self.belongings.set(frame.belongings);
        context::come_back(frame.entered);
        frame.spans.enter();
        self.strand.set(frame.strand.get());
    }
}
