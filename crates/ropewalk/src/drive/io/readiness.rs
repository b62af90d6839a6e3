//! The readiness of one registration: a word in which events meet those who wait.
//!
//! ```text
//! bits   0..6    what it is ready for (`Ready`)
//!        6       over: no event will come; waiting is an error
//!        7..10   somebody waits for that: to read, to write, for something urgent
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
//! - **E3** A waker is in the list of those who wait before its announcement is in the word. So an event that finds the
//!   announcement finds the waker; one that does not came before, and is seen by it.
//! - **E4** An event is for one generation: one that was under way when its registration ended changes nothing of the next.
//! - **E5** No waker is cloned, woken or dropped under the lock of the list.
//! - **E6** OVER is set once per generation, and then everybody who announced itself before is woken.
//! - **E7** Whoever waited, and finds none of its announcements in the word, is not in the list, or is about to be taken out by
//!   the event that took them: it need not look for itself there. Woken in vain is all it, or who has its address by then, can be.
//!
//! What was written before an `event` is visible to who finds its readiness: `event` releases, `look` acquires.

use super::contract::{Interest, Ready};
use super::waiting::{Waiting, Who};
use crate::runtime::wake_safely;
use ropewalk_core::prim::{AtomicU64, BriefLock, Ordering};
use std::task::{Context, Poll, Waker};

const READY: u64 = 0x3f;
const OVER: u64 = 1 << 6;
const WAITING: u32 = 7;
const TICK: u64 = 1 << 11;
const TICKS: u64 = (1 << 32) - TICK;
const GENERATION: u32 = 32;

/// One of the two directions, each with one waker for the `poll_*` functions.
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

    /// Whether somebody waits for this.
    #[inline]
    pub(super) fn is_awaited(self, interest: Interest) -> bool {
        self.0 & announcement(interest) != 0
    }

    fn tick(self) -> u64 {
        self.0 & TICKS
    }

    pub(super) fn generation(self) -> u32 {
        (self.0 >> GENERATION) as u32
    }
}

/// Announces that somebody waits for this.
fn announcement(interest: Interest) -> u64 {
    u64::from(interest.bits()) << WAITING
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Readiness {
    word: AtomicU64,
    waiting: BriefLock<Waiting>,
}

impl Readiness {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(OVER), waiting: BriefLock::new(Waiting::default()) }
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
        self.change(generation, u64::from(ready.0), Some(ready));
    }

    /// No event will come to registration `generation`: all who wait are woken, and told so.
    pub(crate) fn end(&self, generation: u32) {
        self.change(generation, OVER, None);
    }

    /// `ready`: those who wait for that are told; else everybody.
    #[inline]
    fn change(&self, generation: u32, add: u64, ready: Option<Ready>) {
        let told = ready.map_or(Interest::ALL.bits(), Ready::answers);
        let told = announcement(Interest::from_bits(told));
        let next = |now: u64| {
            let next_tick = now.wrapping_add(TICK) & TICKS;
            let rest = now & !TICKS & !told;
            (Snapshot(now).generation() == generation).then_some(rest | add | next_tick)
        };
        if let Ok(before) = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next)
            && before & told != 0
        {
            self.wake(ready);
        }
    }

    fn wake(&self, ready: Option<Ready>) {
        let taken = self.waiting.lock().take(ready);
        if let Some(list) = taken.wake(wake_safely) {
            let unused = self.waiting.lock().reuse(list);
            drop(unused);
        }
    }

    /// The operation would have blocked although `seen` said ready: takes that back, unless there was an event since (E2).
    /// True: it is taken back. `closed_too`: also what is final for as long as nothing contradicts it.
    #[inline]
    pub(crate) fn clear(&self, seen: Snapshot, interest: Interest, closed_too: bool) -> bool {
        let Ready(gone) = if closed_too { Ready::open_or_closed(interest) } else { Ready::open(interest) };
        let next = |now: u64| (Snapshot(now).tick() == seen.tick()).then_some(now & !u64::from(gone));
        self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next).is_ok()
    }

    /// Waits until what `who` waits for is ready, or everything is over. One waker for each name: the last one to come.
    #[inline]
    pub(super) fn poll(&self, cx: &mut Context<'_>, who: Who) -> Poll<Snapshot> {
        let seen = self.look();
        if seen.settles(who.interest()) { Poll::Ready(seen) } else { self.wait(cx, who) }
    }

    /// The same for somebody who has just looked.
    #[inline]
    pub(super) fn wait(&self, cx: &mut Context<'_>, who: Who) -> Poll<Snapshot> {
        let interest = who.interest();
        self.leave_waker(cx.waker(), who);
        let announced = announcement(interest);
        let before = self.word.fetch_or(announced, Ordering::AcqRel); // E3
        let seen = Snapshot(before | announced); // E7: an event may have come before, without finding it
        if seen.settles(interest) { Poll::Ready(seen) } else { Poll::Pending }
    }

    fn leave_waker(&self, waker: &Waker, who: Who) {
        let waker = waker.clone();
        let before = self.waiting.lock().put(who, waker);
        drop(before);
    }

    /// `who` has waited, and does so no longer (E7).
    #[inline]
    pub(super) fn forget(&self, who: Who) {
        if self.look().is_awaited(who.interest()) {
            let waker = self.waiting.lock().remove(who);
            drop(waker);
        }
    }
}

#[cfg(test)]
mod tests;
