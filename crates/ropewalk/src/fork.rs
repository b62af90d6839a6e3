//! Fork-join: two halves of a computation, of which another worker may take over one.
//!
//! [`join`] pushes its second half, a job on its own stack, onto the deque of its strand, runs the first, and takes the second back. If
//! somebody has stolen it, the strand waits, as for anything else: it never runs what is not its own on its stack. (If it did, as
//! rayon's threads do, a half that waits for a lock could end up above the one that holds it.) A stolen half becomes a strand of the
//! thief's worker, with a stack and a deque of its own: so it may wait, fork and start strands.
//!
//! # Who shows what, and when
//!
//! What nobody wants stays private, and costs neither fence nor exchange (`deque.rs`). Owner, when it forks:
//!
//! 1. push; if nobody has asked, that is all
//! 2. otherwise show so many jobs that one is public for each idle worker, up to [`MOST_SHOWN`], and one in any case
//! 3. the submitter's steps of `sched/README.md`: a sleeper is woken
//! 4. if there were not enough, ask oneself again at the next fork
//!
//! Asked is: by a deque that is new, by a thief that took something, by one that found nothing public (and so by everybody who falls
//! asleep), by an owner that took back the last public one. So the oldest job of a strand is public as soon as it forks again, which
//! is as large as all the others together where halves are halves; and with idle workers around, the next ones are too. Between two
//! forks nothing is shown: what a worker that becomes idle wants is shown when the computation at hand is over.
//!
//! A strand that is suspended, stands by or waits by a handler shows all it has, because it will not fork for a while, and perhaps
//! waits for what one of its own halves does. They are found by its own worker, too: when there is nothing else to do, and in every
//! look (`sched/worker/agenda.rs`).
//!
//! # How it ends
//!
//! | first half | second half | what the join does |
//! |---|---|---|
//! | returned | taken back | calls it |
//! | returned | stolen | waits; gives both values, or throws the panic on |
//! | panicked | taken back | calls it, then throws the first half's panic on |
//! | panicked | stolen | waits, then throws the first half's panic on |
//! | interrupted | taken back | drops it, and goes on unwinding |
//! | interrupted | stolen | cancels it, waits to the end, and goes on unwinding |
//!
//! A wait that is interrupted counts as the first half being interrupted. A stolen half that was dropped before it could run (its pool
//! closes) is called by the owner, as if it had been taken back.

mod deque;
mod job;
mod par;
mod roster;

pub(crate) use job::Loot;
pub use par::{Divide, par_for, par_map_reduce};
pub(crate) use roster::{Fork, Origin, Roster, Spare};

use crate::context;
use crate::sched::worker::Worker;
use crate::strand::{Interrupted, Seat, catch, rethrow};
use crate::wait::{Abort, is_in_transaction, wait_to_the_end};
use job::{Job, Outcome};
use std::any::Any;
use std::future::poll_fn;
use std::ptr::NonNull;

/// How many jobs of a strand are shown at most because workers are idle.
const MOST_SHOWN: usize = 8;

/// Calls both closures, perhaps at the same time, and gives what they gave.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = ropewalk::join(|| sum(left), || sum(right));
///     left + right
/// }
/// let numbers: Vec<u64> = (1..=100_000).collect();
/// assert_eq!(sum(&numbers), 5_000_050_000);
/// ```
///
/// The first one is called here. The second one is offered to the other workers; if none has taken it by then, it is called here,
/// too, which costs a few nanoseconds more than calling it directly. Either may wait, for the other as well: while this strand is
/// suspended, its second half is run by somebody else, be it the same worker. Either may join again, and start strands.
///
/// On a strand both run there, or on strands of the same pool with a stack of the same size. In a task and on a thread, the join
/// as a whole is run on a strand ([`run`](crate::run)), which is waited for: there it pays to join once, around everything.
///
/// A half that runs elsewhere has the [inherited](crate::task_local) task locals of this place, not the others, nor its handlers
/// ([`with_handler`](crate::with_handler)).
///
/// # Locks
/// While it waits for a half that somebody has taken, the strand is suspended, and its worker runs others: on stacks of their own, so
/// that a half may hold a lock of [`sync`](crate::sync) over a join. A guard of `std` or of [`thread`](crate::thread) must not be held,
/// as over every wait.
///
/// # Cancellation
/// When the strand is cancelled, the half that runs here is interrupted at its next wait, a half that runs elsewhere as well, and one that
/// was not begun is dropped. The join is left when both have ended.
///
/// # Panics
/// With what a half panicked with, after both have ended; if both did, with that of the first. If the first one panics, the second
/// one is called all the same. In a task also as [`wait`](crate::wait()) does.
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_told(a, |_| b())
}

/// The same; the second half is told whether it was stolen.
#[inline(always)]
fn join_told<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Here::now() {
        Some(here) => here.join(a, b),
        None => join_apart(a, b),
    }
}

/// Off strands, and on those that roam.
#[cold]
#[inline(never)]
fn join_apart<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let roams = crate::strand::with_seat(|_, seat| seat.roams()).unwrap_or(false);
    if roams || is_in_transaction() {
        return match catch(a) {
            Ok(a) => (a, b(false)),
            Err(panic) => second_after_panic(panic, b),
        };
    }
    crate::run(|| match Here::now() {
        Some(here) => here.join(a, b),
        None => unreachable!("this is a strand"),
    })
}

/// A strand that forks, seen from itself.
#[derive(Clone, Copy)]
struct Here<'a> {
    seat: &'a Seat,
    fork: &'a Fork,
}

impl<'a> Here<'a> {
    /// `None`: this is no strand, or one that roams.
    #[inline(always)]
    fn now() -> Option<Self> {
        let seat = context::with_worker(|worker| worker.and_then(|worker| worker.frame.strand.get()))?;
        // SAFETY: the strand that runs here is alive while it runs, and stays on its thread; so is what it forks with.
        unsafe {
            let seat: &'a Seat = seat.as_ref();
            let fork = match seat.fork() {
                Some(fork) => fork,
                None => first_fork()?,
            };
            Some(Self { seat, fork: fork.as_ref() })
        }
    }

    #[inline(always)]
    fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA,
        B: FnOnce(bool) -> RB,
    {
        let job = Job::new(b, &self.seat.own);
        // SAFETY: what follows up to `withdraw` does not unwind, and then the job is here, or is waited for (JB1).
        if self.fork.deque.push(unsafe { job.loot() }) {
            offer();
        }
        let a = catch(a);
        if !self.fork.deque.withdraw() {
            return join_stolen(a, &job);
        }
        // SAFETY: what is newest in the deque is this job: all that were pushed since have been taken out (JB2).
        let b = unsafe { job.closure() };
        match a {
            Ok(a) => (a, b(false)),
            Err(panic) => second_after_panic(panic, b),
        }
    }
}

/// The first half has panicked, and the second is here.
#[cold]
fn second_after_panic<R>(panic: Box<dyn Any + Send>, b: impl FnOnce(bool) -> R) -> ! {
    if panic.is::<Interrupted>() {
        drop(b);
    } else {
        drop(catch(|| b(false)));
    }
    rethrow(panic)
}

/// The second half was stolen.
#[cold]
#[inline(never)]
fn join_stolen<B, RA, RB>(a: Outcome<RA>, job: &Job<B, RB>) -> (RA, RB)
where
    B: FnOnce(bool) -> RB,
{
    // SAFETY: it was stolen; the scene is there until `forget_scene`.
    let scene = unsafe { job.scene() };
    let waited = match &a {
        Err(panic) if panic.is::<Interrupted>() => Ok(()),
        _ => catch(|| crate::wait(poll_fn(|cx| scene.poll_empty(cx)))),
    };
    let interrupted = waited.is_err() || a.as_ref().is_err_and(|panic| panic.is::<Interrupted>());
    if interrupted {
        scene.doom();
    }
    wait_to_the_end(|cx| scene.poll_empty(cx)); // JB1
    // SAFETY: its child has left, and this is called once.
    let b = unsafe {
        job.forget_scene();
        job.outcome()
    };
    let b = b.ok_or_else(|| {
        // SAFETY: it was not begun, and is the owner's again (JB2).
        unsafe { job.closure() }
    });
    match (a, waited, b) {
        (Ok(a), Ok(()), Ok(Ok(b))) => (a, b),
        (Ok(a), Ok(()), Err(b)) => (a, b(false)),
        (Err(panic), _, Err(b)) => second_after_panic(panic, b),
        (Err(panic), ..) | (Ok(_), Err(panic), _) | (Ok(_), Ok(()), Ok(Err(panic))) => rethrow(panic),
    }
}

/// The strand that runs here forks for the first time. `None`: it roams, and does both halves itself (RO1).
#[cold]
fn first_fork() -> Option<NonNull<Fork>> {
    with_strand(|worker, seat| {
        let fork = (!seat.roams()).then(|| worker.take_fork());
        seat.set_fork(fork);
        fork
    })
}

/// Somebody has asked for jobs of the strand that runs here. Not inside a transaction, which must not wait for them: that is answered by the
/// next fork after it.
#[cold]
#[inline(never)]
fn offer() {
    if is_in_transaction() {
        return;
    }
    // The job is in the deque: nothing may unwind past the frame it is in (JB1).
    let abort = Abort("a waker panicked while a half of a join was offered");
    with_strand(|worker, seat| {
        // SAFETY: the strand has forked, and what it forks with is there until it ends.
        let Some(deque) = seat.fork().map(|fork| unsafe { &(*fork.as_ptr()).deque }) else { return };
        deque.answer();
        let idle = worker.idle_others();
        let (wanted, public) = (idle.clamp(1, MOST_SHOWN), deque.public());
        if public < wanted {
            show(worker, seat, wanted - public);
            worker.notify_of_halves(); // also if nobody was idle: somebody may have become so since, and seen nothing
        }
        if deque.public() < wanted.min(idle) {
            deque.ask_again();
        }
    });
    std::mem::forget(abort);
}

/// The strand of `seat` will not fork for a while: all its jobs become public.
#[cold]
pub(crate) fn open_up(worker: &Worker, seat: &Seat) {
    if show(worker, seat, usize::MAX) {
        worker.notify_of_halves();
    }
}

/// Shows so many of its jobs. False: it has no private ones.
fn show(worker: &Worker, seat: &Seat, count: usize) -> bool {
    // SAFETY: what a strand forks with is there until it ends.
    let Some(deque) = seat.fork().map(|fork| unsafe { &(*fork.as_ptr()).deque }) else { return false };
    let count = count.min(deque.private());
    if count > 0 {
        let origin = worker.origin(seat);
        // SAFETY: the deque belongs to the strand that runs here, and each of its jobs is shown once: what is taken back leaves it.
        deque.publish(count, |job| unsafe { Loot::show(job, origin) });
    }
    count > 0
}

fn with_strand<R>(f: impl FnOnce(&Worker, &Seat) -> R) -> R {
    crate::strand::with_seat(f).expect("a strand runs here")
}
