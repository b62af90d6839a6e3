//! What a worker does when there is nothing to do: spin a little, then sleep. The protocol is in `../README.md`.

use super::super::park::{Limit, NEVER};
use super::super::recorder::Slept;
use super::Worker;
use crate::drive::time::PreciseSleep;
use ropewalk_core::task::Runnable;
use std::time::Duration;

/// A haul of tasks from elsewhere that is worth the trip.
const HAUL: usize = 64;
/// After so many small hauls in a row it may be better to wait a little.
const SMALL_HAULS: i32 = 4;
/// Pauses between the looks at a growing haul: few, because each look takes the line from who writes to it.
const GAPS: [usize; 3] = [16, 64, 64];

/// What came of a rest.
pub(super) enum Rest {
    /// There was something to do after all.
    CalledOff,
    Over(Option<Runnable>),
}

impl Worker {
    /// Spins a little, then sleeps until there is a reason not to. A worker that may not sleep here leaves instead.
    pub(super) fn rest(&self) -> Rest {
        self.look_around(true, None);
        self.mind_samples_at_rest();
        let sleeps = self.sleeps_here();
        if self.has_own() || !sleeps && self.any_work() {
            return Rest::CalledOff;
        }
        if !sleeps {
            self.stop_searching(); // others would rely on it, and it may not run again for long
        }
        if self.may_go() || !sleeps {
            self.leave.set(true);
        } else if self.retiring.get() {
            if self.station.inbox.is_empty() {
                self.between_hooks(|| self.park());
                self.get_up();
            }
        } else if !self.threaded || self.has_passed_the_turn() || !self.spin() {
            self.sleep();
            return Rest::Over(self.called_for());
        }
        Rest::Over(None)
    }

    /// Who was woken takes what it was woken for, from outside or, if it is time for no timer, out of the driver. The look at
    /// everything else comes after it: it takes its time, and in caches that have gone cold each line counts.
    #[inline]
    fn called_for(&self) -> Option<Runnable> {
        if let Some(task) = self.pool.injector.pop() {
            self.look_next();
            self.station.counters.injected.bump();
            return Some(task);
        }
        if !self.pool.seam.has_events() || self.is_time() {
            return None;
        }
        self.deliver_events();
        self.driver_seen.set(true);
        let task = self.own();
        if !self.has_own() {
            self.look_later(); // mostly that was all: then it looks when it rests
        }
        task
    }

    /// Sleeps with the thread.
    pub(crate) fn sleep(&self) {
        self.stacks.rest();
        self.between_hooks(|| self.sleep_by(|| self.park()));
    }

    /// Sleeps with the thread, at most that long.
    pub(crate) fn sleep_at_most(&self, limit: Option<Duration>) {
        match limit {
            Some(limit) => self.sleep_by(|| self.nap(limit)),
            None => self.sleep(),
        }
        self.look_next(); // it may have been a deadline
    }

    /// Until when to sleep in the driver. A thread that is somebody else's sleeps precisely, from the first deadline on.
    fn limit(&self) -> Limit {
        let limit = self.pool.limit();
        if !self.threaded && limit.wake_at != NEVER {
            let precise = self.precise.take().unwrap_or_else(PreciseSleep::new);
            self.precise.set(Some(precise));
        }
        limit
    }

    /// Whoever drove this worker takes its thread back.
    pub(crate) fn leave_thread(&self) {
        self.precise.set(None);
    }

    /// Sleeps as a guest: this worker is driven by something that runs on `host`, which goes on with other work.
    pub(crate) fn sleep_at(&self, host: &Worker) {
        self.sleep_by(|| {
            self.station.counters.parks.bump();
            self.note_sleep(|| {
                self.pool.sleep_as_guest(&self.station, host);
                Slept::Guest
            });
            self.station.counters.wakes.bump();
        });
        self.look_next();
    }

    /// The sleeper's half of the protocol in README.md.
    fn sleep_by(&self, sleep: impl FnOnce()) {
        debug_assert!(self.free_tasks() == 0, "others rely on it that who sleeps has nothing to steal");
        self.call_homes(); // who waits in the middle of a poll may owe calls
        let idle = &self.pool.idle;
        match idle.sleep(self.index(), self.searching.take(), || self.any_work()) {
            Err(woken) => self.searching.set(woken.searching()),
            Ok(sleeping) => {
                sleep();
                debug_assert!(self.free_tasks() == 0, "nothing is pushed in one's sleep");
                self.searching.set(idle.leave_sleep(sleeping).searching());
                self.get_up();
            }
        }
    }

    /// Sleeps for a while, or until something is sent here.
    pub(crate) fn nap(&self, at_most: Duration) {
        let limit = || {
            let limit = self.limit();
            Limit { timeout: Some(limit.timeout.map_or(at_most, |limit| limit.min(at_most))), ..limit }
        };
        self.note_sleep(|| self.station.parker.park(&self.pool.seam, limit));
    }

    /// Ends a search without having found anything.
    pub(crate) fn stop_searching(&self) {
        if let Some(searching) = self.searching.take() {
            self.end_search(searching);
        }
    }

    /// The hooks are the user's code and may wake tasks, also into this worker's own queues: so they run outside the sleep,
    /// and with something to do there is none.
    fn between_hooks(&self, sleep: impl FnOnce()) {
        if !self.hooked {
            return sleep();
        }
        let hooks = &self.pool.config.hooks;
        hooks.on_thread_park.iter().for_each(|hook| hook());
        if !self.has_own() {
            sleep();
        }
        hooks.on_thread_unpark.iter().for_each(|hook| hook());
    }

    fn park(&self) {
        self.crowd.disperse();
        self.station.counters.parks.bump();
        let (parker, seam) = (&self.station.parker, &self.pool.seam);
        self.note_sleep(|| match self.has_relayed() {
            true => parker.park_beside(seam, || self.limit()),
            false => parker.park(seam, || self.limit()),
        });
        self.look_next(); // it may have been a deadline
        if !self.pool.injector.is_empty() {
            self.look_later(); // as in `called_for`, for those that return to somebody else's loop
        }
        self.station.counters.wakes.bump();
    }

    /// Others queue tasks about as fast as this worker takes them, a few at a time: then each trip costs both sides more
    /// than the work it brings. As long as it grows, waits up to three microseconds for a haul; one worker of the pool at
    /// a time does.
    pub(super) fn await_haul(&self) {
        if self.small_hauls.get() < SMALL_HAULS || !self.threaded {
            return;
        }
        let Some(_right) = self.pool.idle.try_spin(self.index()) else { return };
        let mut seen = self.to_be_had();
        for gap in GAPS {
            if seen >= HAUL {
                return;
            }
            (0..gap).for_each(|_| std::hint::spin_loop());
            let now = self.to_be_had();
            if now <= seen {
                // No flood: those who come one by one are not kept waiting.
                return self.small_hauls.set(-2 * SMALL_HAULS);
            }
            seen = now;
        }
    }

    /// After a trip: was it worth it?
    pub(super) fn weigh_haul(&self, found: bool) {
        let in_a_row = self.small_hauls.get();
        let small = self.free_tasks() < HAUL / 4;
        let more = (in_a_row + i32::from(small)).min(SMALL_HAULS);
        self.small_hauls.set(if found { more } else { in_a_row.min(0) });
    }

    /// How much there is elsewhere.
    fn to_be_had(&self) -> usize {
        let most = self.peers.borrow().iter().map(|(peer, _)| peer.queued()).max();
        self.pool.injector.len() + most.unwrap_or(0)
    }

    /// Looking around may have queued something here.
    pub(crate) fn has_own(&self) -> bool {
        !self.next.is_empty() || !self.ready.is_empty() || !self.due.is_empty()
    }

    /// Whether there is anything this worker could take; see the protocol's step 3.
    pub(crate) fn any_work(&self) -> bool {
        self.any_outside()
            || !self.station.inbox.is_empty()
            || self.peers.borrow().iter().any(|(peer, _)| peer.has_loot())
            || self.any_half()
    }

    /// Whether there is anything in no worker's queue.
    pub(super) fn any_outside(&self) -> bool {
        !self.pool.injector.is_empty() || self.epoch.get() != self.pool.epoch()
    }

    /// A second pass, a spin after the first: who has made no progress since is in a long poll.
    fn rob_stale_slot(&self) -> bool {
        let stale = if self.alone.get() { None } else { self.rob_all(true) };
        let found = stale.is_some();
        stale.into_iter().for_each(|task| self.push_ring(task));
        found
    }

    /// One worker of the pool may spin, for a few microseconds, while that pays off: a cross-core wake-up costs more.
    fn spin(&self) -> bool {
        if !self.spin_credit.allows() {
            return false;
        }
        let Some(_right) = self.pool.idle.try_spin(self.index()) else { return false };
        // A spinner counts as a searcher if it can, so that submitters need not wake anybody, if there is anybody.
        let somebody = self.pool.idle.counters().sleeping() > 0;
        let search = || self.pool.idle.try_search(self.pool.active());
        self.searching.set(self.searching.take().or_else(|| somebody.then(search).flatten()));
        self.station.counters.spins.bump();
        let found = self.spin_credit.spin(|| self.any_work());
        if found {
            self.station.counters.spin_hits.bump();
        }
        found || self.rob_stale_slot()
    }
}
