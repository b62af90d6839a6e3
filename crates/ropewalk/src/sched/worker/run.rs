//! One turn of the loop: a task runs, and goes where its answer says.

use super::super::budget::BUDGET;
use super::super::host::{self, Extra};
use super::super::idle::{Owed, Searching};
use super::Worker;
use super::placement::stranded;
use crate::context;
use crate::strand::Stranded;
use ropewalk_core::budget;
use ropewalk_core::task::{Header, Ran, Runnable, TaskRef};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;

/// What a worker must know of a task before it runs it, because afterwards it may be gone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Goes wherever there is room.
    Free,
    /// Stays here: a local task.
    Pinned,
    /// Stays here, too.
    Strand,
    /// Has started, and goes wherever there is room.
    Roaming,
    /// Stays here and is the runtime's own: a waiting fibre's ticket, the root of `block_on`.
    Internal,
}

impl Worker {
    #[inline]
    pub(super) fn run(&self, task: Runnable) {
        if let Some(searching) = self.searching.take() {
            self.end_search(searching);
        }
        let (pinned, awaited) = task.is_pinned_or_awaited();
        let (task, kind) = if !(pinned | awaited) {
            (task, Kind::Free)
        } else {
            let Some((task, kind)) = self.settle(task, pinned) else { return }; // it went elsewhere
            if awaited {
                self.note_run(&task);
            }
            (task, kind)
        };
        if self.closing.get() && kind != Kind::Internal {
            task.cancel(true);
        }
        self.station.counters.polls.bump();
        self.set_current(Some(task.as_raw()));
        budget::grant(BUDGET);
        self.frame.begin();
        let ran = if self.watching.get() {
            self.run_watched(task, kind)
        } else {
            task.run_with(&self.frame.yielded)
        };
        self.set_current(None);
        let spent = BUDGET.saturating_sub(budget::left());
        self.station.counters.operations.add(u64::from(spent / budget::OPERATION));
        self.sort(ran, kind);
    }

    #[inline]
    fn sort(&self, ran: Ran, kind: Kind) {
        match ran {
            Ran::Idle => {}
            Ran::Done => self.finished(kind),
            Ran::Woken(task) | Ran::Yielded(task) => {
                let stays = kind == Kind::Roaming && !is_roaming(&task); // RO2: since this poll
                self.push_back(task, if stays { Kind::Strand } else { kind });
            }
        }
    }

    /// The strand that runs here waits for `child`. If that is what comes next, it runs now, as part of the other's turn and on
    /// what is left of its budget: then nobody has to be suspended, and woken. Each has its own stack, so that either may be
    /// suspended while the other goes on.
    #[inline]
    pub(crate) fn run_at_once(&self, child: NonNull<Header>) {
        let Some(parent) = self.frame.strand.get() else { return };
        // Who decides who is next, or looks at every turn, sees each of them by itself.
        let alone = self.single.get() || self.watching.get() || self.closing.get() || context::has_entered();
        // SAFETY: the strand that runs here is alive while it runs.
        let parent = unsafe { parent.as_ref() };
        // One that roams would be elsewhere afterwards, if what is called on its stack waits.
        if alone || parent.roams() || budget::left() < budget::OPERATION || !parent.may_stand_by() {
            return;
        }
        if !self.next.is(child.cast()) {
            return;
        }
        let current = self.frame.current.get();
        self.station.hold.set(null_mut()); // HO1; the child comes next
        let Some((task, kind)) = self.next.take().and_then(|task| self.settle(task, true)) else {
            return self.set_current(current);
        };
        if task.is_pinned_or_awaited().1 {
            self.note_run(&task);
        }
        parent.open_up();
        self.station.counters.polls.bump();
        self.station.counters.lifo_hits.bump();
        self.set_current(Some(child));
        let ran = parent.stand_by(|| task.run_with(&self.frame.yielded));
        self.set_current(None); // HO1, as in `run`
        self.sort(ran, kind);
        self.set_current(current);
    }

    /// What runs here from now on, also for those who look from outside.
    #[inline]
    pub(crate) fn set_current(&self, task: Option<NonNull<Header>>) {
        self.frame.current.set(task);
        self.station.hold.set(task.map_or(null_mut(), NonNull::as_ptr));
    }

    /// Takes something from this worker's queues in the middle of a poll (HO1).
    #[inline]
    pub(super) fn unheld<R>(&self, take: impl FnOnce() -> R) -> R {
        if !self.is_in_private() {
            return take(); // by exchanges: each door was seen open, and stays so
        }
        let hold = &self.station.hold;
        hold.set(null_mut());
        let taken = take();
        hold.set(self.frame.current.get().map_or(null_mut(), NonNull::as_ptr));
        taken
    }

    /// Whether something may be taken from this worker's queues now (HO1).
    pub(super) fn may_take(&self) -> bool {
        self.station.hold.current().is_null() || !self.is_in_private()
    }

    /// Whether anything is taken from this worker's queues by plain stores.
    #[inline]
    fn is_in_private(&self) -> bool {
        self.next.door().is_alone() || self.ready.ring.door().is_alone() || self.due.ring.door().is_alone()
    }

    /// What kind of task it is. A strand that starts stays here from now on, or goes where fewer are.
    #[inline]
    fn settle(&self, task: Runnable, pinned: bool) -> Option<(Runnable, Kind)> {
        if !pinned {
            return Some((task, Kind::Free));
        }
        // SAFETY: a task that can run is alive.
        match unsafe { Header::kind(task.as_raw()) } {
            host::Ticket::KIND => Some((task, Kind::Internal)),
            Stranded::KIND => self.place(task).map(|task| {
                let kind = if is_roaming(&task) { Kind::Roaming } else { Kind::Strand };
                (task, kind)
            }),
            _ => Some((task, Kind::Pinned)),
        }
    }

    #[inline(never)]
    fn run_watched(&self, task: Runnable, kind: Kind) -> Ran {
        let (config, id) = (&self.pool.config, task.id());
        let watched = host::may_be_observed(&task).then(|| task.task());
        if let Some(hook) = &config.hooks.before_poll {
            hook(id);
        }
        let observation = watched.as_ref().and_then(host::observation);
        let from = observation.map(|_| config.clock.now());
        self.begin_timing(from);
        if let (Some(observation), Some(from)) = (observation, from) {
            observation.reasons.begin(from, watched.as_ref().is_some_and(TaskRef::is_asked));
        }
        self.open_poll(&task, kind);
        let ran = task.run_with(&self.frame.yielded);
        self.frame.current.set(None); // it may be gone, and what follows is the user's code, too
        self.close_poll(&ran);
        let from = self.end_timing();
        if let (Ran::Done, Some(observation)) = (&ran, observation) {
            observation.span.end();
        }
        if let (Some(observation), Some(from)) = (observation, from) {
            observation.polled(config.clock.now().saturating_sub(from).as_nanos() as u64);
        }
        if let Some(hook) = &config.hooks.after_poll {
            hook(id);
        }
        if let (Ran::Done, Some(watched)) = (&ran, &watched) {
            self.remember_name(watched);
        }
        if let (Ran::Done, Some(hook)) = (&ran, &config.hooks.on_task_end) {
            hook(id);
        }
        self.watching.set(self.is_watching());
        ran
    }

    #[inline]
    fn finished(&self, kind: Kind) {
        if kind == Kind::Internal {
            return;
        }
        if matches!(kind, Kind::Strand | Kind::Roaming) {
            self.station.counters.strands_ended.bump();
        }
        if matches!(kind, Kind::Strand | Kind::Pinned) {
            self.pinned.set(self.pinned.get() - 1);
            self.station.pinned.store(self.pinned.get(), Ordering::Relaxed);
        }
        self.station.counters.finished.bump();
        if self.winding_down.get() {
            self.pool.one_ended();
        }
    }

    #[cold]
    pub(super) fn end_search(&self, searching: Searching) {
        // The last searcher hands on, unless there is nothing left to search for.
        let others = self.peers.borrow().len();
        let more = match self.pool.idle.found_work(searching, others) {
            Owed::Nothing => false,
            Owed::OutsideAndOwn => self.free_tasks() > 0 || self.any_outside() || self.any_half(),
            Owed::EveryQueue => self.free_tasks() > 0 || self.any_work(),
        };
        if more {
            self.pool.notify();
        }
    }
}

/// Whether a strand that is about to run, or has run, is one that roams.
#[inline]
fn is_roaming(strand: &Runnable) -> bool {
    // SAFETY: a task that can run is alive.
    unsafe { stranded(strand.as_raw()) }.is_some_and(Stranded::roams)
}
