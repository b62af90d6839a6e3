//! One file at one runtime's driver: waiting until it is ready, and trying again.
//!
//! * **I1** The file is open for as long as it is registered: a [`Moored`] ends the registration before it drops the file or
//!   gives it back. If it is forgotten, so is the file.

use super::contract::{Interest, IoSource, Ready};
use super::extent::{Extent, InParts, Part, Stream, UpTo, Whole};
use super::operation::{Aim, Inward, Operation, Outward, Parts, poll_go_on};
use super::reactor::{Reactor, over};
use super::readiness::{Direction, Snapshot};
use super::registry::{Place, Slot};
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
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A file that is registered at a runtime's driver: once, for both directions, until this is dropped. It is small, for servers
/// have many.
#[derive(Debug)]
pub(crate) struct Moored<T: AsFd> {
    place: Place,
    file: T,
}

impl<S: Stream> Moored<S> {
    /// Registers a stream, which must not block, at the runtime this is called in.
    pub(crate) fn stream(file: S) -> io::Result<Self> {
        Self::new(file, S::INTEREST)
    }
}

impl<T: AsFd> Moored<T> {
    /// Registers at the runtime this is called in, or the default one. The file must not block. It counts as ready until an
    /// operation says otherwise: the first attempt is made at once.
    ///
    /// # Errors
    /// What the system says (`EPERM`: such a file is always ready), or that the runtime was shut down.
    pub(crate) fn new(file: T, interest: Interest) -> io::Result<Self> {
        let mut file = Some(file);
        let mut new = |runtime: &Shared| Self::new_in(runtime, file.take().expect("once"), interest);
        let here = context::with_worker(|worker| {
            let worker = worker.filter(|_| !context::has_entered())?;
            Some(new(&worker.pool.runtime))
        });
        here.unwrap_or_else(|| new(&Handle::current().shared))
    }

    pub(super) fn new_in(runtime: &Shared, file: T, interest: Interest) -> io::Result<Self> {
        Self::new_at(&runtime.io.reactor()?, file, interest, || runtime.watch_begins())
    }

    /// Registers a stream where `self` is: no need to ask which runtime this is.
    pub(crate) fn beside<S: Stream>(&self, file: S) -> io::Result<Moored<S>> {
        Moored::new_at(&self.place.reactor(), file, S::INTEREST, || ()) // `self` is watched already
    }

    fn new_at(
        reactor: &Arc<Reactor>,
        file: T,
        interest: Interest,
        begins: impl FnOnce(),
    ) -> io::Result<Self> {
        let place = reactor.register(IoSource::new(file.as_fd()), interest, begins)?;
        Ok(Self { place, file })
    }

    pub(crate) fn file(&self) -> &T {
        &self.file
    }

    /// Ends the registration, and gives the file back.
    pub(crate) fn into_file(self) -> T {
        self.end();
        let mut this = ManuallyDrop::new(self);
        // SAFETY: neither is used or dropped again, for `this` is not.
        unsafe {
            std::ptr::drop_in_place(&mut this.place);
            std::ptr::read(&this.file)
        }
    }

    fn end(&self) {
        self.place.reactor().deregister(self.source(), self.place.token());
    }

    /// A buffer to read into, lent by its runtime.
    pub(crate) fn spare(&self) -> Spare {
        self.place.reactor().spare()
    }

    /// The ring, if that is its driver.
    #[cfg(target_os = "linux")]
    pub(crate) fn uring(&self) -> Option<Arc<Uring>> {
        self.place.reactor().files().cloned()
    }

    #[inline]
    pub(super) fn slot(&self) -> &Slot {
        &self.place
    }

    fn source(&self) -> IoSource<'_> {
        IoSource::new(self.file.as_fd())
    }

    /// Whether there is a driver to wait for.
    ///
    /// # Errors
    /// The runtime was shut down.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.slot().readiness.look().is_over() { Err(over()) } else { Ok(()) }
    }

    /// An operation would have blocked, or moved less than it could have, after `seen`: it is not ready any more.
    ///
    /// # Errors
    /// The driver cannot be told. Then it counts as ready, for nobody will say so.
    #[inline]
    fn clear(&self, slot: &Slot, seen: Snapshot, interest: Interest, would_block: bool) -> io::Result<()> {
        let is_clear = slot.readiness.clear(seen, interest, would_block);
        if is_clear && slot.manner.needs_rearm { self.rearm(interest) } else { Ok(()) }
    }

    #[cold]
    fn rearm(&self, interest: Interest) -> io::Result<()> {
        let token = self.place.token();
        let armed = self.place.reactor().rearm(self.source(), token, interest);
        if armed.is_err() {
            self.place.readiness.event(token.generation(), Ready::READABLE | Ready::WRITABLE);
        }
        armed
    }

    /// Tries `operation` once: `seen` settles the interest. `None`: it would block.
    ///
    /// If less was moved than could have been, the stream is used up, unless something urgent is there. The tick of `seen` is
    /// from before the operation: what came since is not forgotten. A stream that is closed stays readable to its end.
    #[inline(always)]
    pub(super) fn attempt<R, E: Extent<R>>(
        &self,
        slot: &Slot,
        seen: Snapshot,
        interest: Interest,
        extent: E,
        operation: &mut impl FnMut() -> io::Result<R>,
    ) -> io::Result<Option<R>> {
        if seen.is_over() {
            return Err(over());
        }
        loop {
            match operation() {
                Ok(moved) => {
                    let is_bare = slot.manner.short_is_empty && !seen.ready().is_priority();
                    if is_bare && extent.is_short(&moved) {
                        let _counts_as_ready = self.clear(slot, seen, interest, false); // what was moved was moved
                    }
                    return Ok(Some(moved));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.clear(slot, seen, extent.over(interest), true)?;
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
        let slot = self.slot();
        let seen = slot.readiness.look();
        let is_due = seen.settles(interest);
        let done = is_due.then(|| self.attempt(slot, seen, interest, Whole, &mut operation)).transpose()?;
        done.flatten().ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// Ready when `direction` is, with the one slot it has for a waker: the last one to come is woken.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>, direction: Direction) -> Poll<io::Result<Ready>> {
        let seen = ready!(self.poll_look(self.slot(), cx, direction));
        Poll::Ready(if seen.is_over() { Err(over()) } else { Ok(seen.ready()) })
    }

    #[inline]
    fn poll_look(&self, slot: &Slot, cx: &mut Context<'_>, direction: Direction) -> Poll<Snapshot> {
        let seen = slot.readiness.poll(cx, Who::slot(direction));
        if seen.is_pending() {
            self.note(direction.interest());
        }
        seen
    }

    pub(super) fn note(&self, interest: Interest) {
        let reason = if interest.is_readable() { Reason::Input } else { Reason::Output };
        blocked::note(reason, self.file.as_fd().as_raw_fd() as usize);
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
        let (slot, mut turns) = (self.slot(), 0);
        loop {
            let seen = ready!(self.poll_look(slot, cx, direction));
            ready!(poll_go_on(&mut turns, cx));
            let attempt = self.attempt(slot, seen, direction.interest(), extent, &mut operation);
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
        Operation::new(self, interest, Whole, move |_: &T, seen: Snapshot| Ok(seen.ready().of(interest)))
    }

    /// [`ready`](Self::ready) for reading. (What is known when it is compiled takes no room in the future of whoever waits.)
    pub(crate) fn readable(&self) -> impl Future<Output = io::Result<()>> {
        Operation::new(self, Inward, Whole, |_: &T, _| Ok(()))
    }

    /// The same for writing.
    pub(crate) fn writable(&self) -> impl Future<Output = io::Result<()>> {
        Operation::new(self, Outward, Whole, |_: &T, _| Ok(()))
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
        Operation::new(self, interest, Whole, move |_: &T, _| operation())
    }

    /// [`poll_move`](Self::poll_move) for any number of waiters.
    pub(crate) fn transfer(
        &self,
        aim: impl Aim,
        most: UpTo,
        mut operation: impl FnMut(&T) -> io::Result<usize>,
    ) -> impl Future<Output = io::Result<usize>> {
        Operation::new(self, aim, most, move |file: &T, _| operation(file))
    }

    /// Moves all of something, a part at a time, until `operation` says that it was the last. Each is paid for: who finds that
    /// there is always room lets others run, too.
    pub(crate) fn transfer_all(
        &self,
        aim: impl Aim,
        is_nothing: bool,
        mut operation: impl FnMut(&T) -> io::Result<Part>,
    ) -> impl Future<Output = io::Result<()>> {
        Parts(Operation::new(self, aim, InParts { is_nothing }, move |file: &T, _| operation(file)))
    }
}

impl<T: AsFd> Drop for Moored<T> {
    fn drop(&mut self) {
        self.end();
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
            let all = left.transfer_all(Outward, false, |_| {
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
        assert!(size_of::<Slot>() <= 64, "{}", size_of::<Slot>());
        assert!(size_of::<TcpStream>() <= 16, "{}", size_of::<TcpStream>());
        fn size_of_output<A, F>(_: fn(A) -> F) -> usize {
            size_of::<F>()
        }
        let future = size_of_output(echo) - 1024;
        assert!(future <= 88, "{future}");
    }
}
