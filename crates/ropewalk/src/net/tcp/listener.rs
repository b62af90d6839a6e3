//! Accepting connections.

use super::super::accepting::{Rest, skip_aborted};
use super::super::resolve::{ToSocketAddrs, first_to_be_had};
use super::{TcpSocket, TcpStream};
use crate::drive::io::{Interest, Moored};
use std::io;
use std::net::{self, SocketAddr};
use std::task::{Context, Poll, ready};

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// A socket that accepts connections.
///
/// Any number of tasks may accept; each connection goes to one of them. Dropping it refuses those that wait to be accepted.
pub struct TcpListener {
    pub(in crate::net) io: Moored<net::TcpListener>,
    pub(in crate::net) rest: Rest,
}

waits_for_readiness!(TcpListener);
is_of_std!(TcpListener, net::TcpListener);

impl TcpListener {
    /// Listens on the first of `address`' addresses that is to be had; port 0 is any free one. An address that was in use a
    /// moment ago can be used (`SO_REUSEADDR`); for other options see [`TcpSocket`].
    ///
    /// Cancel safe: it waits for the resolver only.
    ///
    /// # Errors
    /// The name cannot be resolved, or no address is to be had; the error names the last one.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        first_to_be_had(address, "listening on", "no address to listen on", Self::bind_to).await
    }

    fn bind_to(address: SocketAddr) -> io::Result<Self> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        socket.listen(BACKLOG)
    }

    /// Takes over a listener of the standard library and makes it non-blocking.
    ///
    /// # Errors
    /// What the system says, or that the current runtime was shut down.
    pub fn from_std(listener: net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let io = Moored::new(listener, Interest::READABLE)?;
        Ok(Self { io, rest: Rest::default() })
    }

    /// Gives the listener to the standard library. It stays non-blocking.
    pub fn into_std(self) -> net::TcpListener {
        self.io.into_file()
    }

    /// Waits for a connection.
    ///
    /// Cancel safe: a connection that was not returned waits for the next call.
    ///
    /// # Errors
    /// What the system says. If there are no descriptors or no memory left (`EMFILE`, `ENFILE`, `ENOBUFS`, `ENOMEM`), the listener
    /// is as good as before and the connection waits; calls then rest until 2 ms after that, and twice as long each time, so
    /// that a server that just goes on does not spin. Who gives up a call and calls again does not rest anew.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (io, from) = self.rest.accept(&self.io, accept).await?;
        Ok((TcpStream { io }, from))
    }

    /// Accepts a connection that waits, or none.
    ///
    /// # Errors
    /// `WouldBlock` if none waits; else what the system says. Here nobody rests: without descriptors the listener stays readable, and it is for
    /// the caller to do something else before the next attempt.
    pub fn try_accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, from) = self.io.try_io(Interest::READABLE, || accept(self.io.file()))?;
        Ok((TcpStream { io: self.io.beside(stream)? }, from))
    }

    /// [`accept`](Self::accept) for hand-written futures. One task at a time: the last one to poll is woken.
    ///
    /// ```
    /// use ropewalk::net::{TcpListener, TcpStream};
    /// use std::future::poll_fn;
    /// # ropewalk::block_on(async {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let client = TcpStream::connect(listener.local_addr()?).await?;
    /// let (server, _) = poll_fn(|cx| listener.poll_accept(cx)).await?;
    /// # drop((client, server));
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (io, from) = ready!(self.rest.poll_accept(cx, &self.io, accept))?;
        Poll::Ready(Ok((TcpStream { io }, from)))
    }

    /// Connections, one after the other.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming(self)
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.file().local_addr()
    }

    /// How many hops a packet may make.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_ttl(&self, hops: u32) -> io::Result<()> {
        self.io.file().set_ttl(hops)
    }

    /// See [`set_ttl`](Self::set_ttl).
    ///
    /// # Errors
    /// What the system says.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.file().ttl()
    }
}

/// Made by [`TcpListener::incoming`].
#[derive(Debug)]
pub struct Incoming<'a>(&'a TcpListener);

impl Incoming<'_> {
    /// The next connection; there is always another one. Cancel safe.
    ///
    /// # Errors
    /// As [`TcpListener::accept`].
    pub async fn next(&mut self) -> io::Result<TcpStream> {
        self.0.accept().await.map(|(stream, _)| stream)
    }
}

/// Non-blocking from the start, where the system can do that in one call.
#[cfg(target_os = "linux")]
fn accept(listener: &net::TcpListener) -> io::Result<(net::TcpStream, SocketAddr)> {
    use rustix::net::SocketFlags;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (stream, from) = skip_aborted(|| Ok(rustix::net::acceptfrom_with(listener, flags)?))?;
    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
    let stream = net::TcpStream::from(stream);
    let from = from.map_or_else(|| stream.peer_addr(), Ok)?;
    Ok((stream, from))
}

#[cfg(not(target_os = "linux"))]
fn accept(listener: &net::TcpListener) -> io::Result<(net::TcpStream, SocketAddr)> {
    let (stream, from) = skip_aborted(|| listener.accept())?;
    stream.set_nonblocking(true)?;
    Ok((stream, from))
}
