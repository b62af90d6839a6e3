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
}
use Op::*;

pub(super) const OPS: [Op; 12] = [
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
];
/// No sequence runs the task more often, its ending apart.
pub(super) const RUNS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) steps: &'static [Step],
    pub(super) by_poll: bool,
    pub(super) body_drop_panics: bool,
    pub(super) output_drop_panics: bool,
    pub(super) finds: bool,
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
    pub(super) left: End,
    pub(super) seen: Seen,
}

impl Model {
    pub(super) fn new(case: Case) -> Self {
        let seen = Seen { queued: 1, ..Seen::default() };
        let (place, cancelled, left) = (Place::Queued, None, End::Cancelled);
        Self { case, polls: 0, place, cancelled, handle: true, asked: false, waker: true, left, seen }
    }

    pub(super) fn possible(&self, op: Op) -> bool {
        match op {
            Run | DropRunnable | RefuseRunnable | CancelRunnable => self.place == Place::Queued,
            Wake | WakeAndDrop | DropWaker | Shutdown => self.waker,
            Sweep => self.case.finds,
            Cancel | Take | DropHandle => self.handle,
        }
    }

    pub(super) fn apply(&mut self, op: Op) {
        match op {
            Run => self.run(),
            DropRunnable => self.end(self.cancelled.unwrap_or(End::Cancelled)),
            RefuseRunnable => self.end(End::NoThread),
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
                }
            }
        }
        if self.place == Place::Waiting && !self.handle && !self.waker && !self.case.finds {
            self.cancel(End::Cancelled);
        }
        self.seen.queued = usize::from(self.place == Place::Queued);
        self.seen.freed = usize::from(self.place == Place::Over && !self.handle && !self.waker);
    }

    fn run(&mut self) {
        if let Some(end) = self.cancelled {
            return self.end(end);
        }
        let step = self.case.steps.get(self.polls).copied().unwrap_or(Wait);
        self.polls += 1;
        match step {
            Wait => self.place = Place::Waiting,
            WakeItself | Yield => {}
            CancelItself => {
                self.cancel(End::Cancelled);
                if !self.case.by_poll {
                    self.end(End::Cancelled);
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
        if self.place != Place::Over {
            self.cancelled.get_or_insert(end);
            self.wake();
        }
    }

    fn end(&mut self, mut end: End) {
        self.seen.bodies += 1;
        if self.case.body_drop_panics {
            self.seen.outputs += usize::from(end == End::Value);
            // The first panic is the one that counts.
            if !matches!(end, End::Panicked(_)) {
                end = End::Panicked(IN_DROP_OF_BODY);
            }
        }
        (self.place, self.left) = (Place::Over, end);
        if !self.handle {
            self.discard();
        }
    }

    /// Nobody takes what is left.
    fn discard(&mut self) {
        self.seen.outputs += usize::from(self.left == End::Value);
        self.seen.unhandled = match self.left {
            End::Value if self.case.output_drop_panics => Some(IN_DROP_OF_OUTPUT),
            End::Panicked(text) => Some(text),
            _ => None,
        };
    }
}
