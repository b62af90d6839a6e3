//! How a worker follows its pool: peers that come and go, retiring, closing.

use super::super::barrier;
use super::super::door::keep_company;
use super::super::lifo::Sighting;
use super::super::pool::Phase;
use super::super::station::{Kit, Status};
use super::Worker;
use super::timers::Timers;
use ropewalk_core::prim::fence;
use std::sync::atomic::Ordering;

impl Worker {
    /// What a worker does now and then, and before it rests: polls the driver and follows the pool's changes. `now`: the time, if it is
    /// known.
    pub(super) fn look_around(&self, resting: bool, now: Option<u64>) {
        // One that is about to sleep in the driver finds there what it would find now; and what one that comes out of it has found there
        // is to be delivered before anybody looks again, or was just now.
        let seam = &self.pool.seam;
        let is_seen_to = self.driver_seen.take() || resting && self.sleeps_here() || seam.has_events();
        let polled = if is_seen_to { seam.is_free() } else { seam.poll() };
        let whose = match (polled, resting) {
            (false, _) => Timers::Own,
            (true, false) => Timers::Overdue,
            (true, true) => Timers::All,
        };
        self.see_to_timers(whose, now);
        let epoch = self.pool.epoch();
        if epoch != self.epoch.get() {
            self.epoch.set(epoch);
            self.follow();
        }
        self.deliver_events(); // the pool's changes are known: telling others of it does not come back here
    }

    #[cold]
    fn follow(&self) {
        fence(Ordering::SeqCst);
        self.follow_recording();
        self.follow_samples();
        self.watching.set(self.is_watching());
        self.meet_peers();
        match self.station.status() {
            Status::Retiring if !self.retiring.replace(true) => self.hand_over(),
            Status::Active => self.retiring.set(false),
            _ => {}
        }
        self.mind_slot();
        let closing = self.pool.phase() != Phase::Open;
        if closing && !self.closing.replace(true) {
            self.pool.acknowledge_closing();
        }
        if (closing || self.pool.is_draining()) && !self.winding_down.replace(true) {
            self.pool.one_ended(); // on behalf of what ended here before this was seen
        }
    }

    /// Learns who else is there; alone, taking a task from the ring needs no exchange.
    fn meet_peers(&self) {
        let stealing = self.pool.config.work_stealing;
        let _census = self.pool.census.lock();
        let others = self.pool.stations().filter(|other| other.index != self.index() && stealing);
        let others: Vec<_> = others.filter(|other| other.status() != Status::Vacant).cloned().collect();
        let grew = others.len() > self.peers.borrow().len();
        self.alone.set(others.is_empty());
        self.batch.reserve(self.pool.stations().count());
        let alone = others.is_empty() && (!self.pool.may_be_rescued() || barrier::is_to_be_had());
        // SAFETY: thieves are workers of this pool, and under the census lock (P1) there is no other; and who comes for a stuck worker asks first (`seize`).
        unsafe { keep_company([&self.ready.ring, &self.due.ring], &self.next, alone) };
        *self.peers.borrow_mut() = others.into_iter().map(|other| (other, Sighting::default())).collect();
        drop(_census);
        if grew && self.free_tasks() > 0 {
            self.pool.notify();
        }
    }

    /// Retiring: what is not pinned goes to the others.
    pub(super) fn hand_over(&self) {
        if let Some(searching) = self.searching.take() {
            self.end_search(searching);
        }
        let mut tasks = self.pool.spill.lock(); // it has room for all of them
        let free = || self.due.ring.pop().or_else(|| self.ready.ring.pop());
        let own = || std::iter::from_fn(free).chain(self.next.take()).chain(self.again.take());
        self.unheld(|| tasks.extend(own()));
        self.pool.inject_spilt(tasks);
    }

    /// Whether a retiring or closing worker has nothing left to serve.
    pub(super) fn may_go(&self) -> bool {
        let retired = self.retiring.get() && self.station.post.may_leave(); // PL1
        if !(retired || self.closing.get() && self.pool.live() == 0) {
            return false;
        }
        let served = self.pinned.get() == 0 && self.station.parked.load(Ordering::Relaxed) == 0;
        served && !self.has_runnable_pinned() && self.station.inbox.is_empty()
    }

    /// Gives back what the worker holds. Pinned work, if any, stays behind and is never touched again.
    pub(crate) fn retire(self) {
        if let Some(searching) = self.searching.take() {
            self.end_search(searching);
        }
        let Worker { station, ready, due, next, cache, forks, pool, .. } = self;
        let mut cache = cache.into_inner();
        cache.return_all(&pool.depot);
        let (ring, due) = (ready.ring, due.ring);
        station.return_kit(Kit { ring, due, lifo: next, cache, forks: forks.into_inner() });
    }

    pub(crate) fn note_parked(&self, by: isize) {
        let parked = &self.station.parked;
        parked.store(parked.load(Ordering::Relaxed).wrapping_add_signed(by), Ordering::Relaxed);
    }
}
