//! Sockets: TCP, UDP, Unix.
//!
//! A socket belongs to the runtime it was opened in, whose driver watches it; it can be used anywhere, by `.await` in tasks
//! of any runtime and by [`wait`](crate::Wait::wait) on strands and threads. Operations are tried at once and wait only if they
//! would block. When its runtime is shut down, who waits for it gets an error.
//!
//! Errors of binding and connecting say to what; what the system said, with its number, is their
//! [`source`](std::error::Error::source). Those of reading, writing, sending and receiving are the system's own.
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

use std::fmt;
use std::io;

/// Closing what the other side has closed already is no error.
pub(crate) fn over_is_closed(closed: io::Result<()>) -> io::Result<()> {
    match closed {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        outcome => outcome,
    }
}

/// An error that says what was being done, to what. Its [`source`](std::error::Error::source) is what the system said.
pub(crate) fn named(what: &str, object: impl fmt::Display, error: io::Error) -> io::Error {
    Named { text: format!("{what} {object}: {error}"), error }.into()
}

/// See [`named`].
#[derive(Debug)]
struct Named {
    text: String,
    error: io::Error,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Named {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // What is itself named says no more than this one: what the system said is behind it.
        self.error.get_ref().and_then(|error| error.source()).or(Some(&self.error))
    }
}

impl From<Named> for io::Error {
    fn from(named: Named) -> Self {
        Self::new(named.error.kind(), named)
    }
}
