//! Where a task that can run waits for its turn on this worker: the slot, the ring, the local queue; and what leaves them.

use super::Worker;
use super::run::Kind;
use ropewalk_core::task::{Header, Runnable};
use std::task::Waker;

impl Worker {
    /// A task woken on this worker: it runs next, because what it needs is still warm.
    #[inline]
    pub(crate) fn push_woken(&self, task: Runnable) {
        if !self.slot_open.get() {
            return self.push_aside::<false>(task);
        }
        self.fill_slot(task);
    }

    /// A task spawned on this worker: the same.
    #[inline]
    pub(crate) fn push_new(&self, task: Runnable) {
        if !self.slot_open.get() {
            return self.push_aside::<true>(task);
        }
        self.fill_slot(task);
    }

    #[inline]
    fn fill_slot(&self, task: Runnable) {
        // Alone in the slot it is this worker's next task: no reason to wake anybody for it.
        if let Err(task) = self.next.fill(task) {
            self.unheld(|| self.next.put(task)).into_iter().for_each(|older| self.push_ring(older));
            self.notify_others();
        }
    }

    /// A woken task, or a `NEW` one, while the slot is not simply open.
    #[inline]
    fn push_aside<const NEW: bool>(&self, task: Runnable) {
        if !self.batch.is_plain() {
            return self.push_with_care::<NEW>(task);
        }
        self.batch.counts();
        self.push_due(task);
    }

    #[inline(never)]
    fn push_with_care<const NEW: bool>(&self, task: Runnable) {
        self.note_woken::<NEW>(&task);
        if self.retiring.get() {
            return self.pool.queue_outside(task);
        }
        self.stamp_woken(&task);
        if self.batch.is_open() {
            self.batch.counts();
            return self.push_due(task);
        }
        self.call_watchdog();
        if self.is_slot_free() {
            return self.fill_slot(task); // that was all
        }
        self.push_ring(task);
        self.notify_others();
    }

    /// A pinned task of this worker was woken.
    #[inline]
    pub(crate) fn push_woken_pinned(&self, task: Runnable) {
        if self.slot_open.get() {
            return self.push_pinned(task);
        }
        self.push_pinned_aside::<false>(task);
    }

    /// One was spawned.
    #[inline]
    pub(crate) fn push_new_pinned(&self, task: Runnable) {
        if self.slot_open.get() {
            return self.push_pinned(task);
        }
        self.push_pinned_aside::<true>(task);
    }

    #[inline(never)]
    fn push_pinned_aside<const NEW: bool>(&self, task: Runnable) {
        self.note_woken::<NEW>(&task);
        self.stamp_woken(&task);
        self.push_pinned(task);
        self.something_waits();
    }

    /// A task that ran just now and wants to run again: behind everything, the one in the slot included. The number of
    /// runnable tasks did not change, so nobody needs to be woken, unless nobody was woken yet for the one in the slot.
    #[inline]
    pub(super) fn push_back(&self, task: Runnable, kind: Kind) {
        debug_assert!(self.may_take());
        let is_free = kind == Kind::Free || cfg!(feature = "roaming") && kind == Kind::Roaming;
        let task = match kind {
            Kind::Free => match self.keep_pair(task) {
                Ok(()) => return,
                Err(task) => task,
            },
            _ => task,
        };
        if let Some(next) = self.next.take() {
            self.push_ring(next);
            self.notify_others();
        }
        if !is_free {
            return self.push_pinned(task);
        }
        if self.retiring.get() {
            return self.pool.queue_outside(task);
        }
        // (A strand that roams may have been run in the turn of another one, which may want to run again, too.)
        if kind == Kind::Free && self.is_otherwise_empty() {
            return self.again.set(Some(task));
        }
        self.push_ring(task);
    }

    /// Nothing is queued but what may be in the slot, and the loop goes on here.
    #[inline]
    pub(super) fn is_otherwise_empty(&self) -> bool {
        self.threaded
            && self.ready.is_empty()
            && self.due.is_empty()
            && !self.leave.get()
            && !self.retiring.get()
    }

    #[inline]
    pub(super) fn push_ring(&self, task: Runnable) {
        if let Err(task) = self.ready.ring.push(task) {
            self.overflow(task);
        }
        self.mind_backlog();
    }

    /// A look found it. With more of them than there is room for, the last are not before others.
    #[inline]
    pub(super) fn push_due(&self, task: Runnable) {
        match self.due.ring.push_below(self.due_at_once(), task) {
            Ok(()) => self.mind_backlog(),
            Err(task) => self.push_ring(task),
        }
    }

    /// The ring is full: its newer half and `task` go to the injection queue, where others find them too. The older half
    /// keeps its turn, or tasks could move back and forth without ever running.
    #[cold]
    fn overflow(&self, task: Runnable) {
        self.station.counters.overflows.bump();
        let (ring, mut tasks) = (&self.ready.ring, self.pool.spill.lock());
        let head = ring.head_position();
        self.unheld(|| while ring.take_half(&mut tasks) > 0 {});
        let (kept, tail) = ((ring.capacity() / 2).min(tasks.len()), ring.tail_position());
        ring.fill(&mut tasks.drain(..kept));
        // A pinned task that came behind so many in the ring stays behind as many, at most.
        self.ready.follow_ring(|position| tail + position.saturating_sub(head).min(kept as u64));
        tasks.push(task);
        self.pool.inject_spilt(tasks);
    }

    /// So many free tasks may be due by their timers and sockets: for what comes from outside there is always room.
    #[inline]
    pub(super) fn due_at_once(&self) -> u64 {
        self.due.ring.capacity() as u64 * 3 / 4
    }

    /// A pinned task of this worker: due if a look found it.
    pub(crate) fn push_pinned(&self, task: Runnable) {
        if self.batch.is_open() { self.due.push_pinned(task) } else { self.ready.push_pinned(task) }
    }

    pub(crate) fn pop_pinned(&self) -> Option<Runnable> {
        self.due.pop_pinned().or_else(|| self.ready.pop_pinned())
    }

    /// Whether anything pinned waits here.
    pub(super) fn has_runnable_pinned(&self) -> bool {
        self.due.has_pinned() || self.ready.has_pinned()
    }

    /// How many tasks wait in the rings: thieves may make it less at any time.
    pub(super) fn free_tasks(&self) -> usize {
        self.due.ring.len() + self.ready.ring.len()
    }

    /// How many tasks wait here, but for the one that is kept for itself.
    pub(super) fn queued(&self) -> usize {
        self.due.len() + self.ready.len() + usize::from(!self.next.is_empty())
    }

    /// User code is about to hold the thread: what is queued here becomes everybody's.
    pub(crate) fn hold(&self) {
        self.station.counters.held.bump();
        if let Some(next) = self.unheld(|| self.next.take()) {
            self.push_ring(next);
        }
        if self.free_tasks() > 0 {
            self.notify_others();
        }
    }

    #[inline]
    pub(super) fn notify_others(&self) {
        self.something_waits();
        if !self.alone.get() {
            self.pool.notify();
        } else if self.epoch.get() != self.pool.epoch() {
            self.look_around(false, None); // it may have company by now, to whom this should be open
        }
    }

    /// The current operation returns `Pending` but wants to go on: behind everything that is runnable now. True: it was
    /// polled by the current task itself.
    pub(crate) fn go_last(&self, waker: &Waker) -> bool {
        let own = Header::of_waker(waker).is_some_and(|task| self.frame.current.get() == Some(task));
        if own {
            self.frame.yielded.set(true);
        } else {
            waker.wake_by_ref();
        }
        own
    }
}
