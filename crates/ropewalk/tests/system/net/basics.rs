//! Connect, accept, read, write.

use super::kit::{CROWD, everywhere, listen, pair};
use ropewalk::net::TcpStream;
use std::io;

async fn echo(stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 256];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count]).await?,
        }
    }
}

#[test]
fn an_echo_comes_back() {
    everywhere(|| async {
        let (client, server) = pair().await?;
        let server = ropewalk::spawn(echo(server));
        let mut buffer = [0; 64];
        for round in 0..100u8 {
            client.write_all(&[round; 64]).await?;
            let mut got = 0;
            while got < 64 {
                got += client.read(&mut buffer[got..]).await?;
            }
            assert_eq!(buffer, [round; 64]);
        }
        drop(client);
        server.await.unwrap()
    });
}

#[test]
fn many_connections_at_once() {
    everywhere(|| async {
        let listener = listen().await?;
        let address = listener.local_addr()?;
        let server = ropewalk::spawn(async move {
            for _ in 0..CROWD {
                let (stream, _) = listener.accept().await?;
                drop(ropewalk::spawn(echo(stream)));
            }
            Ok::<_, io::Error>(())
        });
        let clients: Vec<_> = (0..CROWD as u8)
            .map(|number| {
                ropewalk::spawn(async move {
                    let stream = TcpStream::connect(address).await?;
                    for _ in 0..20 {
                        stream.write_all(&[number]).await?;
                        let mut back = [0];
                        assert_eq!(stream.read(&mut back).await?, 1);
                        assert_eq!(back, [number]);
                    }
                    Ok::<_, io::Error>(())
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap()?;
        }
        server.await.unwrap()
    });
}
