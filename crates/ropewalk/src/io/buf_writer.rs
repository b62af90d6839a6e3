//! A writer with a buffer.

use super::write::takes_no_more;
use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, BUFFER, IoSliceMut, SeekFrom};
use ropewalk_core::budget::poll_proceed;
use std::fmt;
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Takes small pieces and writes large ones. What is read from it comes straight from what it writes to.
///
/// **Flush it, or close it, before it is dropped**: what is in the buffer then is lost, since a destructor cannot wait.
///
/// ```
/// use ropewalk::io::{BufWriter, prelude::*};
/// # ropewalk::block_on(async {
/// let mut writer = BufWriter::new(Vec::new());
/// for number in 0..3 {
///     writer.write_all(format!("{number} ").as_bytes()).await?;
/// }
/// assert!(writer.get_ref().is_empty()); // all in the buffer
/// writer.flush().await?;
/// assert_eq!(writer.into_inner(), b"0 1 2 ");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// After an error what was not written is still in the buffer, and is tried again with the next operation.
pub struct BufWriter<W> {
    buf: Vec<u8>,
    capacity: usize,
    /// `buf[..written]` is below already.
    written: usize,
    inner: W,
}

impl<W> BufWriter<W> {
    /// With a buffer of 8 KiB.
    pub fn new(inner: W) -> Self {
        Self::with_capacity(BUFFER, inner)
    }

    /// With a buffer of `capacity` bytes; without one, if that is zero.
    pub fn with_capacity(capacity: usize, inner: W) -> Self {
        Self { buf: Vec::with_capacity(capacity), capacity, written: 0, inner }
    }

    /// The writer below. What is in the buffer is lost.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// The writer below.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// The writer below. What is written to it overtakes what is in the buffer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// What was taken and is not below yet.
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.written..]
    }
}

impl<W: AsyncWrite + Unpin> BufWriter<W> {
    fn poll_empty(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        while self.written < self.buf.len() {
            ready!(poll_proceed(cx));
            match ready!(Pin::new(&mut self.inner).poll_write(cx, &self.buf[self.written..]))? {
                0 => return Poll::Ready(Err(takes_no_more(self.written, self.buf.len()))),
                count => self.written += count,
            }
        }
        self.buf.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for BufWriter<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        if self.buf.len() + buf.len() > self.capacity {
            ready!(self.poll_empty(cx))?;
        }
        if buf.len() >= self.capacity {
            return Pin::new(&mut self.inner).poll_write(cx, buf);
        }
        self.buf.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_empty(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_empty(cx))?;
        Pin::new(&mut self.inner).poll_close(cx)
    }
}

/// What is in the buffer is written first.
impl<W: AsyncWrite + AsyncSeek + Unpin> AsyncSeek for BufWriter<W> {
    fn poll_seek(mut self: Pin<&mut Self>, cx: &mut Context<'_>, position: SeekFrom) -> Poll<Result<u64>> {
        ready!(self.poll_empty(cx))?;
        Pin::new(&mut self.inner).poll_seek(cx, position)
    }
}

impl<W: AsyncRead + Unpin> AsyncRead for BufWriter<W> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }

    fn poll_read_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.inner).poll_read_vectored(cx, bufs)
    }
}

impl<W: AsyncBufRead + Unpin> AsyncBufRead for BufWriter<W> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<&[u8]>> {
        Pin::new(&mut self.get_mut().inner).poll_fill_buf(cx)
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        Pin::new(&mut self.inner).consume(count);
    }
}

impl<W: fmt::Debug> fmt::Debug for BufWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waiting, capacity) = (self.buffer().len(), self.capacity);
        f.debug_struct("BufWriter")
            .field("inner", &self.inner)
            .field("buffered", &format_args!("{waiting}/{capacity}"))
            .finish()
    }
}
