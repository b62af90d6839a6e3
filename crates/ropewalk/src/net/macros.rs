//! What streams of every kind have in common, written once: waiting, trying, reading, writing.

/// Waiting for readiness, for types with a field `io: Moored<_>`.
macro_rules! waits_for_readiness {
    ($type:ty) => {
        impl $type {
            /// Waits until something of `interest` can be done without blocking. That may change before it is tried: try it with
            /// [`try_io`](Self::try_io) or a `try_*` function, and wait again if it would block. What was opened just now counts as
            /// ready until something was tried, and so does what something else happened to while it was tried.
            ///
            /// Cancel safe: nothing is taken.
            ///
            /// # Errors
            /// The runtime where it was opened was shut down.
            pub fn ready(
                &self,
                interest: $crate::driver::Interest,
            ) -> impl std::future::Future<Output = std::io::Result<$crate::driver::Ready>> {
                self.io.ready(interest)
            }

            /// Waits until there is something to read, or the end. Cancel safe.
            ///
            /// # Errors
            /// As [`ready`](Self::ready).
            pub fn readable(&self) -> impl std::future::Future<Output = std::io::Result<()>> {
                self.io.readable()
            }

            /// Waits until there is room to write, or no use in it. Cancel safe.
            ///
            /// # Errors
            /// As [`ready`](Self::ready).
            pub fn writable(&self) -> impl std::future::Future<Output = std::io::Result<()>> {
                self.io.writable()
            }

            /// Tries an operation of one's own, which must not block and must return `WouldBlock` only if it would have.
            ///
            /// # Errors
            /// `WouldBlock`, if it is known that it would, or found out; else what `operation` says.
            pub fn try_io<R>(
                &self,
                interest: $crate::driver::Interest,
                operation: impl FnMut() -> std::io::Result<R>,
            ) -> std::io::Result<R> {
                self.io.try_io(interest, operation)
            }
        }

        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                std::os::fd::AsFd::as_fd(self.io.file())
            }
        }

        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(self.io.file())
            }
        }
    };
}

/// From the standard library's type and back, for types with `from_std` and `into_std`; and shown as that one.
macro_rules! is_of_std {
    ($type:ty, $std:ty) => {
        impl TryFrom<$std> for $type {
            type Error = std::io::Error;
            fn try_from(socket: $std) -> std::io::Result<Self> {
                Self::from_std(socket)
            }
        }

        impl From<$type> for $std {
            fn from(socket: $type) -> Self {
                socket.into_std()
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self.io.file(), f)
            }
        }
    };
}

/// Reading and writing by `&self`, for streams with a field `io: Moored<_>`.
macro_rules! is_a_stream {
    ($type:ident) => {
        waits_for_readiness!($type);

        impl $type {
            /// Reads what is there, at least one byte, waiting for it if need be; 0 is the end, or `buffer` is empty.
            ///
            /// Cancel safe: if it was not completed, nothing was read. Several tasks may read; which one gets what is open.
            ///
            /// # Errors
            /// What the system says (`ConnectionReset`), or that the runtime where it was opened was shut down.
            pub fn read(
                &self,
                buffer: &mut [u8],
            ) -> impl std::future::Future<Output = std::io::Result<usize>> {
                self.io.read(buffer)
            }

            /// [`read`](Self::read) into several buffers, one after the other.
            ///
            /// # Errors
            /// As there.
            pub fn read_vectored(
                &self,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> impl std::future::Future<Output = std::io::Result<usize>> {
                self.io.read_vectored(buffers)
            }

            /// Writes as much of `bytes` as there is room for, at least one byte, waiting for room if need be.
            ///
            /// Cancel safe: if it was not completed, nothing was written.
            ///
            /// # Errors
            /// What the system says (`BrokenPipe`, `ConnectionReset`), or that the runtime where it was opened was shut down.
            pub fn write(
                &self,
                bytes: &[u8],
            ) -> impl std::future::Future<Output = std::io::Result<usize>> {
                self.io.write(bytes)
            }

            /// [`write`](Self::write) from several buffers, one after the other.
            ///
            /// # Errors
            /// As there.
            pub fn write_vectored(
                &self,
                buffers: &[std::io::IoSlice<'_>],
            ) -> impl std::future::Future<Output = std::io::Result<usize>> {
                self.io.write_vectored(buffers)
            }

            /// Writes all of `bytes`. **Not** cancel safe: some may have been written.
            ///
            /// # Errors
            /// As [`write`](Self::write).
            pub fn write_all(
                &self,
                bytes: &[u8],
            ) -> impl std::future::Future<Output = std::io::Result<()>> {
                self.io.write_all(bytes)
            }

            /// Reads without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing; else as [`read`](Self::read).
            pub fn try_read(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
                self.io.try_read(buffer)
            }

            /// Reads into several buffers without waiting.
            ///
            /// # Errors
            /// As [`try_read`](Self::try_read).
            pub fn try_read_vectored(
                &self,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                self.io.try_read_vectored(buffers)
            }

            /// Writes without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is no room; else as [`write`](Self::write).
            pub fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize> {
                self.io.try_write(bytes)
            }

            /// Writes from several buffers without waiting.
            ///
            /// # Errors
            /// As [`try_write`](Self::try_write).
            pub fn try_write_vectored(&self, buffers: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
                self.io.try_write_vectored(buffers)
            }

            /// Ready when there is something to read, or the end; nothing is taken. One task at a time: the last one to poll is
            /// woken, here and by the traits.
            ///
            /// # Errors
            /// As [`ready`](Self::ready).
            pub fn poll_read_ready(
                &self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<$crate::driver::Ready>> {
                self.io.poll_ready(cx, $crate::drive::io::Direction::Read)
            }

            /// Ready when there is room to write, or no use in it; nothing is given. One task at a time, as
            /// [`poll_read_ready`](Self::poll_read_ready).
            ///
            /// # Errors
            /// As [`ready`](Self::ready).
            pub fn poll_write_ready(
                &self,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<$crate::driver::Ready>> {
                self.io.poll_ready(cx, $crate::drive::io::Direction::Write)
            }

            /// Borrows the two directions, for code that wants two values.
            pub fn split(
                &mut self,
            ) -> ($crate::net::split::ReadHalf<'_, Self>, $crate::net::split::WriteHalf<'_, Self>) {
                $crate::net::split::split(self)
            }

            /// Splits the connection into two values that can go to two tasks: see [`split`](crate::net::split). Dropping the
            /// writing half ends writing.
            pub fn into_split(
                self,
            ) -> ($crate::net::split::OwnedReadHalf<Self>, $crate::net::split::OwnedWriteHalf<Self>) {
                $crate::net::split::into_split(self)
            }

            /// Closes one direction, or both. After `Write` the other side reads what was sent, and then the end. Writing
            /// afterwards is an error here, reading after `Read` is the end.
            ///
            /// # Errors
            /// What the system says; `NotConnected` if there is nobody on the other side any more.
            pub fn shutdown(&self, how: std::net::Shutdown) -> std::io::Result<()> {
                self.io.file().shutdown(how)
            }

            /// The error that the system keeps for this socket, if there is one; it is kept no longer.
            ///
            /// # Errors
            /// What the system says.
            pub fn take_error(&self) -> std::io::Result<Option<std::io::Error>> {
                self.io.file().take_error()
            }
        }

        is_async_io!(for $type, |this| &this.io);
        is_async_io!(for &$type, |this| &this.io);
    };
}

/// The traits of `futures-io`. Each direction has room for one waker: the last task to poll it is woken.
macro_rules! is_async_io {
    (for $type:ty, |$this:ident| $io:expr) => {
        is_async_read!(for $type, |$this| $io);
        is_async_write!(for $type, |$this| $io, |closed| closed.file().shutdown(std::net::Shutdown::Write));
    };
}

macro_rules! is_async_read {
    (for $type:ty, |$this:ident| $io:expr) => {
        impl futures_io::AsyncRead for $type {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buffer: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self.get_mut();
                $io.poll_read(cx, buffer)
            }

            fn poll_read_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buffers: &mut [std::io::IoSliceMut<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self.get_mut();
                $io.poll_read_vectored(cx, buffers)
            }
        }
    };
}

macro_rules! is_async_write {
    (for $type:ty, |$this:ident| $io:expr, |$closed:ident| $close:expr) => {
        impl futures_io::AsyncWrite for $type {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bytes: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self.get_mut();
                $io.poll_write(cx, bytes)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buffers: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self.get_mut();
                $io.poll_write_vectored(cx, buffers)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(Ok(()))
            }

            fn poll_close(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $this = self.get_mut();
                let $closed = $io;
                std::task::Poll::Ready($crate::net::over_is_closed($close))
            }
        }
    };
}
