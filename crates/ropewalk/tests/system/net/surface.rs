//! What else sockets can do: options, addresses, hand-written futures, and errors that say what the system said.

use super::common::guarded;
use super::kit::{everywhere, pair};
use super::unix::Place;
use ropewalk::net::{TcpListener, TcpSocket, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream};
use std::error::Error;
use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Ipv4Addr;
use std::time::Duration;

/// The system counts in seconds. Less than one would be none, which resets the connection.
#[test]
fn lingering_is_rounded_up() {
    everywhere(|| async {
        let (left, _right) = pair().await?;
        let socket = TcpSocket::new_v4()?;
        for (given, taken) in [(0, 0), (1, 1), (500, 1), (1000, 1), (1001, 2)] {
            let (given, taken) = (Some(Duration::from_millis(given)), Some(Duration::from_secs(taken)));
            left.set_linger(given)?;
            socket.set_linger(given)?;
            assert_eq!((left.linger()?, socket.linger()?), (taken, taken));
        }
        left.set_linger(Some(Duration::MAX))?;
        assert!(left.linger()?.unwrap() > Duration::from_secs(1 << 16), "not none");
        Ok(())
    });
}

/// The number that the system gave for `error`, which names its object.
fn number(error: &io::Error) -> Option<i32> {
    assert_eq!(error.raw_os_error(), None, "{error}");
    error.source()?.downcast_ref::<io::Error>()?.raw_os_error()
}

#[test]
fn an_error_with_a_name_keeps_its_number() {
    everywhere(|| async {
        // It keeps others from getting its address, and does not listen.
        let deaf = TcpSocket::new_v4()?;
        deaf.bind("127.0.0.1:0".parse().unwrap())?;
        let address = deaf.local_addr()?;
        let error = TcpListener::bind(address).await.unwrap_err();
        assert_eq!(number(&error), Some(libc::EADDRINUSE), "{error}");
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(number(&error), Some(libc::ECONNREFUSED), "{error}");
        let error = TcpStream::connect(&[address, address][..]).await.unwrap_err();
        assert_eq!(number(&error), Some(libc::ECONNREFUSED), "{error}");
        let place = Place::new();
        let error = UnixStream::connect(&place.0).await.unwrap_err();
        assert_eq!(number(&error), Some(libc::ENOENT), "{error}");
        // Those who send have said to whom.
        let error = UnixDatagram::unbound()?.send_to(b"x", &place.0).await.unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let error = socket.send_to(b"x", "255.255.255.255:9").await.unwrap_err();
        assert!(error.raw_os_error().is_some(), "{error}");
        Ok(())
    });
}

#[test]
fn options_of_datagrams() {
    everywhere(|| async {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        for on in [true, false] {
            socket.set_broadcast(on)?;
            socket.set_multicast_loop_v4(on)?;
            assert_eq!((socket.broadcast()?, socket.multicast_loop_v4()?), (on, on));
        }
        socket.set_ttl(17)?;
        socket.set_multicast_ttl_v4(3)?;
        assert_eq!((socket.ttl()?, socket.multicast_ttl_v4()?), (17, 3));
        let group = Ipv4Addr::new(239, 1, 2, 3);
        socket.join_multicast_v4(group, Ipv4Addr::LOCALHOST)?;
        socket.leave_multicast_v4(group, Ipv4Addr::LOCALHOST)?;
        if let Ok(socket) = UdpSocket::bind("[::1]:0").await {
            socket.set_multicast_loop_v6(false)?;
            assert!(!socket.multicast_loop_v6()?);
        }
        Ok(())
    });
}

#[test]
fn a_datagram_is_looked_at_and_then_taken() {
    everywhere(|| async {
        let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
        a.connect(b.local_addr()?).await?;
        b.connect(a.local_addr()?).await?;
        let looking = ropewalk::spawn(async move {
            let mut buffer = [0; 8];
            assert_eq!(b.peek(&mut buffer).await?, 5);
            assert_eq!(b.recv(&mut buffer).await?, 5);
            assert_eq!(b.try_recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            Ok::<_, io::Error>(())
        });
        ropewalk::yield_now().await;
        a.send(b"hello").await?;
        looking.await.unwrap()
    });
}

/// Each of them waits, and is woken.
#[test]
fn hand_written_futures_wait() {
    guarded("hand-written futures", || {
        everywhere(|| async {
            let place = Place::new();
            let (tcp, unix) = (TcpListener::bind("127.0.0.1:0").await?, UnixListener::bind(&place.0)?);
            let to = tcp.local_addr()?;
            assert_eq!(unix.try_accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
            let accepting = ropewalk::spawn(async move {
                let (left, from) = poll_fn(|cx| tcp.poll_accept(cx)).await?;
                assert_eq!(from, left.peer_addr()?);
                let (right, _) = poll_fn(|cx| unix.poll_accept(cx)).await?;
                assert!(poll_fn(|cx| left.poll_write_ready(cx)).await?.is_writable());
                assert_eq!(left.try_read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
                right.write_all(b"go on").await?;
                let count = loop {
                    assert!(poll_fn(|cx| left.poll_read_ready(cx)).await?.is_readable());
                    // Until it was tried a second time if it became writable during the first (E2).
                    match left.try_read(&mut [0; 8]) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        done => break done?,
                    }
                };
                assert_eq!(count, 5);
                Ok::<_, io::Error>(unix)
            });
            ropewalk::yield_now().await;
            let left = TcpStream::connect(to).await?;
            ropewalk::yield_now().await;
            let right = UnixStream::connect(&place.0).await?;
            assert_eq!(right.read(&mut [0; 8]).await?, 5);
            left.write_all(b"hello").await?;
            let unix = accepting.await.unwrap()?;
            let _waits = UnixStream::connect(&place.0).await?;
            unix.readable().await?;
            unix.try_accept()?;
            let socket = UdpSocket::bind("127.0.0.1:0").await?;
            let (here, mut buffer) = (socket.local_addr()?, [0; 8]);
            assert_eq!(socket.try_recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            assert_eq!(poll_fn(|cx| socket.poll_send_to(cx, b"hello", here)).await?, 5);
            assert_eq!(poll_fn(|cx| socket.poll_recv_from(cx, &mut buffer)).await?, (5, here));
            Ok(())
        });
    });
}

#[cfg(target_os = "linux")]
#[test]
fn datagrams_by_address() {
    use ropewalk::net::unix::SocketAddr;
    use std::os::linux::net::SocketAddrExt;
    everywhere(|| async {
        let name = format!("ropewalk {}", Place::new().0.display());
        let server = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        let client = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name + " too")?)?;
        client.send_to_addr(b"one", &server.local_addr()?).await?;
        let mut buffer = [0; 8];
        let (count, from) = server.recv_from(&mut buffer).await?;
        server.connect_addr(&from)?;
        assert_eq!(server.send(&buffer[..count]).await?, 3);
        assert_eq!(client.recv(&mut buffer).await?, 3);
        let nameless = UnixDatagram::unbound()?.local_addr()?;
        let error = client.send_to_addr(b"x", &nameless).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(UnixDatagram::bind_addr(&from).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        Ok(())
    });
}

/// What does not wait, and options of sockets before they are used.
#[test]
fn what_does_not_wait() {
    everywhere(|| async {
        let blocks = |error: io::Error| assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let (left, right) = pair().await?;
        let (mut first, mut second) = ([0; 3], [0; 8]);
        blocks(right.try_read_vectored(&mut [IoSliceMut::new(&mut first)]).unwrap_err());
        assert_eq!(left.try_write_vectored(&[IoSlice::new(b"he"), IoSlice::new(b"llo")])?, 5);
        right.readable().await?;
        let count =
            right.try_read_vectored(&mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)])?;
        assert_eq!((count, &first, &second[..2]), (5, b"hel", &b"lo"[..]));
        assert!(left.take_error()?.is_none());

        let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
        blocks(b.try_recv_from(&mut second).unwrap_err());
        assert_eq!(a.try_send_to(b"hello", b.local_addr()?)?, 5);
        b.readable().await?;
        assert_eq!(b.peek_from(&mut second).await?, (5, a.local_addr()?));
        assert_eq!(b.try_recv_from(&mut second)?, (5, a.local_addr()?));
        assert!(a.take_error()?.is_none());
        // Nobody is there: the system says so to the next one who asks. (As soon as the driver has let go of it, too.)
        a.connect(b.local_addr()?).await?;
        drop(b);
        let error = loop {
            let _refused_too = a.send(b"anybody?").await;
            if let Some(error) = a.take_error()? {
                break error;
            }
            ropewalk::time::sleep(Duration::from_micros(100)).await;
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);

        let share = || -> io::Result<TcpSocket> {
            let socket = TcpSocket::new_v4()?;
            socket.set_reuseport(true)?;
            Ok(socket)
        };
        let (one, two) = (share()?, share()?);
        one.bind("127.0.0.1:0".parse().unwrap())?;
        two.bind(one.local_addr()?)?;
        drop((one.listen(8)?, two.listen(8)?));
        if let Ok(socket) = TcpSocket::new_v6() {
            socket.set_only_v6(true)?;
            socket.bind("[::1]:0".parse().unwrap())?;
            let listener = socket.listen(8)?;
            let (client, server) =
                (TcpStream::connect(listener.local_addr()?).await?, listener.accept().await?);
            assert_eq!(client.local_addr()?, server.1);
        }
        if let Ok(socket) = UdpSocket::bind("[::]:0").await {
            let group = "ff02::1:7".parse().unwrap();
            if socket.join_multicast_v6(group, 0).is_ok() {
                socket.leave_multicast_v6(group, 0)?;
            }
        }
        Ok(())
    });
}

/// To the types of the standard library and back: the same socket, and what waits in it.
#[test]
fn conversions_to_std_and_back() {
    everywhere(|| async {
        let (a, b) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
        let address = b.local_addr()?;
        a.send_to(b"one", address).await?;
        let std = b.into_std();
        assert_eq!(std.local_addr()?, address);
        let b = UdpSocket::from_std(std)?;
        assert_eq!(b.recv_from(&mut [0; 8]).await?, (3, a.local_addr()?));

        let place = Place::new();
        let listener = UnixListener::bind(&place.0)?;
        let client = UnixStream::connect(&place.0).await?;
        let listener = UnixListener::from_std(listener.into_std())?;
        listener.accept().await?.0.write_all(b"two").await?;
        assert_eq!(client.read(&mut [0; 8]).await?, 3);

        let (left, right) = UnixDatagram::pair()?;
        left.send(b"three").await?;
        let right = UnixDatagram::from_std(right.into_std())?;
        assert_eq!(right.recv(&mut [0; 8]).await?, 5);

        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let client = TcpStream::connect(listener.local_addr()?).await?;
        let listener = TcpListener::from_std(listener.into_std())?;
        listener.accept().await?.0.write_all(b"four").await?;
        assert_eq!(client.read(&mut [0; 8]).await?, 4);
        Ok(())
    });
}
