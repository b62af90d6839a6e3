//! Writing: the methods of every writer.

use super::{AsyncWrite, IoSlice};
use ropewalk_core::budget::poll_proceed;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The methods of every [`AsyncWrite`].
///
/// ```
/// use ropewalk::io::{self, prelude::*};
/// # ropewalk::block_on(async {
/// let (mut writer, mut reader) = io::duplex(16);
/// writer.write_all(b"hello").await?;
/// writer.close().await?; // the other side reads the end
/// let mut word = String::new();
/// reader.read_to_string(&mut word).await?;
/// assert_eq!(word, "hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncWriteExt: AsyncWrite {
    /// Writes some of `buf`; how much. Zero means that the writer takes no more, unless `buf` is empty.
    ///
    /// **Cancel safety**: if it is dropped unfinished, nothing was written.
    ///
    /// # Errors
    /// Those of the writer.
    fn write<'a>(&'a mut self, buf: &'a [u8]) -> Write<'a, Self>
    where
        Self: Unpin,
    {
        Write { writer: self, buf }
    }

    /// As [`write`](Self::write), from several buffers, one after the other.
    ///
    /// **Cancel safety**: if it is dropped unfinished, nothing was written.
    ///
    /// # Errors
    /// Those of the writer.
    fn write_vectored<'a>(&'a mut self, bufs: &'a [IoSlice<'a>]) -> WriteVectored<'a, Self>
    where
        Self: Unpin,
    {
        WriteVectored { writer: self, bufs }
    }

    /// Writes all of `buf`.
    ///
    /// **Not cancel-safe**: if it is dropped unfinished, a beginning of `buf` of unknown length was written.
    ///
    /// # Errors
    /// [`WriteZero`](ErrorKind::WriteZero), with the numbers, if the writer takes no more; those of the writer.
    fn write_all<'a>(&'a mut self, buf: &'a [u8]) -> WriteAll<'a, Self>
    where
        Self: Unpin,
    {
        WriteAll { writer: self, buf, written: 0 }
    }

    /// Waits until everything that was written has left the writer's buffers.
    ///
    /// **Cancel safety**: dropping it loses nothing; the rest is still in the buffer.
    ///
    /// # Errors
    /// Those of the writer.
    fn flush(&mut self) -> Flush<'_, Self>
    where
        Self: Unpin,
    {
        Flush { writer: self }
    }

    /// Flushes, and says that nothing more will be written: a socket is shut down for writing, the other end of a pipe reads
    /// the end. (Elsewhere this is called `shutdown`.)
    ///
    /// **Cancel safety**: dropping it loses nothing; call it again.
    ///
    /// # Errors
    /// Those of the writer.
    fn close(&mut self) -> Close<'_, Self>
    where
        Self: Unpin,
    {
        Close { writer: self }
    }
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}

one_call! {
    /// Future of [`AsyncWriteExt::write`].
    Write: AsyncWrite, writer, buf: &'a [u8] => poll_write, usize
}

one_call! {
    /// Future of [`AsyncWriteExt::write_vectored`].
    WriteVectored: AsyncWrite, writer, bufs: &'a [IoSlice<'a>] => poll_write_vectored, usize
}

/// Future of [`AsyncWriteExt::write_all`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct WriteAll<'a, W: ?Sized> {
    writer: &'a mut W,
    buf: &'a [u8],
    written: usize,
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for WriteAll<'_, W> {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        while this.written < this.buf.len() {
            ready!(poll_proceed(cx));
            match ready!(Pin::new(&mut *this.writer).poll_write(cx, &this.buf[this.written..]))? {
                0 => return Poll::Ready(Err(takes_no_more(this.written, this.buf.len()))),
                count => this.written += count,
            }
        }
        Poll::Ready(Ok(()))
    }
}

pub(super) fn takes_no_more(written: usize, wanted: usize) -> Error {
    Error::new(ErrorKind::WriteZero, format!("the writer took {written} of {wanted} bytes and takes no more"))
}

one_call! {
    /// Future of [`AsyncWriteExt::flush`].
    Flush: AsyncWrite, writer => poll_flush, ()
}

one_call! {
    /// Future of [`AsyncWriteExt::close`].
    Close: AsyncWrite, writer => poll_close, ()
}
