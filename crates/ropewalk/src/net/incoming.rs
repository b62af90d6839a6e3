//! Accepting again and again: with io_uring, connections that the kernel accepts without being asked each time.

#[cfg(target_os = "linux")]
use crate::drive::io::uring::{Arrival, Influx, What};
#[cfg(target_os = "linux")]
use std::future::poll_fn;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;

/// A listener that does nothing but accept. Made by [`TcpListener::into_incoming`](super::TcpListener::into_incoming) and
/// [`UnixListener::into_incoming`](super::UnixListener::into_incoming).
///
/// With the [io_uring driver](crate::driver::IoDriverKind::IoUring) the kernel accepts whoever comes, with no system call for each
/// of them. Those are connected, and have a descriptor, before anybody asked for them: that is why it takes the listener. When
/// 16 wait for the server, the kernel is told to stop until they are taken; more may come until it hears of that. With other drivers it is the same as [`accept`](super::TcpListener::accept).
///
/// Dropping it refuses those that wait to be accepted and closes those that were accepted ahead.
///
/// ```
/// use ropewalk::net::{TcpListener, TcpStream};
/// # ropewalk::block_on(async {
/// let mut incoming = TcpListener::bind("127.0.0.1:0").await?.into_incoming();
/// let client = TcpStream::connect(incoming.listener().local_addr()?).await?;
/// let server = incoming.next().await?;
/// assert_eq!(server.peer_addr()?, client.local_addr()?);
/// # Ok::<(), std::io::Error>(())
/// # })?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct IntoIncoming<L> {
    // Dropped first: the kernel knows the file by its number.
    #[cfg(target_os = "linux")]
    influx: Option<Influx>,
    listener: L,
}

impl<L> IntoIncoming<L> {
    /// The listener, to ask it.
    pub fn listener(&self) -> &L {
        &self.listener
    }
}

/// What is alike for both kinds of listeners.
macro_rules! accepts_ahead {
    ($listener:ty, $stream:ty, $file:ty) => {
        impl $listener {
            /// Accepts from now on, and does nothing else; see [`IntoIncoming`](crate::net::IntoIncoming).
            pub fn into_incoming(self) -> IntoIncoming<Self> {
                IntoIncoming {
                    #[cfg(target_os = "linux")]
                    influx: self.io.uring().and_then(|uring| Influx::new(&uring, What::Connections)),
                    listener: self,
                }
            }
        }

        impl IntoIncoming<$listener> {
            /// Waits for the next connection; there is always another one.
            ///
            /// Cancel safe: a connection that was not returned is there for the next call.
            ///
            /// # Errors
            /// As of the listener's `accept`.
            pub async fn next(&mut self) -> std::io::Result<$stream> {
                #[cfg(target_os = "linux")]
                if let Some(influx) = &mut self.influx {
                    let listener = &self.listener;
                    listener.rest.pause().await;
                    let accepted = match poll_fn(|cx| influx.poll(cx, listener.io.file().as_fd())).await {
                        Arrival::Connection(file) => listener.io.beside(<$file>::from(file)),
                        Arrival::Failed(error) => Err(error),
                        _ => {
                            self.influx = None; // this kernel cannot do it
                            return self.listener.accept().await.map(|(stream, _)| stream);
                        }
                    };
                    return listener.rest.note(accepted).map(|io| <$stream>::of(io));
                }
                self.listener.accept().await.map(|(stream, _)| stream)
            }
        }
    };
}

accepts_ahead!(super::TcpListener, super::TcpStream, std::net::TcpStream);
accepts_ahead!(super::UnixListener, super::UnixStream, std::os::unix::net::UnixStream);
