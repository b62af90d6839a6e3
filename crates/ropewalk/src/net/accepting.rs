//! Accepting when there is nothing left to accept with.

use crate::drive::io::{Direction, Moored, Stream};
use crate::time::sleep;
use ropewalk_core::prim::real::{AtomicU32, Ordering::Relaxed};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// How long `accept` rests after the first error for want of descriptors or memory; then twice as long each time, at most
/// 256 times that.
const REST: Duration = Duration::from_millis(2);
const MOST: u32 = 8;

/// How often in a row the system had no descriptor or memory for a connection. A server that just goes on accepting would
/// spin: the connection still waits, so the listener is ready.
#[derive(Debug, Default)]
pub(super) struct Rest(AtomicU32);

impl Rest {
    /// Waits for a connection, which is watched by the driver of its listener.
    pub(super) async fn accept<L: AsFd, S: Stream, A>(
        &self,
        listener: &Moored<L>,
        accept: impl Fn(&L) -> io::Result<(S, A)>,
    ) -> io::Result<(Moored<S>, A)> {
        let tired = self.0.load(Relaxed);
        if tired > 0 {
            sleep(REST * (1 << (tired - 1).min(MOST))).await;
        }
        let accepted = listener.registration().io(Direction::Read, || accept(listener.file())).await;
        let accepted = accepted.and_then(|(stream, from)| Ok((listener.beside(stream)?, from)));
        match &accepted {
            Err(error) if is_exhaustion(error) => drop(self.0.fetch_add(1, Relaxed)),
            _ if tired > 0 => self.0.store(0, Relaxed),
            _ => {}
        }
        accepted
    }
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
