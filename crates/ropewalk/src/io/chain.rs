//! One reader after the other.

use super::{AsyncBufRead, AsyncRead, IoSliceMut};
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What [`AsyncReadExt::chain`](super::AsyncReadExt::chain) gives.
#[derive(Debug)]
pub struct Chain<A, B> {
    first: A,
    second: B,
    first_is_over: bool,
}

impl<A, B> Chain<A, B> {
    pub(super) fn new(first: A, second: B) -> Self {
        Self { first, second, first_is_over: false }
    }

    /// Both readers.
    pub fn into_inner(self) -> (A, B) {
        (self.first, self.second)
    }
}

impl<A: AsyncRead + Unpin, B: AsyncRead + Unpin> AsyncRead for Chain<A, B> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        if !self.first_is_over {
            let count = ready!(Pin::new(&mut self.first).poll_read(cx, buf))?;
            if count > 0 || buf.is_empty() {
                return Poll::Ready(Ok(count));
            }
            self.first_is_over = true;
        }
        Pin::new(&mut self.second).poll_read(cx, buf)
    }

    fn poll_read_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<Result<usize>> {
        if !self.first_is_over {
            let count = ready!(Pin::new(&mut self.first).poll_read_vectored(cx, bufs))?;
            if count > 0 || bufs.iter().all(|buf| buf.is_empty()) {
                return Poll::Ready(Ok(count));
            }
            self.first_is_over = true;
        }
        Pin::new(&mut self.second).poll_read_vectored(cx, bufs)
    }
}

impl<A: AsyncBufRead + Unpin, B: AsyncBufRead + Unpin> AsyncBufRead for Chain<A, B> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<&[u8]>> {
        let this = self.get_mut();
        if !this.first_is_over {
            if ready!(Pin::new(&mut this.first).poll_fill_buf(cx))?.is_empty() {
                this.first_is_over = true;
            } else {
                return Pin::new(&mut this.first).poll_fill_buf(cx);
            }
        }
        Pin::new(&mut this.second).poll_fill_buf(cx)
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        if self.first_is_over {
            Pin::new(&mut self.second).consume(count);
        } else {
            Pin::new(&mut self.first).consume(count);
        }
    }
}
