//! Accepting when there is nothing left to accept with.

use crate::drive::io::{Direction, Moored, Stream};
use crate::time::{Instant, sleep_until};
use ropewalk_core::prim::real::{AtomicU32, AtomicU64, Ordering::Relaxed};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// How long `accept` rests after the first error for want of descriptors or memory; then twice as long each time, at most
/// 256 times that.
const REST: Duration = Duration::from_millis(2);
const MOST: u32 = 8;

/// How often in a row the system had no descriptor or memory for a connection, and until when to rest for that. A server that
/// just goes on accepting would spin: the connection still waits, so the listener is ready.
///
/// The moment is set by the error and not by the next call: a caller that gives up and calls again goes on with the same pause.
#[derive(Debug, Default)]
pub(super) struct Rest {
    tired: AtomicU32,
    /// A moment of the clock of whoever had the error.
    until: AtomicU64,
}

impl Rest {
    /// Waits for a connection, which is watched by the driver of its listener.
    pub(super) async fn accept<L: AsFd, S: Stream, A>(
        &self,
        listener: &Moored<L>,
        accept: impl Fn(&L) -> io::Result<(S, A)>,
    ) -> io::Result<(Moored<S>, A)> {
        self.pause().await;
        let accepted = listener.registration().io(Direction::Read, || accept(listener.file())).await;
        self.note(accepted.and_then(|(stream, from)| Ok((listener.beside(stream)?, from))))
    }

    /// Rests, if there is a reason to.
    pub(super) async fn pause(&self) {
        let tired = self.tired.load(Relaxed);
        if tired > 0 {
            // By another clock it may be far away.
            let until = self.until.load(Relaxed).min((Instant::now() + span(tired)).nanos());
            sleep_until(Instant::from_nanos(until)).await;
        }
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
