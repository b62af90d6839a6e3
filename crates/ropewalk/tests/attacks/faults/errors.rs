//! Errors that come at once: nobody listens, or no way leads there.

use super::cable::{ELSEWHERE, FAR, NEAR};
use super::ends::Ends;
use ropewalk::net::{TcpStream, UdpSocket};
use std::io;

/// A port where nobody listens: the system gives it to nobody who asks for any.
const NOBODY: u16 = 9;

/// Nobody listens at the other end.
pub async fn refused() {
    let error = TcpStream::connect((FAR, NOBODY)).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
    let socket = UdpSocket::bind((NEAR, 0)).await.unwrap();
    socket.connect((FAR, NOBODY)).await.unwrap();
    socket.send(b"anybody?").await.unwrap();
    let error = socket.recv(&mut [0; 8]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
    socket.send(b"and now?").await.unwrap(); // the error was told once
}

/// No way leads there, for one reason after the other.
pub fn no_way(ends: &Ends) {
    let socket = ends.here.block_on(UdpSocket::bind((NEAR, 0))).unwrap();
    for (route, expected) in [
        ("unreachable", libc::EHOSTUNREACH),
        ("prohibit", libc::EACCES),
        ("blackhole", libc::EINVAL),
        ("throw", libc::ENETUNREACH),
    ] {
        ends.cable.ip_near(&format!("route replace {route} {ELSEWHERE}"));
        let connected = ends.here.block_on(TcpStream::connect((ELSEWHERE, NOBODY)));
        let sent = ends.here.block_on(socket.send_to(b"hello", (ELSEWHERE, NOBODY)));
        for error in [connected.unwrap_err(), sent.unwrap_err()] {
            let said = error.to_string();
            let is_it =
                error.raw_os_error() == Some(expected) || said.contains(&format!("os error {expected}"));
            assert!(is_it, "{route}: {error:?}");
        }
        ends.cable.ip_near(&format!("route del {route} {ELSEWHERE}"));
    }
}
