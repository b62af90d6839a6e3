//! The desk of the blocking pool: where jobs meet threads. Everything is decided under its one lock.
//!
//! ```text
//!             submit: a thread is idle                         release
//!   outside ─────────────────────────────────────▶ assigned ───────────▶ outside
//!      ▲  │                                            ▲
//!      │  └───submit───▶ queue ────────choose──────────┘
//!      └─────────────────┘
//!        withdraw, close, a start that failed
//! ```
//!
//! Submitter (`submit`), under the lock:
//!
//! 1. closed: refuse
//! 2. a thread is idle: take the one that came last off the list, assign the job to it, put it into its seat; unlock;
//!    **unpark** it
//! 3. else queue the job; if no thread is starting and there may be more, count one as starting; unlock; start it
//!
//! Thread (`arrive`, `next`), under the lock:
//!
//! 1. it was starting: it no longer is. It had a job: that one leaves the desk
//! 2. closed: leave, counted out
//! 3. a job is queued: take the oldest; if more are queued, no thread is starting and there may be more, count one as
//!    starting; unlock; start it (so growing is a chain, and no one thread pays for it); run the job; go to 1
//! 4. else join the list of idle threads; unlock; **park** until there is a job in the seat, or time is up
//! 5. (`look_again`) time is up, or woken without a job: lock; still in the list: stay, or take itself off, leave, counted
//!    out; no longer in the list: somebody took it off, so there is a job in the seat, or the desk is closed
//!
//! Invariants:
//!
//! * **B1** A job is in one place: in the queue; or assigned to one thread, from the step that gave it until that thread
//!   comes back; or outside. Its slip says whether it is queued. All of that changes under the lock only.
//! * **B2** While a thread is idle, the queue is empty: threads become idle when it is (4), and jobs go to idle threads
//!   first (2).
//! * **B3** While a job is queued, a thread is alive that is not idle, or one is starting: a thread leaves only when the
//!   queue is empty or the desk closed (2 and 5, by B2), and a failed start that leaves no thread hands the queue back.
//! * **B4** `threads` counts the starting ones. Each start ends in `arrive` or in `failed`.
//! * **B5** A slip at the desk is valid: its job is not over before it was assigned, and whoever runs it keeps it until
//!   after `next`.
//!
//! **No job is lost.** In the queue it has a thread that will come to step 1 or 3, by B3, whatever other threads do; each
//! of them takes the oldest, so its turn comes. Given to an idle thread, it is in that thread's seat before the lock is
//! released: a thread whose time is up at that moment finds, in step 5, that it is off the list, and looks into its seat;
//! one that is about to park has a token by the unpark and does not sleep (`park.rs`). Leaving the list and being taken off
//! it exclude each other, both being under the lock. **[models: `tests.rs`]**
//!
//! Rejected: a queue per shard with threads that look into all of them before they leave. It would save a lock that is
//! held for some ten nanoseconds around microseconds of work, and the last look of a thread that leaves would have to be
//! ordered against every push.

use super::super::park::ThreadParker;
use ropewalk_core::list::{Linked, Links, List};
use ropewalk_core::prim::real::{AtomicBool, Ordering::Relaxed};
use ropewalk_core::prim::{AtomicPtr, Lock, LockGuard, Ordering};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::task::Waker;

#[cfg(test)]
mod tests;

/// What of a job is at the desk.
pub(crate) struct Slip<J> {
    links: Links<Slip<J>>,
    /// In the queue, rather than assigned or outside. Under the lock (B1).
    queued: AtomicBool,
    pub(crate) job: J,
}

impl<J> Slip<J> {
    pub(crate) fn new(job: J) -> Self {
        Self { links: Links::new(), queued: AtomicBool::new(false), job }
    }
}

// SAFETY: `links` is a field of its own, used by the desk's lists only.
unsafe impl<J> Linked for Slip<J> {
    unsafe fn links(slip: NonNull<Self>) -> NonNull<Links<Self>> {
        // SAFETY: the caller passes a valid slip.
        unsafe { NonNull::new_unchecked((&raw const (*slip.as_ptr()).links).cast_mut()) }
    }
}

/// A thread's place: what job it has, and where it waits for one.
pub(crate) struct Seat<J> {
    pub(crate) parker: ThreadParker,
    /// The job that was put here while the thread was idle, until it takes it.
    given: AtomicPtr<Slip<J>>,
    /// The job that is assigned to the thread. Under the lock (B1).
    job: AtomicPtr<Slip<J>>,
}

impl<J> Seat<J> {
    pub(crate) fn new() -> Arc<Self> {
        let nothing = || AtomicPtr::new(null_mut());
        Arc::new(Self { parker: ThreadParker::new(), given: nothing(), job: nothing() })
    }

    /// Whether there is a job in it.
    pub(crate) fn is_given(&self) -> bool {
        !self.given.load(Ordering::Acquire).is_null()
    }

    /// The job that was put into it.
    pub(crate) fn take(&self) -> Option<NonNull<Slip<J>>> {
        NonNull::new(self.given.load(Ordering::Acquire))
            .inspect(|_| self.given.store(null_mut(), Ordering::Relaxed))
    }
}

/// A thread was counted and is to be started. It ends in [`Desk::arrive`], on that thread, or in [`Desk::failed`].
#[must_use = "somebody counts on that thread"]
pub(crate) struct Start(());

impl Start {
    /// The thread is there, and will arrive.
    pub(crate) fn succeeded(self) {
        let Start(()) = self;
    }
}

/// What became of a job that was submitted.
#[must_use]
pub(crate) enum Submitted {
    /// It is accepted; perhaps a thread is to be started.
    Accepted(Option<Start>),
    /// The desk is closed, and the job is still the submitter's.
    Refused,
}

/// What a thread does next.
#[must_use]
pub(crate) enum Next<J> {
    /// Starts another thread, if it is told to, and then runs this.
    Run(NonNull<Slip<J>>, Option<Start>),
    /// Waits in its seat; whether it may leave when it has waited for long.
    Wait(bool),
    /// Leaves: it is not counted any more.
    Leave,
}

/// How many there are of what.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) threads: usize,
    pub(crate) starting: usize,
    pub(crate) queued: usize,
    pub(crate) assigned: usize,
    pub(crate) started: u64,
    pub(crate) ended: u64,
    pub(crate) failed: u64,
    pub(crate) done: u64,
}

pub(crate) struct Desk<J> {
    state: Lock<State<J>>,
    least: usize,
    most: usize,
}

struct State<J> {
    open: bool,
    queue: List<Slip<J>>,
    /// Of every thread that has arrived.
    seats: Vec<Arc<Seat<J>>>,
    /// Last in, first out: the one that came last is the warmest, and the others get to leave.
    idle: Vec<Arc<Seat<J>>>,
    tally: Tally,
    watchers: Vec<Waker>,
}

impl<J> Desk<J> {
    /// A desk for up to `most` threads, of which `least` stay when there is nothing to do.
    pub(crate) fn new(least: usize, most: usize) -> Self {
        let state = State {
            open: true,
            queue: List::new(),
            seats: Vec::new(),
            idle: Vec::new(),
            tally: Tally::default(),
            watchers: Vec::new(),
        };
        Self { state: Lock::new(state), least, most }
    }

    /// Brings a job.
    ///
    /// # Safety
    /// The slip is at no desk, and valid and pinned until it is outside again (B5).
    pub(crate) unsafe fn submit(&self, slip: NonNull<Slip<J>>) -> Submitted {
        let mut state = self.state.lock();
        if !state.open {
            return Submitted::Refused;
        }
        if let Some(seat) = state.idle.pop() {
            state.assign(&seat, slip);
            seat.given.store(slip.as_ptr(), Ordering::Release);
            drop(state);
            seat.parker.unpark();
            return Submitted::Accepted(None);
        }
        state.enqueue(slip);
        Submitted::Accepted(state.start_if_wanted(self.most))
    }

    /// Takes a job back. False: it is not in the queue (any more).
    ///
    /// # Safety
    /// The slip is valid, and was at this desk or is.
    pub(crate) unsafe fn withdraw(&self, slip: NonNull<Slip<J>>) -> bool {
        let mut state = self.state.lock();
        // SAFETY: the caller's promise.
        if !unsafe { slip.as_ref() }.queued.swap(false, Relaxed) {
            return false;
        }
        state.tally.queued -= 1;
        // SAFETY: B1: queued slips are in the queue.
        let was_there = unsafe { state.queue.remove(slip) };
        debug_assert!(was_there, "B1");
        self.tell(state);
        true
    }

    /// A thread counts as starting, though nothing is queued.
    pub(crate) fn start_ahead(&self) -> Start {
        self.state.lock().start()
    }

    /// A thread has started.
    pub(crate) fn arrive(&self, seat: &Arc<Seat<J>>) -> Next<J> {
        let mut state = self.state.lock();
        state.tally.starting -= 1;
        state.tally.started += 1;
        state.seats.push(seat.clone());
        self.choose(state, seat)
    }

    /// A thread could not be started. If none is left, the jobs come back that nobody will run.
    pub(crate) fn failed(&self, start: Start) -> Unrun<J> {
        let Start(()) = start;
        let mut state = self.state.lock();
        state.tally.starting -= 1;
        state.tally.threads -= 1;
        state.tally.failed += 1;
        let unrun = if state.tally.threads == 0 { state.hand_back() } else { Unrun(List::new()) };
        self.tell(state);
        unrun
    }

    /// A thread has done its job, whose slip leaves the desk, and asks for the next.
    pub(crate) fn next(&self, seat: &Arc<Seat<J>>) -> Next<J> {
        let mut state = self.state.lock();
        seat.job.store(null_mut(), Ordering::Relaxed);
        state.tally.assigned -= 1;
        state.tally.done += 1;
        self.choose(state, seat)
    }

    /// An idle thread was woken without finding a job in its seat, or `time_is_up`. `None`: it stays where it is.
    pub(crate) fn look_again(&self, seat: &Arc<Seat<J>>, time_is_up: bool) -> Option<Next<J>> {
        let mut state = self.state.lock();
        match state.idle.iter().position(|idle| Arc::ptr_eq(idle, seat)) {
            Some(at) if time_is_up && state.tally.threads > self.least => {
                state.idle.remove(at);
                Some(self.leave(state, seat))
            }
            Some(_) => None,
            // It was taken off the list: for a job, which is in the seat, or because the desk was closed.
            None => Some(match seat.take() {
                Some(slip) => Next::Run(slip, None),
                None => self.leave(state, seat),
            }),
        }
    }

    /// No more jobs: what is queued comes back, idle threads leave, the others when they have done their jobs.
    pub(crate) fn close(&self) -> Unrun<J> {
        let mut state = self.state.lock();
        state.open = false;
        let unrun = state.hand_back();
        let idle = std::mem::take(&mut state.idle);
        self.tell(state);
        idle.iter().for_each(|seat| seat.parker.unpark());
        unrun
    }

    /// Calls `waker` when the last job is over, and when the last thread has left.
    pub(crate) fn watch(&self, waker: &Waker) {
        let waker = waker.clone(); // before the lock: it is the user's code
        let watchers = &mut self.state.lock().watchers;
        if !watchers.iter().any(|known| known.will_wake(&waker)) {
            watchers.push(waker);
        }
    }

    /// Visits every job at the desk, the assigned ones first. `visit` runs under the lock.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&J)) {
        let state = self.state.lock();
        let assigned = state.seats.iter().filter_map(|seat| NonNull::new(seat.job.load(Ordering::Relaxed)));
        for slip in assigned.chain(state.queue.iter()) {
            // SAFETY: B5.
            visit(&unsafe { slip.as_ref() }.job);
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().open
    }

    /// What there is, and how many threads are idle.
    pub(crate) fn tally(&self) -> (Tally, usize) {
        let state = self.state.lock();
        (state.tally, state.idle.len())
    }

    /// Steps 2 to 4 of a thread.
    fn choose(&self, mut state: LockGuard<'_, State<J>>, seat: &Arc<Seat<J>>) -> Next<J> {
        if !state.open {
            return self.leave(state, seat);
        }
        if let Some(slip) = state.dequeue() {
            state.assign(seat, slip);
            return Next::Run(slip, state.start_if_wanted(self.most));
        }
        state.idle.push(seat.clone());
        let may_leave = state.tally.threads > self.least;
        self.tell(state);
        Next::Wait(may_leave)
    }

    fn leave(&self, mut state: LockGuard<'_, State<J>>, seat: &Arc<Seat<J>>) -> Next<J> {
        state.seats.retain(|other| !Arc::ptr_eq(other, seat));
        state.tally.threads -= 1;
        state.tally.ended += 1;
        self.tell(state);
        Next::Leave
    }

    /// Unlocks, and tells those who wait for the end of all jobs or threads.
    fn tell(&self, mut state: LockGuard<'_, State<J>>) {
        let Tally { threads, queued, assigned, .. } = state.tally;
        if state.watchers.is_empty() || threads > 0 && queued + assigned > 0 {
            return;
        }
        let watchers = std::mem::take(&mut state.watchers);
        drop(state);
        watchers.into_iter().for_each(crate::runtime::wake_safely);
    }
}

impl<J> State<J> {
    fn enqueue(&mut self, slip: NonNull<Slip<J>>) {
        // SAFETY: B5; it is in no list.
        unsafe {
            slip.as_ref().queued.store(true, Relaxed);
            self.queue.push_back(slip);
        }
        self.tally.queued += 1;
    }

    fn dequeue(&mut self) -> Option<NonNull<Slip<J>>> {
        let slip = self.queue.pop_front()?;
        self.tally.queued -= 1;
        // SAFETY: B5.
        unsafe { slip.as_ref() }.queued.store(false, Relaxed);
        Some(slip)
    }

    fn assign(&mut self, seat: &Seat<J>, slip: NonNull<Slip<J>>) {
        seat.job.store(slip.as_ptr(), Ordering::Relaxed);
        self.tally.assigned += 1;
    }

    fn start(&mut self) -> Start {
        self.tally.threads += 1;
        self.tally.starting += 1;
        Start(())
    }

    /// Jobs wait, nobody is about to come for them, and there may be more threads.
    fn start_if_wanted(&mut self, most: usize) -> Option<Start> {
        let Tally { threads, starting, queued, .. } = self.tally;
        (queued > 0 && starting == 0 && threads < most).then(|| self.start())
    }

    fn hand_back(&mut self) -> Unrun<J> {
        let mut unrun = List::new();
        while let Some(slip) = self.dequeue() {
            // SAFETY: B5; it has left the queue.
            unsafe { unrun.push_back(slip) };
        }
        Unrun(unrun)
    }
}

/// Jobs that came back without having run. They are outside, and nobody else touches them (B1).
#[must_use = "their owners must be told"]
pub(crate) struct Unrun<J>(List<Slip<J>>);

impl<J> Iterator for Unrun<J> {
    type Item = NonNull<Slip<J>>;

    fn next(&mut self) -> Option<NonNull<Slip<J>>> {
        self.0.pop_front()
    }
}
