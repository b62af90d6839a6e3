//! The desk of the blocking pool: where jobs meet threads. Everything is decided under its one lock.
//!
//! ```text
//!             submit           choose              next
//!   outside ──────────▶ queue ────────▶ assigned ────────▶ outside
//!      ▲                  │
//!      └──────────────────┘ withdraw, close, a start that failed
//! ```
//!
//! Submitter (`submit`), under the lock:
//!
//! 1. closed: refuse
//! 2. queue the job
//! 3. *call*: if jobs are queued and no thread is coming, take the thread that became idle last off the list, mark its seat
//!    and count it as coming; if none is idle and there may be more, count a new one. Unlock; **unpark** the one, or start
//!    the other
//!
//! Thread (`arrive`, `next`, `look_again`), under the lock:
//!
//! 1. it was coming: it no longer is. It had a job: that one leaves the desk
//! 2. closed: leave, counted out
//! 3. a job is queued: take the oldest; *call*; run the job; go to 1
//! 4. else join the list of idle threads; unlock; **park** until the seat is marked, or time is up; lock
//! 5. still in the list and time is not up: go on parking. Still in it: take itself off. If time is up, the queue is empty
//!    and there are more threads than need to stay: leave, counted out. Else go to 1
//!
//! So threads are woken and started in a chain, each by the one before it, only as many as find something to do, and a
//! worker that brings a thousand jobs pays for one wake-up.
//!
//! Invariants:
//!
//! * **B1** A job is in one place: in the queue; or assigned to one thread, from step 3 until that thread comes back; or
//!   outside. Its slip says whether it is queued. All of that changes under the lock only.
//! * **B2** Whenever the lock is free and a job is queued, a thread is coming, or none is idle: whoever adds a job or takes
//!   one calls, so does a start that failed, and a thread becomes idle only when the queue is empty.
//! * **B3** While a job is queued, there is a thread that is busy or coming: by B2, and because a thread leaves an open desk
//!   only when the queue is empty (5). A failed start that leaves no thread at all hands the queue back.
//! * **B4** `threads` counts those that are starting, `coming` those that are starting or were called. Each start ends in
//!   `arrive` or in `failed`; each call, in step 1 of the thread that was called.
//! * **B5** A slip at the desk is valid: its job is not over before it was assigned, and whoever runs it keeps it until
//!   after `next`.
//!
//! **No job is lost.** While it is queued, some thread will come to steps 1 to 3, by B3, whatever the others do; each takes
//! the oldest, so its turn comes. A call is not lost: the thread that is called is off the list and its seat is marked before
//! the lock is released. If its time is up at that moment, it finds in step 5 that it is off the list, does step 1 and looks
//! at the queue; if it is about to park, it has a token by the unpark and does not sleep (`park.rs`). Leaving the list
//! and being taken off it exclude each other, both being under the lock. **[models: `tests.rs`]**
//!
//! Rejected: a queue per shard with threads that look into all of them before they leave. It would save a lock that is
//! held for some ten nanoseconds around microseconds of work, and the last look of a thread that leaves would have to be
//! ordered against every push. Rejected: putting the job into the seat of an idle thread. Each submission is then a
//! wake-up, which costs more than the job may take.

use super::super::park::ThreadParker;
use ropewalk_core::list::{Links, List};
use ropewalk_core::prim::real::{AtomicBool, AtomicPtr, Ordering::Relaxed};
use ropewalk_core::prim::{Lock, LockGuard};
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

ropewalk_core::linked!(Slip<J>, links, J);

/// A thread's place: what job it has, and where it waits for one.
pub(crate) struct Seat<J> {
    pub(crate) parker: ThreadParker,
    /// The thread was called. Changed under the lock; looked at by the thread while it spins.
    called: AtomicBool,
    /// The job that is assigned to the thread. Under the lock (B1).
    job: AtomicPtr<Slip<J>>,
}

impl<J> Seat<J> {
    pub(crate) fn new() -> Arc<Self> {
        let (called, job) = (AtomicBool::new(false), AtomicPtr::new(null_mut()));
        Arc::new(Self { parker: ThreadParker::new(), called, job })
    }

    /// Whether the thread is wanted at the desk. The desk knows for sure.
    pub(crate) fn is_called(&self) -> bool {
        self.called.load(Relaxed)
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
    pub(crate) coming: usize,
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
        state.enqueue(slip);
        Submitted::Accepted(self.call(state))
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
        state.tally.coming -= 1;
        state.tally.started += 1;
        state.seats.push(seat.clone());
        self.choose(state, seat)
    }

    /// A thread could not be started. If none is left, the jobs come back that nobody will run.
    pub(crate) fn failed(&self, start: Start) -> Unrun<J> {
        let Start(()) = start;
        let mut state = self.state.lock();
        state.tally.coming -= 1;
        state.tally.threads -= 1;
        state.tally.failed += 1;
        if state.tally.threads == 0 {
            let unrun = state.hand_back();
            self.tell(state);
            return unrun;
        }
        self.wake_one(state); // jobs may have come that relied on the start
        Unrun(List::new())
    }

    /// A thread has done its job, whose slip leaves the desk, and asks for the next.
    pub(crate) fn next(&self, seat: &Arc<Seat<J>>) -> Next<J> {
        let mut state = self.state.lock();
        seat.job.store(null_mut(), Relaxed);
        state.tally.assigned -= 1;
        state.tally.done += 1;
        self.choose(state, seat)
    }

    /// An idle thread is awake: called, or because `time_is_up`, or for no reason. `None`: it stays where it is.
    pub(crate) fn look_again(&self, seat: &Arc<Seat<J>>, time_is_up: bool) -> Option<Next<J>> {
        let mut state = self.state.lock();
        match state.idle.iter().position(|idle| Arc::ptr_eq(idle, seat)) {
            Some(_) if !time_is_up => return None,
            Some(at) => drop(state.idle.remove(at)),
            None if seat.called.swap(false, Relaxed) => state.tally.coming -= 1,
            None => {} // the desk was closed
        }
        let may_leave = time_is_up && state.tally.threads > self.least;
        let leaves = may_leave && state.tally.queued == 0;
        Some(if leaves { self.leave(state, seat) } else { self.choose(state, seat) })
    }

    /// No more jobs: what is queued comes back, idle threads leave, the others when they have done their jobs.
    pub(crate) fn close(&self) -> Unrun<J> {
        let mut state = self.state.lock();
        state.open = false;
        let unrun = state.hand_back(); // the caller tells their owners
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
        let assigned = state.seats.iter().filter_map(|seat| NonNull::new(seat.job.load(Relaxed)));
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
            return Next::Run(slip, self.call(state));
        }
        state.idle.push(seat.clone());
        let may_leave = state.tally.threads > self.least;
        self.tell(state);
        Next::Wait(may_leave)
    }

    /// Unlocks, and calls a thread if jobs wait and none is coming: wakes an idle one, or has one started.
    fn call(&self, mut state: LockGuard<'_, State<J>>) -> Option<Start> {
        let Tally { threads, coming, queued, .. } = state.tally;
        if state.idle.is_empty() {
            return (queued > 0 && coming == 0 && threads < self.most).then(|| state.start());
        }
        self.wake_one(state);
        None
    }

    /// Unlocks, and wakes an idle thread if jobs wait and none is coming.
    fn wake_one(&self, mut state: LockGuard<'_, State<J>>) {
        if state.tally.queued == 0 || state.tally.coming > 0 {
            return;
        }
        if let Some(seat) = state.idle.pop() {
            state.tally.coming += 1;
            seat.called.store(true, Relaxed);
            drop(state);
            seat.parker.unpark();
        }
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
        seat.job.store(slip.as_ptr(), Relaxed);
        self.tally.assigned += 1;
    }

    fn start(&mut self) -> Start {
        self.tally.threads += 1;
        self.tally.coming += 1;
        Start(())
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
