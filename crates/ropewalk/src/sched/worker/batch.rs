//! Waking by the batch: what a look at the clock or into the driver makes runnable is handed out first, and others are told
//! once, at the end. There are two kinds of others:
//!
//! - The home of what is pinned elsewhere. It is called once, however many are for it: called for the first of them, it could
//!   be done with that one and asleep again before the second came. If there is one core for both, it is called when this worker
//!   is done with its own part (`turns.rs`).
//! - Whoever might take a share. What is pinned, here or elsewhere, is nothing to share.
//!
//! If all of it was for others, this worker was only in the way: the driver should be where the work is, or each event costs
//! two wake-ups, one of the worker that sleeps in the driver and one of the worker that has the strand. So it leaves the driver
//! to those whom it called ([`Parker::park_beside`](super::super::park::Parker::park_beside)).

use super::Worker;
use ropewalk_core::task::Runnable;
use std::cell::{Cell, RefCell};

#[derive(Debug, Default)]
pub(super) struct Batch {
    open: Cell<bool>,
    /// It is open, and what is woken goes to the ring of the due lane: nothing else is to be done about it.
    plain: Cell<bool>,
    /// How many went to the ring.
    shared: Cell<usize>,
    /// Whom to call at the end.
    homes: RefCell<Vec<u16>>,
    /// All of the last one was for others; how many polls there had been by then.
    relayed: Cell<Option<u64>>,
}

impl Batch {
    /// From now on it does not allocate, in a pool of so many workers.
    pub(super) fn reserve(&self, workers: usize) {
        self.homes.borrow_mut().reserve(workers);
    }

    /// Somebody is to be called.
    #[inline]
    fn owes(&self) -> bool {
        !self.homes.borrow().is_empty()
    }

    /// What is woken now is part of it.
    pub(super) fn is_open(&self) -> bool {
        self.open.get()
    }

    /// It is, and all that is to be done about a task that may run anywhere is to put it into the due lane.
    #[inline(always)]
    pub(super) fn is_plain(&self) -> bool {
        self.plain.get()
    }

    /// One goes to a ring, and others will be told of it.
    #[inline]
    pub(super) fn counts(&self) {
        self.shared.set(self.shared.get() + 1);
    }
}

impl Worker {
    /// Whom `wake` wakes (it says how many) goes to the due lane in order, or is sent home.
    pub(super) fn in_one_batch(&self, wake: impl FnOnce() -> usize) -> usize {
        let batch = &self.batch;
        batch.open.set(true);
        batch.plain.set(!self.retiring.get() && !self.sampler.stamps() && !self.reel.is_on());
        self.slot_open.set(false);
        batch.shared.set(0);
        let woken = wake();
        batch.open.set(false);
        batch.plain.set(false);
        self.mind_slot();
        let has_own = self.has_own() || !self.station.inbox.is_empty();
        batch.relayed.set(None);
        if batch.owes() && !(has_own && self.takes_turns()) {
            self.call_homes();
            batch.relayed.set((!has_own).then(|| self.station.counters.polls.get()));
        }
        // The first is for this worker itself, if nothing that is pinned here comes before it.
        let own = usize::from(!self.has_runnable_pinned());
        if batch.shared.get() > own {
            self.notify_others();
        }
        if self.uncalled.get() && (batch.owes() || self.has_backlog()) {
            self.something_waits();
        }
        woken
    }

    /// Nothing of one's own is left: now it is the turn of those who were not called yet.
    #[inline]
    pub(super) fn pass_the_turn(&self) {
        if self.batch.owes() {
            self.call_homes();
            self.batch.relayed.set(Some(self.station.counters.polls.get()));
        }
    }

    /// It is the turn of others, and there is one core: no reason to stay up.
    #[inline]
    pub(super) fn has_passed_the_turn(&self) -> bool {
        self.batch.relayed.get() == Some(self.station.counters.polls.get()) && self.takes_turns()
    }

    /// Those for whom something came are called, if they were not.
    #[inline]
    pub(super) fn call_homes(&self) {
        if self.batch.owes() {
            self.batch.homes.borrow_mut().drain(..).for_each(|home| self.pool.call(usize::from(home)));
            self.mind_turns();
        }
    }

    /// Whether all of the last batch was for others, and nothing has run here since: then they come to the driver. Asked once.
    pub(super) fn has_relayed(&self) -> bool {
        self.batch.relayed.take() == Some(self.station.counters.polls.get())
    }

    /// What is pinned elsewhere was woken here.
    pub(crate) fn send_home(&self, home: u16, task: Runnable) {
        if !self.batch.open.get() {
            return self.pool.send_home(usize::from(home), task);
        }
        self.note_woken::<false>(&task);
        self.pool.station(usize::from(home)).inbox.push(task);
        let mut homes = self.batch.homes.borrow_mut();
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::runtime::hire;
    use crate::sched::idle::Woken;
    use crate::{Pool, Runtime, Wait, context};
    use std::sync::mpsc;

    const SLEEPER: u16 = 2;

    /// What became of a batch of three tasks.
    struct Outcome {
        /// The one who slept was chosen to help.
        chosen: bool,
        /// The worker leaves the driver to others.
        relayed: bool,
        /// So it would if it had run something in between.
        relayed_long_ago: bool,
    }

    /// A worker wakes three tasks by `wake`, while another one sleeps.
    fn a_batch(wake: impl Fn(&Worker, Runnable)) -> Outcome {
        a_batch_and(wake, |_| {})
    }

    /// The same; `then` comes before it is looked at.
    fn a_batch_and(wake: impl Fn(&Worker, Runnable), then: impl FnOnce(&Worker)) -> Outcome {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let pool = Pool::builder().name("other").workers(1).build(&runtime.handle()).unwrap();
        let (inner, (release, held), (begin, begun)) = (pool.inner(), mpsc::channel::<()>(), mpsc::channel());
        let holds_the_only_thread = pool.spawn(async move {
            begin.send(()).unwrap();
            held.recv().unwrap_err()
        });
        begun.recv().unwrap();
        inner.resize(3, |_, _| Ok(())).unwrap();
        let tasks: Vec<_> = (0..3).map(|_| pool.spawn(async {})).collect();
        let station = |index| inner.stations().nth(index).unwrap().clone();
        let worker = Worker::new(inner.clone(), station(1), true);
        let sleeping = inner.idle.sleep(usize::from(SLEEPER), None, || false).unwrap();
        station(2).parker.was_unparked(); // resizing had told it
        let (relayed, relayed_long_ago) = context::as_worker(&worker, || {
            worker.look_around(false, None); // it knows that it is not alone
            worker.in_one_batch(|| (0..3).map(|_| wake(&worker, inner.injector.pop().unwrap())).count());
            then(&worker);
            let relayed = worker.has_relayed();
            worker.batch.relayed.set(Some(worker.station.counters.polls.get()));
            worker.station.counters.polls.bump();
            (relayed, worker.has_relayed())
        });
        let woken = inner.idle.leave_sleep(sleeping);
        let chosen = matches!(woken, Woken::Chosen(_));
        if let Some(searching) = woken.searching() {
            let _who_else = inner.idle.found_work(searching, 2);
        }
        context::as_worker(&worker, || {
            worker.hand_over();
            std::iter::from_fn(|| worker.pop_pinned()).for_each(|task| inner.inject(task));
        });
        worker.retire();
        drop(release);
        [station(1), station(2)].into_iter().for_each(|station| hire(inner.clone(), station).unwrap());
        holds_the_only_thread.wait().unwrap();
        tasks.into_iter().for_each(|task| task.wait().unwrap());
        Outcome { chosen, relayed, relayed_long_ago }
    }

    #[test]
    fn what_anybody_may_run_is_shared() {
        let outcome = a_batch(|worker, task| worker.push_woken(task));
        assert!(outcome.chosen && !outcome.relayed);
    }

    #[test]
    fn what_is_pinned_here_is_nothing_to_share() {
        let outcome = a_batch(|worker, task| worker.push_pinned(task));
        assert!(!outcome.chosen && !outcome.relayed);
    }

    #[test]
    fn a_home_is_called_once_and_last() {
        let sent = Cell::new(0);
        let outcome = a_batch(|worker, task| {
            let parker = &worker.pool.station(usize::from(SLEEPER)).parker;
            assert!(!parker.was_unparked(), "called after {}", sent.replace(sent.get() + 1));
            worker.send_home(SLEEPER, task);
        });
        assert!(!outcome.chosen && outcome.relayed && !outcome.relayed_long_ago);
    }

    /// There is one core: whoever has a part of the batch does that first, then calls the others and leaves the driver to them.
    #[test]
    fn with_one_core_a_home_is_called_when_it_is_its_turn() {
        let first = Cell::new(true);
        let outcome = a_batch_and(
            |worker, task| match first.replace(false) {
                true => {
                    worker.pool.turns.begin_for(std::time::Duration::from_secs(60));
                    worker.push_pinned(task)
                }
                false => worker.send_home(SLEEPER, task),
            },
            |worker| {
                let parker = &worker.pool.station(usize::from(SLEEPER)).parker;
                assert!(!parker.was_unparked() && !worker.has_relayed(), "it has something of its own");
                worker.pass_the_turn();
                assert!(parker.was_unparked() && worker.has_passed_the_turn());
            },
        );
        assert!(!outcome.chosen && outcome.relayed);
    }

    /// With something of its own to do it comes back to the driver itself.
    #[test]
    fn a_worker_with_a_part_of_the_batch_keeps_the_driver() {
        let first = Cell::new(true);
        let outcome = a_batch(|worker, task| match first.replace(false) {
            true => worker.push_pinned(task),
            false => worker.send_home(SLEEPER, task),
        });
        assert!(!outcome.chosen && !outcome.relayed);
    }
}
