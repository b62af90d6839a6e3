//! The roll of a group: who is in it, who has ended and was not asked for yet, and who waits for that.
//!
//! A seat belongs to the [`TaskGroup`](super::TaskGroup), which gives it to one task and has it back when it took the
//! result; so a number in `ready` means one task.
//!
//! * **R1** A task ends (`ended`) under the lock: its number is in `ready`, and the waiter is taken out. A waiter is left under
//!   the same lock after a look at `ready`. So none is left beside what it waits for.
//! * **R2** The output is published before `ended`: who reads the number finds the output.
//! * **R3** Wakers are cloned, called and dropped outside of the lock; cancelling and letting go of tasks, too.

use ropewalk_core::blocked::{Reason, address_of, note};
use ropewalk_core::prim::Lock;
use ropewalk_core::task::TaskRef;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

#[cfg(test)]
mod tests;

/// What a group and its tasks share.
#[derive(Debug)]
pub(crate) struct Roll(Lock<State>);

#[derive(Debug, Default)]
struct State {
    seats: Vec<Seat>,
    /// Tasks that have not ended.
    alive: usize,
    /// Seats of tasks that ended, the first of them first; has room for all.
    ready: VecDeque<u32>,
    waiter: Option<(Waker, Wanted)>,
    fail_fast: bool,
    failed: bool,
    /// The group is gone.
    closed: bool,
}

#[derive(Debug, Default)]
enum Seat {
    #[default]
    Empty,
    Taken(TaskRef),
    /// Its task has ended, with this panic.
    Ended(Option<Panic>),
}

/// A panic that was not asked for yet.
#[derive(Debug)]
pub(crate) struct Panic {
    /// Tells the families apart to which panicking tasks belong.
    pub(crate) family: usize,
    pub(crate) text: String,
}

/// What somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The end of any task.
    Any,
    /// The end of all.
    All,
}

impl Roll {
    pub(crate) fn new() -> Self {
        Self(Lock::new(State::default()))
    }

    /// `task`, just made, has this seat.
    pub(crate) fn take_seat(&self, seat: u32, task: TaskRef) {
        let mut state = self.0.lock();
        let late = state.failed.then(|| task.clone());
        if state.seats.len() <= seat as usize {
            state.seats.resize_with(seat as usize + 1, Seat::default);
            let room = state.seats.len() - state.ready.len();
            state.ready.reserve(room);
        }
        state.seats[seat as usize] = Seat::Taken(task);
        state.alive += 1;
        drop(state);
        if let Some(task) = late {
            task.cancel();
        }
    }

    /// The task in this seat is over (R1, R2).
    pub(crate) fn ended(&self, seat: u32, failed: bool, panic: Option<Panic>) {
        let mut state = self.0.lock();
        let now = if state.closed { Seat::Empty } else { Seat::Ended(panic) };
        let task = std::mem::replace(&mut state.seats[seat as usize], now);
        state.ready.push_back(seat);
        state.alive -= 1;
        let all = state.alive == 0;
        let waiter = state.waiter.take_if(|(_, wanted)| all || *wanted == Wanted::Any);
        let rest = if failed { state.fail() } else { Vec::new() };
        drop(state);
        drop(task);
        rest.iter().for_each(TaskRef::cancel);
        if let Some((waker, _)) = waiter {
            crate::runtime::wake_safely(waker);
        }
    }

    /// A task gave a value that counts as a failure.
    pub(crate) fn fail(&self) {
        let rest = self.0.lock().fail();
        rest.iter().for_each(TaskRef::cancel);
    }

    /// Ready when one, or all, have ended; until then the waker of `cx` is left to be called.
    pub(crate) fn poll(&self, cx: &mut Context<'_>, wanted: Wanted) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.0.lock();
        let ready = match wanted {
            Wanted::Any => !state.ready.is_empty() || state.alive == 0,
            Wanted::All => state.alive == 0,
        };
        let unused = if ready { Some((waker, wanted)) } else { state.waiter.replace((waker, wanted)) };
        drop(state);
        drop(unused);
        if ready {
            return Poll::Ready(());
        }
        note(Reason::Group, address_of(self));
        Poll::Pending
    }

    /// How many have not ended.
    pub(crate) fn alive(&self) -> usize {
        self.0.lock().alive
    }

    /// The seat of the task that ended first, which is free from now on.
    pub(crate) fn next_ended(&self) -> Option<u32> {
        let mut state = self.0.lock();
        let seat = state.ready.pop_front()?;
        state.seats[seat as usize] = Seat::Empty;
        Some(seat)
    }

    pub(crate) fn cancel_all(&self) {
        let all = self.0.lock().tasks();
        all.iter().for_each(TaskRef::cancel);
    }

    pub(crate) fn set_fail_fast(&self, on: bool) {
        self.0.lock().fail_fast = on;
    }

    /// The group is dropped: nobody asks any more.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        let waiter = state.waiter.take();
        let ended = state.seats.iter_mut().filter(|seat| matches!(seat, Seat::Ended(_)));
        ended.for_each(|seat| *seat = Seat::Empty);
        drop(state);
        drop(waiter);
    }

    /// The head of `family` ends, and all of its children have: says which of their panics nobody has asked for.
    pub(crate) fn forgotten(&self, family: usize, say: &mut dyn FnMut(String)) {
        let mut state = self.0.lock();
        let panics = state.seats.iter_mut().filter_map(|seat| match seat {
            Seat::Ended(panic) => panic.take_if(|panic| panic.family == family).map(|panic| panic.text),
            _ => None,
        });
        let panics: Vec<_> = panics.collect();
        drop(state);
        panics.into_iter().for_each(say);
    }
}

impl State {
    fn tasks(&self) -> Vec<TaskRef> {
        let taken = self.seats.iter().filter_map(|seat| match seat {
            Seat::Taken(task) => Some(task.clone()),
            _ => None,
        });
        taken.collect()
    }

    /// A task has failed: those to be cancelled.
    fn fail(&mut self) -> Vec<TaskRef> {
        let first = self.fail_fast && !std::mem::replace(&mut self.failed, true);
        if first { self.tasks() } else { Vec::new() }
    }
}
