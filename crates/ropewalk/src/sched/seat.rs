//! The seat of a runtime without threads: one thread at a time drives its workers, and the others that wait for something
//! in it stand in line.
//!
//! A wait of a thread that is inside such a runtime cannot just park: the thread that drives may leave before the wait is
//! over, and then nobody would run what it waits for. So each of these waits is a *candidate*. A thread with a wait inside
//! a wait has one candidate for each, and only the innermost of them can do anything; so a candidate stands in line only
//! while nothing else is under way inside it.
//!
//! Candidate (`wait/candidate.rs`):
//!
//! 1. leaves the line, if it stands there; if it was handed the seat it drives instead (below)
//! 2. looks whether its wait is over (`attempt`: whatever this calls may wait, with a candidate of its own)
//! 3. if not, asks ([`ask`](Line::ask)): takes the seat if that is free; or stands in line with its waker, where its number,
//!    drawn when it asked first, puts it; or learns that nobody drives and it may not, because the workers are bound to another
//!    thread or their driver is away, which most waits answer with a panic; or that the workers are gone, and then it just waits
//! 4. sleeps until its own waker is called, by what it waits for or by a hand-over; goes on at 1
//!
//! Driver (`Driving`):
//!
//! 1. has the seat, and with it the workers, from `take`, `ask` or `leave`
//! 2. runs them until its own wait is over, or is to be interrupted (then it first ends what it ran as a root)
//! 3. ends strands that borrow from calls on other threads and would be bound to a thread that leaves
//! 4. hands over, also when it unwinds ([`give_back`](Line::give_back), called by `Drop`)
//!
//! Hand-over, all of it under the lock:
//!
//! 1. the workers are put back, with the thread they are bound to, if any
//! 2. the first candidate in line that *runs by itself* and may have them (any, or one of the thread they are bound to) leaves
//!    the line, and the seat is *handed* to it: from now on nobody else can take it
//! 3. if there is none, the seat is free, and all candidates leave the line
//! 4. the wakers of those that left it are called, after unlocking. Those of 3 ask again: the first that comes takes the seat, or
//!    they learn why nobody may.
//!
//! Only a plain thread runs by itself. A strand or a task of another runtime runs when somebody drives that one, or its worker has
//! time; if that went down it never does, though it still stands in line. So none of them is handed the seat: each is told that
//! it is free, and nobody waits for one that does not come.
//!
//! Away: a driver that is a strand or task of another runtime without threads sleeps there as a guest, and is not woken while nobody
//! drives that one. It keeps the seat, since its root may be in the middle of something.
//!
//! 1. who gives up the other runtime says so ([`away`](Line::away)); all candidates leave the line, and learn that nobody drives here
//! 2. who takes the other runtime says so ([`back`](Line::back)), before it drives
//!
//! Unwinding: a candidate that is dropped, for whatever reason, leaves the line. If it was handed the seat it becomes the driver
//! for a moment ([`leave`](Line::leave)), and hands over.
//!
//! Invariants:
//!
//! * **SQ1** The workers are in one place: in the state, or with the thread named as `holder`. So one thread uses them at a time,
//!   and what it did is seen by the next, through the lock.
//! * **SQ2** Bound workers leave the state on their home thread only.
//! * **SQ3** While the seat is free (no holder), no candidate in line may have it: each hand-over looks, and so does each
//!   candidate in the step in which it enters the line. So none is forgotten.
//! * **SQ4** A seat that is handed has a candidate that was woken after that, or leaves: either takes it on, since nothing but its
//!   own thread is needed for that, which is the one that it asked on.
//! * **SQ5** No waker is cloned, called or dropped under the lock.
//! * **SQ6** A candidate that stands in line and does not know that nobody drives is told when that is so, also after a look at what
//!   is queued ([`while_unused`](Line::while_unused)), for which the seat is kept from all others.

use crate::runtime::wake_safely;
use ropewalk_core::prim::{Lock, LockGuard};
use std::collections::VecDeque;
use std::task::Waker;

#[cfg(test)]
mod tests;

/// Who has workers `C`, and which threads `K` want them; see the head of this file.
pub(crate) struct Line<C, K>(Lock<State<C, K>>);

struct State<C, K> {
    /// `None` while they are driven, and when they are gone.
    crew: Option<C>,
    /// The thread that drives, or was handed the seat.
    holder: Option<K>,
    /// The holder sleeps where nobody wakes it.
    away: bool,
    /// Somebody looks at what is queued.
    looked_at: bool,
    /// The thread to which the workers are bound. Means something while there is no driver.
    home: Option<K>,
    /// The candidate that was handed the seat, and has not come for it yet.
    handed: Option<u64>,
    /// In the order of their numbers.
    candidates: VecDeque<Candidate<K>>,
    /// The next number.
    next: u64,
}

struct Candidate<K> {
    number: u64,
    from: Origin<K>,
    waker: Waker,
    /// It was told that nobody drives.
    knows: bool,
}

/// Where a candidate asks from, and how.
#[derive(Clone, Copy)]
pub(crate) struct Origin<K> {
    pub(crate) thread: K,
    /// It needs nobody but this thread to come for the seat.
    pub(crate) by_itself: bool,
    /// It stands in line also where the workers are bound to another thread.
    pub(crate) stays: bool,
}

/// What a candidate is told.
#[derive(Debug)]
pub(crate) enum Turn<C, K> {
    /// It drives.
    Yours(C),
    /// It stands in line.
    NotYet,
    /// The workers are bound to another thread, and nobody drives there.
    BoundTo(K),
    /// Their driver sleeps as a guest of another runtime without threads, which nobody drives.
    Away,
    /// There are no workers any more.
    Over,
}

impl<C, K: Copy + Eq> Line<C, K> {
    pub(crate) fn new(crew: C) -> Self {
        let (candidates, next) = (VecDeque::new(), 0);
        let (crew, away, looked_at) = (Some(crew), false, false);
        Self(Lock::new(State {
            crew,
            holder: None,
            away,
            looked_at,
            home: None,
            handed: None,
            candidates,
            next,
        }))
    }

    /// Takes the seat if it is free, for a caller that does not wait: it is [`NotYet`](Turn::NotYet) its turn if another one holds it.
    pub(crate) fn take(&self, here: K) -> Turn<C, K> {
        self.0.lock().take(here)
    }

    /// The thread that drives, if one does.
    pub(crate) fn holder(&self) -> Option<K> {
        self.0.lock().holder
    }

    /// A candidate asks for the seat; `number` is its own. If it has to wait it stands in line, with `waker`.
    pub(crate) fn ask(&self, number: &mut Option<u64>, from: Origin<K>, waker: &Waker) -> Turn<C, K> {
        let (waker, Origin { thread: here, stays, .. }) = (waker.clone(), from);
        let mut state = self.0.lock();
        let number = *number.get_or_insert_with(|| state.draw());
        let turn = state.take(here);
        let nobody_drives = matches!(turn, Turn::BoundTo(_) | Turn::Away);
        let candidate = Candidate { number, from, waker, knows: nobody_drives };
        let waits = matches!(turn, Turn::NotYet) || stays && nobody_drives;
        let unused = if waits { state.enlist(candidate) } else { Some(candidate) };
        drop(state);
        drop(unused); // SQ5
        turn
    }

    /// A candidate leaves the line. If it was handed the seat, it is the driver now.
    #[must_use]
    pub(crate) fn leave(&self, number: u64, here: K) -> Option<C> {
        let mut state = self.0.lock();
        if state.handed != Some(number) {
            let struck = state.strike(number);
            drop(state);
            drop(struck); // SQ5
            return None;
        }
        assert!(state.may_have(here), "SQ4: it has not left its thread");
        state.handed = None;
        state.crew.take()
    }

    /// Candidate `number`, which was told that nobody drives, calls `f` while that is so. It must not wait: nobody is given the seat
    /// meanwhile. Not if somebody drives, or does the same, or may: then the candidate asks again when that is over.
    pub(crate) fn while_unused<R>(&self, number: u64, here: K, f: impl FnOnce() -> R) -> Option<R> {
        let mut state = self.0.lock();
        if !matches!(state.bar(here), Some(Turn::BoundTo(_) | Turn::Away)) {
            state.forget_that_it_knows(number);
            return None;
        }
        state.looked_at = true;
        drop(state);
        struct GiveUp<'a, C, K: Copy + Eq>(&'a Line<C, K>);
        impl<C, K: Copy + Eq> Drop for GiveUp<'_, C, K> {
            fn drop(&mut self) {
                let mut state = self.0.0.lock();
                state.looked_at = false;
                Line::pass_on(state);
            }
        }
        let _give_up = GiveUp(self);
        Some(f())
    }

    /// The driver sleeps as a guest, and its host is not driven any more.
    pub(crate) fn away(&self) {
        let mut state = self.0.lock();
        state.away = true;
        state.candidates.iter_mut().for_each(|candidate| candidate.knows = false);
        Self::pass_on(state);
    }

    /// Its host is driven again.
    pub(crate) fn back(&self) {
        self.0.lock().away = false;
    }

    /// The driver gives up the seat, with workers that are bound to `home`, or without any. If `keeps` says so it gets them back: it
    /// has to do something that nobody else could do, once they are here.
    pub(crate) fn give_back(
        &self,
        crew: Option<C>,
        home: Option<K>,
        keeps: impl FnOnce() -> bool,
    ) -> Option<C> {
        let mut state = self.0.lock();
        if crew.is_some() && keeps() {
            return crew;
        }
        (state.crew, state.home, state.holder) = (crew, home, None);
        state.candidates.iter_mut().for_each(|candidate| candidate.knows = false);
        Self::pass_on(state);
        None
    }

    /// Hands the seat over, if it is free (SQ3). If nobody runs by itself who may have it, tells them: all but those that may not, and know that
    /// nobody drives.
    fn pass_on(mut state: LockGuard<'_, State<C, K>>) {
        if state.is_used() {
            return; // whoever uses it passes it on
        }
        let woken = match state.heir() {
            Some(heir) => {
                (state.holder, state.handed) = (Some(heir.from.thread), Some(heir.number));
                VecDeque::from([heir])
            }
            None => state.told(),
        };
        drop(state);
        woken.into_iter().for_each(|candidate| wake_safely(candidate.waker)); // SQ5
    }
}

impl<C, K: Copy + Eq> State<C, K> {
    fn draw(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Whether the workers, if they are here, may go to that thread (SQ2).
    fn may_have(&self, thread: K) -> bool {
        self.crew.is_some() && self.home.is_none_or(|home| home == thread)
    }

    /// Somebody drives, or at least nobody else may.
    fn is_used(&self) -> bool {
        self.looked_at || self.holder.is_some() && !self.away
    }

    /// Why that thread may not have the seat, if it may not.
    fn bar(&self, thread: K) -> Option<Turn<C, K>> {
        match (self.home, &self.crew) {
            _ if self.is_used() => Some(Turn::NotYet),
            _ if self.holder.is_some() => Some(Turn::Away),
            (Some(home), Some(_)) if home != thread => Some(Turn::BoundTo(home)),
            (_, None) => Some(Turn::Over),
            (_, Some(_)) => None,
        }
    }

    fn take(&mut self, here: K) -> Turn<C, K> {
        self.bar(here).unwrap_or_else(|| {
            self.holder = Some(here);
            Turn::Yours(self.crew.take().expect("there is no bar"))
        })
    }

    /// Puts a candidate where its number belongs. Gives back what stood there of it before.
    fn enlist(&mut self, candidate: Candidate<K>) -> Option<Candidate<K>> {
        let at = self.candidates.partition_point(|other| other.number < candidate.number);
        match self.candidates.get_mut(at) {
            Some(known) if known.number == candidate.number => Some(std::mem::replace(known, candidate)),
            _ => {
                self.candidates.insert(at, candidate);
                None
            }
        }
    }

    /// The candidate that is handed the seat.
    fn heir(&mut self) -> Option<Candidate<K>> {
        let comes = |from: Origin<K>| from.by_itself && self.may_have(from.thread);
        let at = self.candidates.iter().position(|candidate| comes(candidate.from))?;
        self.candidates.remove(at)
    }

    /// Those that leave the line because nobody in it is handed the seat.
    fn told(&mut self) -> VecDeque<Candidate<K>> {
        let candidates = std::mem::take(&mut self.candidates);
        let leaves = |candidate: &Candidate<K>| !candidate.knows || self.may_have(candidate.from.thread);
        let (told, stay) = candidates.into_iter().partition(leaves);
        self.candidates = stay;
        told
    }

    /// A candidate that is in line wants to be told once more.
    fn forget_that_it_knows(&mut self, number: u64) {
        if let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.number == number) {
            candidate.knows = false;
        }
    }

    fn strike(&mut self, number: u64) -> Option<Candidate<K>> {
        let at = self.candidates.iter().position(|candidate| candidate.number == number)?;
        self.candidates.remove(at)
    }
}
