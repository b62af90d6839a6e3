//! Workers without threads: the same workers, driven by whoever calls `block_on`, `try_tick` or `run_until_stalled`.
//!
//! One thread at a time has the seat; `seat.rs` says who is next. As long as something belongs to a thread (local tasks, parked
//! stacks: a worker is *bound*), only that thread may take it again. With several workers the one to run next is drawn from the
//! seeded generator and runs one task, so a seed determines the whole interleaving. A single one that runs a root sleeps in its own loop.

mod driving;
mod lodgers;
mod orphans;

use super::fibre::Fibres;
use super::pool::Pool;
use super::seat::{Line, Origin, Turn};
use super::station::Status;
use super::worker::Worker;
use crate::context;
pub(crate) use driving::Driving;
pub(crate) use lodgers::Lodgers;
pub(crate) use orphans::Orphans;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::thread::{self, ThreadId};

/// The workers of a hosted pool, and who drives them.
pub(crate) struct Seat(Line<Crew, ThreadId>);

/// The workers, boxed so that fibres may point to them.
struct Crew {
    #[expect(clippy::vec_box, reason = "a worker keeps its address also when it is dismissed")]
    workers: Vec<Box<Worker>>,
    random: u64,
}

// SAFETY: a crew changes threads only through the line for the seat, which passes a bound one to its home thread alone (SQ1, SQ2).
// An unbound one has no fibre with a frame of its own and no pinned task, so nothing in it belongs to a thread.
unsafe impl Send for Crew {}

/// Why the seat cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// This thread drives already: the caller is inside the runtime.
    ByThisThread,
    /// Another thread drives.
    ByAnother,
    /// Local tasks or waiting stacks belong to another thread.
    BoundTo(ThreadId),
    /// Its driver is inside another runtime without threads, which nobody drives.
    Away,
    /// The runtime is over.
    Over,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Taken::ByThisThread => f.write_str("this thread is driving the runtime already"),
            Taken::ByAnother => f.write_str("another thread is driving the runtime"),
            Taken::BoundTo(home) => {
                write!(
                    f,
                    "the runtime holds local tasks or waiting stacks of {home:?} and can only be driven there"
                )
            }
            Taken::Away => f.write_str(
                "the runtime is driven from inside another runtime without threads, which nobody drives",
            ),
            Taken::Over => f.write_str("the runtime was shut down"),
        }
    }
}

impl Seat {
    /// Workers for all stations of `pool`.
    pub(crate) fn new(pool: &Arc<Pool>, count: usize) -> std::io::Result<Self> {
        let mut workers = Vec::new();
        let stacks = (0..count).map(|_| Fibres::first_stack(pool.config.thread_stack_size));
        let stacks: Vec<_> = stacks.collect::<Result<_, _>>()?; // before there is anybody to dismiss
        pool.resize(count, |_, _| Ok(()))?;
        let active = pool.stations().filter(|station| station.status() == Status::Active);
        for (station, stack) in active.zip(stacks) {
            let worker = Box::new(Worker::new(pool.clone(), station.clone(), false));
            worker.fibres.keep(stack);
            worker.single.set(count > 1);
            workers.push(worker);
        }
        let crew = Crew { workers, random: pool.config.random(u64::MAX) };
        Ok(Self(Line::new(crew)))
    }

    /// Takes the seat, if it can be had at once.
    pub(crate) fn take(&self) -> Result<Driving<'_>, Taken> {
        let here = thread::current().id();
        match self.0.take(here) {
            Turn::Yours(crew) => Ok(self.driving(crew)),
            Turn::BoundTo(home) => Err(Taken::BoundTo(home)),
            Turn::Away => Err(Taken::Away),
            Turn::Over => Err(Taken::Over),
            Turn::NotYet if self.0.holder() == Some(here) => Err(Taken::ByThisThread),
            Turn::NotYet => Err(Taken::ByAnother),
        }
    }

    /// A candidate asks for it; see [`Line::ask`].
    pub(crate) fn ask(
        &self,
        number: &mut Option<u64>,
        stays: bool,
        waker: &Waker,
    ) -> Turn<Driving<'_>, ThreadId> {
        let by_itself = context::with_worker(|worker| worker.is_none());
        let from = Origin { thread: thread::current().id(), by_itself, stays };
        match self.0.ask(number, from, waker) {
            Turn::Yours(crew) => Turn::Yours(self.driving(crew)),
            Turn::NotYet => Turn::NotYet,
            Turn::BoundTo(home) => Turn::BoundTo(home),
            Turn::Away => Turn::Away,
            Turn::Over => Turn::Over,
        }
    }

    /// A candidate leaves the line; see [`Line::leave`].
    pub(crate) fn leave(&self, number: u64) -> Option<Driving<'_>> {
        self.0.leave(number, thread::current().id()).map(|crew| self.driving(crew))
    }

    /// Candidate `number` calls `f`, which must not wait, if nobody drives and this thread may not. See [`Line::while_unused`].
    pub(crate) fn while_unused<R>(&self, number: u64, f: impl FnOnce() -> R) -> Option<R> {
        self.0.while_unused(number, thread::current().id(), f)
    }

    fn driving(&self, crew: Crew) -> Driving<'_> {
        Driving::new(self, crew)
    }

    /// Whether another thread than this one drives.
    #[cfg(all(feature = "backtraces", target_os = "linux"))]
    pub(crate) fn is_driven_elsewhere(&self) -> bool {
        self.0.holder().is_some_and(|driver| driver != thread::current().id())
    }
}

/// A candidate that is left to itself: it stays in line although nobody drives, and what it waits for is nested in nothing.
pub(crate) struct Standing<'a> {
    seat: &'a Seat,
    number: Option<u64>,
}

impl<'a> Standing<'a> {
    pub(crate) fn new(seat: &'a Seat) -> Self {
        Self { seat, number: None }
    }

    /// The seat, if it was handed to this candidate, or is free. If not, `waker` is called when it is worth to ask again.
    pub(crate) fn ask(&mut self, waker: &Waker) -> Option<Driving<'a>> {
        if let Some(driving) = self.number.and_then(|number| self.seat.leave(number)) {
            return Some(driving);
        }
        match self.seat.ask(&mut self.number, true, waker) {
            Turn::Yours(driving) => Some(driving),
            Turn::NotYet | Turn::BoundTo(_) | Turn::Away | Turn::Over => None,
        }
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        drop(self.number.and_then(|number| self.seat.leave(number))); // hands over
    }
}
