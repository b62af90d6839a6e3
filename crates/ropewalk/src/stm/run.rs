//! Running a transaction until it is committed: again after a conflict, with a back-off; alone if that goes on; again after a change if it
//! asked for that.

use super::floor::{Floor, WaitsForFloor};
use super::space;
use super::stop::{Abandoned, Place, Stop, TxResult, Why};
use super::tx::Tx;
use super::watch::{Watch, Watching};
use crate::wait::as_transaction;
use ropewalk_core::prim::spin_loop;
use ropewalk_core::{budget, contention};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A transaction to be run: made by [`atomically`].
#[must_use = "a transaction does nothing unless it is awaited, or waited for"]
pub struct Atomically<F>(Run<F>);

/// A transaction that an error undoes: made by [`try_atomically`].
#[must_use = "a transaction does nothing unless it is awaited, or waited for"]
pub struct TryAtomically<F>(Run<F>);

/// A transaction that is given up after so many attempts: made by [`Atomically::limit`].
#[must_use = "a transaction does nothing unless it is awaited, or waited for"]
pub struct Limited<F>(Run<F>);

/// Runs `body` as if nothing else happened meanwhile: what it reads does not change, what it writes becomes visible all at once. `.await` it in
/// a task, [`wait`](crate::Wait::wait) for it on a strand or a thread.
///
/// The body may be run several times, and only the last time counts: it should do nothing but read and write
/// variables. If it returns [`Stop`] (from [`Tx::retry`], [`Tx::check`], or from an operation), everything is undone.
///
/// ```
/// use ropewalk::Wait;
/// use ropewalk::stm::{TVar, atomically};
///
/// let (stock, sold) = (TVar::new(5_u32), TVar::new(0_u32));
/// let sale = atomically(|tx| {
///     let left = tx.read(&stock)?;
///     tx.check(left > 0)?; // waits until there is something to sell
///     tx.write(&stock, left - 1)?;
///     tx.modify(&sold, |sold| *sold += 1)
/// });
/// sale.wait();
/// assert_eq!((stock.get(), sold.get()), (4, 1));
/// ```
///
/// Cancel safety: dropped before it is done, it has done nothing.
///
/// # Panics
/// With what the body panics with; then it has done nothing. If it is polled inside of a transaction, or the body waits for
/// anything; if the body retries without having read anything that could change; if it is polled after it is done.
#[track_caller]
pub fn atomically<T, F: FnMut(&mut Tx) -> TxResult<T>>(body: F) -> Atomically<F> {
    Atomically(Run::new(body))
}

/// As [`atomically`], for a body that may fail: if it gives `Ok(Err(error))`, everything is undone, and the error is the result.
///
/// ```
/// use ropewalk::Wait;
/// use ropewalk::stm::{TVar, try_atomically};
///
/// let balance = TVar::new(10);
/// let withdraw = |amount: i32| {
///     try_atomically(|tx| {
///         let left = tx.modify(&balance, |balance| { *balance -= amount; *balance })?;
///         Ok(if left < 0 { Err("not enough") } else { Ok(left) })
///     })
///     .wait()
/// };
/// assert_eq!((withdraw(3), withdraw(30), balance.get()), (Ok(7), Err("not enough"), 7));
/// ```
///
/// Cancel safety and panics: as there.
#[track_caller]
pub fn try_atomically<T, E, F: FnMut(&mut Tx) -> TxResult<Result<T, E>>>(body: F) -> TryAtomically<F> {
    TryAtomically(Run::new(body))
}

impl<F> Atomically<F> {
    /// Gives up with an error that names whom it met, after `attempts` attempts that others made useless. (Without a limit it gets the
    /// floor for itself after some time, so it comes to an end. Waiting for a change is not an attempt in vain, and the count begins again
    /// after it.)
    ///
    /// ```
    /// use ropewalk::{Wait, stm::{TVar, atomically}};
    /// let counter = TVar::new(0);
    /// let count = atomically(|tx| tx.modify(&counter, |n| *n += 1)).named("count").limit(10);
    /// assert_eq!(count.wait(), Ok(()));
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    pub fn limit(mut self, attempts: u32) -> Limited<F> {
        assert!(attempts > 0, "ropewalk: a transaction needs at least one attempt");
        self.0.details().limit = Some(attempts);
        Limited(self.0)
    }
}

macro_rules! named {
    ($($future:ident)*) => {$(
        impl<F> $future<F> {
            /// A name, by which errors call it.
            pub fn named(mut self, name: impl Into<Box<str>>) -> Self {
                self.0.details().name = Some(name.into());
                self
            }
        }
    )*};
}
named!(Atomically TryAtomically Limited);

/// After so much effort in vain a transaction gets the floor.
const ENOUGH: u32 = if cfg!(any(loom, shuttle)) { 3 } else { 48 };
/// After so many attempts in vain it lets others run.
const IN_A_ROW: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 6 };

struct Run<F> {
    body: F,
    /// What it waits for; most transactions never wait.
    waiting: Option<Box<Waiting>>,
    is_done: bool,
    /// Attempts in vain, and what they cost.
    attempts: u32,
    effort: u32,
    location: &'static Location<'static>,
    details: Option<Box<Details>>,
}

/// What most transactions do not have.
#[derive(Default)]
struct Details {
    name: Option<Box<str>>,
    limit: Option<u32>,
    /// Where it met others, and how often, if there is a limit.
    met: Vec<(Place, u32)>,
}

enum Waiting {
    /// For a change.
    Change(Watch),
    /// For the one that has the floor.
    Floor(WaitsForFloor),
}

/// How an attempt ended.
enum End<T> {
    Done(T),
    Watch(Watching),
    /// The effort it was, and where it met another one, if that is asked for.
    Conflict(u32, Option<Place>),
}

impl<F> Run<F> {
    #[track_caller]
    fn new(body: F) -> Self {
        let location = Location::caller();
        Self { body, waiting: None, is_done: false, attempts: 0, effort: 0, location, details: None }
    }

    fn details(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }

    fn place(&self) -> Place {
        let name = self.details.as_ref().and_then(|details| details.name.clone());
        Place { location: self.location, name }
    }

    /// `keeps`: whether a result is committed, or undone.
    #[inline(always)]
    fn poll<T>(&mut self, cx: &mut Context<'_>, keeps: fn(&T) -> bool) -> Poll<Result<T, Abandoned>>
    where
        F: FnMut(&mut Tx) -> TxResult<T>,
    {
        loop {
            let floor =
                if self.waiting.is_some() || self.is_done { ready!(self.poll_waiting(cx)) } else { None };
            if floor.is_none() {
                ready!(budget::poll_proceed(cx));
            }
            match self.attempt(floor, keeps) {
                End::Done(value) => {
                    self.is_done = true;
                    return Poll::Ready(Ok(value));
                }
                End::Watch(watching) => self.watch(watching),
                End::Conflict(effort, met) => {
                    if let Some(abandoned) = ready!(self.met_another(cx, effort, met)) {
                        return Poll::Ready(Err(abandoned));
                    }
                }
            }
        }
    }

    /// What it waits for has happened.
    #[cold]
    #[inline(never)]
    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<Option<Floor>> {
        assert!(!self.is_done, "ropewalk: a transaction polled after it was done");
        let floor = match self.waiting.as_deref_mut() {
            Some(Waiting::Change(watch)) => {
                ready!(watch.poll(cx));
                None
            }
            Some(Waiting::Floor(waits)) => ready!(waits.poll(cx)),
            None => None,
        };
        self.waiting = None;
        Poll::Ready(floor)
    }

    #[inline(always)]
    fn attempt<T>(&mut self, floor: Option<Floor>, keeps: fn(&T) -> bool) -> End<T>
    where
        F: FnMut(&mut Tx) -> TxResult<T>,
    {
        let result; // what is not kept of it is dropped after all others
        let mut tx = Tx::begin(floor.as_ref().map(|floor| floor.start));
        let floor = floor; // given back before the transaction's end runs code of the user
        if tx.alone {
            tx.desk.slot.counters.alone.bump();
        }
        result = as_transaction(|| (self.body)(&mut tx));
        tx.is_over = true;
        let end = match &result {
            Ok(value) if !keeps(value) && !tx.is_doomed() => {
                tx.desk.slot.counters.reads.bump();
                End::Done(())
            }
            Ok(_) if tx.commit().is_ok() => End::Done(()),
            Err(Stop(Why::Retry)) if !tx.is_doomed() => End::Watch(tx.watch()),
            _ => self.conflict(&tx),
        };
        drop(floor);
        drop(tx);
        match (end, result) {
            (End::Done(()), Ok(value)) => End::Done(value),
            (End::Watch(watching), _) => End::Watch(watching),
            (End::Conflict(effort, met), _) => End::Conflict(effort, met),
            (End::Done(()), Err(_)) => unreachable!("only a result is done"),
        }
    }

    #[cold]
    #[inline(never)]
    fn conflict<T>(&self, tx: &Tx) -> End<T> {
        let effort = 1 + (tx.desk.reads.all().len() / 64) as u32;
        // SAFETY: it was met by this transaction, which is under way (V2).
        let met = tx.met.filter(|_| self.limit().is_some()).map(|core| unsafe { &*core }.place.clone());
        End::Conflict(effort, met)
    }

    #[cold]
    fn watch(&mut self, watching: Watching) {
        match watching {
            Watching::Yes(watch) => {
                (self.attempts, self.effort) = (0, 0); // it came as far as it could
                self.waiting = Some(Box::new(Waiting::Change(watch)));
            }
            Watching::Changed => {}
            Watching::Never => panic!(
                "ropewalk: {} retries before it has read anything that could change: it would wait for ever",
                self.place().as_transaction()
            ),
        }
    }

    /// Ready: to be run again, or given up. Pending: after others.
    #[cold]
    #[inline(never)]
    fn met_another(&mut self, cx: &Context<'_>, effort: u32, met: Option<Place>) -> Poll<Option<Abandoned>> {
        contention::lost();
        self.attempts += 1;
        self.effort += effort;
        if let Some(met) = met {
            let known = &mut self.details().met;
            match known.iter_mut().find(|(place, _)| *place == met) {
                Some((_, times)) => *times += 1,
                None => known.push((met, 1)),
            }
        }
        if self.limit().is_some_and(|limit| self.attempts >= limit) {
            return Poll::Ready(Some(self.abandon()));
        }
        let enough = self.effort >= ENOUGH;
        if enough || space().clock.is_taken() {
            self.waiting = Some(Box::new(Waiting::Floor(WaitsForFloor::new(enough))));
        } else if self.attempts.is_multiple_of(IN_A_ROW) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        } else {
            self.back_off();
        }
        Poll::Ready(None)
    }

    /// Leaves the others alone for a moment: twice as long each time at first, and not all equally long. The first is some microseconds: as long
    /// as some dozens of short transactions take if nobody takes the lines away that they write. (Of two threads that count by one variable
    /// each then does several in a row, and both do twice as many as with a tenth of it.)
    fn back_off(&self) {
        if cfg!(any(loom, shuttle)) {
            return;
        }
        let most = 128_u32 << self.attempts.min(3);
        let somewhere =
            (std::ptr::from_ref(self).addr() as u32).wrapping_add(self.attempts).wrapping_mul(0x9e37_79b9);
        (0..most / 2 + somewhere % (most / 2)).for_each(|_| spin_loop());
    }

    fn limit(&self) -> Option<u32> {
        self.details.as_ref().and_then(|details| details.limit)
    }

    fn abandon(&mut self) -> Abandoned {
        self.is_done = true;
        super::desk::Desk::count(|counters| counters.abandoned.bump());
        let (transaction, met) = (self.place(), std::mem::take(&mut self.details().met));
        Abandoned { transaction, attempts: self.attempts, met }
    }
}

impl Tx {
    /// It retries.
    #[cold]
    fn watch(&mut self) -> Watching {
        self.desk.slot.counters.retries.bump();
        Watch::begin(&mut self.desk.reads)
    }
}

impl<F> Unpin for Atomically<F> {} // a body is never pinned
impl<F> Unpin for TryAtomically<F> {}
impl<F> Unpin for Limited<F> {}

impl<T, F: FnMut(&mut Tx) -> TxResult<T>> Future for Atomically<F> {
    type Output = T;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        self.0.poll(cx, |_| true).map(|done| done.expect("it has no limit"))
    }
}

impl<T, E, F: FnMut(&mut Tx) -> TxResult<Result<T, E>>> Future for TryAtomically<F> {
    type Output = Result<T, E>;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, E>> {
        self.0.poll(cx, Result::is_ok).map(|done| done.expect("it has no limit"))
    }
}

impl<T, F: FnMut(&mut Tx) -> TxResult<T>> Future for Limited<F> {
    type Output = Result<T, Abandoned>;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T, Abandoned>> {
        self.0.poll(cx, |_| true)
    }
}

macro_rules! shown {
    ($($future:ident)*) => {$(
        impl<F> fmt::Debug for $future<F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($future)).field("at", &self.0.location).finish_non_exhaustive()
            }
        }
    )*};
}
shown!(Atomically TryAtomically Limited);
