//! UDP. Options and groups are in `options.rs`.

mod options;

use super::resolve::{ToSocketAddrs, first_to_be_had};
use crate::drive::io::{Direction, Interest, Moored};
use std::io;
use std::net::{self, SocketAddr};
use std::task::{Context, Poll};

/// A UDP socket. All functions take `&self`: any number of tasks may send and receive.
///
/// ```
/// use ropewalk::net::UdpSocket;
/// ropewalk::block_on(async {
///     let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
///     a.send_to(b"hello", b.local_addr()?).await?;
///     let mut buffer = [0; 16];
///     assert_eq!(b.recv_from(&mut buffer).await?, (5, a.local_addr()?));
///     Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UdpSocket {
    io: Moored<net::UdpSocket>,
}

waits_for_readiness!(UdpSocket);
is_of_std!(UdpSocket, net::UdpSocket);

impl UdpSocket {
    /// A socket at the first of `address`' addresses that is to be had; port 0 is any free one.
    ///
    /// Cancel safe: it waits for the resolver only.
    ///
    /// # Errors
    /// The name cannot be resolved, or no address is to be had; the error names the last one.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let bind = |at| net::UdpSocket::bind(at);
        Self::from_std(first_to_be_had(address, "binding to", "no address to bind to", bind).await?)
    }

    /// Takes over a socket of the standard library and makes it non-blocking.
    ///
    /// # Errors
    /// What the system says, or that the current runtime was shut down.
    pub fn from_std(socket: net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { io: Moored::new(socket, Interest::BOTH)? })
    }

    /// Gives the socket to the standard library. It stays non-blocking.
    pub fn into_std(self) -> net::UdpSocket {
        self.io.into_file()
    }

    /// From now on [`send`](Self::send) goes there, and only what comes from there is received.
    ///
    /// Cancel safe: it waits for the resolver only.
    ///
    /// # Errors
    /// The name cannot be resolved, or no address is accepted; the error names the last one.
    pub async fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        let connect = |to| self.io.file().connect(to);
        first_to_be_had(address, "connecting to", "no address to connect to", connect).await
    }

    /// Sends a datagram to the connected address. Cancel safe: it is sent or not.
    ///
    /// # Errors
    /// What the system says; `ConnectionRefused` may tell of an earlier datagram.
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.io.registration().io(Direction::Write, || self.io.file().send(bytes)).await
    }

    /// Sends a datagram to the first of `to`'s addresses. Cancel safe: it is sent or not.
    ///
    /// # Errors
    /// The name cannot be resolved, or what the system says.
    pub async fn send_to(&self, bytes: &[u8], to: impl ToSocketAddrs) -> io::Result<usize> {
        let to = to.to_socket_addrs().await?;
        let Some(to) = to.first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no address to send to"));
        };
        self.io.registration().io(Direction::Write, || self.io.file().send_to(bytes, to)).await
    }

    /// Receives a datagram; what does not fit into `buffer` is lost. Cancel safe: if it was not completed, none was taken.
    ///
    /// # Errors
    /// What the system says; `ConnectionRefused` if a datagram sent before found nobody.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.io.registration().io(Direction::Read, || self.io.file().recv(buffer)).await
    }

    /// Receives a datagram, and says from where. Cancel safe, as [`recv`](Self::recv).
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.registration().io(Direction::Read, || self.io.file().recv_from(buffer)).await
    }

    /// Looks at the next datagram from the connected address, without taking it. Cancel safe.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.io.registration().io(Direction::Read, || self.io.file().peek(buffer)).await
    }

    /// Looks at the next datagram without taking it. Cancel safe.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.registration().io(Direction::Read, || self.io.file().peek_from(buffer)).await
    }

    /// [`send`](Self::send) without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; else as there.
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.try_io(Interest::WRITABLE, || self.io.file().send(bytes))
    }

    /// [`send_to`](Self::send_to) without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; else as there.
    pub fn try_send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<usize> {
        self.try_io(Interest::WRITABLE, || self.io.file().send_to(bytes, to))
    }

    /// [`recv`](Self::recv) without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; else as there.
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_io(Interest::READABLE, || self.io.file().recv(buffer))
    }

    /// [`recv_from`](Self::recv_from) without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; else as there.
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.try_io(Interest::READABLE, || self.io.file().recv_from(buffer))
    }

    /// [`send_to`](Self::send_to) for hand-written futures. One task at a time: the last one to poll is woken.
    ///
    /// ```
    /// use ropewalk::net::UdpSocket;
    /// use std::future::poll_fn;
    /// # ropewalk::block_on(async {
    /// let socket = UdpSocket::bind("127.0.0.1:0").await?;
    /// let here = socket.local_addr()?;
    /// poll_fn(|cx| socket.poll_send_to(cx, b"hello", here)).await?;
    /// let mut buffer = [0; 16];
    /// assert_eq!(poll_fn(|cx| socket.poll_recv_from(cx, &mut buffer)).await?, (5, here));
    /// # Ok::<(), std::io::Error>(())
    /// # })?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the system says.
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.io.registration().poll_io(cx, Direction::Write, || self.io.file().send_to(bytes, to))
    }

    /// [`recv_from`](Self::recv_from) for hand-written futures. One task at a time, as [`poll_send_to`](Self::poll_send_to).
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.io.registration().poll_io(cx, Direction::Read, || self.io.file().recv_from(buffer))
    }

    /// The address on this side.
    ///
    /// # Errors
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.file().local_addr()
    }

    /// The connected address.
    ///
    /// # Errors
    /// `NotConnected`, if there is none.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.file().peer_addr()
    }

    /// The error that the system keeps for this socket, if there is one; it is kept no longer.
    ///
    /// # Errors
    /// What the system says.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.file().take_error()
    }
}
