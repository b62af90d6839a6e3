//! Sockets: TCP, UDP, Unix.
//!
//! A socket belongs to the runtime it was opened in, whose driver watches it; it can be used anywhere, by `.await` in tasks
//! of any runtime and by [`wait`](crate::Wait::wait) on strands and threads. Operations are tried at once and wait only if they
//! would block. When its runtime is shut down, who waits for it gets an error.
//!
//! ```
//! use ropewalk::net::{TcpListener, TcpStream};
//!
//! ropewalk::block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     let server = ropewalk::spawn(async move {
//!         let (stream, _) = listener.accept().await?;
//!         let mut buffer = [0; 16];
//!         let count = stream.read(&mut buffer).await?;
//!         stream.write_all(&buffer[..count]).await
//!     });
//!     let stream = TcpStream::connect(address).await?;
//!     stream.write_all(b"hello").await?;
//!     let mut buffer = [0; 16];
//!     assert_eq!(stream.read(&mut buffer).await?, 5);
//!     server.await.unwrap()
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```

#[macro_use]
mod macros;
mod accepting;
mod async_fd;
mod chunks;
mod incoming;
mod resolve;
pub mod split;
mod stream;
pub mod tcp;
mod udp;
pub mod unix;

pub use async_fd::AsyncFd;
pub use chunks::{Chunks, Lent};
pub use incoming::IntoIncoming;
pub use resolve::{ToSocketAddrs, lookup_host};
pub use tcp::{TcpListener, TcpSocket, TcpStream};
pub use udp::UdpSocket;
pub use unix::{UnixDatagram, UnixListener, UnixStream};

use std::io;

/// Closing what the other side has closed already is no error.
pub(crate) fn over_is_closed(closed: io::Result<()>) -> io::Result<()> {
    match closed {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        outcome => outcome,
    }
}

/// An error that says what was being done, to what.
pub(crate) fn named(what: &str, object: impl std::fmt::Display, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what} {object}: {error}"))
}
