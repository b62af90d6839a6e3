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
//! The invariant Y1 is in `compat.rs`.

use crate::net::{TcpStream, UnixStream};
use ::tokio::io as theirs;
use ::tokio::io::ReadBuf;
use futures_io as ours;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

wrapper! {
    /// A stream with the traits of the other side: see [the module](self).
    Compat
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

writes! {
    impl[T: ours::AsyncWrite + Unpin] theirs::AsyncWrite, poll_shutdown for Compat<T>,
    by |this| this.inner(), ours::AsyncWrite, poll_close {
        /// `futures-io` has no such question: who writes from several buffers need not put them together first.
        fn is_write_vectored(&self) -> bool {
            true
        }
    }
}

writes! {
    impl[T: theirs::AsyncWrite + Unpin] ours::AsyncWrite, poll_close for Compat<T>,
    by |this| this.inner(), theirs::AsyncWrite, poll_shutdown {}
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

        writes! {
            impl[] theirs::AsyncWrite, poll_shutdown for $type,
            by |this| this, ours::AsyncWrite, poll_close {
                fn is_write_vectored(&self) -> bool {
                    true
                }
            }
        }
    };
}

is_tokio_io!(TcpStream);
is_tokio_io!(UnixStream);
