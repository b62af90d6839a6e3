use super::hello;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::io;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

pub fn serve(runtime: &Runtime, listener: std::net::TcpListener) -> io::Result<()> {
    runtime.block_on(async { tokio::spawn(accept(listener)).await? })
}

async fn accept(listener: std::net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(hello)));
    }
}
