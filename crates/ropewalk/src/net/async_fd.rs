//! Any file that a driver can watch.

use crate::drive::io::{Direction, Interest, Moored, Ready};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::task::{Context, Poll};

/// A file of one's own at the runtime's driver: a pipe, a terminal, a timer, a socket of another library. It must be
/// non-blocking already.
///
/// ```
/// use ropewalk::{driver::Interest, net::AsyncFd};
/// use std::io::{Read, Write};
///
/// ropewalk::block_on(async {
///     let (reader, mut writer) = std::os::unix::net::UnixStream::pair()?;
///     reader.set_nonblocking(true)?;
///     let reader = AsyncFd::new(reader)?;
///     writer.write_all(b"hello")?;
///     let mut buffer = [0; 16];
///     let count = reader.async_io(Interest::READABLE, |mut file| file.read(&mut buffer)).await?;
///     assert_eq!(count, 5);
///     Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Dropping it ends the registration, then drops the file. Do not close the file behind its back: the number may be given to
/// another file. `as_fd` says the same each time. It does not borrow the file (an `Arc` of it will do): whoever forgets it
/// would let the file be closed while it is registered.
///
/// ```compile_fail,E0597
/// # use ropewalk::net::AsyncFd;
/// let (file, _other) = std::os::unix::net::UnixStream::pair().unwrap();
/// std::mem::forget(AsyncFd::new(&file));
/// ```
pub struct AsyncFd<T: AsFd + 'static> {
    io: Moored<T>,
}

impl<T: AsFd + 'static> AsyncFd<T> {
    /// Registers `file` for both directions.
    ///
    /// # Errors
    /// What the system says: `EPERM` for files that are always ready, such as those on disks. Or the current runtime was shut
    /// down.
    pub fn new(file: T) -> io::Result<Self> {
        Self::with_interest(file, Interest::BOTH)
    }

    /// Registers `file` for what `interest` says; only that can be waited for.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_interest(file: T, interest: Interest) -> io::Result<Self> {
        Ok(Self { io: Moored::new(file, interest)? })
    }

    /// The file.
    pub fn get_ref(&self) -> &T {
        self.io.file()
    }

    /// Ends the registration and gives the file back.
    pub fn into_inner(self) -> T {
        self.io.into_file()
    }

    /// Waits until something of `interest` can be done without blocking. Cancel safe; any number of tasks may wait.
    ///
    /// It counts as ready from the start until an operation through [`try_io`](Self::try_io) or [`async_io`](Self::async_io) says `WouldBlock`.
    ///
    /// # Errors
    /// The runtime where it is registered was shut down.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.io.ready(interest).await
    }

    /// Waits until there is something to read, or the end. Cancel safe.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await.map(drop)
    }

    /// Waits until there is room to write, or no use in it. Cancel safe.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(drop)
    }

    /// Tries `operation` without waiting. It must not block, and say `WouldBlock` only if it would have.
    ///
    /// # Errors
    /// `WouldBlock` if it is known that it would, or found out; else what `operation` says.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io.try_io(interest, || operation(self.io.file()))
    }

    /// Tries `operation` at once, and again whenever it would block and the file is ready anew.
    ///
    /// Cancel safe if `operation` is: between two attempts nothing is held.
    ///
    /// # Errors
    /// What `operation` says, or that the runtime where it is registered was shut down.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io.io_for(interest, || operation(self.io.file())).await
    }

    /// Ready when there is something to read. One task at a time: the last one to poll is woken.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        self.io.poll_ready(cx, Direction::Read)
    }

    /// Ready when there is room to write. One task at a time: the last one to poll is woken.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<Ready>> {
        self.io.poll_ready(cx, Direction::Write)
    }
}

impl<T: AsFd + 'static> AsFd for AsyncFd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.file().as_fd()
    }
}

impl<T: AsFd + 'static> AsRawFd for AsyncFd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl<T: AsFd + fmt::Debug + 'static> fmt::Debug for AsyncFd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncFd").field(self.io.file()).finish()
    }
}
