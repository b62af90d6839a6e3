//! Halves of joins that others may take (`fork.rs`): where a worker finds them, and what it makes of them.

use super::Worker;
use crate::fork::{Fork, Loot, Origin, Roster};
use crate::strand::{Seat, strand_of_half};
use ropewalk_core::prim::real::Ordering::Relaxed;
use ropewalk_core::task::{Header, Runnable};
use std::panic::Location;
use std::ptr::NonNull;

impl Worker {
    /// What a strand forks with from now on.
    pub(crate) fn take_fork(&self) -> NonNull<Fork> {
        self.pool.forked.store(true, Relaxed); // who shows a job passes a barrier afterwards
        let fork = self.forks.borrow_mut().pop().unwrap_or_else(|| self.station.roster.add());
        NonNull::from(Box::leak(fork))
    }

    /// The strand has ended that had it: there is nothing in it.
    ///
    /// # Safety
    /// It came from `take_fork` of this worker, and this is the only call for it.
    #[cold]
    pub(crate) unsafe fn put_fork(&self, fork: NonNull<Fork>) {
        // SAFETY: the contract.
        self.forks.borrow_mut().push(unsafe { Box::from_raw(fork.as_ptr()) });
    }

    /// What halves of the strand that runs here have from it.
    pub(crate) fn origin(&self, seat: &Seat) -> Origin {
        let current = self.frame.current.get();
        // SAFETY: the current task is alive while it runs.
        let spawned_at =
            current.map_or(Location::caller(), |task| unsafe { Header::reference(task) }.spawned_at());
        // SAFETY: as above.
        let strand = current.map(|task| unsafe { Header::id(task) });
        Origin { stack_size: seat.stack_size(), spawned_at, strand }
    }

    /// How many other workers have nothing to do.
    pub(crate) fn idle_others(&self) -> usize {
        let counters = self.pool.idle.counters();
        if self.alone.get() { 0 } else { counters.sleeping() + counters.searching() }
    }

    /// Halves have become public.
    pub(crate) fn notify_of_halves(&self) {
        self.notify_others();
    }

    /// Steals a half that is public at `roster`. Who has none is asked for some.
    fn steal_half(&self, roster: &Roster) -> Option<Loot> {
        if self.closing.get() {
            return None; // nothing is started any more; its owner will call it, or drop it
        }
        roster.iter().find_map(|thief| {
            let half = thief.steal();
            if half.is_none() {
                thief.ask();
            }
            half
        })
    }

    fn adopt_half(&self, half: Loot) -> Runnable {
        self.station.counters.steals.bump();
        // SAFETY: just stolen.
        unsafe { strand_of_half(self, half) }
    }

    /// One of a strand of this worker that is suspended.
    pub(super) fn own_half(&self) -> Option<Runnable> {
        self.steal_half(&self.station.roster).map(|half| self.adopt_half(half))
    }

    /// Now and then: those whose strand waits get their turn, however much else there is to do.
    pub(super) fn queue_own_half(&self) {
        if let Some(half) = self.own_half() {
            self.push_pinned(half);
        }
    }

    /// One of another worker.
    pub(super) fn rob_half(&self) -> Option<Runnable> {
        if !self.pool.forked.load(Relaxed) {
            return None;
        }
        let stolen = {
            let peers = self.peers.borrow();
            let (count, start) = (peers.len(), self.next_random() as usize % peers.len());
            let mut victims = (0..count).map(|at| &peers[(start + at) % count].0);
            victims.find_map(|victim| Some((self.steal_half(&victim.roster)?, victim.index)))
        };
        stolen.map(|(half, from)| {
            let task = self.adopt_half(half);
            self.note_steal(&task, from, 1);
            task
        })
    }

    /// Whether there is one anywhere. Those who have none to show are asked.
    #[inline]
    pub(super) fn any_half(&self) -> bool {
        self.pool.forked.load(Relaxed) && !self.closing.get() && self.look_for_half()
    }

    fn look_for_half(&self) -> bool {
        let has_any = |roster: &Roster| {
            roster.iter().any(|thief| {
                let has = thief.has_loot();
                if !has {
                    thief.ask();
                }
                has
            })
        };
        let peers = self.peers.borrow();
        has_any(&self.station.roster) || peers.iter().any(|(peer, _)| has_any(&peer.roster))
    }
}
