//! Who is asleep, how many are searching, and whom to wake: the sleep protocol of a pool. Its two lists, the proof and
//! the obligations of the worker loop are in `README.md` beside this file; the step numbers here are those there.
//!
//! Invariants:
//!
//! 1. `sleeping` is the length of `sleepers`, and both change only under its lock; no worker is in the list twice.
//! 2. `searching` is the number of [`Searching`] tokens, held or on their way to a worker that was chosen.
//! 3. A worker is in the list only while it holds a [`Sleeping`] token; the token outlives the entry if the worker
//!    was chosen.

use super::spin::{SpinGuard, SpinRight};
use core::{fmt, mem};
use ropewalk_core::prim::{AtomicUsize, BriefLock, Ordering, Padded, fence};

/// How many workers a pool can have: the counts are 16 bits wide.
pub(crate) const MAX_WORKERS: usize = u16::MAX as usize;

const SEARCHER: usize = 1;
const SLEEPER: usize = 1 << 16;

/// What the counters held at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counters(usize);

impl Counters {
    /// Workers that are looking for work.
    pub(crate) fn searching(self) -> usize {
        self.0 % SLEEPER
    }

    /// Workers that are in the list of sleepers.
    pub(crate) fn sleeping(self) -> usize {
        self.0 / SLEEPER
    }

    /// Nobody is about to look into the queues, and there is somebody to wake.
    fn someone_must_be_woken(self) -> bool {
        self.searching() == 0 && self.sleeping() > 0
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Counters");
        f.field("searching", &self.searching()).field("sleeping", &self.sleeping()).finish()
    }
}

/// The position "this worker is counted as searching": submitters rely on it to look into every queue. It ends in
/// [`Idle::found_work`] or in [`Idle::sleep`], never by being dropped.
#[derive(Debug)]
#[must_use = "others rely on this search: end it with `found_work` or `sleep`"]
pub(crate) struct Searching(());

impl Searching {
    /// Consumes the evidence; the caller takes it off the counter.
    fn end(self) {
        mem::forget(self);
    }
}

impl Drop for Searching {
    fn drop(&mut self) {
        debug_assert!(std::thread::panicking(), "a search ended without `found_work` or `sleep`");
    }
}

/// The position "in the list of sleepers, every queue was empty afterwards": the worker may park, as often as it
/// likes. It ends in [`Idle::leave_sleep`].
#[derive(Debug)]
#[must_use = "the worker is in the list of sleepers: park, then `leave_sleep`"]
pub(crate) struct Sleeping {
    worker: u16,
}

/// How a worker came off the list of sleepers.
#[derive(Debug)]
#[must_use = "the worker may have become a searcher"]
pub(crate) enum Woken {
    /// A submitter chose it, and it is searching. The submitter's `unpark` has come or is still to come; in the
    /// second case the next `park` returns early, which it may always do.
    Chosen(Searching),
    /// It took itself off: a searcher if it never got as far as parking, else not.
    Itself(Option<Searching>),
}

impl Woken {
    /// The search it is now in, if it is.
    pub(crate) fn searching(self) -> Option<Searching> {
        match self {
            Woken::Chosen(searching) => Some(searching),
            Woken::Itself(searching) => searching,
        }
    }
}

/// Where the last searcher must look before it leaves its sleeping colleagues alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Owed {
    Nothing,
    /// Everybody else sleeps, and who sleeps has nothing in its ring.
    OutsideAndOwn,
    EveryQueue,
}

/// The sleep protocol of one pool.
#[derive(Debug)]
pub(crate) struct Idle {
    roll: Padded<Roll>,
    spinning: SpinRight,
}

/// The counters are read at every submit. What changes with them shares their cache line, and nothing else does.
#[derive(Debug)]
struct Roll {
    counters: AtomicUsize,
    sleepers: BriefLock<Sleepers>,
}

/// A list of workers; last in, first out: the one that fell asleep last is the warmest.
#[derive(Debug)]
struct Sleepers {
    /// The last one, unless it was taken off since: it lies beside the counters, the others elsewhere.
    last: Option<u16>,
    others: Vec<u16>,
}

impl Sleepers {
    const fn new() -> Self {
        Self { last: None, others: Vec::new() }
    }

    fn push(&mut self, worker: u16) {
        self.others.extend(self.last.replace(worker));
    }

    /// Takes the last one off for which `rather` holds, or else the last one.
    fn pop(&mut self, rather: impl Fn(usize) -> bool) -> Option<u16> {
        match self.last {
            Some(last) if rather(usize::from(last)) => self.last.take(),
            _ => self.pop_deep(rather),
        }
    }

    #[cold]
    fn pop_deep(&mut self, rather: impl Fn(usize) -> bool) -> Option<u16> {
        match self.others.iter().rposition(|worker| rather(usize::from(*worker))) {
            Some(at) => Some(self.others.remove(at)),
            None => self.last.take().or_else(|| self.others.pop()),
        }
    }

    /// Takes `worker` off. False: it was not there.
    fn remove(&mut self, worker: u16) -> bool {
        if self.last == Some(worker) {
            self.last = None;
            return true;
        }
        let at = self.others.iter().rposition(|other| *other == worker);
        at.map(|at| self.others.remove(at)).is_some()
    }

    fn contains(&self, worker: u16) -> bool {
        self.last == Some(worker) || self.others.contains(&worker)
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.last.is_none() && self.others.is_empty()
    }
}

impl Idle {
    pub(crate) fn new() -> Self {
        Self {
            roll: Padded(Roll { counters: AtomicUsize::new(0), sleepers: BriefLock::new(Sleepers::new()) }),
            spinning: SpinRight::new(),
        }
    }

    /// Makes room for `workers` sleepers: falling asleep does not allocate.
    pub(crate) fn reserve(&self, workers: usize) {
        let mut roomy = Vec::with_capacity(workers);
        let mut sleepers = self.roll.sleepers.lock();
        if sleepers.others.capacity() < workers {
            roomy.extend_from_slice(&sleepers.others);
            mem::swap(&mut sleepers.others, &mut roomy);
        }
        drop(sleepers); // the other one is freed outside
    }

    /// The counters, for decisions by the protocol and for metrics.
    pub(crate) fn counters(&self) -> Counters {
        Counters(self.roll.counters.load(Ordering::Relaxed))
    }

    /// Submitter, steps 2 to 4; the push is done. The worker returned was asleep, is counted as searching, and must be
    /// unparked.
    #[cfg(test)]
    #[must_use = "the chosen worker is counted as searching: unpark it"]
    pub(crate) fn worker_to_wake(&self) -> Option<usize> {
        self.worker_to_wake_rather(|_| true)
    }

    /// The same; among the sleepers, one of those for which `rather` holds comes first. (Who sleeps in the driver does so
    /// for all, and is left there as long as there is another.)
    #[must_use = "the chosen worker is counted as searching: unpark it"]
    pub(crate) fn worker_to_wake_rather(&self, rather: impl Fn(usize) -> bool) -> Option<usize> {
        fence(Ordering::SeqCst); // barrier of the submitter
        if !self.counters().someone_must_be_woken() {
            return None;
        }
        let mut sleepers = self.roll.sleepers.lock();
        let still = self.counters().someone_must_be_woken();
        if !still {
            return None;
        }
        let chosen = sleepers.pop(rather)?;
        self.change(SEARCHER.wrapping_sub(SLEEPER));
        Some(usize::from(chosen))
    }

    /// A worker without work asks to look for some elsewhere. At most half of `active_workers` do so at once, and
    /// always one may; those woken for it or returning from [`sleep`](Self::sleep) are not turned away.
    pub(crate) fn try_search(&self, active_workers: usize) -> Option<Searching> {
        let limit = (active_workers / 2).max(1);
        let one_more = |now| (Counters(now).searching() < limit).then_some(now + SEARCHER);
        self.roll
            .counters
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok()
            .then(|| Searching(()))
    }

    /// A searcher, one worker beside so many `others`, has something to run, or leaves the pool. If it was the last one, a
    /// submitter may have relied on it: then the caller wakes one more ([`worker_to_wake`](Self::worker_to_wake)), unless it
    /// looks *after this call* into what it owes a look, and finds nothing.
    #[must_use = "the last searcher hands on: wake one more"]
    pub(crate) fn found_work(&self, searching: Searching, others: usize) -> Owed {
        searching.end();
        let before = self.change(SEARCHER.wrapping_neg());
        if before.searching() > 1 {
            return Owed::Nothing;
        }
        fence(Ordering::SeqCst); // barrier of the last searcher
        if before.sleeping() < others { Owed::EveryQueue } else { Owed::OutsideAndOwn }
    }

    /// Sleeper, steps 1 to 4. `any_work` looks into every queue that the worker may take from. `Ok`: nothing is there,
    /// park. `Err`: it is awake after all, and a searcher.
    ///
    /// A retiring worker never calls this: it must not be chosen for work it would not take.
    pub(crate) fn sleep(
        &self,
        worker: usize,
        searching: Option<Searching>,
        any_work: impl FnOnce() -> bool,
    ) -> Result<Sleeping, Woken> {
        let sleeping = self.lie_down(worker, searching);
        fence(Ordering::SeqCst); // barrier of the sleeper
        // With work to be had it becomes a searcher, whatever it was: without, it could not take it and would be back here.
        if any_work() { Err(self.get_up(sleeping, true)) } else { Ok(sleeping) }
    }

    /// The worker has returned from `park`, for whatever reason: chosen, unparked for something of its own (a pinned
    /// task, a request to retire), an event, a deadline, or nothing.
    pub(crate) fn leave_sleep(&self, sleeping: Sleeping) -> Woken {
        self.get_up(sleeping, false)
    }

    /// The right to spin for a few microseconds before sleeping: one worker of the pool has it at a time.
    pub(crate) fn try_spin(&self, worker: usize) -> Option<SpinGuard<'_>> {
        self.spinning.try_take(worker)
    }

    /// There is something to do for `worker`: if it spins, it is about to stop.
    #[inline]
    pub(crate) fn end_spin(&self, worker: usize) {
        self.spinning.end(worker);
    }

    /// Sleeper, step 1.
    fn lie_down(&self, worker: usize, searching: Option<Searching>) -> Sleeping {
        assert!(worker < MAX_WORKERS, "worker {worker}: a pool has at most {MAX_WORKERS}");
        let worker = worker as u16;
        let mut sleepers = self.roll.sleepers.lock();
        debug_assert!(!sleepers.contains(worker), "worker {worker} sleeps twice");
        sleepers.push(worker);
        let searchers = searching.map_or(0, |searching| (SEARCHER, searching.end()).0);
        self.change(SLEEPER - searchers);
        Sleeping { worker }
    }

    /// Sleeper, step 4: takes the worker off the list, unless somebody did.
    fn get_up(&self, sleeping: Sleeping, searching: bool) -> Woken {
        let mut sleepers = self.roll.sleepers.lock();
        if !sleepers.remove(sleeping.worker) {
            return Woken::Chosen(Searching(()));
        }
        let searchers = if searching { SEARCHER } else { 0 };
        self.change(searchers.wrapping_sub(SLEEPER));
        Woken::Itself(searching.then(|| Searching(())))
    }

    /// Adds to the counters, and gives what they held before. Release: what a searcher moved from queue to queue before
    /// it ended its search is seen by every searcher that ends after it and passes its barrier (README.md, "Moving").
    fn change(&self, by: usize) -> Counters {
        Counters(self.roll.counters.fetch_add(by, Ordering::Release))
    }
}

#[cfg(test)]
mod tests;
