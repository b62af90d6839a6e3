//! From names to addresses.

use crate::spawn_blocking;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// What can be turned into socket addresses: addresses themselves, at once; names with a port (`"localhost:80"`,
/// `("localhost", 80)`) by the system's resolver, on the blocking pool.
pub trait ToSocketAddrs {
    /// The addresses, best first.
    ///
    /// # Errors
    /// What the resolver says; the error names the host.
    fn to_socket_addrs(&self) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;
}

/// The addresses of a host, by the system's resolver on the blocking pool.
///
/// ```
/// use ropewalk::net::lookup_host;
/// let found = ropewalk::block_on(lookup_host("localhost:80"))?;
/// assert!(found.into_iter().all(|address| address.ip().is_loopback() && address.port() == 80));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Cancel safe; a look-up that began goes on in the blocking pool.
///
/// # Errors
/// What the resolver says; the error names the host.
pub async fn lookup_host(host: impl ToSocketAddrs) -> io::Result<Vec<SocketAddr>> {
    host.to_socket_addrs().await
}

/// What `of` makes of the first address that it does not refuse. The error names the last one, or is `nothing`.
pub(super) async fn first_to_be_had<R>(
    address: impl ToSocketAddrs,
    doing: &str,
    nothing: &'static str,
    mut of: impl FnMut(SocketAddr) -> io::Result<R>,
) -> io::Result<R> {
    let mut refused = None;
    for address in address.to_socket_addrs().await? {
        match of(address) {
            Ok(had) => return Ok(had),
            Err(error) => refused = Some(super::named(doing, address, error)),
        }
    }
    Err(refused.unwrap_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, nothing)))
}

async fn ask(host: String, port: Option<u16>) -> io::Result<Vec<SocketAddr>> {
    let asked = host.clone();
    let found = spawn_blocking(move || {
        let found = match port {
            Some(port) => std::net::ToSocketAddrs::to_socket_addrs(&(asked.as_str(), port)),
            None => std::net::ToSocketAddrs::to_socket_addrs(asked.as_str()),
        };
        found.map(Vec::from_iter)
    });
    match found.await {
        Ok(found) => found.map_err(|error| super::named("looking up", format!("{host:?}"), error)),
        Err(error) => {
            Err(super::named("looking up", format!("{host:?}"), io::Error::other(error.to_string())))
        }
    }
}

macro_rules! at_once {
    ($($type:ty: |$this:ident| $address:expr;)*) => {$(
        impl ToSocketAddrs for $type {
            async fn to_socket_addrs(&self) -> io::Result<Vec<SocketAddr>> {
                let $this = self;
                Ok(vec![$address])
            }
        }
    )*};
}

at_once! {
    SocketAddr: |this| *this;
    SocketAddrV4: |this| SocketAddr::V4(*this);
    SocketAddrV6: |this| SocketAddr::V6(*this);
    (IpAddr, u16): |this| SocketAddr::from(*this);
    (Ipv4Addr, u16): |this| SocketAddr::from(*this);
    (Ipv6Addr, u16): |this| SocketAddr::from(*this);
}

impl ToSocketAddrs for str {
    async fn to_socket_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        match self.parse() {
            Ok(address) => Ok(vec![address]),
            Err(_) => ask(self.to_owned(), None).await,
        }
    }
}

impl ToSocketAddrs for String {
    async fn to_socket_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        self.as_str().to_socket_addrs().await
    }
}

impl ToSocketAddrs for (&str, u16) {
    async fn to_socket_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        match self.0.parse::<IpAddr>() {
            Ok(ip) => Ok(vec![SocketAddr::new(ip, self.1)]),
            Err(_) => ask(self.0.to_owned(), Some(self.1)).await,
        }
    }
}

impl ToSocketAddrs for (String, u16) {
    async fn to_socket_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        (self.0.as_str(), self.1).to_socket_addrs().await
    }
}

impl ToSocketAddrs for [SocketAddr] {
    async fn to_socket_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(self.to_vec())
    }
}

impl<T: ToSocketAddrs + Sync + ?Sized> ToSocketAddrs for &T {
    async fn to_socket_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        (**self).to_socket_addrs().await
    }
}
