//! Joins to other people's traits, each behind a feature of its own.
//!
//! * `hyper`: HTTP/1 and HTTP/2 servers and clients by hyper, see [`hyper`].
//! * `tokio-io`: what is written for tokio's `AsyncRead` and `AsyncWrite`, see [`tokio`].
//!
//! The traits of `futures-io` need no joining: they are the ones of [`io`](crate::io). rustls comes through `futures-rustls`.

#[cfg(feature = "hyper")]
pub mod hyper;
#[cfg(feature = "tokio-io")]
pub mod tokio;

use crate::drive::io::{Direction, Moored};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

impl<S: AsFd> Moored<S> {
    /// Reads into memory that holds nothing yet, and says how much of it does now.
    fn poll_fill(&self, cx: &mut Context<'_>, buffer: &mut [MaybeUninit<u8>]) -> Poll<io::Result<usize>> {
        let most = buffer.len();
        let read = || Ok(rustix::io::read(self.file(), &mut *buffer)?.0.len());
        let count = ready!(self.registration().poll_move(cx, Direction::Read, most, read))?;
        Poll::Ready(Ok(count))
    }
}
