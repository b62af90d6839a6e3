//! A connection.

use super::super::{ToSocketAddrs, named};
use super::eyeballs;
use super::socket::in_seconds;
use crate::drive::io::{Direction, Interest, Moored, Stream};
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::{self, SocketAddr};
use std::time::Duration;

/// A TCP connection.
///
/// Reading and writing take `&self`, so one task can read while another writes, without splitting. It also has the traits
/// [`AsyncRead`](futures_io::AsyncRead) and [`AsyncWrite`](futures_io::AsyncWrite), by value and by reference.
///
/// Dropping it closes the connection.
///
/// ```no_run
/// use ropewalk::{Wait, net::TcpStream};
/// let stream = TcpStream::connect("localhost:7").wait()?; // on a thread; in async code, await it
/// stream.write_all(b"hello").wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpStream {
    pub(crate) io: Moored<net::TcpStream>,
}

impl Stream for net::TcpStream {
    const INTEREST: Interest = Interest::ALL;
    const IS_PLAIN: bool = true;
}

is_a_stream!(TcpStream);
is_of_std!(TcpStream, net::TcpStream);

impl TcpStream {
    #[cfg(target_os = "linux")]
    pub(in crate::net) fn of(io: Moored<net::TcpStream>) -> Self {
        Self { io }
    }

    /// Connects to the first of `address`' addresses that answers, trying them as RFC 8305 ("Happy Eyeballs") says: IPv6 and
    /// IPv4 in turn, a new attempt every 250 ms or as soon as all before it have failed; the first to succeed wins, the others
    /// are dropped.
    ///
    /// Cancel safe: attempts under way are dropped.
    ///
    /// # Errors
    /// The name cannot be resolved, or no address accepts; the error names them. There is no time limit but the system's: use
    /// [`timeout`](crate::time::timeout).
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<Self> {
        let addresses = address.to_socket_addrs().await?;
        eyeballs::connect(addresses).await
    }

    /// Waits until a connection that was begun is there.
    pub(super) async fn connected(stream: net::TcpStream, to: SocketAddr) -> io::Result<Self> {
        let stream = Self { io: Moored::stream(stream)? };
        let file = stream.io.file();
        let there = stream.io.io(Direction::Write, || match file.take_error()? {
            Some(error) => Err(error),
            None => match file.peer_addr() {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                    Err(io::ErrorKind::WouldBlock.into())
                }
                answer => answer.map(drop),
            },
        });
        there.await.map_err(|error| named("connecting to", to, error))?;
        Ok(stream)
    }

    /// Takes over a connection of the standard library and makes it non-blocking.
    ///
    /// # Errors
    /// What the system says, or that the current runtime was shut down.
    pub fn from_std(stream: net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { io: Moored::stream(stream)? })
    }

    /// Gives the connection to the standard library. It stays non-blocking:
    /// [`set_nonblocking(false)`](net::TcpStream::set_nonblocking) changes that.
    pub fn into_std(self) -> net::TcpStream {
        self.io.into_file()
    }

    /// Reads what is there without taking it, waiting for it if need be. Cancel safe.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.io.io(Direction::Read, || self.io.file().peek(buffer)).await
    }

    /// The address on this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.file().local_addr()
    }

    /// The address on the other side.
    ///
    /// # Errors
    /// What the system says; `NotConnected` if there is nobody any more.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.file().peer_addr()
    }

    /// Whether small writes are sent at once instead of being collected (Nagle's algorithm off).
    ///
    /// # Errors
    /// What the system says.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.file().set_nodelay(nodelay)
    }

    /// See [`set_nodelay`](Self::set_nodelay).
    ///
    /// # Errors
    /// What the system says.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.file().nodelay()
    }

    /// What closing does with bytes that were not sent yet: `None`, the default, sends them in the background;
    /// `Some(Duration::ZERO)` throws them away and resets the connection; any other time, rounded up to whole seconds, makes
    /// closing wait for them, on the thread that closes.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        SockRef::from(self.io.file()).set_linger(linger.map(in_seconds))
    }

    /// See [`set_linger`](Self::set_linger).
    ///
    /// # Errors
    /// What the system says.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self.io.file()).linger()
    }

    /// After how much silence the system asks whether the other side is still there; `None`: it does not ask.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_keepalive(&self, after: Option<Duration>) -> io::Result<()> {
        let socket = SockRef::from(self.io.file());
        match after {
            None => socket.set_keepalive(false),
            Some(after) => socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(after)),
        }
    }

    /// See [`set_keepalive`](Self::set_keepalive).
    ///
    /// # Errors
    /// What the system says.
    pub fn keepalive(&self) -> io::Result<Option<Duration>> {
        let socket = SockRef::from(self.io.file());
        if socket.keepalive()? { socket.tcp_keepalive_time().map(Some) } else { Ok(None) }
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
