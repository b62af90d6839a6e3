//! The beginning of a reader.

use super::{AsyncBufRead, AsyncRead};
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What [`AsyncReadExt::take`](super::AsyncReadExt::take) gives.
#[derive(Debug)]
pub struct Take<R> {
    inner: R,
    left: u64,
}

impl<R> Take<R> {
    pub(super) fn new(inner: R, left: u64) -> Self {
        Self { inner, left }
    }

    /// How many bytes may still be read before it ends.
    pub fn limit(&self) -> u64 {
        self.left
    }

    /// Ends after another `limit` bytes.
    pub fn set_limit(&mut self, limit: u64) {
        self.left = limit;
    }

    /// The reader below.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// The reader below.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// How much of `len` bytes may be read.
    fn allowed(&self, len: usize) -> usize {
        usize::try_from(self.left).map_or(len, |left| left.min(len))
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Take<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        let allowed = self.allowed(buf.len());
        if allowed == 0 {
            return Poll::Ready(Ok(0));
        }
        let count = ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buf[..allowed]))?;
        self.left = self.left.saturating_sub(count as u64);
        Poll::Ready(Ok(count))
    }
}

impl<R: AsyncBufRead + Unpin> AsyncBufRead for Take<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<&[u8]>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(Ok(&[]));
        }
        let left = this.left;
        let there = ready!(Pin::new(&mut this.inner).poll_fill_buf(cx))?;
        let allowed = usize::try_from(left).map_or(there.len(), |left| left.min(there.len()));
        Poll::Ready(Ok(&there[..allowed]))
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        let count = self.allowed(count);
        self.left -= count as u64;
        Pin::new(&mut self.inner).consume(count);
    }
}
