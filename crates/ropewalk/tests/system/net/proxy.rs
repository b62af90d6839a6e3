//! Somebody in between: from here to there and back here again, with ends that are passed on one by one.

use super::kit::{CROWD, HERE, LOTS, everywhere, listen, there};
use super::pressure::{read_lots, write_lots};
use ropewalk::TaskGroup;
use ropewalk::io::copy_bidirectional;
use ropewalk::net::{TcpListener, TcpStream};
use std::io;
use std::net::{Shutdown, SocketAddr};

/// Passes on what comes by one connection, and what is answered.
async fn pass_on(listener: TcpListener, to: SocketAddr) -> io::Result<(u64, u64)> {
    let (mut front, _) = listener.accept().await?;
    let mut back = there(TcpStream::connect(to)).await?;
    copy_bidirectional(&mut front, &mut back).await
}

#[test]
fn a_proxy_passes_on_lots_both_ways_and_each_end_by_itself() {
    everywhere(|| async {
        let server = TcpListener::bind((HERE, 0)).await?;
        let proxy = listen().await?;
        let address = proxy.local_addr()?;
        let proxy = ropewalk::spawn(pass_on(proxy, server.local_addr()?));
        let server = ropewalk::spawn(async move {
            let (stream, _) = server.accept().await?;
            let both = ropewalk::join!(write_lots(&stream), read_lots(&stream));
            both.0.and(both.1)?;
            assert_eq!(stream.read(&mut [0; 8]).await?, 0, "the client's end came through");
            stream.write_all(b"afterwards").await
        });
        let client = TcpStream::connect(address).await?;
        let both = ropewalk::join!(write_lots(&client), read_lots(&client));
        both.0.and(both.1)?;
        client.shutdown(Shutdown::Write)?;
        let mut buffer = [0; 16];
        assert_eq!(client.read(&mut buffer).await?, 10);
        assert_eq!(client.read(&mut buffer).await?, 0, "the server's end came through");
        server.await.unwrap()?;
        assert_eq!(proxy.await.unwrap()?, (LOTS as u64, LOTS as u64 + 10));
        Ok(())
    });
}

/// One of the two sides resets: the proxy has an error, and the other side hears of it.
#[test]
fn a_reset_passes_through_a_proxy_as_an_end() {
    everywhere(|| async {
        let server = TcpListener::bind((HERE, 0)).await?;
        let proxy = listen().await?;
        let address = proxy.local_addr()?;
        let proxy = ropewalk::spawn(pass_on(proxy, server.local_addr()?));
        let client = TcpStream::connect(address).await?;
        client.write_all(b"hello").await?;
        let (stream, _) = server.accept().await?;
        assert_eq!(stream.read(&mut [0; 8]).await?, 5);
        client.set_linger(Some(std::time::Duration::ZERO))?;
        drop(client);
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap_or(0), 0);
        assert_eq!(proxy.await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        Ok(())
    });
}

#[test]
fn many_go_through_at_once() {
    everywhere(|| async {
        let server = TcpListener::bind((HERE, 0)).await?;
        let to = server.local_addr()?;
        let mut all = TaskGroup::new();
        for number in 0..CROWD as u8 {
            let proxy = listen().await?;
            let address = proxy.local_addr()?;
            all.spawn(async move { pass_on(proxy, to).await.map(|passed| assert_eq!(passed, (1000, 1000))) });
            all.spawn(async move {
                let client = TcpStream::connect(address).await?;
                client.write_all(&[number; 1000]).await?;
                client.shutdown(Shutdown::Write)?;
                let mut back = vec![0; 1001];
                let mut got = 0;
                while let count @ 1.. = client.read(&mut back[got..]).await? {
                    got += count;
                }
                assert!(back[..got] == [number; 1000], "{got} bytes came back to {number}");
                Ok(())
            });
        }
        for _ in 0..CROWD {
            let (mut stream, _) = server.accept().await?;
            all.spawn(async move {
                let (mut read, mut write) = stream.split();
                ropewalk::io::copy(&mut read, &mut write).await?;
                stream.shutdown(Shutdown::Write)
            });
        }
        for ended in all.join_all().await {
            ended.unwrap()?;
        }
        Ok(())
    });
}
