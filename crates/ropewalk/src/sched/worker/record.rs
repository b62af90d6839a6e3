//! What a worker writes down while somebody records. Then each poll goes the long way, and so does each wake-up; otherwise nobody asks.

use super::super::host;
use super::super::recorder::{Act, End, Event, Noun, Slept, Tape};
use super::Worker;
use super::run::Kind;
use ropewalk_core::task::{Ran, Runnable, TaskRef};
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::Arc;

/// How far a worker is with that.
#[derive(Default)]
pub(super) struct Reel {
    on: Cell<bool>,
    /// The worker has looked whether it is to record: it may have done something since.
    has_looked: Cell<bool>,
    tape: RefCell<Option<Arc<Tape>>>,
    /// The poll under way on the stack that runs, and where it is on the tape.
    open: Cell<Option<(u64, Running)>>,
    /// What was said last of the queues.
    queues: Cell<(u32, u32)>,
}

/// A poll under way.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    from: u64,
    id: u64,
    place: &'static Location<'static>,
    noun: Noun,
    resumed: bool,
}

impl Running {
    fn event(self, ended: Option<(End, u64)>) -> Event {
        let Self { from, id, place, noun, resumed } = self;
        Event { time: from, id, act: Act::Poll { place, noun, resumed, ended } }
    }
}

impl Reel {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.on.get()
    }
}

impl Worker {
    /// Whether this runtime records may have changed, and where.
    pub(super) fn follow_recording(&self) {
        let reel = &self.reel;
        let is_new = !reel.has_looked.replace(true);
        let tape = self.pool.runtime.recorder.tape(&self.pool.name, &self.station, is_new);
        let same = match (&tape, &*reel.tape.borrow()) {
            (Some(new), Some(old)) => Arc::ptr_eq(new, old),
            (None, None) => true,
            _ => false,
        };
        if !same {
            reel.open.set(None); // it is on another tape
            reel.queues.set((0, 0));
            tape.iter().for_each(|tape| tape.begin(if is_new { 0 } else { self.now() }));
        }
        reel.on.set(tape.is_some());
        drop(reel.tape.replace(tape));
    }

    fn now(&self) -> u64 {
        self.pool.runtime.recorder.now()
    }

    fn push(&self, event: Event) -> Option<u64> {
        self.reel.tape.borrow().as_ref().map(|tape| tape.push(event))
    }

    fn amend(&self, number: u64, event: Event) {
        if let Some(tape) = &*self.reel.tape.borrow() {
            tape.amend(number, event);
        }
    }

    /// Something happens here, now. `None`: nothing is recorded.
    pub(crate) fn note(&self, id: u64, act: Act) -> Option<u64> {
        self.reel.is_on().then(|| self.push(Event { time: self.now(), id, act })).flatten()
    }

    /// A task is woken, or `NEW`, here.
    pub(super) fn note_woken<const NEW: bool>(&self, task: &Runnable) {
        if self.reel.is_on() {
            self.note(task.id().get(), Act::woken(task, NEW));
        }
    }

    /// A poll begins.
    pub(super) fn open_poll(&self, task: &Runnable, kind: Kind) {
        if self.reel.is_on() {
            let noun = match kind {
                Kind::Free | Kind::Pinned => Noun::Task,
                Kind::Strand | Kind::Roaming => Noun::Strand,
                Kind::Internal if host::is_ticket(task) => Noun::Ticket,
                Kind::Internal => Noun::Root,
            };
            let (id, place) = (task.id().get(), task.spawned_at());
            self.open(Running { from: self.now(), id, place, noun, resumed: false });
        }
    }

    fn open(&self, running: Running) {
        let number = self.push(running.event(None));
        self.reel.open.set(number.map(|number| (number, running)));
    }

    /// The poll that was begun here has ended.
    pub(super) fn close_poll(&self, ran: &Ran) {
        if self.reel.open.get().is_some() {
            self.close(match ran {
                Ran::Idle if self.fibres.wants_switch() => End::Switched,
                Ran::Idle => End::Waits,
                Ran::Woken(_) => End::Woken,
                Ran::Yielded(_) => End::Yielded,
                Ran::Done => End::Done,
            });
        }
    }

    fn close(&self, end: End) {
        if let Some((number, running)) = self.reel.open.take() {
            let took = self.now().saturating_sub(running.from);
            self.amend(number, running.event(Some((end, took))));
        }
    }

    /// The stack that runs is put away in the middle of a poll. Answers what [`resume_poll`](Self::resume_poll) needs.
    pub(crate) fn put_poll_away(&self) -> Option<Running> {
        let running = self.reel.open.get().map(|(_, running)| running);
        self.close(End::Parked);
        running
    }

    /// It goes on.
    pub(crate) fn resume_poll(&self, running: Option<Running>) {
        if let Some(running) = running
            && self.reel.is_on()
        {
            self.open(Running { from: self.now(), resumed: true, ..running });
        }
    }

    /// Tasks were taken from `victim`: `task`, to run, and what is in the ring now.
    pub(super) fn note_steal(&self, task: &Runnable, from: usize, count: usize) {
        if self.reel.is_on() {
            let (from, count) = (from as u16, count.try_into().unwrap_or(u32::MAX));
            self.note(task.id().get(), Act::Stolen { from, count });
        }
    }

    /// Runs `sleep`, which says where it slept.
    pub(super) fn note_sleep(&self, sleep: impl FnOnce() -> Slept) {
        if !self.reel.is_on() {
            sleep();
            return;
        }
        self.note_queues();
        let time = self.now();
        let parked = |ended| Event { time, id: 0, act: Act::Parked { ended } };
        let number = self.push(parked(None));
        let berth = sleep();
        if let Some(number) = number {
            self.amend(number, parked(Some((berth, self.now().saturating_sub(time)))));
        }
    }

    /// Runs `wake`, which says how many it woke.
    pub(super) fn note_wakes(
        &self,
        act: impl FnOnce(u64, u64) -> Act,
        wake: impl FnOnce() -> usize,
    ) -> usize {
        if !self.reel.is_on() {
            return wake();
        }
        let time = self.now();
        let count = wake();
        let took = self.now().saturating_sub(time);
        self.push(Event { time, id: 0, act: act(count as u64, took) });
        count
    }

    /// It looks around, or is about to sleep: how much is queued, if that has changed.
    pub(super) fn note_queues(&self) {
        if !self.reel.is_on() {
            return;
        }
        let short = |count: usize| count.try_into().unwrap_or(u32::MAX);
        let (here, outside) = (short(self.queued()), short(self.pool.injector.len()));
        if self.reel.queues.replace((here, outside)) != (here, outside) {
            self.note(0, Act::Queues { here, outside });
        }
    }

    /// A task has ended: its name is kept for a while.
    pub(super) fn remember_name(&self, task: &TaskRef) {
        if self.reel.is_on()
            && let Some(name) = host::name(task)
        {
            self.pool.runtime.recorder.remember(task.id().get(), name);
        }
    }
}
