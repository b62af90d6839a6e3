//! Glances and looks: what a busy worker does between two polls, now and then, so that what is due is served in time. When, and whose
//! turn it is then, is the agenda's to say (`agenda.rs`).

use super::Worker;
use super::agenda::{Mark, Turn};
use super::timers::Timers;
use ropewalk_core::task::Runnable;

impl Worker {
    /// Whether the polls of a window are over, or somebody wants a look.
    #[inline(always)]
    pub(super) fn is_time_to_glance(&self) -> bool {
        self.station.counters.is_time_to_glance()
    }

    /// The next poll comes after a look, whatever the time is: the worker has slept.
    pub(super) fn look_next(&self) {
        self.agenda.begin_anew();
        self.station.counters.look_now();
    }

    /// The same, but one poll comes before it, and it may be left to the rest that follows.
    pub(super) fn look_later(&self) {
        self.agenda.begin_anew();
        let polls = self.station.counters.polls.get();
        self.station.counters.glance_at(polls.wrapping_add(1));
    }

    /// A window is over. Without anything left there will be a look before the rest, if it comes to that: no glance is needed.
    #[cold]
    #[inline(never)]
    pub(super) fn glance_and_find(&self) -> Option<Runnable> {
        if self.station.counters.wants_look() || self.has_turns() {
            self.glance();
            return self.own().or_else(|| self.elsewhere());
        }
        let found = self.elsewhere();
        if found.is_some() {
            self.glance();
        }
        found
    }

    /// Sees what time it is, and looks around if it is time for that; then the next window begins.
    fn glance(&self) {
        let (agenda, wanted) = (&self.agenda, self.station.counters.wants_look());
        if wanted && agenda.is_calm() {
            agenda.begin_anew(); // polls turned long: they do not stand for time any more
        }
        let now = self.mark();
        agenda.close(now);
        let looks = wanted || agenda.is_time_to_look(now);
        if looks {
            let are_short = agenda.look(now);
            self.look((!self.counts_polls()).then_some(now.at));
            if are_short && self.is_guarded() {
                agenda.calm_down();
            }
        }
        match agenda.choose(!self.due.is_empty(), self.has_ready(), looks) {
            Turn::Due if !agenda.serves_due() => self.serve_due(),
            turn => agenda.serve(turn),
        }
        self.station.counters.glance_at(agenda.window_ends(now));
    }

    /// Timers, driver, inbox, injection queue. `now`: the time, if it was read.
    fn look(&self, now: Option<u64>) {
        self.station.counters.looks.bump();
        self.again.take().into_iter().for_each(|task| self.push_ring(task));
        self.call_homes(); // they have waited long enough for their turn
        self.look_around(false, now);
        self.mind_samples();
        self.queue_own_half();
        self.fetch_due(self.fair_share(self.pool.injector.len()));
        if self.uncalled.get() && self.has_backlog() {
            self.something_waits();
        }
    }

    /// Pinned tasks woken elsewhere are due, and a fair share of the injection queue: as much of it now as fits into a window. With nothing
    /// ready there is nothing for them to overtake: then they are ready, and in order with what they lead to.
    fn fetch_due(&self, share: usize) {
        let is_ahead = self.has_ready();
        let lane = if is_ahead { &self.due } else { &self.ready };
        while let Some(task) = self.station.inbox.pop() {
            lane.push_pinned(task);
        }
        if share == 0 || self.retiring.get() {
            return self.agenda.leave_outside(0);
        }
        let room =
            if is_ahead { self.agenda.due_window().min(lane.ring.room()) } else { lane.ring.capacity() / 2 };
        let fetched = self.pool.injector.move_into(share.min(room), &lane.ring);
        self.agenda.leave_outside(share - fetched);
        if fetched > 0 {
            self.station.counters.injected.bump();
        }
        if fetched > 1 {
            self.notify_others(); // what moved to the ring may be stolen there
        }
    }

    /// Whether anything is ready, in slot or lane.
    fn has_ready(&self) -> bool {
        !self.ready.is_empty() || !self.next.is_empty()
    }

    /// Its turn begins. What is in the slot was ready before, and does not come first.
    fn serve_due(&self) {
        self.agenda.serve(Turn::Due);
        if let Some(next) = self.next.take() {
            self.push_ring(next);
            self.notify_others();
        }
    }

    /// The clock was moved: what is due now comes before the task that runs here, if that yields. True: there is more of it.
    pub(crate) fn wake_what_is_due(&self) -> bool {
        self.see_to_timers(Timers::All, None);
        self.agenda.serve(Turn::Due);
        let polls = self.station.counters.polls.get();
        self.station.counters.glance_at(polls.wrapping_add(self.due.len() as u64));
        self.is_time()
    }

    /// It is the turn of what is due.
    #[inline(never)] // the way of what is ready is short
    pub(super) fn oldest_due(&self) -> Option<Runnable> {
        self.due.oldest().or_else(|| self.end_due())
    }

    /// There is nothing else.
    #[inline(never)]
    pub(super) fn turn_to_due(&self) -> Option<Runnable> {
        let task = self.due.oldest()?;
        self.agenda.serve(Turn::Due);
        Some(task)
    }

    /// The due lane is empty: its window is over, unless the last look left something outside and it is still its turn.
    #[cold]
    pub(super) fn end_due(&self) -> Option<Runnable> {
        if self.ready.is_empty() {
            return None;
        }
        let (agenda, now) = (&self.agenda, self.mark());
        agenda.close(now);
        if let Some(left) = agenda.may_have_more() {
            self.fetch_due(left);
            if let Some(task) = self.due.oldest() {
                return Some(task);
            }
        }
        agenda.settle();
        agenda.serve(Turn::Ready);
        self.station.counters.glance_at(agenda.window_ends(now));
        self.ready.oldest()
    }

    /// Where the worker is now.
    fn mark(&self) -> Mark {
        let polls = self.station.counters.polls.get();
        let at = match self.counts_polls() {
            true => self.agenda.time_by_polls(polls),
            false => self.pool.config.clock.nanos(),
        };
        Mark { at, polls }
    }

    /// Whether polls stand for time (AG4).
    fn counts_polls(&self) -> bool {
        self.agenda.is_calm() || self.pool.config.is_replayed()
    }

    /// Whether the watchdog is awake, and calls this worker to a look if it makes none.
    fn is_guarded(&self) -> bool {
        self.threaded && !self.uncalled.get() && self.watchdog.is_prompt()
    }

    /// Whether anything is left to be run here.
    fn has_turns(&self) -> bool {
        let again = self.again.take();
        let any = again.is_some() || self.has_own();
        self.again.set(again);
        any
    }
}
