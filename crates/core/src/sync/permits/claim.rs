//! The waiting side: a future that is a node of the line. The invariants are numbered in `permits.rs`.

use super::{Denied, Permits, Queued, Serve, Snapshot, Waiter, state};
use crate::blocked::{self, Reason};
use crate::budget;
use crate::deadlock::{self, Here, Needs};
use crate::prim::Ordering;
use core::future::Future;
use core::mem::{self, ManuallyDrop, MaybeUninit};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker, ready};

/// Something that has permits in it.
///
/// # Safety
///
/// `permits` returns the same ones at every call, in the value itself.
pub(in crate::sync) unsafe trait HasPermits {
    fn permits(&self) -> &Permits;
}

/// A way to permits.
///
/// # Safety
///
/// `permits` returns the same ones at every call; they stay where they are for as long as this value exists, also if it is
/// moved.
pub(in crate::sync) unsafe trait Place {
    fn permits(&self) -> &Permits;
}
// SAFETY: what is borrowed does not move.
unsafe impl<H: HasPermits + ?Sized> Place for &H {
    #[inline(always)]
    fn permits(&self) -> &Permits {
        H::permits(self)
    }
}
#[cfg(feature = "alloc")]
// SAFETY: what is shared does not move.
unsafe impl<H: HasPermits + ?Sized> Place for alloc::sync::Arc<H> {
    #[inline(always)]
    fn permits(&self) -> &Permits {
        H::permits(self)
    }
}

/// A place, and how many permits are wanted there.
pub(in crate::sync) trait Request {
    type Place: Place;
    const REASON: Reason;
    fn place(&self) -> &Self::Place;

    /// The same at every call.
    fn want(&self) -> usize;

    /// What the word most likely says: the first attempt relies on it.
    #[inline(always)]
    fn likely(&self) -> Snapshot {
        self.place().permits().word.likely(self.want())
    }
}

/// Waits for permits. The output is the request: who gets it back has the permits, and gives them back (A6).
///
/// Cancel safety: dropping it leaves the line, or gives the permits back that it was granted and did not notice.
///
/// While there is no need to wait, the node is not even written: stores cost more than all else beside a locked exchange.
/// (It comes last, as it is written here. Between the other two, it would be filled with zeros together with the stage.)
#[must_use = "a future does nothing unless it is polled"]
#[repr(C)]
pub(in crate::sync) struct Claim<R: Request> {
    /// There until it is done.
    request: ManuallyDrop<R>,
    here: Here,
    stage: Stage,
    /// There in the line. It is linked in the line then, hence pinned: `Links` is `!Unpin` (A5).
    node: MaybeUninit<Waiter>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sync) enum Stage {
    New,
    InLine,
    Done,
}

impl<R: Request> Claim<R> {
    #[inline(always)]
    #[cfg_attr(feature = "deadlock_detection", track_caller)]
    pub(in crate::sync) const fn new(request: R) -> Self {
        Self::at(request, Here::caller())
    }

    /// The same, asked for elsewhere.
    #[inline(always)]
    pub(in crate::sync) const fn at(request: R, here: Here) -> Self {
        let (request, node) = (ManuallyDrop::new(request), MaybeUninit::uninit());
        Self { request, here, stage: Stage::New, node }
    }

    pub(in crate::sync) fn stage(&self) -> Stage {
        self.stage
    }

    #[inline(always)]
    fn done(&mut self) -> R {
        if deadlock::IS_ON && self.stage == Stage::InLine {
            // SAFETY: it is in the line, so `enter` wrote it.
            unsafe { self.node.assume_init_ref() }.needs.end();
        }
        self.stage = Stage::Done;
        // SAFETY: it was not done before, so the request is there; it is not touched again.
        unsafe { ManuallyDrop::take(&mut self.request) }
    }

    /// The request is still there, also when it is ready. (So the answer fits into registers.)
    #[inline(never)]
    fn poll_slowly(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Denied>> {
        assert!(self.stage != Stage::Done, "polled after it completed"); // and its request is gone
        let (permits, want) = (self.request.place().permits(), self.request.want());
        let polled = match self.stage {
            Stage::New => {
                ready!(budget::poll_proceed(cx));
                // SAFETY: the node is ours while it is not linked (A3), and pinned if it is: this is called by `poll` (A5).
                let entered = unsafe { permits.enter(&mut self.node, want, cx) };
                if entered.is_pending() {
                    self.stage = Stage::InLine;
                }
                entered
            }
            // SAFETY: it is in the line, so `enter` wrote it, and it is always used with these permits (`Place`).
            Stage::InLine => unsafe { permits.look_again(self.node.assume_init_ref(), want, cx) },
            Stage::Done => unreachable!("looked at above"),
        };
        if polled.is_pending() {
            blocked::note(R::REASON, blocked::address_of(permits));
            // SAFETY: it is in the line, so `enter` wrote it.
            let node = unsafe { self.node.assume_init_ref() };
            node.needs.begin(Needs::Lock(&permits.key), R::REASON, cx.waker(), self.here);
        }
        polled
    }
}

impl<R: Request> Future for Claim<R> {
    type Output = Result<R, Denied>;

    /// # Panics
    ///
    /// After it completed.
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of it but `request`, which is not pinned.
        let this = unsafe { self.get_unchecked_mut() };
        if this.stage == Stage::New {
            ready!(budget::poll_proceed_cheaply(cx)); // nothing has been taken yet
            // SAFETY: a copy, used instead of the request by who is done then (`Drop` passes over Done), or not at all. (After the
            // exchange it would be read again.)
            let request = ManuallyDrop::new(unsafe { core::ptr::read(&*this.request) });
            let permits = request.place().permits();
            if permits.word.take(request.likely(), request.want()).is_ok() {
                this.stage = Stage::Done;
                return Poll::Ready(Ok(ManuallyDrop::into_inner(request)));
            }
        }
        this.poll_slowly(cx).map(|outcome| {
            let request = this.done();
            outcome.map(|()| request)
        })
    }
}

impl<R: Request> Drop for Claim<R> {
    #[inline(always)]
    fn drop(&mut self) {
        let stage = self.stage;
        if stage == Stage::Done {
            return;
        }
        let request = self.done(); // dropped at the end, also if a waker panics below
        if stage == Stage::InLine {
            // SAFETY: it is in the line, so `enter` wrote it, and it is always used with these permits (`Place`).
            unsafe { request.place().permits().leave(self.node.assume_init_ref(), request.want()) };
        }
    }
}

/// Permits that were taken while user's code runs: if it panics they go back (A6).
struct Taken<'a>(&'a Permits, usize);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.release(self.1);
    }
}

impl Permits {
    /// First poll: joins the line, unless there is no need or no use to.
    ///
    /// # Safety
    ///
    /// If it is pending, `node` is linked: it stays where it is until `leave` was called or it was settled (A5).
    unsafe fn enter(
        &self,
        node: &mut MaybeUninit<Waiter>,
        want: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Denied>> {
        self.look_a_moment_longer(want);
        if self.try_take(want)? {
            return Poll::Ready(Ok(()));
        }
        let waker = cx.waker().clone(); // A7; declared before the guard, so dropped after it
        let mut line = self.line.lock();
        match self.word.queue(want) {
            Queued::Taken => {
                drop(line);
                let taken = Taken(self, want);
                drop(waker);
                mem::forget(taken);
                return Poll::Ready(Ok(()));
            }
            Queued::Closed => return Poll::Ready(Err(Denied::Closed)),
            Queued::Waiting => {}
        }
        let node = node.write(Waiter::new(waker, want));
        node.needs.queue();
        // SAFETY: the caller's promise (A5); it is in no line yet.
        unsafe { line.waiters.push_back(NonNull::from(node)) };
        Poll::Pending
    }

    /// A later poll: there may be an outcome, or it may have been called, or it has another waker now.
    ///
    /// # Safety
    ///
    /// `node` entered the line of these permits and did not leave it by itself.
    unsafe fn look_again(
        &self,
        node: &Waiter,
        want: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Denied>> {
        let outcome = node.state.load(Ordering::Acquire);
        if outcome != state::WAITING {
            return settled(outcome);
        }
        // SAFETY: passed on to the caller.
        let decided = unsafe { self.come(node, want, cx.waker(), None) };
        decided.unwrap_or_else(|NeedsWaker| {
            self.look_a_moment_longer(want);
            let clone = cx.waker().clone(); // A7
            // SAFETY: passed on to the caller.
            unsafe { self.come(node, want, cx.waker(), Some(clone)) }.expect("it has the new waker")
        })
    }

    /// Takes the permits if it was called, or goes on waiting with `new` as its waker: if called, it missed that.
    ///
    /// # Safety
    ///
    /// As for `look_again`.
    unsafe fn come(
        &self,
        node: &Waiter,
        want: usize,
        current: &Waker,
        new: Option<Waker>,
    ) -> Result<Poll<Result<(), Denied>>, NeedsWaker> {
        let mut line = self.line.lock();
        let outcome = node.state.load(Ordering::Relaxed); // written under the lock we hold (A4)
        if outcome != state::WAITING {
            return Ok(settled(outcome));
        }
        // SAFETY: linked, and the lock is held (A3).
        let (called, same) = unsafe { node.seat(|seat| (seat.called, seat.is_of(current))) };
        if !called && self.word.take(self.word.load(), want).is_ok() {
            // The first was called and did not come: others may overtake it, and so may those behind it. It need not be
            // polled by anybody, and may even belong to the task that polls this one (a futurelock).
            // SAFETY: it waits, so it is linked in this line (A4). (Not as the first, so QUEUED stays as it is.)
            let (_called, old) = unsafe { self.unlink(&mut line, NonNull::from(node)) };
            node.state.store(state::GRANTED, Ordering::Relaxed);
            drop(line);
            drop(old);
            return Ok(Poll::Ready(Ok(())));
        }
        if !called && same {
            return Ok(Poll::Pending);
        }
        if called && self.word.come(want, line.waiters.front() == line.waiters.back(), new.is_some()) {
            line.missed = 0;
            // SAFETY: it waits, so it is linked in this line (A4).
            unsafe { self.unlink(&mut line, NonNull::from(node)) };
            node.state.store(state::GRANTED, Ordering::Relaxed); // so that a panic below loses no permits
            Serve::waiting(self).run(line); // there may be more than it took
            return Ok(Poll::Ready(Ok(())));
        }
        let Some(waker) = new else { return Err(NeedsWaker) };
        if called {
            line.miss();
        }
        // SAFETY: linked, and the lock is held (A3).
        let old = unsafe { node.seat(|seat| seat.go_on_with(waker)) };
        drop(line);
        drop(old);
        Ok(Poll::Pending)
    }

    /// Makes sure that the node is not linked, and that what it was given or called for goes to the next (A2, A6).
    ///
    /// # Safety
    ///
    /// As for `look_again`.
    #[cold]
    unsafe fn leave(&self, node: &Waiter, want: usize) {
        let mut line = self.line.lock();
        let outcome = node.state.load(Ordering::Relaxed); // written under the lock we hold (A4)
        if outcome == state::WAITING {
            // SAFETY: it waits, so it is linked in this line (A4).
            let (called, _waker) = unsafe { self.unlink(&mut line, NonNull::from(node)) };
            self.word.leave(called, line.waiters.is_empty());
            Serve::waiting(self).run(line); // who is first now may want less
        } else {
            drop(line);
            if outcome == state::GRANTED {
                self.release(want);
            }
        }
    }
}

/// The lock must be left to clone the waker (A7).
#[derive(Debug)]
struct NeedsWaker;

fn settled(outcome: u32) -> Poll<Result<(), Denied>> {
    Poll::Ready(if outcome == state::CLOSED { Err(Denied::Closed) } else { Ok(()) })
}
