//! tokio's `AsyncRead` and `AsyncWrite`, in both directions. No runtime of tokio takes part.
//!
//! Our sockets have tokio's traits themselves, so libraries that ask for them take a [`TcpStream`] as it
//! is. [`Compat`] gives them to anything else that reads and writes by the traits of `futures-io`, and the other way round.
//! Nothing is copied in between.
//!
//! ```
//! use ropewalk::compat::tokio::Compat;
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! ropewalk::block_on(async {
//!     // Ours, used by tokio's ways.
//!     let (near, far) = ropewalk::io::duplex(64);
//!     Compat::new(near).write_all(b"hello").await?;
//!     let mut words = String::new();
//!     Compat::new(far).read_to_string(&mut words).await?;
//!     assert_eq!(words, "hello");
//!
//!     // Tokio's, used by ours.
//!     let (near, mut far) = tokio::io::duplex(64);
//!     ropewalk::io::AsyncWriteExt::write_all(&mut Compat::new(near), b"hello").await?;
//!     let mut buffer = [0; 5];
//!     far.read_exact(&mut buffer).await?;
//!     assert_eq!(&buffer, b"hello");
//!     Ok::<(), std::io::Error>(())
//! })
//! # .unwrap();
//! ```
//!
//! Closing: tokio's `shutdown` is the `close` of `futures-io`. Cancel safety is that of what is inside.
//!
//! # Invariants
//!
//! - **Y1** What a buffer lends is written by the kernel only, which initialises what it counts, and takes nothing back.

use crate::net::{TcpStream, UnixStream};
use ::tokio::io as theirs;
use ::tokio::io::ReadBuf;
use futures_io as ours;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A stream with the traits of the other side: see [the module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Compat<T>(T);

impl<T> Compat<T> {
    /// Wraps it.
    pub const fn new(stream: T) -> Self {
        Self(stream)
    }

    /// What is inside.
    pub const fn get_ref(&self) -> &T {
        &self.0
    }

    /// What is inside.
    pub const fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Takes it out again.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: Unpin> Compat<T> {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut T> {
        Pin::new(&mut self.get_mut().0)
    }
}

impl<T: ours::AsyncRead + Unpin> theirs::AsyncRead for Compat<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // What was initialised before stays so, and is not zeroed again.
        let count = ready!(self.inner().poll_read(cx, buffer.initialize_unfilled()))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: theirs::AsyncRead + Unpin> ours::AsyncRead for Compat<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(self.inner().poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

impl<T: ours::AsyncBufRead + Unpin> theirs::AsyncBufRead for Compat<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.inner().poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, count: usize) {
        self.inner().consume(count);
    }
}

impl<T: theirs::AsyncBufRead + Unpin> ours::AsyncBufRead for Compat<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.inner().poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, count: usize) {
        self.inner().consume(count);
    }
}

impl<T: ours::AsyncWrite + Unpin> theirs::AsyncWrite for Compat<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_close(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write_vectored(cx, buffers)
    }

    /// `futures-io` has no such question: who writes from several buffers need not put them together first.
    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl<T: theirs::AsyncWrite + Unpin> ours::AsyncWrite for Compat<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write_vectored(cx, buffers)
    }
}

/// tokio's traits for a socket of ours.
macro_rules! is_tokio_io {
    ($type:ty) => {
        impl theirs::AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffer: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: nothing in it is made less initialised (Y1).
                let room = unsafe { buffer.unfilled_mut() };
                let count = ready!(self.io.poll_fill(cx, room))?;
                // SAFETY: so much of it is initialised now (Y1).
                unsafe { buffer.assume_init(count) };
                buffer.advance(count);
                Poll::Ready(Ok(()))
            }
        }

        impl theirs::AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                ours::AsyncWrite::poll_write(self, cx, bytes)
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                ours::AsyncWrite::poll_flush(self, cx)
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                ours::AsyncWrite::poll_close(self, cx)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                ours::AsyncWrite::poll_write_vectored(self, cx, buffers)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }
        }
    };
}

is_tokio_io!(TcpStream);
is_tokio_io!(UnixStream);
