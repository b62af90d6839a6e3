//! The readiness of one registration: a word in which events meet those who wait.
//!
//! ```text
//! bits   0..6    what it is ready for (`Ready`)
//!        6       over: no event will come; waiting is an error
//!        7, 8    somebody is in the slot of that direction
//!        9       somebody is in the queue
//!        11..32  tick: how many events there were
//!        32..64  generation: which registration lives here
//! ```
//!
//! ```text
//! driver: event                                    operation
//!   1. one exchange: adds what is ready, tick + 1,   1. look: snapshot of the word
//!      takes the announcements it answers            2. ready: try; if it would block, clear, but only if the tick is
//!   2. wakes those who had announced themselves         still that of the snapshot; go to 1
//!                                                    3. not ready: leave the waker, then announce by one exchange;
//!                                                       ready by then: go to 1; else wait
//! ```
//!
//! # Invariants
//!
//! - **E1** Every change of the word is a read-modify-write, so any two are in one order and the later one sees the earlier.
//! - **E2** Readiness goes away only by `clear` with the tick of a snapshot taken *before* the operation that would have
//!   blocked. An event that came in between has raised the tick, and stays.
//! - **E3** A waker is in its slot (or a node in the queue) before its announcement is in the word, or was woken since it was
//!   found there. So an event that finds the announcement finds the waker; one that does not came before, and is seen by it.
//! - **E4** An event is for one generation: one that was under way when its registration ended changes nothing of the next.
//! - **E5** No waker is cloned, woken or dropped under the lock of the slots.
//! - **E6** OVER is set once per generation, and then everybody who announced itself before is woken.
//!
//! What was written before an `event` is visible to who finds its readiness: `event` releases, `look` acquires.

use super::contract::{Interest, Ready};
use crate::runtime::wake_safely;
use ropewalk_core::prim::{AtomicU64, BriefLock, Ordering};
use ropewalk_core::task::drop_payload;
use ropewalk_core::wait_queue::{Wait, WaitQueue};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const READY: u64 = 0x3f;
const OVER: u64 = 1 << 6;
const SLOT: [u64; 2] = [1 << 7, 1 << 8];
const QUEUE: u64 = 1 << 9;
const TICK: u64 = 1 << 11;
const TICKS: u64 = (1 << 32) - TICK;
const GENERATION: u32 = 32;

/// One of the two directions, each with a place for one waker of the `poll_*` functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Towards us: reading, accepting.
    Read,
    /// Away from us: writing, connecting.
    Write,
}

impl Direction {
    pub(crate) fn interest(self) -> Interest {
        match self {
            Self::Read => Interest::READABLE,
            Self::Write => Interest::WRITABLE,
        }
    }
}

/// What the word held at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

impl Snapshot {
    pub(crate) fn ready(self) -> Ready {
        Ready((self.0 & READY) as u8)
    }

    /// No event will come any more.
    pub(crate) fn is_over(self) -> bool {
        self.0 & OVER != 0
    }

    #[inline]
    pub(super) fn settles(self, interest: Interest) -> bool {
        self.is_over() || self.ready().satisfies(interest)
    }

    fn tick(self) -> u64 {
        self.0 & TICKS
    }

    pub(super) fn generation(self) -> u32 {
        (self.0 >> GENERATION) as u32
    }
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Readiness {
    word: AtomicU64,
    slots: BriefLock<[Option<Waker>; 2]>,
    queue: WaitQueue,
}

impl Readiness {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(OVER), slots: BriefLock::new([None, None]), queue: WaitQueue::new() }
    }

    /// A new registration begins. It counts as ready until an operation finds that it is not.
    pub(crate) fn begin(&self, generation: u32, ready: Ready) {
        let word = u64::from(generation) << GENERATION | u64::from(ready.0);
        self.word.swap(word, Ordering::AcqRel); // an exchange, too (E1): an event of the last one may be under way
    }

    #[inline]
    pub(crate) fn look(&self) -> Snapshot {
        Snapshot(self.word.load(Ordering::Acquire))
    }

    /// Driver: something happened to registration `generation`.
    pub(crate) fn event(&self, generation: u32, ready: Ready) {
        self.change(generation, u64::from(ready.0), |answered| ready.satisfies(answered));
    }

    /// No event will come to registration `generation`: all who wait are woken, and told so.
    pub(crate) fn end(&self, generation: u32) {
        self.change(generation, OVER, |_| true);
    }

    fn change(&self, generation: u32, add: u64, answers: impl Fn(Interest) -> bool) {
        let mut answered = 0;
        for direction in [Direction::Read, Direction::Write] {
            answered |= if answers(direction.interest()) { SLOT[direction as usize] } else { 0 };
        }
        // Who is in the queue has an interest of its own, and looks for itself.
        answered |= QUEUE;
        let next = |now: u64| {
            let next_tick = now.wrapping_add(TICK) & TICKS;
            let rest = now & !TICKS & !answered;
            (Snapshot(now).generation() == generation).then_some(rest | add | next_tick)
        };
        if let Ok(before) = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next) {
            self.wake(before & answered);
        }
    }

    fn wake(&self, announced: u64) {
        if announced & (SLOT[0] | SLOT[1]) != 0 {
            let mut slots = self.slots.lock();
            let wakers = [0, 1].map(|at| if announced & SLOT[at] != 0 { slots[at].take() } else { None });
            drop(slots);
            wakers.into_iter().flatten().for_each(wake_safely);
        }
        if announced & QUEUE != 0 {
            let all = catch_unwind(AssertUnwindSafe(|| self.queue.wake_all_after(|| ())));
            all.map_err(drop_payload).ok(); // a waker that panics does not keep the worker from the other events
        }
    }

    /// The operation would have blocked although `seen` said ready: takes that back, unless there was an event since (E2).
    /// True: it is taken back. `closed_too`: also what is final for as long as nothing contradicts it.
    pub(crate) fn clear(&self, seen: Snapshot, interest: Interest, closed_too: bool) -> bool {
        let mut gone = Ready::ERROR.0;
        if interest.is_readable() {
            gone |= Ready::READABLE.0 | if closed_too { Ready::READ_CLOSED.0 } else { 0 };
        }
        if interest.is_writable() {
            gone |= Ready::WRITABLE.0 | if closed_too { Ready::WRITE_CLOSED.0 } else { 0 };
        }
        if interest.is_priority() {
            gone |= Ready::PRIORITY.0;
        }
        let next = |now: u64| (Snapshot(now).tick() == seen.tick()).then_some(now & !u64::from(gone));
        self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).is_ok()
    }

    /// Waits in the slot of `direction`, which holds one waker: the last one to come.
    pub(crate) fn poll_slot(&self, cx: &mut Context<'_>, direction: Direction) -> Poll<Snapshot> {
        let seen = self.look();
        if seen.settles(direction.interest()) {
            return Poll::Ready(seen);
        }
        self.leave_waker(cx.waker(), direction);
        let seen = Snapshot(self.word.fetch_or(SLOT[direction as usize], Ordering::AcqRel)); // E3
        if seen.settles(direction.interest()) { Poll::Ready(seen) } else { Poll::Pending }
    }

    fn leave_waker(&self, waker: &Waker, direction: Direction) {
        let slots = self.slots.lock();
        let same = slots[direction as usize].as_ref().is_some_and(|known| known.will_wake(waker));
        drop(slots);
        if !same {
            let waker = waker.clone();
            let before = self.slots.lock()[direction as usize].replace(waker);
            drop(before);
        }
    }

    /// A place in the queue, for any number of waiters.
    pub(crate) fn wait(&self) -> Wait<'_> {
        self.queue.wait()
    }

    /// Waits there until `interest` is ready or everything is over. `Ready(None)`: there was an event, look again with a
    /// new [`wait`](Self::wait).
    pub(crate) fn poll_queue(
        &self,
        wait: Pin<&mut Wait<'_>>,
        cx: &mut Context<'_>,
        interest: Interest,
    ) -> Poll<Option<Snapshot>> {
        let mut seen = None;
        let woken = wait.poll_announced(cx, || {
            let now = Snapshot(self.word.fetch_or(QUEUE, Ordering::AcqRel)); // E3: under the queue's lock
            seen = now.settles(interest).then_some(now);
            seen.is_none()
        });
        woken.map(|_| seen)
    }
}

#[cfg(test)]
mod tests;
