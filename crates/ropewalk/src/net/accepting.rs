//! Accepting when there is nothing left to accept with.

use crate::time::sleep;
use ropewalk_core::prim::real::{AtomicU32, Ordering::Relaxed};
use rustix::io::Errno;
use std::future::Future;
use std::io;
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
    pub(super) async fn accept<R>(&self, accept: impl Future<Output = io::Result<R>>) -> io::Result<R> {
        let tired = self.0.load(Relaxed);
        if tired > 0 {
            sleep(REST * (1 << (tired - 1).min(MOST))).await;
        }
        let accepted = accept.await;
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
