use super::hello;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use ropewalk::Runtime;
use ropewalk::net::TcpListener;
use std::io;

pub fn serve(runtime: &Runtime, listener: std::net::TcpListener) -> io::Result<()> {
    runtime.block_on(runtime.spawn(accept(listener))).map_err(io::Error::other)?
}

async fn accept(listener: std::net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        drop(ropewalk::spawn(http1::Builder::new().serve_connection(stream, service_fn(hello))));
    }
}
