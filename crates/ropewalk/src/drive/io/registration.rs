//! One file at one runtime's driver: waiting until it is ready, and trying again.
//!
//! * **I1** The file is open for as long as it is registered: who owns a [`Registration`] drops it before the file.
//!   [`Moored`] does so by the order of its fields, and borrows nothing: if it is forgotten, so is the file.
//! * **I2** An [`Operation`] is pinned, also as one of [`Parts`]: its address is its name among those who wait, and it is not
//!   there any more when it is gone.

use super::contract::{Interest, IoSource, Ready, Token};
use super::extent::{Extent, InParts, Part, Stream, UpTo, Whole};
use super::reactor::{Reactor, over};
use super::readiness::{Direction, Readiness, Snapshot};
use super::spare::Spare;
#[cfg(target_os = "linux")]
use super::uring::Uring;
use super::waiting::Who;
use crate::context;
use crate::runtime::{Handle, Shared};
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::budget::poll_proceed;
use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A file that is registered at a runtime's driver: once, for both directions, until this is dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    reactor: Arc<Reactor>,
    token: Token,
    file: RawFd,
}

impl Registration {
    /// Registers at the runtime this is called in, or the default one. The file must not block. It counts as ready until an
    /// operation says otherwise: the first attempt is made at once.
    ///
    /// # Errors
    /// What the system says (`EPERM`: such a file is always ready), or that the runtime was shut down.
    pub(crate) fn new(file: BorrowedFd<'_>, interest: Interest) -> io::Result<Self> {
        let here = context::with_worker(|worker| {
            let worker = worker.filter(|_| !context::has_entered())?;
            Some(Self::new_in(&worker.pool.runtime, file, interest))
        });
        here.unwrap_or_else(|| Self::new_in(&Handle::current().shared, file, interest))
    }

    pub(super) fn new_in(runtime: &Shared, file: BorrowedFd<'_>, interest: Interest) -> io::Result<Self> {
        Self::new_at(&runtime.io.reactor()?, file, interest, || runtime.watch_begins())
    }

    /// Registers where `self` is: no need to ask which runtime this is.
    pub(crate) fn beside(&self, file: BorrowedFd<'_>, interest: Interest) -> io::Result<Self> {
        Self::new_at(&self.reactor, file, interest, || ()) // `self` is watched already
    }

    fn new_at(
        reactor: &Arc<Reactor>,
        file: BorrowedFd<'_>,
        interest: Interest,
        begins: impl FnOnce(),
    ) -> io::Result<Self> {
        let token = reactor.register(IoSource::new(file), interest, begins)?;
        Ok(Self { reactor: reactor.clone(), token, file: file.as_raw_fd() })
    }

    #[inline]
    fn readiness(&self) -> &Readiness {
        self.reactor.readiness(self.token)
    }

    fn source(&self) -> IoSource<'_> {
        // SAFETY: the file is open while it is registered (I1).
        IoSource::new(unsafe { BorrowedFd::borrow_raw(self.file) })
    }

    /// Whether there is a driver to wait for.
    ///
    /// # Errors
    /// The runtime was shut down.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.readiness().look().is_over() { Err(over()) } else { Ok(()) }
    }

    /// An operation would have blocked, or moved less than it could have, after `seen`: it is not ready any more.
    ///
    /// # Errors
    /// The driver cannot be told. Then it counts as ready, for nobody will say so.
    #[inline]
    fn clear(&self, seen: Snapshot, interest: Interest, would_block: bool) -> io::Result<()> {
        if !self.readiness().clear(seen, interest, would_block) {
            return Ok(());
        }
        let armed = self.reactor.rearm(self.source(), self.token, interest);
        if armed.is_err() {
            self.readiness().event(self.token.generation(), Ready::READABLE | Ready::WRITABLE);
        }
        armed
    }

    /// Tries `operation` once, if `seen` lets it. `None`: it would block.
    ///
    /// If less was moved than could have been, the stream is used up, unless something urgent is there. The tick of `seen` is
    /// from before the operation: what came since is not forgotten. A stream that is closed stays readable to its end.
    #[inline]
    fn attempt<R, E: Extent<R>>(
        &self,
        seen: Snapshot,
        interest: Interest,
        extent: E,
        operation: &mut impl FnMut() -> io::Result<R>,
    ) -> io::Result<Option<R>> {
        if seen.is_over() {
            return Err(over());
        }
        if !seen.ready().satisfies(interest) {
            return Ok(None);
        }
        loop {
            match operation() {
                Ok(moved) => {
                    let is_bare = self.reactor.short_is_empty && !seen.ready().is_priority();
                    if is_bare && extent.is_short(&moved) {
                        let _counts_as_ready = self.clear(seen, interest, false); // what was moved was moved
                    }
                    return Ok(Some(moved));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.clear(seen, extent.over(interest), true)?;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Tries `operation`, which takes or gives what `interest` says, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if it is known not to be ready, or is found not to be; else what `operation` says.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let done = self.attempt(self.readiness().look(), interest, Whole, &mut operation)?;
        done.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// Ready when `direction` is, with the one slot it has for a waker: the last one to come is woken.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>, direction: Direction) -> Poll<io::Result<Ready>> {
        let seen = ready!(self.poll_look(cx, direction));
        Poll::Ready(if seen.is_over() { Err(over()) } else { Ok(seen.ready()) })
    }

    fn poll_look(&self, cx: &mut Context<'_>, direction: Direction) -> Poll<Snapshot> {
        let seen = self.readiness().poll(cx, Who::slot(direction));
        if seen.is_pending() {
            self.note(direction.interest());
        }
        seen
    }

    fn note(&self, interest: Interest) {
        let reason = if interest.is_readable() { Reason::Input } else { Reason::Output };
        blocked::note(reason, self.file as usize);
    }

    /// Tries `operation` until it does not block, waiting in between in the slot of `direction`.
    #[inline]
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_in_slot(cx, direction, Whole, operation)
    }

    /// [`poll_io`](Self::poll_io) for an operation that moves up to `most` bytes of a stream. If it moves fewer, the stream
    /// is used up: the next attempt waits first.
    #[inline]
    pub(crate) fn poll_move(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        most: UpTo,
        operation: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        self.poll_in_slot(cx, direction, most, operation)
    }

    #[inline]
    fn poll_in_slot<R, E: Extent<R>>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        extent: E,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        if let Some(nothing) = extent.is_nothing() {
            return Poll::Ready(Ok(nothing));
        }
        ready!(poll_proceed(cx));
        let mut turns = 0;
        loop {
            let seen = ready!(self.poll_look(cx, direction));
            ready!(poll_go_on(&mut turns, cx));
            let attempt = self.attempt(seen, direction.interest(), extent, &mut operation);
            if let Some(done) = attempt.transpose() {
                return Poll::Ready(done);
            }
        }
    }

    /// Waits until it is ready for something of `interest`. Any number may wait.
    ///
    /// Cancel safety: nothing is taken.
    ///
    /// # Errors
    /// The runtime it is registered at was shut down.
    pub(crate) fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> {
        Operation::new(self, interest, Whole, move |seen: Snapshot| Ok(seen.ready().of(interest)))
    }

    /// Tries `operation` until it does not block. Any number may wait.
    ///
    /// Cancel safety: as `operation`; between two attempts nothing is held.
    ///
    /// # Errors
    /// What `operation` says, or that the runtime it is registered at was shut down.
    pub(crate) fn io<R>(
        &self,
        direction: Direction,
        operation: impl FnMut() -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        self.io_for(direction.interest(), operation)
    }

    /// The same for any interest.
    pub(crate) fn io_for<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> impl Future<Output = io::Result<R>> {
        Operation::new(self, interest, Whole, move |_| operation())
    }

    /// [`poll_move`](Self::poll_move) for any number of waiters.
    pub(crate) fn transfer(
        &self,
        direction: Direction,
        most: UpTo,
        mut operation: impl FnMut() -> io::Result<usize>,
    ) -> impl Future<Output = io::Result<usize>> {
        Operation::new(self, direction.interest(), most, move |_| operation())
    }

    /// Moves all of something, a part at a time, until `operation` says that it was the last. Each is paid for: who finds that
    /// there is always room lets others run, too.
    pub(crate) fn transfer_all(
        &self,
        direction: Direction,
        mut operation: impl FnMut() -> io::Result<Part>,
    ) -> impl Future<Output = io::Result<()>> {
        Parts(Operation::new(self, direction.interest(), InParts, move |_| operation()))
    }
}

/// An operation that is tried until it does not block. Written by hand because it is what most tasks of a server consist of.
/// When it is done, it can be polled for another one.
#[repr(align(8))] // for its name
struct Operation<'a, F, E> {
    registration: &'a Registration,
    operation: F,
    extent: E,
    interest: Interest,
    /// It may be in the list of those who wait.
    waits: bool,
    _pinned: PhantomPinned,
}

impl<'a, F, E> Operation<'a, F, E> {
    fn new(registration: &'a Registration, interest: Interest, extent: E, operation: F) -> Self {
        Self { registration, operation, extent, interest, waits: false, _pinned: PhantomPinned }
    }

    fn who(&self) -> Who {
        Who::at(self, self.interest)
    }
}

impl<R, F: FnMut(Snapshot) -> io::Result<R>, E: Extent<R>> Future for Operation<'_, F, E> {
    type Output = io::Result<R>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: it is not moved out of here (I2).
        let this = unsafe { self.get_unchecked_mut() };
        let (registration, interest) = (this.registration, this.interest);
        if let Some(nothing) = this.extent.is_nothing() {
            return Poll::Ready(Ok(nothing));
        }
        ready!(poll_proceed(cx)); // who finds everything ready lets others run, too
        let mut turns = 0;
        loop {
            let mut seen = registration.readiness().look();
            if !seen.settles(interest) {
                this.waits = true;
                match registration.readiness().poll(cx, this.who()) {
                    Poll::Ready(now) => seen = now,
                    Poll::Pending => {
                        registration.note(interest);
                        return Poll::Pending;
                    }
                }
            }
            ready!(poll_go_on(&mut turns, cx));
            let attempt = registration.attempt(seen, interest, this.extent, &mut || (this.operation)(seen));
            if let Some(done) = attempt.transpose() {
                return Poll::Ready(done);
            }
        }
    }
}

impl<F, E> Drop for Operation<'_, F, E> {
    #[inline]
    fn drop(&mut self) {
        if self.waits {
            self.registration.readiness().forget(self.who());
        }
    }
}

/// An operation that is repeated until all is moved (I2).
struct Parts<O>(O);

impl<O: Future<Output = io::Result<Part>>> Future for Parts<O> {
    type Output = io::Result<()>;

    #[inline]
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
fn poll_go_on(turns: &mut u32, cx: &mut Context<'_>) -> Poll<()> {
    *turns += 1;
    if *turns > 1 { poll_proceed(cx) } else { Poll::Ready(()) }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.reactor.deregister(self.source(), self.token);
    }
}

/// A file and its registration.
#[derive(Debug)]
pub(crate) struct Moored<T: 'static> {
    // Dropped first (I1).
    registration: Registration,
    file: T,
}

impl<S: Stream> Moored<S> {
    /// Registers a stream, which must not block, at the runtime this is called in.
    pub(crate) fn stream(file: S) -> io::Result<Self> {
        Self::new(file, S::INTEREST)
    }
}

impl<T: AsFd> Moored<T> {
    /// Registers `file`, which must not block, at the runtime this is called in.
    pub(crate) fn new(file: T, interest: Interest) -> io::Result<Self> {
        let registration = Registration::new(file.as_fd(), interest)?;
        Ok(Self { registration, file })
    }

    /// Registers a stream where this file is.
    pub(crate) fn beside<S: Stream>(&self, file: S) -> io::Result<Moored<S>> {
        let registration = self.registration.beside(file.as_fd(), S::INTEREST)?;
        Ok(Moored { registration, file })
    }

    /// A buffer to read into, lent by its runtime.
    pub(crate) fn spare(&self) -> Spare {
        self.registration.reactor.spare()
    }

    /// The ring, if that is its driver.
    #[cfg(target_os = "linux")]
    pub(crate) fn uring(&self) -> Option<&Arc<Uring>> {
        self.registration.reactor.files()
    }

    pub(crate) fn file(&self) -> &T {
        &self.file
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// Ends the registration, and gives the file back.
    pub(crate) fn into_file(self) -> T {
        self.file
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::net::TcpStream;

    async fn echo(stream: TcpStream) -> io::Result<()> {
        let mut buffer = [0; 1024];
        loop {
            match stream.read(&mut buffer).await? {
                0 => return Ok(()),
                count => stream.write_all(&buffer[..count]).await?,
            }
        }
    }

    /// A sink that always has room does not keep others waiting.
    #[test]
    fn moving_all_of_something_lets_others_run() {
        let runtime = crate::Runtime::builder().worker_threads(0).build().unwrap();
        runtime.block_on(async {
            let (left, _right) = std::os::unix::net::UnixStream::pair().unwrap();
            left.set_nonblocking(true).unwrap();
            let left = Moored::new(left, Interest::BOTH).unwrap();
            let other = crate::spawn(async {});
            let mut parts = 0;
            let all = left.registration().transfer_all(Direction::Write, || {
                parts += 1;
                assert!(parts < 1_000_000, "nobody else runs");
                Ok(if other.is_finished() { Part::Last } else { Part::Full })
            });
            all.await.unwrap();
            assert!(parts > 1);
        });
    }

    /// What a connection costs beside the program's own buffer: many are open at once.
    #[test]
    fn a_connection_is_small() {
        assert!(size_of::<Readiness>() <= 48, "{}", size_of::<Readiness>());
        assert!(size_of::<TcpStream>() <= 32, "{}", size_of::<TcpStream>());
        fn size_of_output<A, F>(_: fn(A) -> F) -> usize {
            size_of::<F>()
        }
        let future = size_of_output(echo) - 1024;
        assert!(future <= 136, "{future}");
    }
}
