//! Every order of what can happen to a task, on one thread, beside a reference model that says what must come of it.
//!
//! [`orders`] walks all sequences of [`Op`]s that make sense: an [`Op`] is tried wherever the [`Model`] says it is
//! possible, and the sequence goes on behind it if it changed anything. Each gets a fresh task, and task and model are
//! compared after every step. Then the sequence is brought to its end: everything that holds the task goes, and it must
//! be gone without a trace.

use super::lab::{Bench, Lab, Mark, Value};
use super::reference::{Case, End, Model, OPS, Op, Op::*, Place, Seen, Step, Step::*};
use super::reference::{IN_DROP_OF_BODY, IN_DROP_OF_OUTPUT, IN_POLL};
use crate::prim::real::{AtomicUsize, Ordering::Relaxed};
use crate::task::{Body, Header, Host, Orders, Ran, TaskError, TaskHandle, TaskRef};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

std::thread_local!(static YIELDED: Cell<bool> = const { Cell::new(false) });

/// Unwinds without the panic hook, which would print a million messages.
fn quiet_panic(text: &'static str) -> ! {
    resume_unwind(Box::new(text))
}

/// The text of one of our panics.
fn known(text: &str) -> &'static str {
    [IN_POLL, IN_DROP_OF_BODY, IN_DROP_OF_OUTPUT].into_iter().find(|one| *one == text).expect("one of ours")
}

struct Interrupted;

/// The body: plays its steps.
struct Actor<const BY_POLL: bool> {
    case: Case,
    bench: Arc<Bench>,
    polls: usize,
    _counted: Value,
}

impl<const BY_POLL: bool> Body for Actor<BY_POLL> {
    type Output = Fruit;
    const CANCELLED_BY_POLL: bool = BY_POLL;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>, orders: Orders) -> Poll<Fruit> {
        if orders.is_cancelled() {
            assert!(BY_POLL, "a cancelled future is polled");
            resume_unwind(Box::new(Interrupted));
        }
        let step = self.case.steps.get(self.polls).copied().unwrap_or(Wait);
        self.polls += 1;
        if self.case.bears && self.polls == 1 {
            self.bench.bear(Header::of_waker(cx.waker()).expect("a waker of ours"));
        }
        match step {
            Wait => {}
            WakeItself => cx.waker().wake_by_ref(),
            Yield => YIELDED.set(true),
            CancelItself => cancel(cx.waker(), false),
            Finish => {
                // A flag that is set by a poll that ends the task must not reach the next task.
                YIELDED.set(true);
                let panics = self.case.output_drop_panics;
                return Poll::Ready(Fruit { panics, _counted: self.bench.value(0) });
            }
            Panic => quiet_panic(IN_POLL),
        }
        Poll::Pending
    }

    fn is_interruption(payload: &(dyn Any + Send)) -> bool {
        payload.is::<Interrupted>()
    }
}

impl<const BY_POLL: bool> Drop for Actor<BY_POLL> {
    fn drop(&mut self) {
        self.bench.tally.polls.store(self.polls, Relaxed);
        if self.case.body_drop_panics {
            quiet_panic(IN_DROP_OF_BODY);
        }
    }
}

/// The output.
struct Fruit {
    panics: bool,
    _counted: Value,
}

impl Drop for Fruit {
    fn drop(&mut self) {
        if self.panics {
            quiet_panic(IN_DROP_OF_OUTPUT);
        }
    }
}

fn cancel(waker: &Waker, shutdown: bool) {
    let task = Header::of_waker(waker).expect("a waker of ours");
    // SAFETY: the waker keeps the task alive.
    unsafe { Header::reference(task) }.cancel_for(shutdown);
}

/// The task, and what holds it.
struct World {
    /// The cell's bench counts; that of the body counts its drops as outputs.
    bench: Arc<Bench>,
    bodies: Arc<Bench>,
    cell: NonNull<Header>,
    handle: Option<TaskHandle<Fruit>>,
    waker: Option<Waker>,
    taken: Option<End>,
}

impl World {
    fn new<H: Host<Extra = Mark>, const BY_POLL: bool>(case: Case) -> Self {
        let (bench, bodies) = (Bench::new(), Bench::new());
        let actor = Actor::<BY_POLL> { case, bench: bench.clone(), polls: 0, _counted: bodies.value(0) };
        let (runnable, handle) = bench.emplace::<H, _>(actor);
        let (cell, waker) = (runnable.as_raw(), Some(runnable.task().waker()));
        runnable.schedule();
        Self { bench, bodies, cell, handle: Some(handle), waker, taken: None }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Run => {
                let runnable = self.bench.next().expect("queued");
                match YIELDED.with(|yielded| runnable.run_with(yielded)) {
                    Ran::Woken(again) | Ran::Yielded(again) => again.schedule(),
                    Ran::Idle | Ran::Done => {}
                }
                assert!(!YIELDED.get(), "the flag is left for the next task");
            }
            DropRunnable => drop(self.bench.next().expect("queued")),
            RefuseRunnable => self.bench.next().expect("queued").refuse(),
            CancelRunnable => {
                let runnable = self.bench.next().expect("queued");
                runnable.cancel(true);
                runnable.schedule();
            }
            Wake => self.waker.as_ref().expect("possible").wake_by_ref(),
            WakeAndDrop => self.waker.take().expect("possible").wake(),
            DropWaker => self.waker = None,
            Cancel => self.handle.as_ref().expect("possible").cancel(),
            Shutdown => cancel(self.waker.as_ref().expect("possible"), true),
            // SAFETY: the bench keeps the memory, and the state word in it (L1).
            Sweep => drop(unsafe { TaskRef::find(self.cell) }.map(|task| task.cancel_for(true))),
            Take => self.take(),
            DropHandle => self.handle = None,
            ChildEnds => self.bench.bury_child(),
        }
    }

    fn take(&mut self) {
        let handle = self.handle.as_mut().expect("possible");
        let finished = handle.is_finished();
        let Poll::Ready(end) = Pin::new(handle).poll(&mut Context::from_waker(Waker::noop())) else {
            return assert!(!finished);
        };
        self.handle = None;
        self.taken = Some(match &end {
            Ok(_) => End::Value,
            Err(TaskError::Cancelled) => End::Cancelled,
            Err(TaskError::Shutdown) => End::Shutdown,
            Err(TaskError::NoThread) => End::NoThread,
            Err(TaskError::Ancestor) => unreachable!("nobody here stems from it"),
            Err(TaskError::Panicked(panic)) => End::Panicked(known(panic.message())),
        });
        let _panic_of_the_test = catch_unwind(AssertUnwindSafe(|| drop(end)));
    }

    fn seen(&self) -> Seen {
        let count = |what: &AtomicUsize| what.load(Relaxed);
        let tally = &self.bench.tally;
        assert_eq!(count(&tally.extras), count(&tally.freed));
        assert!(count(&tally.unhandled) <= 1, "a task has one end");
        Seen {
            queued: self.bench.queued(),
            bodies: count(&self.bodies.tally.outputs),
            outputs: count(&tally.outputs),
            unhandled: tally.said.lock().unwrap().as_deref().map(known),
            freed: count(&tally.freed),
            taken: self.taken,
        }
    }
}

/// Task and model, side by side.
struct Pair(World, Model, Vec<Op>);

impl Pair {
    fn apply(&mut self, op: Op) {
        let Self(world, model, done) = self;
        done.push(op);
        // Nothing that a task does unwinds to whoever runs, wakes, cancels or drops it.
        let went = catch_unwind(AssertUnwindSafe(|| world.apply(op)));
        model.apply(op);
        assert!(went.is_ok(), "{:?}: the last of {done:?} unwinds", model.case);
        assert_eq!(world.seen(), model.seen, "task and model after {done:?}, {:?}", model.case);
    }

    /// Lets go of everything and runs what is left: then the task is gone.
    fn finish(mut self) {
        loop {
            let Model { waker, handle, place, case, child, .. } = self.1;
            match place {
                _ if waker => self.apply(DropWaker),
                _ if child => self.apply(ChildEnds),
                Place::Queued => self.apply(Run),
                Place::Waiting if handle => self.apply(DropHandle),
                Place::Waiting => {
                    assert!(case.finds, "an idle task that nothing can wake");
                    self.apply(Sweep);
                }
                Place::Over if handle => self.apply(Take),
                Place::Over => break,
            }
        }
        let Self(world, model, done) = self;
        assert_eq!((model.seen.bodies, model.seen.freed), (1, 1), "{:?} after {done:?}", model.case);
        assert_eq!(world.bench.tally.polls.load(Relaxed), model.polls, "polls in {done:?}, {:?}", model.case);
        // SAFETY: the bench keeps the memory (L1).
        assert!(unsafe { TaskRef::find(world.cell) }.is_none(), "a task that is over was found");
    }
}

/// Calls `each` with every sequence of possible operations that cannot be made longer.
fn orders(model: Model, done: &mut Vec<Op>, each: &mut impl FnMut(&[Op])) {
    let runs = |op: &Op| matches!(op, Run | DropRunnable | RefuseRunnable); // a held task goes on after a dropped Runnable, too
    let ran = done.iter().filter(|op| runs(op)).count();
    let mut last = true;
    for op in OPS.into_iter().filter(|op| model.possible(*op) && (!runs(op) || ran < model.case.runs())) {
        last = false;
        let mut next = model;
        next.apply(op);
        done.push(op);
        if next == model {
            each(done)
        } else {
            orders(next, done, each)
        }
        done.pop();
    }
    if last {
        each(done);
    }
}

fn explore<H: Host<Extra = Mark>, const BY_POLL: bool>(steps: &'static [Step], bears: bool) -> usize {
    let mut sequences = 0;
    let flags = [false, true];
    for body_drop_panics in flags {
        for output_drop_panics in flags.into_iter().filter(|panics| !panics || steps.contains(&Finish)) {
            let (by_poll, finds) = (BY_POLL, H::FINDS_TASKS);
            let case = Case { steps, by_poll, body_drop_panics, output_drop_panics, finds, bears };
            orders(Model::new(case), &mut Vec::new(), &mut |ops| {
                let mut pair = Pair(World::new::<H, BY_POLL>(case), Model::new(case), Vec::new());
                ops.iter().for_each(|op| pair.apply(*op));
                pair.finish();
                sequences += 1;
            });
        }
    }
    sequences
}

fn everywhere(steps: &'static [Step]) {
    everywhere_with(steps, false);
}

fn everywhere_with(steps: &'static [Step], bears: bool) {
    let sequences = explore::<Lab<false, true>, false>(steps, bears)
        + explore::<Lab<true, false>, false>(steps, bears)
        + explore::<Lab<false, true>, true>(steps, bears)
        + explore::<Lab<true, true>, true>(steps, bears);
    println!("{steps:?}, bears: {bears}: {sequences} sequences");
    assert!(sequences > 1000, "only {sequences} sequences");
}

#[test]
fn life_of_a_task_that_ends_at_once() {
    everywhere(&[Finish]);
}

#[test]
fn life_of_a_task_that_panics_at_once() {
    everywhere(&[Panic]);
}

#[test]
fn life_of_a_task_that_waits_for_ever() {
    everywhere(&[Wait]);
}

#[test]
fn life_of_a_task_that_waits_once() {
    everywhere(&[Wait, Finish]);
}

#[test]
fn life_of_a_task_that_waits_and_panics() {
    everywhere(&[Wait, Panic]);
}

#[test]
fn life_of_a_task_that_wakes_itself() {
    everywhere(&[WakeItself, Finish]);
}

#[test]
fn life_of_a_task_that_yields() {
    everywhere(&[Yield, Finish]);
}

#[test]
fn life_of_a_task_that_cancels_itself() {
    everywhere(&[Wait, CancelItself]);
}

#[test]
fn life_of_a_parent_that_ends_at_once() {
    everywhere_with(&[Finish], true);
}

#[test]
fn life_of_a_parent_that_panics_at_once() {
    everywhere_with(&[Panic], true);
}

#[test]
fn life_of_a_parent_that_cancels_itself() {
    everywhere_with(&[CancelItself], true);
}

#[test]
fn life_of_a_parent_that_waits_for_ever() {
    everywhere_with(&[Wait], true);
}
