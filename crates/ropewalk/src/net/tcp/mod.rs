//! TCP: listener, stream, socket, and the halves of a stream.

mod eyeballs;
mod listener;
mod socket;
mod stream;

pub use super::split::ReuniteError;
pub use listener::{Incoming, TcpListener};
pub use socket::TcpSocket;
pub use stream::TcpStream;

/// The reading half of a borrowed [`TcpStream`]; see [`TcpStream::split`].
pub type ReadHalf<'a> = super::split::ReadHalf<'a, TcpStream>;
/// The writing half of a borrowed [`TcpStream`]; see [`TcpStream::split`].
pub type WriteHalf<'a> = super::split::WriteHalf<'a, TcpStream>;
/// The reading half of a [`TcpStream`]; see [`TcpStream::into_split`].
pub type OwnedReadHalf = super::split::OwnedReadHalf<TcpStream>;
/// The writing half of a [`TcpStream`]; see [`TcpStream::into_split`].
pub type OwnedWriteHalf = super::split::OwnedWriteHalf<TcpStream>;
