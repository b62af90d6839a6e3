//! A duplex with a buffer each way.

use super::{
    AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, BUFFER, BufReader, BufWriter, IoSlice, IoSliceMut,
    SeekFrom,
};
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A [`BufReader`] and a [`BufWriter`] around the same thing. As with the latter: flush before it is dropped.
///
/// ```
/// use ropewalk::io::{self, BufStream, prelude::*};
/// # ropewalk::block_on(async {
/// let (near, far) = io::duplex(1024);
/// let (mut near, mut far) = (BufStream::new(near), BufStream::new(far));
/// near.write_all(b"ping\n").await?;
/// near.flush().await?;
/// let mut line = String::new();
/// far.read_line(&mut line).await?;
/// assert_eq!(line, "ping\n");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct BufStream<S>(BufReader<BufWriter<S>>);

impl<S> BufStream<S> {
    /// With 8 KiB each way.
    pub fn new(inner: S) -> Self {
        Self::with_capacity(BUFFER, BUFFER, inner)
    }

    /// With buffers of these sizes.
    pub fn with_capacity(reading: usize, writing: usize, inner: S) -> Self {
        Self(BufReader::with_capacity(reading, BufWriter::with_capacity(writing, inner)))
    }

    /// What is below. What is in the buffers is lost.
    pub fn into_inner(self) -> S {
        self.0.into_inner().into_inner()
    }

    /// What is below.
    pub fn get_ref(&self) -> &S {
        self.0.get_ref().get_ref()
    }

    /// What is below. Reading and writing there passes by the buffers.
    pub fn get_mut(&mut self) -> &mut S {
        self.0.get_mut().get_mut()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BufStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }

    fn poll_read_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.0).poll_read_vectored(cx, bufs)
    }
}

impl<S: AsyncRead + Unpin> AsyncBufRead for BufStream<S> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<&[u8]>> {
        Pin::new(&mut self.get_mut().0).poll_fill_buf(cx)
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        Pin::new(&mut self.0).consume(count);
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BufStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

/// What was written is flushed to what is below first, and what was read ahead is forgotten.
impl<S: AsyncWrite + AsyncSeek + Unpin> AsyncSeek for BufStream<S> {
    fn poll_seek(mut self: Pin<&mut Self>, cx: &mut Context<'_>, position: SeekFrom) -> Poll<Result<u64>> {
        Pin::new(&mut self.0).poll_seek(cx, position)
    }
}
