//! Readers and writers of nothing: for tests, and where one is demanded.

use super::{AsyncBufRead, AsyncRead, AsyncWrite};
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A reader that is at its end.
///
/// ```
/// use ropewalk::io::{self, prelude::*};
/// assert_eq!(ropewalk::block_on(io::empty().read(&mut [0; 8])).unwrap(), 0);
/// ```
pub fn empty() -> Empty {
    Empty(())
}

/// See [`empty`].
#[derive(Clone, Copy, Debug)]
pub struct Empty(());

impl AsyncRead for Empty {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut [u8]) -> Poll<Result<usize>> {
        Poll::Ready(Ok(0))
    }
}

impl AsyncBufRead for Empty {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<&[u8]>> {
        Poll::Ready(Ok(&[]))
    }

    fn consume(self: Pin<&mut Self>, _: usize) {}
}

/// A reader of `byte` without end.
///
/// ```
/// use ropewalk::io::{self, prelude::*};
/// let mut buf = [0; 3];
/// ropewalk::block_on(io::repeat(7).read_exact(&mut buf)).unwrap();
/// assert_eq!(buf, [7; 3]);
/// ```
pub fn repeat(byte: u8) -> Repeat {
    Repeat(byte)
}

/// See [`repeat`].
#[derive(Clone, Copy, Debug)]
pub struct Repeat(u8);

impl AsyncRead for Repeat {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        buf.fill(self.0);
        Poll::Ready(Ok(buf.len()))
    }
}

/// A writer that takes everything and keeps nothing.
///
/// ```
/// use ropewalk::io::{self, prelude::*};
/// ropewalk::block_on(io::sink().write_all(b"into the void")).unwrap();
/// ```
pub fn sink() -> Sink {
    Sink(())
}

/// See [`sink`].
#[derive(Clone, Copy, Debug)]
pub struct Sink(());

impl AsyncWrite for Sink {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}
