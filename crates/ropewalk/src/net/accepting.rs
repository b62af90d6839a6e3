//! Accepting when there is nothing left to accept with.

use crate::drive::io::{Direction, Moored, Stream};
use crate::time::{Instant, Sleep, sleep_until};
use ropewalk_core::prim::Lock;
use ropewalk_core::prim::real::{AtomicU32, AtomicU64, Ordering::Relaxed};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How long `accept` rests after the first error for want of descriptors or memory; then twice as long each time, at most
/// 256 times that.
const REST: Duration = Duration::from_millis(2);
const MOST: u32 = 8;

/// How often in a row the system had no descriptor or memory for a connection, and until when to rest for that. A server that
/// just goes on accepting would spin: the connection still waits, so the listener is ready.
///
/// The moment is set by the error and not by the next call: a caller that gives up and calls again goes on with the same pause.
#[derive(Debug)]
pub(super) struct Rest {
    tired: AtomicU32,
    /// A moment of the clock of whoever had the error.
    until: AtomicU64,
    /// The rest of a task that polls.
    nap: Lock<Option<Pin<Box<Sleep>>>>,
}

impl Default for Rest {
    fn default() -> Self {
        Self { tired: AtomicU32::new(0), until: AtomicU64::new(0), nap: Lock::new(None) }
    }
}

impl Rest {
    /// Waits for a connection, which is watched by the driver of its listener.
    pub(super) async fn accept<L: AsFd, S: Stream, A>(
        &self,
        listener: &Moored<L>,
        accept: impl Fn(&L) -> io::Result<(S, A)>,
    ) -> io::Result<(Moored<S>, A)> {
        self.pause().await;
        let accepted = listener.io(Direction::Read, || accept(listener.file())).await;
        self.note(accepted.and_then(|(stream, from)| Ok((listener.beside(stream)?, from))))
    }

    /// The same for one task at a time.
    pub(super) fn poll_accept<L: AsFd, S: Stream, A>(
        &self,
        cx: &mut Context<'_>,
        listener: &Moored<L>,
        accept: impl Fn(&L) -> io::Result<(S, A)>,
    ) -> Poll<io::Result<(Moored<S>, A)>> {
        ready!(self.poll_pause(cx));
        let accepted = ready!(listener.poll_io(cx, Direction::Read, || accept(listener.file())));
        Poll::Ready(self.note(accepted.and_then(|(stream, from)| Ok((listener.beside(stream)?, from)))))
    }

    /// Rests, if there is a reason to.
    pub(super) async fn pause(&self) {
        if let Some(until) = self.end() {
            sleep_until(until).await;
        }
    }

    /// The same for one task at a time.
    fn poll_pause(&self, cx: &mut Context<'_>) -> Poll<()> {
        let under_way = self.nap.lock().take();
        let Some(mut nap) = under_way.or_else(|| Some(Box::pin(sleep_until(self.end()?)))) else {
            return Poll::Ready(());
        };
        let rested = nap.as_mut().poll(cx);
        if rested.is_pending() {
            let other = self.nap.lock().replace(nap);
            drop(other);
        }
        rested
    }

    /// When it has rested enough; `None`: it need not.
    fn end(&self) -> Option<Instant> {
        let tired = self.tired.load(Relaxed);
        // By another clock it may be far away.
        (tired > 0).then(|| {
            Instant::from_nanos(self.until.load(Relaxed).min((Instant::now() + span(tired)).nanos()))
        })
    }

    /// What came of an attempt.
    pub(super) fn note<R>(&self, accepted: io::Result<R>) -> io::Result<R> {
        match &accepted {
            Err(error) if is_exhaustion(error) => self.tire(),
            _ if self.tired.load(Relaxed) > 0 => self.tired.store(0, Relaxed),
            _ => {}
        }
        accepted
    }

    fn tire(&self) {
        let tired = self.tired.load(Relaxed).saturating_add(1);
        self.until.store((Instant::now() + span(tired)).nanos(), Relaxed);
        self.tired.store(tired, Relaxed);
    }
}

/// How long to rest after so many errors.
fn span(tired: u32) -> Duration {
    REST * (1 << (tired - 1).min(MOST))
}

fn is_exhaustion(error: &io::Error) -> bool {
    let of_system = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(of_system, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// A connection that was given up before it was accepted is not the caller's business.
pub(super) fn skip_aborted<R>(mut accept: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match accept() {
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            outcome => return outcome,
        }
    }
}
