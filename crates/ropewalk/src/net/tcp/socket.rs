//! A TCP socket before it is a stream or a listener.

use super::super::named;
use super::{TcpListener, TcpStream};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A TCP socket that is neither connected nor listening: for options that must be set before.
///
/// ```
/// use ropewalk::net::TcpSocket;
/// ropewalk::block_on(async {
///     let socket = TcpSocket::new_v4()?;
///     socket.set_reuseaddr(true)?;
///     socket.bind("127.0.0.1:0".parse().unwrap())?;
///     let listener = socket.listen(16)?;
///     let stream = TcpSocket::new_v4()?.connect(listener.local_addr()?).await?;
///     assert_eq!(stream.peer_addr()?, listener.local_addr()?);
///     Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TcpSocket {
    socket: Socket,
}

impl TcpSocket {
    /// A socket for IPv4.
    ///
    /// # Errors
    /// What the system says.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// A socket for IPv6.
    ///
    /// # Errors
    /// What the system says.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    pub(super) fn of(address: SocketAddr) -> io::Result<Self> {
        Self::new(Domain::for_address(address))
    }

    fn new(domain: Domain) -> io::Result<Self> {
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket })
    }

    /// Gives it an address on this side; port 0 is any free one.
    ///
    /// # Errors
    /// What the system says; `AddrInUse`.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        self.socket.bind(&address.into())
    }

    /// Listens, with room for `backlog` connections that wait to be accepted (the system may allow fewer).
    ///
    /// # Errors
    /// What the system says, or that the current runtime was shut down.
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::from_std(self.socket.into())
    }

    /// Connects.
    ///
    /// Cancel safe: the attempt is dropped.
    ///
    /// # Errors
    /// `ConnectionRefused` and what else the system says; the error names the address.
    pub async fn connect(self, to: SocketAddr) -> io::Result<TcpStream> {
        match self.socket.connect(&to.into()) {
            Err(error) if !is_under_way(&error) => Err(named("connecting to", to, error)),
            _ => TcpStream::connected(self.socket.into(), to).await,
        }
    }

    /// The address on this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let no_ip = || io::Error::other("the socket has no IP address");
        self.socket.local_addr()?.as_socket().ok_or_else(no_ip)
    }
}

/// The options, each as a pair of functions.
macro_rules! options {
    ($($(#[$about:meta])* $set:ident, $get:ident: $type:ty => $set_socket:ident, $get_socket:ident;)*) => {
        impl TcpSocket {$(
            $(#[$about])*
            ///
            /// # Errors
            /// What the system says.
            pub fn $set(&self, value: $type) -> io::Result<()> {
                self.socket.$set_socket(value)
            }

            #[doc = concat!("See [`", stringify!($set), "`](Self::", stringify!($set), ").")]
            ///
            /// # Errors
            /// What the system says.
            pub fn $get(&self) -> io::Result<$type> {
                self.socket.$get_socket()
            }
        )*}
    };
}

options! {
    /// Whether the address may be used although connections of it are still being closed.
    set_reuseaddr, reuseaddr: bool => set_reuse_address, reuse_address;
    /// Whether several sockets may listen on the address, and share its connections.
    set_reuseport, reuseport: bool => set_reuse_port, reuse_port;
    /// Whether small writes are sent at once instead of being collected.
    set_nodelay, nodelay: bool => set_tcp_nodelay, tcp_nodelay;
    /// How many bytes the system keeps that were not read yet.
    set_recv_buffer_size, recv_buffer_size: usize => set_recv_buffer_size, recv_buffer_size;
    /// How many bytes the system keeps that were not sent yet.
    set_send_buffer_size, send_buffer_size: usize => set_send_buffer_size, send_buffer_size;
}

impl TcpSocket {
    /// After how much silence the system asks whether the other side is still there; `None`: it does not ask.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_keepalive(&self, after: Option<Duration>) -> io::Result<()> {
        match after {
            None => self.socket.set_keepalive(false),
            Some(after) => self.socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(after)),
        }
    }

    /// What closing does with bytes not sent yet; see [`TcpStream::set_linger`].
    ///
    /// # Errors
    /// What the system says.
    pub fn set_linger(&self, value: Option<Duration>) -> io::Result<()> {
        self.socket.set_linger(value.map(in_seconds))
    }

    /// See [`set_linger`](Self::set_linger).
    ///
    /// # Errors
    /// What the system says.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.socket.linger()
    }

    /// For IPv6: whether IPv4 is left out.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_only_v6(&self, only: bool) -> io::Result<()> {
        self.socket.set_only_v6(only)
    }
}

/// (`EAGAIN` is none of it: there is no port to connect from.)
fn is_under_way(error: &io::Error) -> bool {
    let of_system = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(of_system, Some(Errno::INPROGRESS | Errno::INTR))
}

/// What the system counts in, rounded up: less than a second would be none, and that is something else.
pub(super) fn in_seconds(linger: Duration) -> Duration {
    let seconds = linger.as_secs().saturating_add((linger.subsec_nanos() > 0).into());
    Duration::from_secs(seconds.min(i32::MAX as u64))
}

impl std::os::fd::AsFd for TcpSocket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl fmt::Debug for TcpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpSocket").field("local_addr", &self.local_addr().ok()).finish_non_exhaustive()
    }
}
