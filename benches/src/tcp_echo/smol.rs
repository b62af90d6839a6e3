use super::BUFFER;
use smol::Executor;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::net::{TcpListener, TcpStream};
use std::io;

pub fn serve(executor: &'static Executor<'static>, listener: std::net::TcpListener) -> io::Result<()> {
    smol::future::block_on(executor.spawn(accept(executor, listener)))
}

async fn accept(executor: &'static Executor<'static>, listener: std::net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::try_from(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        executor.spawn(echo(stream)).detach();
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count]).await?,
        }
    }
}
