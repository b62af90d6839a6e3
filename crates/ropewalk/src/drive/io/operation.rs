//! The futures of operations on a registered file.
//!
//! * **I2** An [`Operation`] is pinned, also as one of [`Parts`]: its address is its name among those who wait, and it is not
//!   there any more when it is gone.
//!
//! What is polled here is inlined wherever it is awaited: after a system call the processor predicts no return any more.

use super::contract::Interest;
use super::extent::{Extent, Part};
use super::readiness::Snapshot;
use super::registration::Moored;
use super::waiting::Who;
use ropewalk_core::budget::poll_proceed;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What an operation waits for. Most of them are known when they are compiled, and then so is what follows from it.
pub(crate) trait Aim: Copy {
    fn interest(self) -> Interest;
}

/// Towards us: reading.
#[derive(Clone, Copy)]
pub(crate) struct Inward;

/// Away from us: writing.
#[derive(Clone, Copy)]
pub(crate) struct Outward;

impl Aim for Inward {
    #[inline]
    fn interest(self) -> Interest {
        Interest::READABLE
    }
}

impl Aim for Outward {
    #[inline]
    fn interest(self) -> Interest {
        Interest::WRITABLE
    }
}

impl Aim for Interest {
    #[inline]
    fn interest(self) -> Interest {
        self
    }
}

/// An operation that is tried until it does not block. Written by hand because it is what most tasks of a server consist of.
/// When it is done, it can be polled for another one.
#[repr(align(8))] // for its name
pub(super) struct Operation<'a, T: AsFd, F, E, A: Aim> {
    io: &'a Moored<T>,
    operation: F,
    extent: E,
    aim: A,
    /// It may be in the list of those who wait.
    waits: bool,
    _pinned: PhantomPinned,
}

impl<'a, T: AsFd, F, E, A: Aim> Operation<'a, T, F, E, A> {
    pub(super) fn new(io: &'a Moored<T>, aim: A, extent: E, operation: F) -> Self {
        Self { io, operation, extent, aim, waits: false, _pinned: PhantomPinned }
    }

    fn who(&self) -> Who {
        Who::at(self, self.aim.interest())
    }

    /// Apart from `drop`, which mostly has nothing to do.
    #[inline(never)]
    fn give_up(&self) {
        self.io.slot().readiness.forget(self.who());
    }
}

impl<R, T: AsFd, F, E, A: Aim> Future for Operation<'_, T, F, E, A>
where
    F: FnMut(&T, Snapshot) -> io::Result<R>,
    E: Extent<R>,
{
    type Output = io::Result<R>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: it is not moved out of here (I2).
        let this = unsafe { self.get_unchecked_mut() };
        let (io, interest) = (this.io, this.aim.interest());
        if let Some(nothing) = this.extent.is_nothing() {
            return Poll::Ready(Ok(nothing));
        }
        ready!(poll_proceed(cx)); // who finds everything ready lets others run, too
        let (slot, mut turns) = (io.slot(), 0);
        loop {
            let mut seen = slot.readiness.look();
            if !seen.settles(interest) {
                this.waits = true;
                match slot.readiness.wait(cx, this.who()) {
                    Poll::Ready(now) => seen = now,
                    Poll::Pending => {
                        io.note(interest);
                        return Poll::Pending;
                    }
                }
            }
            this.waits &= seen.is_awaited(interest); // E7
            ready!(poll_go_on(&mut turns, cx));
            let operation = &mut || (this.operation)(io.file(), seen);
            let attempt = io.attempt(slot, seen, interest, this.extent, operation);
            if let Some(done) = attempt.transpose() {
                return Poll::Ready(done);
            }
        }
    }
}

impl<T: AsFd, F, E, A: Aim> Drop for Operation<'_, T, F, E, A> {
    #[inline]
    fn drop(&mut self) {
        if self.waits {
            self.give_up();
        }
    }
}

/// An operation that is repeated until all is moved (I2).
pub(super) struct Parts<O>(pub(super) O);

impl<O: Future<Output = io::Result<Part>>> Future for Parts<O> {
    type Output = io::Result<()>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: it is pinned with the future (I2).
        let mut part = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        while ready!(part.as_mut().poll(cx))? != Part::Last {}
        Poll::Ready(Ok(()))
    }
}

/// Who is told again and again that it is ready, and finds that it is not, lets others run: every turn but the first, which was
/// paid for, asks the budget.
#[inline]
pub(super) fn poll_go_on(turns: &mut u32, cx: &mut Context<'_>) -> Poll<()> {
    *turns += 1;
    if *turns > 1 { poll_proceed(cx) } else { Poll::Ready(()) }
}
