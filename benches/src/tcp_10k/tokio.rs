use super::bounce;
use std::io;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

pub fn serve(runtime: &Runtime, listener: std::net::TcpListener) -> io::Result<()> {
    runtime.block_on(async { tokio::spawn(accept(listener)).await? })
}

async fn accept(listener: std::net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(echo(stream));
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
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
