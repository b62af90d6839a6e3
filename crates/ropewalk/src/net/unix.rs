//! Unix sockets: streams, listeners, datagrams, by path or by abstract name.

mod datagram;
mod listener;
mod stream;

pub use super::split::ReuniteError;
pub use datagram::UnixDatagram;
pub use listener::UnixListener;
pub use std::os::unix::net::SocketAddr;
pub use stream::{PeerCredentials, UnixStream};

/// The reading half of a borrowed [`UnixStream`]; see [`UnixStream::split`].
pub type ReadHalf<'a> = super::split::ReadHalf<'a, UnixStream>;
/// The writing half of a borrowed [`UnixStream`]; see [`UnixStream::split`].
pub type WriteHalf<'a> = super::split::WriteHalf<'a, UnixStream>;
/// The reading half of a [`UnixStream`]; see [`UnixStream::into_split`].
pub type OwnedReadHalf = super::split::OwnedReadHalf<UnixStream>;
/// The writing half of a [`UnixStream`]; see [`UnixStream::into_split`].
pub type OwnedWriteHalf = super::split::OwnedWriteHalf<UnixStream>;

use socket2::{SockAddr, Socket};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// How long to wait before asking again whether there is room in the queue of a listener, or of a socket to which one is not
/// connected: nobody tells.
const ROOM_IN_QUEUE: Duration = Duration::from_millis(1);

/// An address by its path, or, if that begins with a NUL byte, by the abstract name that follows (Linux), which may have any
/// bytes. A path ends at its first NUL for the system: one with another inside would be a different path.
fn address_of(path: &Path) -> io::Result<SockAddr> {
    let bytes = path.as_os_str().as_bytes();
    let address = match bytes.iter().position(|byte| *byte == 0) {
        Some(1..) => Err(io::Error::new(io::ErrorKind::InvalidInput, "a path has no NUL byte inside")),
        _ => SockAddr::unix(path),
    };
    address.map_err(|error| super::named("the socket", path.display(), error))
}

/// An address as `socket2` wants it.
fn address(address: &SocketAddr) -> io::Result<SockAddr> {
    #[cfg(target_os = "linux")]
    {
        use std::os::linux::net::SocketAddrExt;
        if let Some(name) = address.as_abstract_name() {
            let mut bytes = vec![0];
            bytes.extend_from_slice(name);
            return SockAddr::unix(std::ffi::OsStr::from_bytes(&bytes));
        }
    }
    match address.as_pathname() {
        Some(path) => SockAddr::unix(path),
        None => Err(io::Error::new(io::ErrorKind::InvalidInput, "the address has neither a path nor a name")),
    }
}

/// A socket that does not block.
fn socket(kind: socket2::Type) -> io::Result<Socket> {
    let socket = Socket::new(socket2::Domain::UNIX, kind, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
