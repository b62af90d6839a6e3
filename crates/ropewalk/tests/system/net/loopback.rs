//! The link of the suite: both ends on this machine's loopback.

use ropewalk::net::{TcpListener, TcpSocket};
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const THERE: IpAddr = HERE;
pub const LOSES: bool = false;
pub const AT_ONCE: bool = false;
pub const LOTS: usize = 1 << 20;
pub const MANY: usize = 500;
pub const CROWD: usize = 50;
pub const ATTACKERS: usize = 200;

pub fn linked(test: impl FnOnce() + Send) {
    test();
}

pub fn there<F: Future>(future: F) -> F {
    future
}

/// A listener whose queue is full does not answer; there is some room in it first.
pub fn deaf() -> io::Result<(TcpListener, SocketAddr)> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((THERE, 0).into())?;
    let listener = socket.listen(0)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
