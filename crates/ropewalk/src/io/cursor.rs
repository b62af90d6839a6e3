//! Memory as a file.

use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, SeekFrom};
use std::io::{self, BufRead, Read, Result, Seek, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes in memory with a position: [`std::io::Cursor`] for these traits. It never waits.
///
/// ```
/// use ropewalk::io::{Cursor, prelude::*};
/// # ropewalk::block_on(async {
/// let mut file = Cursor::new(Vec::new());
/// file.write_all(b"in memory").await?;
/// file.rewind().await?;
/// let mut text = String::new();
/// file.read_to_string(&mut text).await?;
/// assert_eq!(text, "in memory");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cursor<T>(io::Cursor<T>);

impl<T> Cursor<T> {
    /// At the start of `bytes`.
    pub fn new(bytes: T) -> Self {
        Self(io::Cursor::new(bytes))
    }

    /// The bytes.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }

    /// The bytes.
    pub fn get_ref(&self) -> &T {
        self.0.get_ref()
    }

    /// The position.
    pub fn position(&self) -> u64 {
        self.0.position()
    }

    /// Changes the position.
    pub fn set_position(&mut self, position: u64) {
        self.0.set_position(position);
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncRead for Cursor<T> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        Poll::Ready(self.0.read(buf))
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncBufRead for Cursor<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<&[u8]>> {
        Poll::Ready(self.get_mut().0.fill_buf())
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.0.consume(count);
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncSeek for Cursor<T> {
    fn poll_seek(mut self: Pin<&mut Self>, _: &mut Context<'_>, position: SeekFrom) -> Poll<Result<u64>> {
        Poll::Ready(self.0.seek(position))
    }
}

impl<T: Unpin> AsyncWrite for Cursor<T>
where
    io::Cursor<T>: Write,
{
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        Poll::Ready(self.0.write(buf))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(self.0.flush())
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(self.0.flush())
    }
}
