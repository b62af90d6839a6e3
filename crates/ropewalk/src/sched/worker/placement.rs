//! Where a strand starts: from then on it stays there, unless its pool lets strands roam. Then it starts where it is found.
//!
//! The load of a worker is what is pinned to it, and what is on its way to it; the parent of the strand that is placed does not
//! count. A strand starts where it is found, for there it is warm and nobody is woken for it, unless another worker has less: a
//! parent that waits for its only child keeps it beside itself, and many children of one parent are spread evenly. None is sent to a
//! worker that is stuck, and what was sent there comes back (`../watchdog.rs`). None starts at a stand-in, which is to leave soon, unless all
//! others are stuck.
//!
//! * **PL1** Nothing is sent to where nobody is: see `../post.rs`.
//! * **PL2** Loads grow under the pool's lock for that (`placing`), if there is a choice: two that place at once do not choose the
//!   same worker. While it is free, what is counted as coming is in an inbox.

use super::super::host::{Extra, Tasks};
use super::super::park::WorkerState;
use super::super::pool::Pool;
use super::super::station::{Station, Status};
use super::Worker;
use crate::strand::Stranded;
use ropewalk_core::task::{Header, Runnable};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

impl Worker {
    /// A strand is about to run. `None`: it starts elsewhere.
    #[inline]
    pub(super) fn place(&self, task: Runnable) -> Option<Runnable> {
        // SAFETY: a strand that can run is alive; the place of the extra does not depend on how big it is.
        let strand = unsafe { Header::extra::<Tasks<Stranded, false>>(task.as_raw()).as_ref() };
        if strand.has_started() {
            return Some(task);
        }
        if cfg!(feature = "roaming") && self.pool.strands.roam {
            strand.roam();
            self.station.counters.strands_started.bump();
            return Some(task);
        }
        let is_light = self.station.load_beside(strand) == 0 && !self.pool.is_stand_in(self.index());
        if strand.home().is_none() && (is_light || self.closing.get()) {
            self.start_here(strand);
            return Some(task);
        }
        self.place_with_care(task, strand)
    }

    /// It was sent here, or there is a choice.
    fn place_with_care(&self, task: Runnable, strand: &Stranded) -> Option<Runnable> {
        if strand.home().is_some() {
            let _placing = self.pool.placing.lock(); // PL2: it is counted once at any time
            self.station.post.arrived();
            self.start_here(strand);
            return Some(task);
        }
        let placing = self.pool.placing.lock();
        let Some(target) = self.better_place(strand) else {
            self.start_here(strand);
            return Some(task);
        };
        strand.send_to(target.index as u16);
        target.inbox.push(task);
        drop(placing);
        self.pool.call(target.index);
        None
    }

    /// Whether the strand that is about to run here roams.
    pub(crate) fn runs_roaming(&self) -> bool {
        // SAFETY: the strand that runs here is alive while it runs.
        self.frame.current.get().and_then(|task| unsafe { stranded(task) }).is_some_and(Stranded::roams)
    }

    /// The strand that runs here, and roams, is to come back to this worker and stay (RO2, RO3).
    #[cold]
    pub(crate) fn keep_strand(&self) {
        let Some(task) = self.frame.current.get() else { return };
        // SAFETY: the strand that runs here is alive while it runs.
        if let Some(strand) = unsafe { stranded(task) }
            && strand.roams()
        {
            strand.adopt(self.index() as u16);
            self.adopt();
        }
    }

    #[inline]
    pub(crate) fn start_here(&self, strand: &Stranded) {
        strand.adopt(self.index() as u16);
        self.station.counters.strands_started.bump();
        self.adopt();
    }

    /// The worker that has so few that a strand should rather start there. It is counted there already (PL2).
    fn better_place(&self, strand: &Stranded) -> Option<&Station> {
        let others = self.pool.stations().filter(|other| other.index != self.index());
        let others = others.filter(|other| other.status() == Status::Active && !other.hold.is_stuck());
        let sleeps = |other: &Station| other.parker.state() != WorkerState::Busy;
        let load = |at: &Station| (self.pool.is_stand_in(at.index), at.load_beside(strand));
        let least = others.min_by_key(|other| (load(other), sleeps(other), other.index))?;
        if load(least) >= load(&self.station) {
            return None;
        }
        least.post.expect().then_some(&**least)
    }
}

impl Pool {
    /// There is no worker to be had for `station`, or a task holds it: strands that were sent there start elsewhere.
    pub(in super::super) fn send_back(&self, station: &Station) {
        if station.post.coming() == 0 {
            return;
        }
        let placing = self.placing.lock(); // PL2: what is coming is in the inbox
        let sent: Vec<Runnable> = std::iter::from_fn(|| station.inbox.pop()).collect();
        let (back, mut stay): (Vec<_>, Vec<_>) = sent.into_iter().partition(is_to_start);
        for task in &back {
            // SAFETY: as in `place`.
            unsafe { Header::extra::<Tasks<Stranded, false>>(task.as_raw()).as_ref() }.call_back();
            station.post.arrived();
        }
        drop(placing);
        back.into_iter().for_each(|task| self.queue_outside(task));
        if !stay.is_empty() {
            station.inbox.push_batch(&mut stay);
            self.call(station.index);
        }
    }
}

/// What a strand carries; `None`: it is none, or is local.
///
/// # Safety
/// The task is alive.
pub(super) unsafe fn stranded<'a>(task: NonNull<Header>) -> Option<&'a Stranded> {
    // SAFETY: the caller's promise; the place of the extra does not depend on how big the task is.
    unsafe {
        (Header::kind(task) == Stranded::KIND).then(|| Header::extra::<Tasks<Stranded, false>>(task).as_ref())
    }
}

/// Whether it is a strand that has not started.
fn is_to_start(task: &Runnable) -> bool {
    // SAFETY: a task that can run is alive; and as in `place`.
    unsafe {
        Header::kind(task.as_raw()) == Stranded::KIND
            && !Header::extra::<Tasks<Stranded, false>>(task.as_raw()).as_ref().has_started()
    }
}

impl Station {
    /// What is pinned here, or will be, beside the parent of `strand`.
    fn load_beside(&self, strand: &Stranded) -> usize {
        let parent = usize::from(strand.parent_home() == Some(self.index as u16));
        (self.pinned.load(Relaxed) + self.post.coming()).saturating_sub(parent)
    }
}
