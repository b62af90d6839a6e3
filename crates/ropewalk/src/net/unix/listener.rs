//! Accepting Unix connections.

use super::super::accepting::{Rest, skip_aborted};
use super::super::named;
use super::{SocketAddr, UnixStream};
use crate::drive::io::{Interest, Moored};
use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

/// A Unix socket that accepts connections.
///
/// The file at its path stays when it is dropped: remove it, before binding anew or after.
pub struct UnixListener {
    pub(in crate::net) io: Moored<net::UnixListener>,
    pub(in crate::net) rest: Rest,
}

waits_for_readiness!(UnixListener);
is_of_std!(UnixListener, net::UnixListener);

impl UnixListener {
    /// Listens at a path; one that begins with a NUL byte is an abstract name (Linux), which is gone with the listener.
    ///
    /// # Errors
    /// What the system says; `AddrInUse` if there is such a file. The error names the path.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let address = super::address_of(path)?;
        Self::bind_to(&address).map_err(|error| named("listening on", path.display(), error))
    }

    /// Listens at an address, which may be an abstract name (Linux).
    ///
    /// # Errors
    /// What the system says; the error names the address.
    pub fn bind_addr(at: &SocketAddr) -> io::Result<Self> {
        let address = super::address(at)?;
        Self::bind_to(&address).map_err(|error| named("listening on", format!("{at:?}"), error))
    }

    fn bind_to(address: &socket2::SockAddr) -> io::Result<Self> {
        let socket = super::socket(socket2::Type::STREAM)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)?;
        Self::from_std(socket.into())
    }

    /// Takes over a listener of the standard library and makes it non-blocking.
    ///
    /// # Errors
    /// What the system says, or that the current runtime was shut down.
    pub fn from_std(listener: net::UnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { io: Moored::new(listener, Interest::READABLE)?, rest: Rest::default() })
    }

    /// Gives the listener to the standard library. It stays non-blocking.
    pub fn into_std(self) -> net::UnixListener {
        self.io.into_file()
    }

    /// Waits for a connection. Cancel safe: a connection that was not returned waits for the next call.
    ///
    /// # Errors
    /// As [`TcpListener::accept`](crate::net::TcpListener::accept).
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (io, from) = self.rest.accept(&self.io, accept).await?;
        Ok((UnixStream { io }, from))
    }

    /// Accepts a connection that waits, or none.
    ///
    /// # Errors
    /// As [`TcpListener::try_accept`](crate::net::TcpListener::try_accept).
    pub fn try_accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, from) = self.io.try_io(Interest::READABLE, || accept(self.io.file()))?;
        Ok((UnixStream { io: self.io.beside(stream)? }, from))
    }

    /// [`accept`](Self::accept) for hand-written futures. One task at a time: the last one to poll is woken.
    ///
    /// ```
    /// use ropewalk::net::{UnixListener, UnixStream};
    /// use std::future::poll_fn;
    /// # ropewalk::block_on(async {
    /// # let path = std::env::temp_dir().join(format!("ropewalk-doc-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let client = UnixStream::connect(&path).await?;
    /// # std::fs::remove_file(&path)?;
    /// let (server, _) = poll_fn(|cx| listener.poll_accept(cx)).await?;
    /// # drop((client, server));
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let (io, from) = ready!(self.rest.poll_accept(cx, &self.io, accept))?;
        Poll::Ready(Ok((UnixStream { io }, from)))
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.file().local_addr()
    }
}

fn accept(listener: &net::UnixListener) -> io::Result<(net::UnixStream, SocketAddr)> {
    let (stream, from) = skip_aborted(|| listener.accept())?;
    stream.set_nonblocking(true)?;
    Ok((stream, from))
}
