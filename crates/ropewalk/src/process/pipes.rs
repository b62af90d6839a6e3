//! The ends of a child's pipes that are here: they do not block, and a runtime's driver watches them. The child's ends are
//! as it expects them.

use super::Stdio;
use crate::drive::io::{Direction, Interest, Moored, UpTo};
use crate::io::{AsyncRead, AsyncWrite, IoSlice, IoSliceMut};
use rustix::io::{ioctl_fionbio, read, readv, write, writev};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process;
use std::task::{Context, Poll};

/// One end of a pipe. It is taken out when it is closed.
#[derive(Debug)]
struct End(Option<Moored<OwnedFd>>);

impl End {
    fn new(file: OwnedFd, interest: Interest) -> io::Result<Self> {
        ioctl_fionbio(&file, true)?;
        Ok(Self(Some(Moored::new(file, interest)?)))
    }

    fn open(&self) -> io::Result<&Moored<OwnedFd>> {
        let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "the child's pipe was closed here");
        self.0.as_ref().ok_or_else(closed)
    }

    /// `operation` moves up to `most` bytes.
    fn poll_move(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        most: UpTo,
        mut operation: impl FnMut(BorrowedFd<'_>) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let end = self.open()?;
        end.registration().poll_move(cx, direction, most, || Ok(operation(end.file().as_fd())?))
    }

    /// As it was before: it blocks, and no driver knows it.
    fn into_blocking(self) -> io::Result<OwnedFd> {
        self.open()?;
        let file = self.0.map(Moored::into_file).expect("it is open");
        ioctl_fionbio(&file, false)?;
        Ok(file)
    }
}

/// What the reading and the writing ends have in common.
macro_rules! ends {
    ($($name:ident: $interest:ident, $what:literal;)*) => { $(
        #[doc = concat!("The end of a child's ", $what, " that is here, if it is piped.")]
        ///
        /// It belongs to the runtime in which it was made; when that has ended, it is an error to wait here.
        #[derive(Debug)]
        pub struct $name(End);

        impl $name {
            pub(super) fn new(pipe: process::$name) -> io::Result<Self> {
                Ok(Self(End::new(pipe.into(), Interest::$interest)?))
            }

            /// The file itself, which blocks again, and which no runtime knows any more.
            ///
            /// # Errors
            /// If it was closed, or cannot be made to block.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                self.0.into_blocking()
            }
        }

        /// For another process: one feeds the other.
        impl TryFrom<$name> for Stdio {
            type Error = io::Error;

            fn try_from(end: $name) -> io::Result<Self> {
                Ok(end.into_owned_fd()?.into())
            }
        }

        impl AsRawFd for $name {
            /// -1 if it was closed.
            fn as_raw_fd(&self) -> RawFd {
                self.0.0.as_ref().map_or(-1, |end| end.file().as_raw_fd())
            }
        }
    )* };
}

ends! {
    ChildStdin: WRITABLE, "standard input";
    ChildStdout: READABLE, "standard output";
    ChildStderr: READABLE, "standard error";
}

/// Reading.
///
/// Cancel safety: a read that was not done has read nothing.
macro_rules! reads {
    ($($name:ident)*) => { $(
        impl AsyncRead for $name {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let most = UpTo::bytes(buf.len()).to_a_bound();
                self.0.poll_move(cx, Direction::Read, most, |file| read(file, &mut *buf))
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                let most = UpTo::room(bufs).to_a_bound();
                self.0.poll_move(cx, Direction::Read, most, |file| readv(file, bufs))
            }
        }
    )* };
}

reads!(ChildStdout ChildStderr);

/// Writing. If the child does not read any more, that is an error of the kind
/// [`BrokenPipe`](io::ErrorKind::BrokenPipe). Closing is the end of the child's input.
impl AsyncWrite for ChildStdin {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let most = UpTo::bytes(buf.len());
        self.0.poll_move(cx, Direction::Write, most, |file| write(file, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let most = UpTo::all(bufs);
        self.0.poll_move(cx, Direction::Write, most, |file| writev(file, bufs))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(())) // nothing is kept back here
    }

    fn poll_close(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.0 = None;
        Poll::Ready(Ok(()))
    }
}
