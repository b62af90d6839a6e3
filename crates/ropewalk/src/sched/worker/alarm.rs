//! When a worker calls the watchdog, which sleeps while nobody is awake: as soon as something waits behind what runs here.
//!
//! Once is enough for each time that the worker gets up: who is called does not sleep as long as this worker is awake (`watchdog.rs`).

use super::Worker;
use ropewalk_core::prim::Ordering::{Relaxed, SeqCst};
use ropewalk_core::prim::fence;

impl Worker {
    /// The worker has woken up. In caches that have gone cold each line counts: the watchdog is not looked at.
    pub(super) fn get_up(&self) {
        self.is_back();
        // Timers and sockets wait for a worker, too, if none is asleep who would see to them.
        if self.threaded && self.pool.idle.counters().sleeping() == 0 {
            fence(SeqCst); // as in `Pool::watch_for_others`
            if self.pool.awaits_anything() {
                self.call_watchdog();
            }
        }
        // Who came out of the driver may run a hog next: somebody else goes there. (Who was called to search does not.)
        if !self.is_searching() && self.pool.reinforced.load(Relaxed) && self.pool.seam.is_free() {
            self.pool.notify();
        }
    }

    /// The worker was not seen to be awake: the watchdog may sleep. (It has no eye on threads that are somebody else's.)
    pub(super) fn is_back(&self) {
        self.uncalled.set(self.threaded);
        self.slot_open.set(false);
        self.station.hold.is_unwatched();
    }

    /// Whether anything waits here behind what runs, or is to run next.
    pub(super) fn has_backlog(&self) -> bool {
        let again = self.again.take();
        let kept = usize::from(again.is_some());
        self.again.set(again);
        self.queued() + kept > usize::from(self.frame.current.get().is_none())
    }

    /// Something waits here for its turn; during a batch that is found out at its end.
    #[inline]
    pub(super) fn something_waits(&self) {
        if self.uncalled.get() && !self.batch.is_open() {
            self.call_watchdog();
        }
    }

    /// True: it had not been called.
    #[cold]
    pub(super) fn call_watchdog(&self) -> bool {
        let uncalled = self.uncalled.replace(false);
        if uncalled {
            self.watchdog.call_after_sleep();
            self.mind_slot();
        }
        uncalled
    }

    /// Whether the poll that runs here is asked to end. The first time that somebody wants to know, somebody begins to look: others may wait
    /// without being queued here, such as who cancels it.
    #[cold]
    pub(crate) fn is_asked_to_yield(&self) -> bool {
        let asked = self.station.hold.is_asked_to_yield(self.station.counters.polls.get());
        asked.unwrap_or_else(|| {
            self.call_watchdog();
            false
        })
    }

    /// The poll that runs here cannot yield, and others should not wait for it.
    pub(crate) fn hurry_watchdog(&self) {
        self.watchdog.hurry();
    }

    /// Whether the slot is simply open to what is woken: not if that is to go elsewhere, or is the first to wait, or is to be stamped or recorded.
    pub(super) fn mind_slot(&self) {
        self.slot_open.set(self.is_slot_free() && !self.sampler.stamps() && !self.reel.is_on());
    }

    /// Whether what is woken goes there.
    pub(super) fn is_slot_free(&self) -> bool {
        let open = self.pool.config.lifo_slot && !self.retiring.get() && !self.uncalled.get();
        open && !self.batch.is_open()
    }
}
