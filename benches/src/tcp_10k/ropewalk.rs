use super::bounce;
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
    loop {
        stream.readable().await?;
        let Some(left) = bounce(|buffer| stream.try_read(buffer), |bytes| stream.try_write(bytes))? else {
            return Ok(());
        };
        if !left.is_empty() {
            stream.write_all(&left).await?;
        }
    }
}
