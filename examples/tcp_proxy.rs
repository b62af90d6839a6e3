//! A TCP proxy: `copy_bidirectional` between two sockets, with a limit on connecting, and one on silence in both directions.
//! With two addresses it passes on what comes to the first one to the second one, until ctrl-c:
//!
//!     cargo run -p ropewalk-examples --bin tcp_proxy -- 127.0.0.1:7000 127.0.0.1:7878

use ropewalk::io::{self, prelude::*};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::time::{Instant, sleep_until, timeout};
use ropewalk::{TaskGroup, select, signal, spawn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

#[derive(Clone, Copy)]
struct Limits {
    /// How long the server may take to accept.
    connect: Duration,
    /// How long both sides may say nothing.
    silence: Duration,
}

#[ropewalk::main]
async fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(here), Some(there)) = (args.next(), args.next()) else { return show().await };
    let there =
        there.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the second is IP:PORT"))?;
    let limits = Limits { connect: Duration::from_secs(3), silence: Duration::from_secs(60) };
    let listener = TcpListener::bind(here).await?;
    println!("listening on {}", listener.local_addr()?);
    select! {
        pressed = signal::ctrl_c() => pressed,
        stopped = pass_on(&listener, there, limits) => stopped,
    }
}

async fn pass_on(listener: &TcpListener, server: SocketAddr, limits: Limits) -> io::Result<()> {
    let mut connections = TaskGroup::new();
    loop {
        while connections.try_join_next().is_some() {} // those that are over
        let (client, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("nobody was accepted: {error}"); // the listener is as good as before
                continue;
            }
        };
        connections.spawn(async move {
            match proxy(client, server, limits).await {
                Ok((up, down)) => println!("{up} bytes up, {down} bytes down"),
                Err(error) => println!("the connection of {peer} is over: {error}"),
            }
        });
    }
}

/// Carries what either side says to the other, until both are done, or both are silent for too long.
async fn proxy(client: TcpStream, server: SocketAddr, limits: Limits) -> io::Result<(u64, u64)> {
    let late = |what: &str| io::Error::new(io::ErrorKind::TimedOut, what.to_owned());
    let connected = timeout(limits.connect, TcpStream::connect(server)).await;
    let server = connected.map_err(|_| late("the server did not accept in time"))??;
    let last = Arc::new(Mutex::new(Instant::now()));
    let (mut near, mut far) = (Noted(client, last.clone()), Noted(server, last.clone()));
    select! {
        carried = io::copy_bidirectional(&mut near, &mut far) => carried,
        () = silence(&last, limits.silence) => Err(late("nobody said anything for too long")),
    }
}

/// Waits until nothing has moved for so long.
async fn silence(last: &Mutex<Instant>, limit: Duration) {
    loop {
        let until = *last.lock().expect("nobody panics with it") + limit;
        if Instant::now() >= until {
            return;
        }
        sleep_until(until).await;
    }
}

/// A stream that notes when something was read from it. (What is written to one was read from the other.)
struct Noted(TcpStream, Arc<Mutex<Instant>>);

impl AsyncRead for Noted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let read = Pin::new(&mut self.0).poll_read(cx, buf);
        if read.is_ready() {
            *self.1.lock().expect("nobody panics with it") = Instant::now();
        }
        read
    }
}

impl AsyncWrite for Noted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

/// A server that answers each line in capitals, a proxy in front of it, and three clients: one that talks, one that is
/// silent, and one whose server is not there.
async fn show() -> io::Result<()> {
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let there = server.local_addr()?;
    let serving = spawn(serve(server));
    let limits = Limits { connect: Duration::from_secs(3), silence: Duration::from_millis(100) };
    let here = proxy_to(there, limits).await?;

    let mut client = TcpStream::connect(here).await?;
    client.write_all(b"hemp").await?;
    client.close().await?; // the end travels through the proxy, and so does the answer
    let mut answer = String::new();
    client.read_to_string(&mut answer).await?;
    println!("through the proxy: {answer}");

    let silent = TcpStream::connect(here).await?;
    assert_eq!(silent.read(&mut [0; 1]).await?, 0, "it is hung up on");

    serving.cancel();
    let _cancelled = serving.await;
    let late = TcpStream::connect(here).await?;
    assert_eq!(late.read(&mut [0; 1]).await?, 0, "there is nobody to connect to");
    println!("who says nothing, and who has no server, is hung up on");
    Ok(())
}

/// Starts a proxy; where it listens.
async fn proxy_to(server: SocketAddr, limits: Limits) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let here = listener.local_addr()?;
    drop(spawn(async move { pass_on(&listener, server, limits).await }));
    Ok(here)
}

/// The server: what it is told comes back in capitals.
async fn serve(listener: TcpListener) -> io::Result<()> {
    let mut connections = TaskGroup::new();
    loop {
        let (stream, _) = listener.accept().await?;
        connections.spawn(shout(stream));
    }
}

async fn shout(mut stream: TcpStream) -> io::Result<()> {
    let mut line = String::new();
    stream.read_to_string(&mut line).await?;
    stream.write_all(line.to_uppercase().as_bytes()).await?;
    stream.close().await
}
