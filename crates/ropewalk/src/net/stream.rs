//! Reading from and writing to any registered file that is a stream of bytes: sockets, pipes.
//!
//! An operation is tried at once and waits only if it would block. If it moves fewer bytes than it could have, the stream may be
//! used up, and the next one waits without trying (`drive/io/extent.rs`).

use crate::drive::io::{Direction, Moored, Part, Stream, UpTo};
use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::task::{Context, Poll};

impl<S: Stream> Moored<S>
where
    for<'a> &'a S: Read,
{
    pub(crate) fn read(&self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        let most = S::reads(UpTo::bytes(buffer.len()));
        self.registration().transfer(Direction::Read, most, move || self.file().read(buffer))
    }

    pub(crate) fn read_vectored(
        &self,
        buffers: &mut [IoSliceMut<'_>],
    ) -> impl Future<Output = io::Result<usize>> {
        let most = S::reads(UpTo::room(buffers));
        self.registration().transfer(Direction::Read, most, move || self.file().read_vectored(buffers))
    }

    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.registration().try_io(Direction::Read.interest(), move || self.file().read(buffer))
    }

    pub(crate) fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.registration().try_io(Direction::Read.interest(), move || self.file().read_vectored(buffers))
    }

    pub(crate) fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let most = S::reads(UpTo::bytes(buffer.len()));
        self.registration().poll_move(cx, Direction::Read, most, move || self.file().read(buffer))
    }

    pub(crate) fn poll_read_vectored(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let most = S::reads(UpTo::room(buffers));
        self.registration().poll_move(cx, Direction::Read, most, move || self.file().read_vectored(buffers))
    }
}

impl<S: Stream> Moored<S>
where
    for<'a> &'a S: Write,
{
    pub(crate) fn write(&self, bytes: &[u8]) -> impl Future<Output = io::Result<usize>> {
        let most = UpTo::bytes(bytes.len());
        self.registration().transfer(Direction::Write, most, move || self.file().write(bytes))
    }

    pub(crate) fn write_vectored(&self, buffers: &[IoSlice<'_>]) -> impl Future<Output = io::Result<usize>> {
        let most = UpTo::all(buffers);
        self.registration().transfer(Direction::Write, most, move || self.file().write_vectored(buffers))
    }

    pub(crate) fn write_all(&self, mut bytes: &[u8]) -> impl Future<Output = io::Result<()>> {
        self.registration().transfer_all(Direction::Write, move || {
            let part = UpTo::at_once(bytes);
            let count = if part.is_empty() { 0 } else { self.file().write(part)? };
            bytes = &bytes[count..];
            match count {
                _ if bytes.is_empty() => Ok(Part::Last),
                0 => Err(io::ErrorKind::WriteZero.into()),
                _ => Ok(if count < part.len() { Part::Short } else { Part::Full }),
            }
        })
    }

    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.registration().try_io(Direction::Write.interest(), move || self.file().write(bytes))
    }

    pub(crate) fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.registration().try_io(Direction::Write.interest(), move || self.file().write_vectored(buffers))
    }

    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let most = UpTo::bytes(bytes.len());
        self.registration().poll_move(cx, Direction::Write, most, move || self.file().write(bytes))
    }

    pub(crate) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let most = UpTo::all(buffers);
        self.registration().poll_move(cx, Direction::Write, most, move || self.file().write_vectored(buffers))
    }
}
