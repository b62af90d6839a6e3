use super::BUFFER;
use ropewalk::Runtime;
use ropewalk::net::{TcpListener, TcpStream};
use std::io;

pub fn serve(runtime: &Runtime, listener: std::net::TcpListener) -> io::Result<()> {
    runtime.block_on(runtime.spawn(accept(listener))).map_err(io::Error::other)?
}

async fn accept(listener: std::net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        drop(ropewalk::spawn(echo(stream)));
    }
}

async fn echo(stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count]).await?,
        }
    }
}

/// The same with nothing but what the driver brings: connections that it accepts ahead, pieces in buffers that it lends.
pub fn serve_lent(runtime: &Runtime, listener: std::net::TcpListener) -> io::Result<()> {
    runtime.block_on(runtime.spawn(accept_ahead(listener))).map_err(io::Error::other)?
}

async fn accept_ahead(listener: std::net::TcpListener) -> io::Result<()> {
    let mut incoming = TcpListener::from_std(listener)?.into_incoming();
    loop {
        let stream = incoming.next().await?;
        stream.set_nodelay(true)?;
        drop(ropewalk::spawn(echo_lent(stream)));
    }
}

async fn echo_lent(stream: TcpStream) -> io::Result<()> {
    let mut chunks = stream.into_chunks();
    while let Some(chunk) = chunks.next().await? {
        chunks.stream().write_all(&chunk).await?;
    }
    Ok(())
}
