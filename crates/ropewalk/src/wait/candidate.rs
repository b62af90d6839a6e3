//! A wait inside a runtime without threads is a candidate for driving it; the protocol is in `sched/seat.rs`.
//!
//! What stands here makes of the `attempt` of any wait one that does the candidate's part, and the driver's: if it is handed the seat it
//! drives, inside this very poll, until the wait is over. So each way to wait stays as it is: parking the thread, suspending the
//! strand, parking the stack. A stack may be inside several runtimes without threads, one inside the other; then it is a candidate for
//! each. While it drives one of them, what it waits for is a root there, and that one goes on being a candidate for the others.

use super::park_thread_apart;
use super::root::{Driven, drive_root};
use crate::context;
use crate::runtime::{Handle, Shared};
use crate::sched::hosted::{Driving, Taken};
use crate::sched::pool::TakenBack;
use crate::sched::seat::Turn;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::ThreadId;

/// What a wait does where nobody may drive but a thread that does not.
#[derive(Clone, Copy)]
pub(super) enum Manner<'a> {
    /// It panics. While it drives it may be interrupted.
    Open(&'static str),
    /// It waits to its end, which others rely on; and drops this first.
    ToTheEnd(&'a dyn Fn(&Handle) -> Option<TakenBack>),
}

/// The wait of a stack, as a candidate for one runtime.
struct Candidate {
    runtime: Handle,
    number: Cell<Option<u64>>,
    /// It drives that runtime.
    drives: Cell<bool>,
}

impl Candidate {
    fn new(runtime: Handle) -> Self {
        Self { runtime, number: Cell::new(None), drives: Cell::new(false) }
    }

    /// Step 3.
    fn ask(&self, stays: bool, waker: &Waker) -> Turn<Driving<'_>, ThreadId> {
        let Ok(seat) = self.runtime.shared.seat() else { return Turn::Over };
        let mut number = self.number.get();
        let turn = seat.ask(&mut number, stays, waker);
        self.number.set(number);
        turn
    }

    /// Step 1.
    fn step_out(&self) -> Option<Driving<'_>> {
        let number = self.number.get()?;
        self.runtime.shared.seat().ok()?.leave(number)
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        drop(self.step_out()); // hands over
    }
}

/// A wait with its candidates.
pub(super) struct Waiting<'a, F> {
    candidates: Vec<Candidate>,
    manner: Manner<'a>,
    /// The runtime that this stack is inside of.
    inside: Option<Handle>,
    attempt: F,
    /// It has not been polled, and drives first.
    begins: bool,
}

/// How a poll of a wait with candidates ended.
enum Turned<R> {
    Polled(Poll<R>),
    /// It drove, and has to look again.
    Again,
}

impl<'a, R, F: FnMut(&mut Context<'_>, Option<&Handle>) -> Poll<R>> Waiting<'a, F> {
    /// A wait that is a candidate for `also`, and for the runtimes that this stack is inside of. `attempt` is told which one is driven,
    /// innermost, on whose worker it is then polled.
    pub(super) fn new(also: &[Handle], manner: Manner<'a>, attempt: F) -> Self {
        let (roots, inside) = (context::roots_here(), context::with_entered(Handle::clone));
        let mut candidates: Vec<Candidate> = Vec::new();
        for runtime in also.iter().chain(&roots) {
            let is_new = |known: &Candidate| !Arc::ptr_eq(&known.runtime.shared, &runtime.shared);
            if runtime.shared.is_threadless()
                && !is_worker_of(&runtime.shared)
                && candidates.iter().all(is_new)
            {
                candidates.push(Candidate::new(runtime.clone()));
            }
        }
        Self { candidates, manner, inside, attempt, begins: false }
    }

    /// The wait of a root of `runtime`, for which it is the first candidate. It drives before it polls, if it can.
    pub(super) fn of_root(runtime: &Handle, what: &'static str, attempt: F) -> Self {
        let mut this = Self::new(&[], Manner::Open(what), attempt);
        this.candidates.retain(|known| !Arc::ptr_eq(&known.runtime.shared, &runtime.shared));
        this.candidates.insert(0, Candidate::new(runtime.clone()));
        (this.begins, this.inside) = (true, None); // where it is, it says itself
        this
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<R> {
        let (candidates, manner) = (&*self.candidates, self.manner);
        let handed = if std::mem::take(&mut self.begins) { take(&candidates[0], manner) } else { None };
        poll(candidates, handed, manner, self.inside.as_ref(), &mut self.attempt, cx, None)
    }
}

/// Takes the seat, if it is free.
fn take<'a>(candidate: &'a Candidate, manner: Manner<'_>) -> Option<(&'a Candidate, Driving<'a>)> {
    match (candidate.runtime.shared.seat().ok()?.take(), manner) {
        (Ok(driving), _) => Some((candidate, driving)),
        (Err(reason @ (Taken::BoundTo(_) | Taken::Away)), Manner::Open(what)) => {
            panic!("ropewalk: {what}: {reason}")
        }
        (Err(_), _) => None,
    }
}

/// Whether this is one of its workers: somebody drives it, on this thread.
fn is_worker_of(runtime: &Shared) -> bool {
    context::with_worker(|worker| {
        worker.is_some_and(|worker| std::ptr::eq(Arc::as_ptr(&worker.pool.runtime), runtime))
    })
}

type Attempt<'a, R> = &'a mut dyn FnMut(&mut Context<'_>, Option<&Handle>) -> Poll<R>;

/// The candidate's steps, for all of those that do not drive; `driven` is the runtime on whose worker this is polled.
fn poll<'a, R>(
    candidates: &'a [Candidate],
    mut handed: Option<(&'a Candidate, Driving<'a>)>,
    manner: Manner<'_>,
    inside: Option<&Handle>,
    attempt: Attempt<'_, R>,
    cx: &mut Context<'_>,
    driven: Option<&Handle>,
) -> Poll<R> {
    loop {
        let waits = || candidates.iter().filter(|candidate| !candidate.drives.get());
        if handed.is_none() {
            handed = waits().find_map(|candidate| Some((candidate, candidate.step_out()?)));
        }
        if handed.is_none() {
            let _inside = as_inside(candidates, inside, driven);
            if let Poll::Ready(value) = attempt(cx, driven) {
                return Poll::Ready(value);
            }
            handed = waits().find_map(|candidate| Some((candidate, ask(candidate, manner, cx.waker())?)));
        }
        let Some((candidate, driving)) = handed.take() else { return Poll::Pending };
        let turned = drive(candidate, driving, manner, cx.waker(), |cx| {
            poll(candidates, None, manner, inside, attempt, cx, Some(&candidate.runtime))
        });
        if let Turned::Polled(polled) = turned {
            return polled;
        }
    }
}

/// What is polled on a worker of `driven` is still inside what its stack is inside of: the runtimes that it is a candidate for, so that
/// waits in it are, too, and innermost the one that free functions mean.
fn as_inside(
    candidates: &[Candidate],
    inside: Option<&Handle>,
    driven: Option<&Handle>,
) -> Vec<context::Entered> {
    let Some(driven) = driven else { return Vec::new() };
    let innermost = inside.unwrap_or(driven);
    let around = candidates.iter().filter(|candidate| !candidate.drives.get());
    let mut around: Vec<_> = around.map(|candidate| &candidate.runtime).collect();
    if !around.is_empty() || !Arc::ptr_eq(&innermost.shared, &driven.shared) {
        around.push(innermost);
    }
    around.into_iter().map(|runtime| context::enter(runtime.clone())).collect()
}

/// Step 3, with what comes of it.
fn ask<'a>(candidate: &'a Candidate, manner: Manner<'_>, waker: &Waker) -> Option<Driving<'a>> {
    let stays = matches!(manner, Manner::ToTheEnd(_));
    match (candidate.ask(stays, waker), manner) {
        (Turn::Yours(driving), _) => Some(driving),
        (Turn::BoundTo(home), Manner::Open(what)) => panic!("ropewalk: {what}: {}", Taken::BoundTo(home)),
        (Turn::Away, Manner::Open(what)) => panic!("ropewalk: {what}: {}", Taken::Away),
        (Turn::BoundTo(_) | Turn::Away, Manner::ToTheEnd(instead)) => {
            let (seat, number) = (candidate.runtime.shared.seat().ok()?, candidate.number.get()?);
            let unstarted = seat.while_unused(number, || instead(&candidate.runtime));
            drop(unstarted); // what it holds may wait here, too
            None
        }
        (Turn::NotYet | Turn::Over, _) => None,
    }
}

/// A driver is inside of nothing, whatever its wait is inside of: what it sleeps by, as a guest, is its host's.
struct Outside(Vec<Handle>);

impl Outside {
    #[inline(never)] // TL1
    fn step() -> Self {
        Self(context::go_away())
    }
}

impl Drop for Outside {
    #[inline(never)] // TL1
    fn drop(&mut self) {
        context::come_back(std::mem::take(&mut self.0));
    }
}

/// The driver's steps.
fn drive<R>(
    candidate: &Candidate,
    driving: Driving<'_>,
    manner: Manner<'_>,
    waker: &Waker,
    root: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> Turned<R> {
    struct Drives<'a>(&'a Cell<bool>);
    impl Drop for Drives<'_> {
        fn drop(&mut self) {
            self.0.set(false);
        }
    }
    candidate.drives.set(true);
    let drives = Drives(&candidate.drives);
    let is_open = matches!(manner, Manner::Open(_));
    let _outside = Outside::step();
    let ended = drive_root(&candidate.runtime, driving, is_open, root);
    drop(drives);
    match ended {
        Driven::Done(value) => Turned::Polled(Poll::Ready(value)),
        Driven::Panicked(payload) => resume_unwind(payload),
        Driven::Terminated if is_open => {
            candidate.runtime.shared.raise_fatal();
            unreachable!("the root is cancelled only when a panic ended the runtime")
        }
        Driven::Terminated => Turned::Again,
        Driven::Interrupted => {
            waker.wake_by_ref(); // whatever it waits with throws now; should it not, it looks again
            Turned::Polled(Poll::Pending)
        }
    }
}

/// Whether a wait here has to be a candidate.
#[inline]
pub(super) fn is_root_here() -> bool {
    context::has_entered()
}

/// Parks the thread until `attempt` is ready, as a candidate for what it is inside of.
pub(super) fn park_thread<R>(what: &'static str, mut attempt: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    if !is_root_here() {
        return park_thread_apart(attempt);
    }
    let mut waiting = Waiting::new(&[], Manner::Open(what), |cx, _| attempt(cx));
    park_thread_apart(|cx| waiting.poll(cx))
}
