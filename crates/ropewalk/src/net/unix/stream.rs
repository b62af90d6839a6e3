//! A connection on this machine.

use super::super::named;
use super::SocketAddr;
use crate::drive::io::{Interest, Moored, Stream};
use crate::time::sleep;
use ropewalk_core::budget::poll_proceed;
use socket2::SockAddr;
use std::future::poll_fn;
use std::io;
use std::os::unix::net;
use std::path::Path;

/// A Unix connection.
///
/// Reading and writing take `&self`. Dropping it closes the connection.
///
/// ```
/// use ropewalk::net::UnixStream;
/// ropewalk::block_on(async {
///     let (left, right) = UnixStream::pair()?;
///     left.write_all(b"hello").await?;
///     drop(left);
///     let mut buffer = [0; 16];
///     assert_eq!(right.read(&mut buffer).await?, 5);
///     assert_eq!(right.read(&mut buffer).await?, 0);
///     Ok::<(), std::io::Error>(())
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixStream {
    pub(crate) io: Moored<net::UnixStream>,
}

impl Stream for net::UnixStream {
    const INTEREST: Interest = Interest::BOTH;
    const IS_PLAIN: bool = false;
}

is_a_stream!(UnixStream);
is_of_std!(UnixStream, net::UnixStream);

/// Who is on the other side of a [`UnixStream`], as of when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its process, where the system says, and if it can be seen from here.
    pub pid: Option<i32>,
}

impl UnixStream {
    #[cfg(target_os = "linux")]
    pub(in crate::net) fn of(io: Moored<net::UnixStream>) -> Self {
        Self { io }
    }

    /// Connects to a listener by its path; a path that begins with a NUL byte is an abstract name (Linux).
    ///
    /// Cancel safe: the attempt is dropped.
    ///
    /// # Errors
    /// What the system says (`NotFound`, `ConnectionRefused`); the error names the path.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let to = super::address_of(path)?;
        Self::connect_to(&to).await.map_err(|error| named("connecting to", path.display(), error))
    }

    /// Connects to a listener by its address, which may be an abstract name (Linux).
    ///
    /// Cancel safe: the attempt is dropped.
    ///
    /// # Errors
    /// What the system says; the error names the address.
    pub async fn connect_addr(address: &SocketAddr) -> io::Result<Self> {
        let to = super::address(address)?;
        Self::connect_to(&to).await.map_err(|error| named("connecting to", format!("{address:?}"), error))
    }

    /// A Unix connection is there at once, or there is no room in the queue.
    async fn connect_to(to: &SockAddr) -> io::Result<Self> {
        let socket = super::socket(socket2::Type::STREAM)?;
        loop {
            poll_fn(poll_proceed).await; // there is always room with somebody who accepts all the time
            match socket.connect(to) {
                Ok(()) => return Self::registered(socket.into()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(super::ROOM_IN_QUEUE).await,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn registered(stream: net::UnixStream) -> io::Result<Self> {
        Ok(Self { io: Moored::stream(stream)? })
    }

    /// Two that are connected to each other.
    ///
    /// # Errors
    /// What the system says.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (left, right) = net::UnixStream::pair()?;
        Ok((Self::from_std(left)?, Self::from_std(right)?))
    }

    /// Takes over a connection of the standard library and makes it non-blocking.
    ///
    /// # Errors
    /// What the system says, or that the current runtime was shut down.
    pub fn from_std(stream: net::UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Self::registered(stream)
    }

    /// Gives the connection to the standard library. It stays non-blocking.
    pub fn into_std(self) -> net::UnixStream {
        self.io.into_file()
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
    /// What the system says.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.file().peer_addr()
    }

    /// Who is on the other side.
    ///
    /// # Errors
    /// What the system says.
    pub fn peer_cred(&self) -> io::Result<PeerCredentials> {
        credentials(self.io.file())
    }
}

/// By hand: a process that cannot be seen from here has the number 0, which `rustix` takes for impossible.
#[cfg(target_os = "linux")]
fn credentials(stream: &net::UnixStream) -> io::Result<PeerCredentials> {
    use std::os::fd::AsRawFd;
    let mut of = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: there is room for what is asked for, of the size that is given.
    let asked =
        unsafe { libc::getsockopt(stream.as_raw_fd(), level, name, (&raw mut of).cast(), &raw mut size) };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(PeerCredentials { uid: of.uid, gid: of.gid, pid: (of.pid != 0).then_some(of.pid) })
}

#[cfg(not(target_os = "linux"))]
fn credentials(_: &net::UnixStream) -> io::Result<PeerCredentials> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "peer credentials are known on Linux only"))
}
