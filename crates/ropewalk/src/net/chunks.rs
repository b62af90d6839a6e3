//! Reading without a buffer of one's own: pieces of a stream in buffers that the runtime lends.
//!
//! With io_uring the kernel puts what arrives into the driver's buffers, again and again, without being asked each time
//! (`drive/io/uring/flow.rs`). Elsewhere, and whenever all of those are filled, a buffer is taken from the runtime's spare ones
//! when there is something to read.

use super::stream::receive;
#[cfg(target_os = "linux")]
use crate::drive::io::uring::{Arrival, Filled, Influx, What};
use crate::drive::io::{Direction, Moored, Spare, Stream, UpTo};
use std::fmt;
#[cfg(target_os = "linux")]
use std::future::poll_fn;
use std::io::{self, Read};
use std::ops::Deref;
use std::task::{Context, Poll, ready};

/// A piece of what has arrived, in a buffer of the runtime's. Dropping it gives the buffer back.
///
/// It is never empty. Made by [`Chunks::next`].
pub struct Lent(From);

enum From {
    Spare(Spare),
    #[cfg(target_os = "linux")]
    Kernel(Filled),
}

impl Deref for Lent {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.0 {
            From::Spare(spare) => spare,
            #[cfg(target_os = "linux")]
            From::Kernel(filled) => filled,
        }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lent").field(&self.len()).finish()
    }
}

/// A stream that is read in pieces, each in a buffer that the runtime lends: who waits holds none. Made by
/// [`TcpStream::into_chunks`](super::TcpStream::into_chunks) and
/// [`UnixStream::into_chunks`](super::UnixStream::into_chunks).
///
/// A server with many connections that are silent most of the time needs no memory for what they might send. With the
/// [io_uring driver](crate::driver::IoDriverKind::IoUring) there is no system call for reading either: the kernel fills buffers
/// of the driver's as data arrives. (That is not faster: it interrupts a worker for each arrival.) When 16 pieces wait, it is
/// told to stop until they are taken. So read only here, and not through [`stream`](Self::stream): each byte is in one place
/// only. A piece has up to 16 KiB. Those that are kept for long are missed by nobody else: then buffers are allocated.
///
/// ```
/// use ropewalk::net::{TcpListener, TcpStream};
/// # ropewalk::block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let echo = ropewalk::spawn(async move {
///     let mut chunks = listener.accept().await?.0.into_chunks();
///     while let Some(chunk) = chunks.next().await? {
///         chunks.stream().write_all(&chunk).await?;
///     }
///     Ok::<_, std::io::Error>(())
/// });
/// client.write_all(b"hello").await?;
/// client.shutdown(std::net::Shutdown::Write)?;
/// let mut back = client.into_chunks();
/// assert_eq!(&*back.next().await?.unwrap(), b"hello");
/// assert!(back.next().await?.is_none());
/// echo.await.unwrap()
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Chunks<S> {
    // Dropped first: the kernel knows the file by its number.
    pieces: Pieces,
    stream: S,
}

impl<S: fmt::Debug> fmt::Debug for Chunks<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chunks").field(&self.stream).finish()
    }
}

impl<S> Chunks<S> {
    /// The stream, to write to and to ask.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// Gives the stream back, and what was taken ahead of it, which comes before whatever it will read; and the error that
    /// came after that, if there was one: the stream does not tell it again.
    ///
    /// Not cancel safe: if it is dropped, stream and bytes are gone.
    pub async fn into_parts(self) -> (S, Vec<u8>, io::Result<()>) {
        let Self { mut pieces, stream } = self;
        let mut ahead = Vec::new();
        let outcome = pieces.finish(&mut ahead).await;
        (stream, ahead, outcome)
    }
}

/// What is alike for all streams, which have a field `io: Moored<_>`.
macro_rules! lends_chunks {
    ($type:ty) => {
        impl $type {
            /// Reads it in pieces from now on, each in a buffer that the runtime lends; see [`Chunks`](crate::net::Chunks).
            pub fn into_chunks(self) -> $crate::net::Chunks<Self> {
                $crate::net::Chunks { pieces: $crate::net::chunks::Pieces::new(&self.io), stream: self }
            }
        }

        impl $crate::net::Chunks<$type> {
            /// Waits for the next piece; `None` at the end.
            ///
            /// Cancel safe: what has arrived and was not returned is there for the next call.
            ///
            /// # Errors
            /// What the system says, or that the runtime was shut down.
            pub async fn next(&mut self) -> std::io::Result<Option<$crate::net::Lent>> {
                std::future::poll_fn(|cx| self.pieces.poll_next(cx, &self.stream.io)).await
            }
        }

        #[cfg(feature = "stream")]
        impl futures_core::Stream for $crate::net::Chunks<$type> {
            type Item = std::io::Result<$crate::net::Lent>;

            fn poll_next(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Self::Item>> {
                let this = self.get_mut();
                this.pieces.poll_next(cx, &this.stream.io).map(Result::transpose)
            }
        }
    };
}

lends_chunks!(super::TcpStream);
lends_chunks!(super::UnixStream);

/// Where pieces come from.
#[derive(Debug)]
struct Pieces {
    /// The kernel puts them into buffers of the driver's.
    #[cfg(target_os = "linux")]
    influx: Option<Influx>,
}

impl Pieces {
    fn new<F: Stream>(io: &Moored<F>) -> Self {
        #[cfg(target_os = "linux")]
        return Self { influx: io.uring().and_then(|uring| Influx::new(&uring, What::Bytes)) };
        #[cfg(not(target_os = "linux"))]
        {
            let _ = io;
            Self {}
        }
    }

    fn poll_next<F: Stream>(&mut self, cx: &mut Context<'_>, io: &Moored<F>) -> Poll<io::Result<Option<Lent>>>
    where
        for<'a> &'a F: Read,
    {
        #[cfg(target_os = "linux")]
        if let Some(influx) = &mut self.influx {
            match ready!(influx.poll(cx, io.file().as_fd())) {
                Arrival::Bytes(filled) => return Poll::Ready(Ok(Some(Lent(From::Kernel(filled))))),
                Arrival::End => return Poll::Ready(Ok(None)),
                Arrival::Failed(error) => return Poll::Ready(Err(error)),
                Arrival::Starved => {}
                Arrival::Unsupported | Arrival::Connection(_) => self.influx = None,
            }
        }
        let mut lent = None;
        let read = || {
            let mut spare = io.spare(); // there is something to read
            let count = spare.fill(|buffer| receive(io.file(), buffer))?;
            lent = (count > 0).then_some(Lent(From::Spare(spare)));
            Ok(count)
        };
        let most = F::reads(UpTo::bytes(Spare::SIZE));
        ready!(io.poll_move(cx, Direction::Read, most, read))?;
        Poll::Ready(Ok(lent))
    }

    /// What was taken ahead.
    async fn finish(&mut self, ahead: &mut Vec<u8>) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(mut influx) = self.influx.take() {
            poll_fn(|cx| influx.poll_stop(cx)).await;
            while let Some(piece) = influx.next_left() {
                ahead.extend_from_slice(&piece?);
            }
        }
        let _ = ahead;
        Ok(())
    }
}
