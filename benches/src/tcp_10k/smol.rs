use super::bounce;
use smol::io::AsyncWriteExt;
use smol::{Async, Executor};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

pub fn serve(executor: &'static Executor<'static>, listener: TcpListener) -> io::Result<()> {
    smol::future::block_on(executor.spawn(accept(executor, listener)))
}

async fn accept(executor: &'static Executor<'static>, listener: TcpListener) -> io::Result<()> {
    let listener = Async::new(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.get_ref().set_nodelay(true)?;
        executor.spawn(echo(stream)).detach();
    }
}

async fn echo(mut stream: Async<TcpStream>) -> io::Result<()> {
    loop {
        stream.readable().await?;
        let mut socket = stream.get_ref();
        let Some(left) = bounce(|buffer| socket.read(buffer), |bytes| stream.get_ref().write(bytes))? else {
            return Ok(());
        };
        if !left.is_empty() {
            stream.write_all(&left).await?;
        }
    }
}
