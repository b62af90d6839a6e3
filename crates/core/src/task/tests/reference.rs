//! The reference for `lifecycle`: what a task is, without any of its machinery.

/// What one poll of the body does. After the last step it waits for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Wait,
    WakeItself,
    Yield,
    CancelItself,
    Finish,
    Panic,
}
use Step::*;

/// What can be done to a task from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    Run,
    DropRunnable,
    RefuseRunnable,
    CancelRunnable,
    Wake,
    WakeAndDrop,
    DropWaker,
    Cancel,
    Shutdown,
    Sweep,
    Take,
    DropHandle,
    ChildEnds,
}
use Op::*;

pub(super) const OPS: [Op; 13] = [
    Run,
    DropRunnable,
    RefuseRunnable,
    CancelRunnable,
    Wake,
    WakeAndDrop,
    DropWaker,
    Cancel,
    Shutdown,
    Sweep,
    Take,
    DropHandle,
    ChildEnds,
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) steps: &'static [Step],
    pub(super) by_poll: bool,
    pub(super) body_drop_panics: bool,
    pub(super) output_drop_panics: bool,
    pub(super) finds: bool,
    /// It has a child, from its first poll on.
    pub(super) bears: bool,
}

impl Case {
    /// No sequence runs the task more often, its ending apart.
    pub(super) fn runs(&self) -> usize {
        if self.bears { 3 } else { 2 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    Value,
    Cancelled,
    Shutdown,
    NoThread,
    Panicked(&'static str),
}

/// What the panics of a task say.
pub(super) const IN_POLL: &str = "in poll";
pub(super) const IN_DROP_OF_BODY: &str = "in the drop of the body";
pub(super) const IN_DROP_OF_OUTPUT: &str = "in the drop of the output";

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    Queued,
    Waiting,
    Over,
}

/// What can be seen of a task from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) queued: usize,
    pub(super) bodies: usize,
    pub(super) outputs: usize,
    /// What the host was told of a panic that nobody took.
    pub(super) unhandled: Option<&'static str>,
    pub(super) freed: usize,
    pub(super) taken: Option<End>,
}

/// The reference: what a task is, without any of its machinery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Model {
    pub(super) case: Case,
    pub(super) polls: usize,
    pub(super) place: Place,
    pub(super) cancelled: Option<End>,
    pub(super) handle: bool,
    /// The handle was told to wait.
    pub(super) asked: bool,
    pub(super) waker: bool,
    /// It has a child that is not over.
    pub(super) child: bool,
    /// Its body is over, and it waits for the child.
    pub(super) held: bool,
    pub(super) left: End,
    pub(super) seen: Seen,
}

impl Model {
    pub(super) fn new(case: Case) -> Self {
        let seen = Seen { queued: 1, ..Seen::default() };
        let (place, cancelled, left) = (Place::Queued, None, End::Cancelled);
        Self {
            case,
            polls: 0,
            place,
            cancelled,
            handle: true,
            asked: false,
            waker: true,
            child: false,
            held: false,
            left,
            seen,
        }
    }

    pub(super) fn possible(&self, op: Op) -> bool {
        match op {
            // Those that do the same as others are left out where a child makes the sequences long.
            CancelRunnable | RefuseRunnable | WakeAndDrop | Shutdown | Sweep
                if self.case.bears && !(op == Sweep && self.is_lost()) =>
            {
                false
            }
            Run | DropRunnable | RefuseRunnable | CancelRunnable => self.place == Place::Queued,
            Wake | WakeAndDrop | DropWaker | Shutdown => self.waker,
            Sweep => self.case.finds,
            Cancel | Take | DropHandle => self.handle,
            ChildEnds => self.child,
        }
    }

    /// Nothing but a sweep can reach it.
    fn is_lost(&self) -> bool {
        self.place == Place::Waiting && !self.waker && !self.handle
    }

    pub(super) fn apply(&mut self, op: Op) {
        match op {
            Run => self.run(),
            DropRunnable if self.held => self.settle(false),
            DropRunnable => self.end(self.cancelled.unwrap_or(End::Cancelled)),
            RefuseRunnable if self.held => self.settle(false),
            RefuseRunnable => self.end(End::NoThread),
            ChildEnds => {
                self.child = false;
                if self.held {
                    self.wake();
                }
            }
            CancelRunnable => self.cancel(End::Shutdown),
            Wake => self.wake(),
            WakeAndDrop => {
                self.wake();
                self.waker = false;
            }
            DropWaker => self.waker = false,
            Cancel => self.cancel(End::Cancelled),
            Shutdown | Sweep => self.cancel(End::Shutdown),
            Take if self.place != Place::Over => self.asked = true,
            Take => {
                self.handle = false;
                self.seen.taken = Some(self.left);
                self.seen.outputs += usize::from(self.left == End::Value);
            }
            DropHandle => {
                self.handle = false;
                if self.place == Place::Over {
                    self.discard();
                } else if self.held {
                    self.wake(); // it drops what it holds
                }
            }
        }
        if self.place == Place::Waiting && !self.handle && !self.waker && !self.case.finds && !self.held {
            self.cancel(End::Cancelled);
        }
        self.seen.queued = usize::from(self.place == Place::Queued);
        self.seen.freed = usize::from(self.place == Place::Over && !self.handle && !self.waker);
    }

    fn run(&mut self) {
        if self.held {
            return self.settle(false);
        }
        if let Some(end) = self.cancelled {
            return self.end(end);
        }
        let step = self.case.steps.get(self.polls).copied().unwrap_or(Wait);
        self.polls += 1;
        self.child |= self.case.bears && self.polls == 1;
        match step {
            Wait => self.place = Place::Waiting,
            WakeItself | Yield => {}
            CancelItself => {
                self.cancel(End::Cancelled);
                if !self.case.by_poll {
                    self.stop_body(End::Cancelled);
                    self.settle(true); // the cancellation is a wake-up, too
                }
            }
            Finish => self.end(End::Value),
            Panic => self.end(End::Panicked(IN_POLL)),
        }
    }

    fn wake(&mut self) {
        if self.place == Place::Waiting {
            self.place = Place::Queued;
        }
    }

    fn cancel(&mut self, end: End) {
        if self.place != Place::Over && self.cancelled.is_none() {
            self.cancelled = Some(end);
            self.wake();
        }
    }

    fn end(&mut self, end: End) {
        self.stop_body(end);
        self.settle(false);
    }

    fn stop_body(&mut self, mut end: End) {
        self.seen.bodies += 1;
        if self.case.body_drop_panics {
            self.seen.outputs += usize::from(end == End::Value);
            // The first panic is the one that counts.
            if !matches!(end, End::Panicked(_)) {
                end = End::Panicked(IN_DROP_OF_BODY);
            }
        }
        self.left = end;
    }

    /// The body is over: so is the task, or it is held back; then a wake-up meanwhile sends it round again.
    fn settle(&mut self, woken: bool) {
        if !self.handle {
            self.discard();
        }
        self.held = self.child;
        self.place = match self.child {
            false => Place::Over,
            true if woken => Place::Queued,
            true => Place::Waiting,
        };
    }

    /// Nobody takes what is left.
    fn discard(&mut self) {
        self.seen.outputs += usize::from(self.left == End::Value);
        match self.left {
            End::Value if self.case.output_drop_panics => self.seen.unhandled = Some(IN_DROP_OF_OUTPUT),
            End::Panicked(text) => self.seen.unhandled = Some(text),
            _ => {}
        }
        self.left = End::Cancelled;
    }
}
