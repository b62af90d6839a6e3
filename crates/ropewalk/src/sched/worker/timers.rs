//! What a worker does about timers: its own in every look around, everybody's when it has the driver.

use super::Worker;
use crate::drive::time::Shard;
use crate::sched::park::{NEVER, WorkerState};
use crate::sched::recorder::Act;

/// How long, in nanoseconds of the system's clock, a worker with tasks of its own leaves the timers of others who are awake
/// to them: they have them in their caches. After that they are stuck.
const PATIENCE: u64 = 500_000;

/// Whose timers to see to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timers {
    Own,
    /// Also those of others that sleep, and what is overdue with those who do not.
    Overdue,
    All,
}

impl Worker {
    /// Wakes whom it is time for, as many as there is room for. `now`: the time, if it is known.
    #[inline]
    pub(crate) fn see_to_timers(&self, whose: Timers, now: Option<u64>) {
        let own = &*self.station.timers;
        let first = if whose == Timers::Own { own.next() } else { self.pool.first_deadline() };
        if first == NEVER {
            return;
        }
        let now = now.unwrap_or_else(|| self.pool.config.clock.nanos());
        if first <= now {
            self.expire(own, now, whose);
        }
    }

    /// Whether it is time for somebody.
    #[inline]
    pub(super) fn is_time(&self) -> bool {
        let first = self.pool.first_deadline();
        first != NEVER && first <= self.pool.config.clock.nanos()
    }

    /// One's own first. The rest stays where it is, in order: for the next look, or for others who have more room.
    fn expire(&self, own: &Shard, now: u64, whose: Timers) {
        let mut room = (self.due_at_once() as usize).saturating_sub(self.due.ring.len());
        let expire = || self.in_one_batch(|| self.expire_all(own, now, whose, &mut room));
        let woken = self.note_wakes(|count, took| Act::Timers { count, took }, expire);
        self.station.counters.timers.add(woken as u64);
    }

    fn expire_all(&self, own: &Shard, now: u64, whose: Timers, room: &mut usize) -> usize {
        let mut woken = expire_some(own, now, now, room);
        if whose != Timers::Own {
            // A clock that is moved by hand may not get on by itself.
            let patient = whose == Timers::Overdue && !self.pool.config.clock.is_own();
            woken += expire_some(&self.pool.timers, now, now, room);
            for other in self.pool.stations().filter(|other| other.index != self.index()) {
                let leave_it =
                    patient && other.timers.next() <= now && other.parker.state() == WorkerState::Busy;
                let due_by = now.saturating_sub(if leave_it { PATIENCE } else { 0 });
                woken += expire_some(&other.timers, due_by, now, room);
            }
        }
        woken
    }

    /// Turns the events of the driver into wake-ups.
    #[inline]
    pub(super) fn deliver_events(&self) {
        if self.pool.seam.has_events() {
            let deliver = || self.in_one_batch(|| self.pool.seam.deliver());
            self.note_wakes(|count, took| Act::Io { count, took }, deliver);
        }
    }

    /// Nothing is to be done until the first deadline: a clock that stands still may go there.
    pub(crate) fn skip_time(&self) -> bool {
        self.pool.skip_time(|| !self.any_work())
    }
}

/// If something in `shard` was due by `due_by`, takes out and wakes what is due now, while there is room.
fn expire_some(shard: &Shard, due_by: u64, now: u64, room: &mut usize) -> usize {
    let mut woken = 0;
    while *room > 0 && shard.next() <= due_by {
        let some = shard.expire(now, *room);
        woken += some;
        *room -= some;
        if some == 0 {
            break; // nothing was due after all: its deadline was cancelled
        }
    }
    woken
}
