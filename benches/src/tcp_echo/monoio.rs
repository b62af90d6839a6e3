//! monoio on io_uring, on one thread: it has no scheduler that spans several.

use super::BUFFER;
use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::{TcpListener, TcpStream};
use monoio::{IoUringDriver, RuntimeBuilder};
use std::io;

const ENTRIES: u32 = 4096;

pub fn serve(listener: std::net::TcpListener) -> io::Result<()> {
    let mut runtime = RuntimeBuilder::<IoUringDriver>::new().with_entries(ENTRIES).build()?;
    runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            monoio::spawn(echo(stream));
        }
    })
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(BUFFER);
    loop {
        let (read, filled) = stream.read(buffer).await;
        if read? == 0 {
            return Ok(());
        }
        let (written, empty) = stream.write_all(filled).await;
        written?;
        buffer = empty;
        buffer.clear();
    }
}
