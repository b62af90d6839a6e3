//! Reading from and writing to any registered socket that is a stream of bytes.
//!
//! An operation is tried at once and waits only if it would block. If it moves fewer bytes than it could have, the stream may be
//! used up, and the next one waits without trying (`drive/io/extent.rs`).

use crate::drive::io::{Direction, Inward, Moored, Outward, Part, Stream, UpTo};
use std::future::Future;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
#[cfg(all(target_os = "linux", not(tsan)))]
use std::mem::MaybeUninit;
use std::task::{Context, Poll};

/// Reads what is there. On Linux the system is called directly: in the C library, `recv` and `send` are points where a thread can be
/// cancelled, and prepare for that each time if the process has more than one thread. In an echo server that is 4 % of all time.
/// (ThreadSanitizer knows what the C library's calls write, and not these: it gets the others, below.)
#[cfg(all(target_os = "linux", not(tsan)))]
#[inline]
pub(super) fn receive<S: Stream>(socket: &S, buffer: &mut [u8]) -> io::Result<usize> {
    use rustix::net::{RecvFlags, recv};
    let (count, _) = recv(socket, buffer, RecvFlags::empty())?;
    Ok(count)
}

/// Writes as much as there is room for. A connection that is closed is an error, never a signal.
#[cfg(all(target_os = "linux", not(tsan)))]
#[inline]
fn send<S: Stream>(socket: &S, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::net::send(socket, bytes, rustix::net::SendFlags::NOSIGNAL)?)
}

/// [`receive`] into several buffers.
#[cfg(all(target_os = "linux", not(tsan)))]
#[inline]
fn receive_all<S: Stream>(socket: &S, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    Ok(rustix::io::readv(socket, buffers)?)
}

/// [`send`] from several buffers. Small ones are put together first: the system takes longer to gather them.
#[cfg(all(target_os = "linux", not(tsan)))]
#[inline]
fn send_all<S: Stream>(socket: &S, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
    use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
    let mut room = [MaybeUninit::uninit(); 512];
    if let Some(bytes) = put_together(buffers, &mut room) {
        return send(socket, bytes);
    }
    let buffers = UpTo::buffers_at_once(buffers);
    Ok(sendmsg(socket, buffers, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
}

/// All that is in the buffers, if there is room for it.
#[cfg(all(target_os = "linux", not(tsan)))]
fn put_together<'a>(buffers: &[IoSlice<'_>], room: &'a mut [MaybeUninit<u8>]) -> Option<&'a [u8]> {
    let all = buffers.iter().fold(0_usize, |all, buffer| all.saturating_add(buffer.len()));
    if all > room.len() {
        return None; // before anything is copied in vain
    }
    let mut end = 0;
    for buffer in buffers {
        let begin = end;
        end += buffer.len();
        room.get_mut(begin..end)?.write_copy_of_slice(buffer);
    }
    // SAFETY: up to there it was written, one piece after the other.
    Some(unsafe { room[..end].assume_init_ref() })
}

#[cfg(not(all(target_os = "linux", not(tsan))))]
pub(super) fn receive<S>(socket: &S, buffer: &mut [u8]) -> io::Result<usize>
where
    for<'a> &'a S: Read,
{
    (&*socket).read(buffer)
}

#[cfg(not(all(target_os = "linux", not(tsan))))]
fn send<S>(socket: &S, bytes: &[u8]) -> io::Result<usize>
where
    for<'a> &'a S: Write,
{
    (&*socket).write(bytes)
}

#[cfg(not(all(target_os = "linux", not(tsan))))]
fn receive_all<S>(socket: &S, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize>
where
    for<'a> &'a S: Read,
{
    (&*socket).read_vectored(buffers)
}

#[cfg(not(all(target_os = "linux", not(tsan))))]
fn send_all<S>(socket: &S, buffers: &[IoSlice<'_>]) -> io::Result<usize>
where
    for<'a> &'a S: Write,
{
    (&*socket).write_vectored(buffers)
}

impl<S: Stream> Moored<S>
where
    for<'a> &'a S: Read,
{
    pub(crate) fn read(&self, buffer: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        let most = S::reads(UpTo::bytes(buffer.len()));
        self.transfer(Inward, most, move |file| receive(file, buffer))
    }

    pub(crate) fn read_vectored(
        &self,
        buffers: &mut [IoSliceMut<'_>],
    ) -> impl Future<Output = io::Result<usize>> {
        let most = S::reads(UpTo::room(buffers));
        self.transfer(Inward, most, move |file| receive_all(file, buffers))
    }

    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_io(Direction::Read.interest(), move || receive(self.file(), buffer))
    }

    pub(crate) fn try_read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.try_io(Direction::Read.interest(), move || receive_all(self.file(), buffers))
    }

    pub(crate) fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let most = S::reads(UpTo::bytes(buffer.len()));
        self.poll_move(cx, Direction::Read, most, move || receive(self.file(), buffer))
    }

    pub(crate) fn poll_read_vectored(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        let most = S::reads(UpTo::room(buffers));
        self.poll_move(cx, Direction::Read, most, move || receive_all(self.file(), buffers))
    }
}

impl<S: Stream> Moored<S>
where
    for<'a> &'a S: Write,
{
    pub(crate) fn write(&self, bytes: &[u8]) -> impl Future<Output = io::Result<usize>> {
        let most = UpTo::bytes(bytes.len());
        self.transfer(Outward, most, move |file| send(file, bytes))
    }

    pub(crate) fn write_vectored(&self, buffers: &[IoSlice<'_>]) -> impl Future<Output = io::Result<usize>> {
        let most = UpTo::all(buffers);
        self.transfer(Outward, most, move |file| send_all(file, buffers))
    }

    pub(crate) fn write_all(&self, mut bytes: &[u8]) -> impl Future<Output = io::Result<()>> {
        self.transfer_all(Outward, bytes.is_empty(), move |file| {
            let part = UpTo::at_once(bytes);
            let count = if part.is_empty() { 0 } else { send(file, part)? };
            bytes = &bytes[count..];
            match count {
                _ if bytes.is_empty() => Ok(Part::Last),
                0 => Err(io::ErrorKind::WriteZero.into()),
                _ => Ok(if count < part.len() { Part::Short } else { Part::Full }),
            }
        })
    }

    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.try_io(Direction::Write.interest(), move || send(self.file(), bytes))
    }

    pub(crate) fn try_write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_io(Direction::Write.interest(), move || send_all(self.file(), buffers))
    }

    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let most = UpTo::bytes(bytes.len());
        self.poll_move(cx, Direction::Write, most, move || send(self.file(), bytes))
    }

    pub(crate) fn poll_write_vectored(
        &self,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let most = UpTo::all(buffers);
        self.poll_move(cx, Direction::Write, most, move || send_all(self.file(), buffers))
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle, tsan))))]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_put_together_and_nothing_else() {
        let mut room = [MaybeUninit::uninit(); 8];
        let mut put = |parts: &[&[u8]]| {
            let parts: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
            put_together(&parts, &mut room).map(<[u8]>::to_vec)
        };
        assert_eq!(put(&[b"ab", b"", b"cde"]).unwrap(), b"abcde");
        assert_eq!(put(&[b"12345678"]).unwrap(), b"12345678");
        assert_eq!(put(&[]).unwrap(), b"");
        assert_eq!(put(&[b"1234", b"56789"]), None);
        assert_eq!(put(&[&[0; 9], b""]), None);
    }
}
