//! The state word of a task: who may touch the cell, and when it is freed.
//!
//! ```text
//!  63 .. 16   | 15      | 14       | 13     | 12..9 | 8..7     | 6      | 5      | 4     | 3         | 2        | 1       | 0
//!  references | AWAITED | SHUTDOWN | PARKED | KIN   | PRIORITY | PINNED | HANDLE | ASKED | CANCELLED | COMPLETE | RUNNING | SCHEDULED
//! ```
//!
//! The life of a task (arrows name functions of [`State`]):
//!
//! ```text
//!                 publish
//!                    ▼
//!             start   │        finish
//!  SCHEDULED ────────▶ RUNNING ───────▶ COMPLETE ──(last reference)──▶ freed
//!   ▲   ▲              │ ▲  ▲
//!   │   └───suspend────┤ │  └ wake: SCHEDULED|RUNNING, run again after this poll
//! cancel   (woken      │ │
//!   │    meanwhile)    │ │ wake
//!   │          suspend │ │
//!   └───────────────── idle
//! ```
//!
//! A task is RUNNING while it is in a queue, too: a new one (unless its host wants to see it queued), one that yields, and
//! one that was woken when it was idle. The one who makes it so has the `Runnable`, and who gets that has nothing to tell
//! anybody: neither spawn, nor yield, nor the start of a poll pays for a read-modify-write. A wake-up that comes while the
//! task is queued is taken by `start` if it is seen there, else by `suspend`, which costs one needless poll at most.
//!
//! KIN says what the task has to do with its children: 0, it has none; 1 (PARENT), it had some; 8 and more (HELD and the
//! outcome), its body is over, and it only waits for them. A held task goes round as any other does (idle, scheduled,
//! running), but its run polls nothing: it asks whether it may finish, and holds again if not.
//!
//! PARKED only tells onlookers that the poll waits on a stack that was put away. ASKED tells the next poll that somebody wants
//! to know where the body is ([`Orders`]); it stays until the body says that it has heard ([`answer`](State::answer)).
//! AWAITED tells who runs the task that somebody wants to know when that is; who has the `Runnable` sets it, and who gets the `Runnable`
//! takes it back before the poll.
//!
//! | SCHEDULED | RUNNING | who owns body and stage |
//! |---|---|---|
//! | 0 | 0 | nobody; the next `wake` or `cancel` creates a [`Runnable`](super::Runnable) |
//! | 1 | 0 | the one `Runnable`, in some queue: woken during its poll, cancelled while idle, or new and shown as queued |
//! | 0 | 1 | the thread that polls, or the one `Runnable`, in some queue |
//! | 1 | 1 | the same; woken since: `start` takes that wake-up, or `suspend` gives a `Runnable` back for it |
//!
//! Invariants, cited as T1.. by the rest of the module:
//!
//! * **T1** At most one `Runnable` exists per task, and none while it is idle or COMPLETE, or a thread polls it.
//! * **T2** Only the thread that has the `Runnable`, or runs the task by it (`start`), touches the body, until `suspend` or
//!   `finish`, or until it passes the `Runnable` on. RUNNING is set by who thereby has the `Runnable` (`wake`) or has it
//!   already (`start`), and cleared by the thread that runs it.
//! * **T3** The cell is freed by the one operation that leaves COMPLETE set with no reference. References are counted
//!   for the handle, for wakers and for [`TaskRef`](super::TaskRef)s; a `Runnable` and a running poll need none, because
//!   the task is not COMPLETE then. Wakers cloned in the task's own poll are counted when it ends (`owed.rs`).
//! * **T4** Once the join word says `Done`, the output belongs to the handle as long as HANDLE is set. `detach` and
//!   `finish` both decide on this word, so exactly one side drops an output that nobody takes.
//! * **T5** COMPLETE is final; what is owed was paid before (OW2), and no reference is ever created from nothing after it (`try_ref` refuses): a holder that
//!   sees COMPLETE with one reference is alone.
//! * **T6** KIN is changed by whoever runs the task. While it says HELD, the body is gone and the stage holds what the
//!   outcome in it says.
//!
//! Every transition is an acquire-release read-modify-write on this one word, so whatever a waker's thread wrote before
//! `wake` is seen by a poll that follows, even if the task was queued already: by the one whose `start` takes the wake-up,
//! or by the one for which `suspend` finds it. What the thread wrote that spawned the task, or polled it until it yielded,
//! or made it RUNNING by waking it, comes with the `Runnable`, by way of the queue it went through; and with it what the
//! last `suspend` had published, which that `wake` acquired.

use super::Orders;
use super::outcome::Outcome;
use crate::prim::{AtomicUsize, Ordering::*};
use core::fmt;

const SCHEDULED: usize = 1;
/// `SCHEDULED + SCHEDULED`: so `start` is one addition.
const RUNNING: usize = 1 << 1;
/// `RUNNING + RUNNING`: so finishing a detached task is one addition.
const COMPLETE: usize = 1 << 2;
const CANCELLED: usize = 1 << 3;
/// Beside CANCELLED: the two are what a poll is told ([`Snapshot::orders`]).
const ASKED: usize = 1 << 4;
const ORDERS_SHIFT: u32 = 3;
const HANDLE: usize = 1 << 5;
const PINNED: usize = 1 << 6;
const PRIORITY_SHIFT: u32 = 7;
const PARENT: usize = 1 << KIN_SHIFT;
const HELD: usize = 8 << KIN_SHIFT;
const KIN: usize = 15 << KIN_SHIFT;
const KIN_SHIFT: u32 = 9;
const PARKED: usize = 1 << 13;
const SHUTDOWN: usize = 1 << 14;
const AWAITED: usize = 1 << 15;
const REF_SHIFT: u32 = 16;
const REF: usize = 1 << REF_SHIFT;
/// Less than what fits by more than threads can add at once (`owed.rs` up to 4,096): leaked wakers abort the process before the count could wrap. (With words of 32 bits
/// that is soon: after 24,575 references to one task.)
const REF_LIMIT: isize = (isize::MAX >> REF_SHIFT) - if usize::BITS < 64 { 1 << 13 } else { 1 << 14 };

/// The atomic cell. Only this file knows its bits.
pub(super) struct State(AtomicUsize);

/// What the word said at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Snapshot(usize);

/// Outcome of dropping a reference.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    /// Others hold the task, or the scheduler does.
    Alive,
    /// The caller must free the cell (T3).
    Free,
    /// Idle and without any reference: nothing can ever wake it. Only matters to hosts that cannot find their tasks.
    Unreachable,
}

/// Outcome of a wake-up or a cancellation.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The caller now owns the `Runnable` and must queue it.
    Submit,
    /// It runs or is queued already, or is over.
    Nothing,
    /// As `Nothing`, and the caller's reference was the last: free the cell.
    Free,
}

/// Outcome of giving up the handle.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Detached {
    /// The output is there and still belongs to the handle (T4): drop it, then drop the reference.
    Output,
    /// Handle and its reference are gone.
    Gone(Dropped),
    /// The task is held with what nobody will take now: wake it, so that it drops that, and then drop the reference.
    Held,
}

/// There is no handle, or it went away before it could take the output: the output is the completer's.
#[derive(Debug)]
pub(super) struct HandleGone;

impl State {
    /// Writes the word of a new task, with a handle and the handle's reference; the caller owns the `Runnable`. Walkers may
    /// be reading the word of the task that lived here before (COMPLETE), so this is a store of the atomic, and it comes
    /// last.
    ///
    /// # Safety
    /// `at` is valid for writes and no task lives there.
    pub(super) unsafe fn publish(at: *mut Self, queued: bool, pinned: bool, priority: u8) {
        let turn = if queued { SCHEDULED } else { RUNNING };
        let pinned = if pinned { PINNED } else { 0 };
        let word = turn | HANDLE | REF | pinned | ((priority as usize & 3) << PRIORITY_SHIFT);
        // SAFETY: passed on to the caller.
        unsafe { crate::prim::init_usize(&raw mut (*at).0, word) };
    }

    /// Writes the word of memory in which no task lives, so that walkers pass over it.
    ///
    /// # Safety
    /// `at` is valid for writes and no task lives there.
    pub(super) unsafe fn vacate(at: *mut Self) {
        // SAFETY: passed on to the caller.
        unsafe { crate::prim::init_usize(&raw mut (*at).0, COMPLETE) };
    }

    pub(super) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Acquire))
    }

    /// The one CAS loop: `step` maps a snapshot to an answer and the next word (`None`: leave it alone).
    fn transition<A>(&self, mut step: impl FnMut(Snapshot) -> (A, Option<usize>)) -> A {
        let mut now = self.0.load(Acquire);
        loop {
            let (answer, next) = step(Snapshot(now));
            let Some(next) = next else { return answer };
            match self.0.compare_exchange_weak(now, next, AcqRel, Acquire) {
                Ok(_) => return answer,
                Err(seen) => now = seen,
            }
        }
    }

    /// The `Runnable`, which the caller has, becomes a poll (T1): SCHEDULED -> RUNNING. A task that is RUNNING already is
    /// left alone, unless it was woken since: this poll is the one that follows.
    pub(super) fn start(&self) -> Snapshot {
        // Relaxed: a wake-up or a cancellation that is overlooked here is seen by `suspend`.
        let now = Snapshot(self.0.load(Relaxed));
        debug_assert!(now.0 & (SCHEDULED | RUNNING) != 0 && !now.is_complete(), "{now:?}");
        match (now.is_running(), now.is_scheduled()) {
            (true, false) => now,
            (true, true) => Snapshot(self.0.fetch_and(!SCHEDULED, AcqRel)),
            _ => Snapshot(self.0.fetch_add(SCHEDULED, AcqRel)),
        }
    }

    /// RUNNING -> idle, or SCHEDULED if it was woken meanwhile (the caller then owns the `Runnable`). Pays what is `owed`
    /// in the same step; what the word said before is told as if it had been paid then.
    pub(super) fn suspend(&self, owed: usize) -> Snapshot {
        let paid = owed << REF_SHIFT;
        let before = self.0.fetch_add(paid.wrapping_sub(RUNNING), AcqRel);
        Snapshot(before.wrapping_add(paid)).checked()
    }

    /// Counts references that are owed. The task runs.
    pub(super) fn pay(&self, owed: usize) {
        if owed > 0 {
            let paid = owed << REF_SHIFT;
            // Relaxed, as `ref_inc`: the references are here already.
            Snapshot(self.0.fetch_add(paid, Relaxed)).checked();
        }
    }

    /// The poll waits on a stack that is put away, or goes on. Only for those who look at it.
    pub(super) fn set_parked(&self, parked: bool) {
        if parked {
            self.0.fetch_or(PARKED, Relaxed);
        } else {
            self.0.fetch_and(!PARKED, Relaxed);
        }
    }

    /// Somebody wants to know when it runs. The caller has the `Runnable`.
    pub(super) fn await_run(&self) {
        self.0.fetch_or(AWAITED, Relaxed);
    }

    /// Nobody wants to know it any more. The caller has the `Runnable`.
    pub(super) fn unawait(&self) {
        self.0.fetch_and(!AWAITED, Relaxed);
    }

    /// The task that runs has children from now on.
    pub(super) fn set_parent(&self) {
        // Once HELD it stays HELD: the bit beside it would change the outcome.
        self.transition(|now| ((), (!now.is_parent()).then_some(now.0 | PARENT)));
    }

    /// RUNNING -> idle or SCHEDULED, as `suspend`, for a task whose body is over and whose stage holds `outcome` (T6).
    /// SCHEDULED also if the `handle` for which it is held went away meanwhile. True: the caller owns the `Runnable`.
    #[must_use]
    pub(super) fn hold(&self, outcome: Outcome, handle: bool) -> bool {
        let held = HELD | (outcome as usize) << KIN_SHIFT;
        self.transition(|now| {
            let again = now.is_scheduled() || handle && !now.has_handle();
            let next = (now.0 & !KIN | held) - RUNNING;
            (again, Some(if again { next | SCHEDULED } else { next }))
        })
    }

    /// RUNNING -> COMPLETE, for a task whose output was dropped by the caller. Answers whether to free the cell (T3).
    pub(super) fn finish(&self) -> Dropped {
        let before = Snapshot(self.0.fetch_add(COMPLETE - RUNNING, AcqRel));
        if before.refs() == 0 { Dropped::Free } else { Dropped::Alive }
    }

    /// RUNNING -> COMPLETE, if the handle, to which the output was just published, is still there (T4).
    pub(super) fn finish_if(&self, handle: bool) -> Result<Dropped, HandleGone> {
        if !handle {
            return Err(HandleGone);
        }
        self.transition(|now| {
            if !now.has_handle() {
                return (Err(HandleGone), None);
            }
            // A handle that took the output already may be gone with its reference.
            let last = if now.refs() == 0 { Dropped::Free } else { Dropped::Alive };
            (Ok(last), Some(now.0 + (COMPLETE - RUNNING)))
        })
    }

    /// Wakes the task; the caller keeps its reference.
    pub(super) fn wake(&self) -> Woken {
        self.transition(|now| match now {
            now if now.is_complete() => (Woken::Nothing, None),
            now if now.is_idle() => (Woken::Submit, Some(now.0 | RUNNING)),
            // Also when it is scheduled already: the write publishes what this thread did before waking.
            now => (Woken::Nothing, Some(now.0 | SCHEDULED)),
        })
    }

    /// Wakes the task and drops the caller's reference in the same step.
    pub(super) fn wake_and_drop(&self) -> Woken {
        self.transition(|now| match now {
            now if now.is_complete() && now.refs() == 1 => (Woken::Free, Some(now.0 - REF)),
            now if now.is_complete() => (Woken::Nothing, Some(now.0 - REF)),
            now if now.is_idle() => (Woken::Submit, Some((now.0 | RUNNING) - REF)),
            now => (Woken::Nothing, Some((now.0 | SCHEDULED).wrapping_sub(REF))),
        })
    }

    /// Wakes the task, and its next poll is told that it is asked.
    pub(super) fn ask(&self) -> Woken {
        self.transition(|now| match now {
            now if now.is_complete() => (Woken::Nothing, None),
            now if now.is_idle() => (Woken::Submit, Some(now.0 | ASKED | RUNNING)),
            now => (Woken::Nothing, Some(now.0 | ASKED | SCHEDULED)),
        })
    }

    /// The body, which runs, has heard that it is asked. Who asks from now on is another one.
    pub(super) fn answer(&self) {
        // Relaxed: who asks and who answers meet under a lock of theirs, in which the one left something before, and the other looks after.
        self.0.fetch_and(!ASKED, Relaxed);
    }

    /// Asks for cancellation. `Submit`: it was suspended, and the caller owns the `Runnable` that will drop the body.
    pub(super) fn cancel(&self, shutdown: bool) -> Woken {
        self.transition(|now| {
            if now.is_complete() || now.is_cancelled() {
                return (Woken::Nothing, None);
            }
            let why = if shutdown { CANCELLED | SHUTDOWN } else { CANCELLED };
            let answer = if now.is_idle() { Woken::Submit } else { Woken::Nothing };
            (answer, Some(now.0 | why | SCHEDULED))
        })
    }

    /// Gives up the handle: its claim on the output and its reference.
    pub(super) fn detach(&self) -> Detached {
        self.transition(|now| {
            if now.0 & (COMPLETE | HELD) != 0 {
                if now.is_complete() {
                    return (Detached::Output, None);
                }
                return (Detached::Held, Some(now.0 - HANDLE));
            }
            let next = Snapshot((now.0 - HANDLE).wrapping_sub(REF));
            (Detached::Gone(next.after_drop()), Some(next.0))
        })
    }

    pub(super) fn ref_inc(&self) {
        Snapshot(self.0.fetch_add(REF, Relaxed)).checked();
    }

    pub(super) fn ref_dec(&self) -> Dropped {
        let before = self.0.fetch_sub(REF, AcqRel);
        let may_owe = Snapshot(before).is_running();
        debug_assert!(may_owe || Snapshot(before).refs() > 0, "a reference was dropped twice");
        Snapshot(before.wrapping_sub(REF)).after_drop()
    }

    /// As [`ref_dec`](Self::ref_dec), without the read-modify-write where the caller is alone (T5).
    pub(super) fn ref_dec_last(&self) -> Dropped {
        let now = self.load();
        if now.is_complete() && now.refs() == 1 { Dropped::Free } else { self.ref_dec() }
    }

    /// A new reference for one who found the cell by walking memory; refused once it is COMPLETE (T5).
    pub(super) fn try_ref(&self) -> bool {
        self.transition(|now| match now.is_complete() {
            true => (false, None),
            false => (true, Some(now.0.wrapping_add(REF))),
        })
    }

    /// Takes an [`Unreachable`](Dropped::Unreachable) task, which nobody else can see, to be run once more and dropped.
    pub(super) fn claim_unreachable(&self) {
        let before = self.0.fetch_or(SCHEDULED | CANCELLED, AcqRel);
        debug_assert!(Snapshot(before).is_idle() && Snapshot(before).refs() == 0);
    }
}

impl Snapshot {
    pub(super) fn is_scheduled(self) -> bool {
        self.0 & SCHEDULED != 0
    }
    pub(super) fn is_running(self) -> bool {
        self.0 & RUNNING != 0
    }
    pub(super) fn is_parked(self) -> bool {
        self.0 & PARKED != 0
    }
    pub(super) fn is_complete(self) -> bool {
        self.0 & COMPLETE != 0
    }
    pub(super) fn is_cancelled(self) -> bool {
        self.0 & CANCELLED != 0
    }
    pub(super) fn is_asked(self) -> bool {
        self.0 & ASKED != 0
    }
    /// What a poll that begins now is told.
    #[inline(always)]
    pub(super) fn orders(self) -> Orders {
        Orders((self.0 >> ORDERS_SHIFT) as u8 & 3)
    }
    pub(super) fn is_shutdown(self) -> bool {
        self.0 & SHUTDOWN != 0
    }
    pub(super) fn has_handle(self) -> bool {
        self.0 & HANDLE != 0
    }
    pub(super) fn is_pinned(self) -> bool {
        self.0 & PINNED != 0
    }
    pub(super) fn is_awaited(self) -> bool {
        self.0 & AWAITED != 0
    }
    /// Cancelled or held: it is not to be polled as usual.
    pub(super) fn is_stopped(self) -> bool {
        self.0 & (CANCELLED | HELD) != 0
    }
    /// Whether it ever had children.
    pub(super) fn is_parent(self) -> bool {
        self.0 & KIN != 0
    }
    /// How the body ended, if it did and the task waits for its children.
    pub(super) fn held(self) -> Option<Outcome> {
        (self.0 & HELD != 0).then(|| Outcome::from_bits(self.0 >> KIN_SHIFT & 7))
    }
    pub(super) fn priority(self) -> u8 {
        (self.0 >> PRIORITY_SHIFT & 3) as u8
    }
    /// How many are counted; below zero if others gave back what is owed (`owed.rs`).
    pub(super) fn refs(self) -> isize {
        self.0 as isize >> REF_SHIFT
    }
    /// The same word, if its references can be counted.
    #[inline(always)]
    fn checked(self) -> Self {
        if self.refs() > REF_LIMIT {
            too_many_references();
        }
        self
    }
    /// Neither queued nor running nor over: only a wake-up or a cancellation moves it on.
    pub(super) fn is_idle(self) -> bool {
        self.0 & (SCHEDULED | RUNNING | COMPLETE) == 0
    }
    fn after_drop(self) -> Dropped {
        match self.refs() {
            0 if self.is_complete() => Dropped::Free,
            0 if self.is_idle() => Dropped::Unreachable,
            _ => Dropped::Alive,
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [
            (SCHEDULED, "SCHEDULED"),
            (RUNNING, "RUNNING"),
            (COMPLETE, "COMPLETE"),
            (CANCELLED, "CANCELLED"),
            (ASKED, "ASKED"),
            (SHUTDOWN, "SHUTDOWN"),
            (HANDLE, "HANDLE"),
            (PINNED, "PINNED"),
            (KIN, "PARENT"),
            (HELD, "HELD"),
            (PARKED, "PARKED"),
            (AWAITED, "AWAITED"),
        ];
        f.write_str("State(")?;
        for (_, name) in flags.iter().filter(|(bit, _)| self.0 & bit != 0) {
            write!(f, "{name} ")?;
        }
        write!(f, "priority {} refs {})", self.priority(), self.refs())
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

/// Going on would free a cell that leaked references still point to.
#[cold]
fn too_many_references() -> ! {
    struct Abort;
    impl Drop for Abort {
        fn drop(&mut self) {
            panic!("second panic: abort");
        }
    }
    let _abort = Abort;
    panic!("ropewalk: a task has more references than can be counted: wakers are being leaked");
}
