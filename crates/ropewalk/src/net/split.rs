//! The two halves of a stream, borrowed or shared.
//!
//! ```
//! use ropewalk::net::{TcpListener, TcpStream};
//! # ropewalk::block_on(async {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let (read, write) = TcpStream::connect(listener.local_addr()?).await?.into_split();
//! let stream = read.reunite(write).expect("two halves of one stream");
//! # drop(stream);
//! # Ok::<(), std::io::Error>(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```

use super::TcpStream;
use super::unix::UnixStream;
use futures_io::{AsyncRead, AsyncWrite};
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

mod sealed {
    pub trait Sealed {}
}

/// A stream that has two halves.
pub trait Duplex: sealed::Sealed + Send + Sync {
    #[doc(hidden)]
    fn poll_read_half(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>>;
    #[doc(hidden)]
    fn poll_read_half_vectored(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>>;
    #[doc(hidden)]
    fn poll_write_half(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;
    #[doc(hidden)]
    fn poll_write_half_vectored(
        &self,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;
    #[doc(hidden)]
    fn end_writing(&self) -> io::Result<()>;
}

macro_rules! has_halves {
    ($type:ty) => {
        impl sealed::Sealed for $type {}
        impl Duplex for $type {
            fn poll_read_half(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
                self.io.poll_read(cx, buffer)
            }
            fn poll_read_half_vectored(
                &self,
                cx: &mut Context<'_>,
                buffers: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                self.io.poll_read_vectored(cx, buffers)
            }
            fn poll_write_half(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                self.io.poll_write(cx, bytes)
            }
            fn poll_write_half_vectored(
                &self,
                cx: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.io.poll_write_vectored(cx, buffers)
            }
            fn end_writing(&self) -> io::Result<()> {
                super::over_is_closed(self.shutdown(Shutdown::Write))
            }
        }
    };
}

has_halves!(TcpStream);
has_halves!(UnixStream);

/// The reading half of a borrowed stream. It derefs to the stream, for `read` by reference, `readable`, `peek` and the like.
#[derive(Debug)]
pub struct ReadHalf<'a, S>(&'a S);

/// The writing half of a borrowed stream. It derefs to the stream, for `write` by reference, `writable` and the like.
#[derive(Debug)]
pub struct WriteHalf<'a, S>(&'a S);

pub(super) fn split<S: Duplex>(stream: &mut S) -> (ReadHalf<'_, S>, WriteHalf<'_, S>) {
    (ReadHalf(stream), WriteHalf(stream))
}

/// The reading half of a stream, shared with the writing half: the stream is closed when both are dropped. It derefs to the
/// stream.
#[derive(Debug)]
pub struct OwnedReadHalf<S: Duplex>(Arc<S>);

/// The writing half of a stream. Dropping it ends writing: the other side reads what was sent, and then the end. It derefs to
/// the stream.
#[derive(Debug)]
pub struct OwnedWriteHalf<S: Duplex> {
    stream: Option<Arc<S>>,
}

pub(super) fn into_split<S: Duplex>(stream: S) -> (OwnedReadHalf<S>, OwnedWriteHalf<S>) {
    let stream = Arc::new(stream);
    (OwnedReadHalf(stream.clone()), OwnedWriteHalf { stream: Some(stream) })
}

impl<S: Duplex> OwnedReadHalf<S> {
    /// Puts the halves of one stream together again.
    ///
    /// # Errors
    /// They are of two streams: both come back.
    pub fn reunite(self, write: OwnedWriteHalf<S>) -> Result<S, ReuniteError<S>> {
        write.reunite(self)
    }
}

impl<S: Duplex> OwnedWriteHalf<S> {
    /// Puts the halves of one stream together again.
    ///
    /// # Errors
    /// They are of two streams: both come back.
    pub fn reunite(mut self, read: OwnedReadHalf<S>) -> Result<S, ReuniteError<S>> {
        if !Arc::ptr_eq(self.shared(), &read.0) {
            return Err(ReuniteError(read, self));
        }
        drop(self.stream.take());
        Ok(Arc::into_inner(read.0).expect("there are two halves of a stream, and the other one is gone"))
    }

    /// Drops it without ending the writing.
    pub fn forget(mut self) {
        drop(self.stream.take());
    }

    fn shared(&self) -> &Arc<S> {
        self.stream.as_ref().expect("it is there until the half is taken apart")
    }
}

impl<S: Duplex> Drop for OwnedWriteHalf<S> {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            let _closed_anyway = stream.end_writing();
        }
    }
}

/// The two halves are not of one stream.
pub struct ReuniteError<S: Duplex>(pub OwnedReadHalf<S>, pub OwnedWriteHalf<S>);

impl<S: Duplex> fmt::Debug for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReuniteError")
    }
}

impl<S: Duplex> fmt::Display for ReuniteError<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the two halves are of two streams: put those together that came from one split")
    }
}

impl<S: Duplex> std::error::Error for ReuniteError<S> {}

impl<S> Deref for ReadHalf<'_, S> {
    type Target = S;
    fn deref(&self) -> &S {
        self.0
    }
}

impl<S> Deref for WriteHalf<'_, S> {
    type Target = S;
    fn deref(&self) -> &S {
        self.0
    }
}

impl<S: Duplex> Deref for OwnedReadHalf<S> {
    type Target = S;
    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Duplex> Deref for OwnedWriteHalf<S> {
    type Target = S;
    fn deref(&self) -> &S {
        self.shared()
    }
}

macro_rules! reads {
    ($type:ty $(, $life:lifetime)?) => {
        impl<$($life,)? S: Duplex> AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffer: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_read_half(cx, buffer)
            }
            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                self.poll_read_half_vectored(cx, buffers)
            }
        }
    };
}

macro_rules! writes {
    ($type:ty $(, $life:lifetime)?) => {
        impl<$($life,)? S: Duplex> AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_write_half(cx, bytes)
            }
            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.poll_write_half_vectored(cx, buffers)
            }
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
            fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.end_writing())
            }
        }
    };
}

reads!(ReadHalf<'a, S>, 'a);
reads!(OwnedReadHalf<S>);
writes!(WriteHalf<'a, S>, 'a);
writes!(OwnedWriteHalf<S>);
