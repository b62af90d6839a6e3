//! Joins to other people's traits, each behind a feature of its own.
//!
//! * `hyper`: HTTP/1 and HTTP/2 servers and clients by hyper, see [`hyper`].
//! * `tokio-io`: what is written for tokio's `AsyncRead` and `AsyncWrite`, see [`tokio`].
//!
//! The traits of `futures-io` need no joining: they are the ones of [`io`](crate::io). rustls comes through `futures-rustls`.
//!
//! # Invariants
//!
//! - **Y1** Memory that a library lends for reading is written by the kernel only, which initialises what it counts, and
//!   takes nothing back.

/// A stream that is wrapped to get other traits: made, looked into, taken out.
macro_rules! wrapper {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name<T>(T);

        impl<T> $name<T> {
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

        impl<T: Unpin> $name<T> {
            fn inner(self: Pin<&mut Self>) -> Pin<&mut T> {
                Pin::new(&mut self.get_mut().0)
            }
        }
    };
}

/// Writing as one trait has it, by another one: they differ in what closing is called, and in questions of their own.
macro_rules! writes {
    (impl[$($bounds:tt)*] $theirs:path, $close:ident for $type:ty,
        by |$this:ident| $inner:expr, $ours:path, $closing:ident { $($more:tt)* }) => {
        impl<$($bounds)*> $theirs for $type {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                let $this = self;
                <_ as $ours>::poll_write($inner, cx, bytes)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buffers: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let $this = self;
                <_ as $ours>::poll_write_vectored($inner, cx, buffers)
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $this = self;
                <_ as $ours>::poll_flush($inner, cx)
            }

            fn $close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $this = self;
                <_ as $ours>::$closing($inner, cx)
            }

            $($more)*
        }
    };
}

#[cfg(feature = "hyper")]
pub mod hyper;
#[cfg(feature = "tokio-io")]
pub mod tokio;

use crate::drive::io::{Direction, Moored, Stream, UpTo};
use rustix::net::{RecvFlags, recv};
use std::io;
use std::mem::MaybeUninit;
use std::task::{Context, Poll, ready};

impl<S: Stream> Moored<S> {
    /// Reads into memory that holds nothing yet, and says how much of it does now.
    fn poll_fill(&self, cx: &mut Context<'_>, buffer: &mut [MaybeUninit<u8>]) -> Poll<io::Result<usize>> {
        let most = S::reads(UpTo::bytes(buffer.len()));
        let read = || Ok(recv(self.file(), &mut *buffer, RecvFlags::empty())?.0.0.len());
        let count = ready!(self.poll_move(cx, Direction::Read, most, read))?;
        Poll::Ready(Ok(count))
    }
}
