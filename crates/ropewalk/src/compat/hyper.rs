//! hyper on Ropewalk: HTTP/1 and HTTP/2, servers and clients.
//!
//! Our sockets have hyper's `Read` and `Write` themselves: [`TcpStream`] and [`UnixStream`] go into a connection as they are.
//! [`Io`] does the same for everything else that reads and writes by the traits of `futures-io`, as a stream under TLS does.
//! [`Executor`] and [`Timer`] are what hyper asks for beside them.
//!
//! ```
//! use http_body_util::{BodyExt, Empty, Full};
//! use hyper::body::Bytes;
//! use hyper::{Request, Response, client, server, service::service_fn};
//! use ropewalk::{compat::hyper::Timer, net};
//!
//! ropewalk::block_on(async {
//!     let listener = net::TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     drop(ropewalk::spawn(async move {
//!         let (stream, _) = listener.accept().await?;
//!         let hello = || Response::new(Full::<Bytes>::from("hello"));
//!         let answer = service_fn(|_| async { Ok::<_, hyper::Error>(hello()) });
//!         let serving = server::conn::http1::Builder::new().timer(Timer::new()).serve_connection(stream, answer);
//!         serving.await.map_err(std::io::Error::other)
//!     }));
//!
//!     let stream = net::TcpStream::connect(address).await?;
//!     let (mut sender, connection) = client::conn::http1::handshake(stream).await?;
//!     drop(ropewalk::spawn(connection));
//!     let response = sender.send_request(Request::new(Empty::<Bytes>::new())).await?;
//!     assert_eq!(response.into_body().collect().await?.to_bytes(), "hello");
//!     Ok(())
//! })
//! # .map_err(|error: Box<dyn std::error::Error>| error).unwrap();
//! ```
//!
//! A connection that is dropped is closed. To end one without cutting an answer short, hyper has `graceful_shutdown` of
//! the connection.
//!
//! The invariant Y1 is in `compat.rs`.

use crate::Handle;
use crate::net::{TcpStream, UnixStream};
use crate::time;
use ::hyper::rt;
use futures_io::{AsyncRead, AsyncWrite};
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Spawns hyper's own tasks in the current runtime, or else the default one. HTTP/2 has such tasks.
///
/// A [`Handle`] is an executor, too: of the runtime it belongs to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Executor;

impl<F> rt::Executor<F> for Executor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(crate::spawn(future));
    }
}

impl<F> rt::Executor<F> for Handle
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.spawn(future));
    }
}

/// Keeps hyper's times (of headers that do not come, of idle connections, of HTTP/2's pings) by the clock of the runtime in which it
/// was made, also if that clock is moved by hand.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// The same moment by hyper's clock and by ours.
    theirs: Instant,
    ours: time::Instant,
}

impl Timer {
    /// Goes by the clock of the current runtime, or else of the default one.
    pub fn new() -> Self {
        Self { theirs: Instant::now(), ours: time::Instant::now() }
    }

    fn ours(&self, theirs: Instant) -> time::Instant {
        match theirs.checked_duration_since(self.theirs) {
            Some(later) => self.ours + later,
            None => self.ours - self.theirs.duration_since(theirs),
        }
    }
}

impl Default for Timer {
    fn default() -> Self {
        Self::new()
    }
}

impl rt::Timer for Timer {
    fn sleep(&self, span: Duration) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(time::sleep(span))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(time::sleep_until(self.ours(deadline)))
    }

    fn now(&self) -> Instant {
        self.theirs + self.ours.elapsed()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn rt::Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<time::Sleep>() {
            Some(sleep) => sleep.reset(self.ours(deadline)),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

impl rt::Sleep for time::Sleep {}

wrapper! {
    /// Makes a stream of `futures-io` one of hyper's. The memory that hyper lends for reading is zeroed first, because such a
    /// stream may look at it; our own sockets do without, and need no wrapper.
    Io
}

impl<T: AsyncRead + Unpin> rt::Read for Io<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let room = cursor.initialize_unfilled();
        let most = room.len();
        let count = ready!(self.inner().poll_read(cx, room))?;
        assert!(count <= most, "a stream says that it read {count} bytes into {most}");
        // SAFETY: all of it was initialised.
        unsafe { cursor.advance(count) };
        Poll::Ready(Ok(()))
    }
}

writes! {
    impl[T: AsyncWrite + Unpin] rt::Write, poll_shutdown for Io<T>,
    by |this| this.inner(), AsyncWrite, poll_close {
        fn is_write_vectored(&self) -> bool {
            true
        }
    }
}

/// hyper's traits for a socket of ours.
macro_rules! is_hyper_io {
    ($type:ty) => {
        impl rt::Read for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                mut cursor: rt::ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: nothing in it is made less initialised (Y1).
                let room = unsafe { cursor.as_mut() };
                let count = ready!(self.io.poll_fill(cx, room))?;
                // SAFETY: so much of it is initialised now (Y1).
                unsafe { cursor.advance(count) };
                Poll::Ready(Ok(()))
            }
        }

        writes! {
            impl[] rt::Write, poll_shutdown for $type,
            by |this| this, AsyncWrite, poll_close {
                fn is_write_vectored(&self) -> bool {
                    true
                }
            }
        }
    };
}

is_hyper_io!(TcpStream);
is_hyper_io!(UnixStream);
