//! An echo server: a task for each connection. With an address it serves until ctrl-c:
//!
//!     cargo run -p ropewalk-examples --bin echo_server -- 127.0.0.1:7878
//!
//! Without one it shows itself: two hundred clients at once, one of which only half closes.

use ropewalk::io::prelude::*;
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::{TaskGroup, select, signal};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;

const CLIENTS: usize = 200;

#[ropewalk::main]
async fn main() -> io::Result<()> {
    match std::env::args().nth(1) {
        Some(address) => serve(&TcpListener::bind(address).await?).await,
        None => show().await,
    }
}

/// Serves until ctrl-c.
async fn serve(listener: &TcpListener) -> io::Result<()> {
    println!("listening on {}", listener.local_addr()?);
    let (mut connections, mut served) = (TaskGroup::new(), 0);
    let mut stop = pin!(signal::ctrl_c());
    loop {
        select! {
            pressed = &mut stop => break pressed?,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(echo(stream));
                    served += 1;
                }
                // No descriptor is left, perhaps. The listener is as good as before, and rests before it tries again.
                Err(error) => eprintln!("nobody was accepted: {error}"),
            },
            Some(_ended) = connections.join_next() => {}
        }
    }
    println!("{served} connections, {} of them still open", connections.len());
    Ok(()) // the group is dropped, and what is left in it is cancelled
}

/// Sends back what comes, until the other side has closed its half; then closes this one.
async fn echo(mut stream: TcpStream) -> io::Result<u64> {
    let (mut buffer, mut total) = ([0; 1024], 0);
    loop {
        match stream.read(&mut buffer).await? {
            0 => break,
            count => {
                stream.write_all(&buffer[..count]).await?;
                total += count as u64;
            }
        }
    }
    stream.close().await?;
    Ok(total)
}

async fn show() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let mut clients = TaskGroup::new();
    for number in 0..CLIENTS {
        clients.spawn(talk(address, number));
    }
    let mut connections = TaskGroup::new();
    for _ in 0..CLIENTS {
        let (stream, _) = listener.accept().await?;
        connections.spawn(echo(stream));
    }
    for heard in clients.join_all().await {
        heard.expect("no client panics")?;
    }
    let mut bytes = 0;
    for echoed in connections.join_all().await {
        bytes += echoed.expect("no connection panics")?;
    }
    println!("{CLIENTS} clients at once, {bytes} bytes echoed");
    Ok(())
}

/// A client: says something, hears it again, says goodbye by closing its half, and still hears the end.
async fn talk(server: SocketAddr, number: usize) -> io::Result<()> {
    let mut stream = TcpStream::connect(server).await?;
    let said = format!("strand {number:04}");
    let mut heard = vec![0; said.len()];
    stream.write_all(said.as_bytes()).await?;
    stream.read_exact(&mut heard).await?;
    assert_eq!(heard, said.as_bytes());

    stream.write_all(b", over").await?;
    stream.close().await?; // this half only: there is still something to hear
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await?;
    assert_eq!(rest, ", over");
    Ok(())
}
