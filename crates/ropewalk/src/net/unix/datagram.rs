//! Datagrams on this machine.

use super::super::named;
use super::SocketAddr;
use crate::drive::io::{Direction, Interest, Moored};
use crate::time::sleep;
use ropewalk_core::budget::poll_proceed;
use socket2::{SockAddr, SockRef};
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::time::Duration;

/// How long a message waits if nobody tells when there is room for it; then twice as long each time, up to
/// [`ROOM_IN_QUEUE`](super::ROOM_IN_QUEUE).
const FIRST_REST: Duration = Duration::from_micros(50);

/// A Unix datagram socket: messages keep their bounds and their order, and are not lost.
///
/// ```
/// use ropewalk::net::UnixDatagram;
/// ropewalk::block_on(async {
///     let (left, right) = UnixDatagram::pair()?;
///     left.send(b"one").await?;
///     left.send(b"two").await?;
///     let mut buffer = [0; 16];
///     assert_eq!(right.recv(&mut buffer).await?, 3);
///     assert_eq!(&buffer[..3], b"one");
///     Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixDatagram {
    io: Moored<net::UnixDatagram>,
}

waits_for_readiness!(UnixDatagram);
is_of_std!(UnixDatagram, net::UnixDatagram);

impl UnixDatagram {
    /// A socket at a path; one that begins with a NUL byte is an abstract name (Linux). The file stays when it is dropped.
    ///
    /// # Errors
    /// What the system says; `AddrInUse` if there is such a file. The error names the path.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let address = super::address_of(path)?;
        Self::bind_to(&address).map_err(|error| named("binding to", path.display(), error))
    }

    /// A socket at an address, which may be an abstract name (Linux).
    ///
    /// # Errors
    /// What the system says; the error names the address.
    pub fn bind_addr(at: &SocketAddr) -> io::Result<Self> {
        let address = super::address(at)?;
        Self::bind_to(&address).map_err(|error| named("binding to", format!("{at:?}"), error))
    }

    fn bind_to(address: &SockAddr) -> io::Result<Self> {
        let socket = super::socket(socket2::Type::DGRAM)?;
        socket.bind(address)?;
        Self::from_std(socket.into())
    }

    /// A socket without an address: it can send, and nobody can answer.
    ///
    /// # Errors
    /// What the system says.
    pub fn unbound() -> io::Result<Self> {
        Self::from_std(net::UnixDatagram::unbound()?)
    }

    /// Two that are connected to each other.
    ///
    /// # Errors
    /// What the system says.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (left, right) = net::UnixDatagram::pair()?;
        Ok((Self::from_std(left)?, Self::from_std(right)?))
    }

    /// Takes over a socket of the standard library and makes it non-blocking.
    ///
    /// # Errors
    /// What the system says, or that the current runtime was shut down.
    pub fn from_std(socket: net::UnixDatagram) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { io: Moored::new(socket, Interest::BOTH)? })
    }

    /// Gives the socket to the standard library. It stays non-blocking.
    pub fn into_std(self) -> net::UnixDatagram {
        self.io.into_file()
    }

    /// From now on [`send`](Self::send) goes to the socket at `path`, and only what comes from there is received.
    ///
    /// # Errors
    /// What the system says; the error names the path.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let connected = SockRef::from(self.io.file()).connect(&super::address_of(path)?);
        connected.map_err(|error| named("connecting to", path.display(), error))
    }

    /// The same by the address of that socket, which may be an abstract name (Linux), or where a message came from.
    ///
    /// # Errors
    /// What the system says; the error names the address.
    pub fn connect_addr(&self, to: &SocketAddr) -> io::Result<()> {
        let connected = SockRef::from(self.io.file()).connect(&super::address(to)?);
        connected.map_err(|error| named("connecting to", format!("{to:?}"), error))
    }

    /// Sends a message to the connected socket, waiting for room there. Cancel safe: it is sent or not.
    ///
    /// # Errors
    /// What the system says; `ConnectionRefused` if nobody is there.
    pub async fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = FIRST_REST;
        loop {
            if let Some(sent) = self.send_when_told(bytes).await? {
                return Ok(sent);
            }
            sleep(rest).await;
            rest = (2 * rest).min(super::ROOM_IN_QUEUE);
        }
    }

    /// Waits until the system says that there is room. `None`: it said so, and there was none. Others were quicker, or it was
    /// the memory of the last attempt, which not every driver can tell from room at the other socket. Who waits for that tries
    /// without a pause.
    async fn send_when_told(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let mut told = false;
        let attempt =
            || match self.io.file().send(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if std::mem::replace(&mut told, true) { Ok(None) } else { Err(error) }
                }
                sent => sent.map(Some),
            };
        self.io.registration().io(Direction::Write, attempt).await
    }

    /// Sends a message to the socket at `path`. Cancel safe: it is sent or not. If there is no room at that socket, it is
    /// tried again, up to a thousand times a second; [`connect`](Self::connect) and [`send`](Self::send) wait instead.
    ///
    /// # Errors
    /// What the system says (`NotFound`, `ConnectionRefused`).
    pub async fn send_to(&self, bytes: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let to = super::address_of(path.as_ref())?;
        self.send_when_there_is_room(bytes, &to).await
    }

    /// [`send_to`](Self::send_to) by an address, which may be an abstract name (Linux), or where a message came from. Cancel safe:
    /// it is sent or not.
    ///
    /// ```
    /// # #[cfg(target_os = "linux")] {
    /// use ropewalk::net::{UnixDatagram, unix::SocketAddr};
    /// use std::os::linux::net::SocketAddrExt;
    /// ropewalk::block_on(async {
    ///     let name = format!("an example {}", std::process::id());
    ///     let server = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    ///     let client = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name + " too")?)?;
    ///     client.send_to_addr(b"hello", &server.local_addr()?).await?;
    ///     let mut buffer = [0; 16];
    ///     let (count, from) = server.recv_from(&mut buffer).await?;
    ///     server.send_to_addr(&buffer[..count], &from).await?;
    ///     assert_eq!(client.recv(&mut buffer).await?, 5);
    ///     Ok::<(), std::io::Error>(())
    /// })?;
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to); `InvalidInput` if that socket has no address.
    pub async fn send_to_addr(&self, bytes: &[u8], to: &SocketAddr) -> io::Result<usize> {
        self.send_when_there_is_room(bytes, &super::address(to)?).await
    }

    /// Nobody tells a socket that is not connected when there is room at another one. And each attempt that fails gives back
    /// the memory of its message, which the system reports as room *here*: who waits for that tries without a pause. So it
    /// rests between two attempts.
    async fn send_when_there_is_room(&self, bytes: &[u8], to: &SockAddr) -> io::Result<usize> {
        poll_fn(poll_proceed).await;
        let mut rest = FIRST_REST;
        loop {
            self.io.registration().check()?;
            match SockRef::from(self.io.file()).send_to(bytes, to) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(rest).await,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                sent => return sent,
            }
            rest = (2 * rest).min(super::ROOM_IN_QUEUE);
        }
    }

    /// Receives a message; what does not fit into `buffer` is lost. Cancel safe: if it was not completed, none was taken.
    ///
    /// # Errors
    /// What the system says.
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.io.registration().io(Direction::Read, || self.io.file().recv(buffer)).await
    }

    /// Receives a message, and says from where. Cancel safe, as [`recv`](Self::recv).
    ///
    /// # Errors
    /// What the system says.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.registration().io(Direction::Read, || self.io.file().recv_from(buffer)).await
    }

    /// [`send`](Self::send) without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; else as there.
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.try_io(Interest::WRITABLE, || self.io.file().send(bytes))
    }

    /// [`recv`](Self::recv) without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; else as there.
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_io(Interest::READABLE, || self.io.file().recv(buffer))
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

    /// Closes one direction, or both.
    ///
    /// # Errors
    /// What the system says.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.file().shutdown(how)
    }
}
