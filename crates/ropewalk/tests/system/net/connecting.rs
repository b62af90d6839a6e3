//! Connecting: refused, never answered, several addresses.

use super::kit::{THERE, everywhere, listen, there};
use super::link::deaf;
use ropewalk::net::{TcpListener, TcpSocket, TcpStream};
use ropewalk::time::timeout;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// An address there where nobody listens: the socket has it, so that nobody else gets it meanwhile.
async fn nobody() -> io::Result<(TcpSocket, SocketAddr)> {
    let socket = there(async { TcpSocket::new_v4() }).await?;
    socket.bind((THERE, 0).into())?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}

#[test]
fn a_refusal_names_the_address() {
    everywhere(|| async {
        let (_socket, address) = nobody().await?;
        let error = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        Ok(())
    });
}

#[test]
fn a_connection_that_is_never_answered_ends_with_its_timeout() {
    everywhere(|| async {
        let (_deaf, address) = deaf()?;
        let mut queued = Vec::new();
        loop {
            match timeout(Duration::from_millis(30), TcpStream::connect(address)).await {
                Ok(stream) => queued.push(stream?),
                Err(_) => break,
            }
            assert!(queued.len() < 100, "the queue is never full");
        }
        Ok(())
    });
}

#[test]
fn the_first_address_that_answers_wins() {
    everywhere(|| async {
        let listener = listen().await?;
        let there = listener.local_addr()?;
        let ((_one, first), (_other, second)) = (nobody().await?, nobody().await?);
        let stream = TcpStream::connect(&[first, second, there][..]).await?;
        assert_eq!(stream.peer_addr()?, there);
        let error = TcpStream::connect(&[first, second][..]).await.unwrap_err();
        assert_eq!(error.to_string().matches("refused").count(), 2, "{error}");
        assert!(TcpStream::connect(&[][..]).await.is_err());
        Ok(())
    });
}

/// The first address does not answer; the second one is tried without waiting for that to end.
#[test]
fn an_address_that_does_not_answer_is_not_waited_for() {
    everywhere(|| async {
        let (_deaf, address) = deaf()?;
        let listener = listen().await?;
        let there = listener.local_addr()?;
        // As long as there is room in its queue it does answer, and has less room then.
        let mut queued = Vec::new();
        loop {
            let stream = TcpStream::connect(&[address, there][..]).await?;
            if stream.peer_addr()? == there {
                break Ok(());
            }
            queued.push(stream);
            assert!(queued.len() < 100, "the queue is never full");
        }
    });
}

#[test]
fn an_address_in_use_is_named() {
    everywhere(|| async {
        let listener = listen().await?;
        let address = listener.local_addr()?;
        let error = there(TcpListener::bind(address)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        Ok(())
    });
}

#[test]
fn options() {
    everywhere(|| async {
        let socket = TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.set_nodelay(true)?;
        socket.set_keepalive(Some(Duration::from_secs(30)))?;
        socket.set_recv_buffer_size(65_536)?;
        assert!(socket.reuseaddr()? && socket.nodelay()? && socket.recv_buffer_size()? >= 65_536);
        let listener = listen().await?;
        let stream = socket.connect(listener.local_addr()?).await?;
        assert!(stream.nodelay()?);
        assert_eq!(stream.keepalive()?, Some(Duration::from_secs(30)));
        stream.set_linger(Some(Duration::from_secs(1)))?;
        assert_eq!(stream.linger()?, Some(Duration::from_secs(1)));
        stream.set_linger(None)?;
        stream.set_ttl(42)?;
        assert_eq!((stream.linger()?, stream.ttl()?), (None, 42));
        let (server, _) = listener.accept().await?;
        server.write_all(b"peek").await?;
        let mut buffer = [0; 8];
        assert_eq!(stream.peek(&mut buffer).await?, 4);
        assert_eq!(stream.read(&mut buffer).await?, 4);
        Ok(())
    });
}
