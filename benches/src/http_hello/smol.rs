use super::hello;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use smol::Executor;
use smol::net::TcpListener;
use smol_hyper::rt::FuturesIo;
use std::io;

pub fn serve(executor: &'static Executor<'static>, listener: std::net::TcpListener) -> io::Result<()> {
    smol::future::block_on(executor.spawn(accept(executor, listener)))
}

async fn accept(executor: &'static Executor<'static>, listener: std::net::TcpListener) -> io::Result<()> {
    let listener = TcpListener::try_from(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        executor
            .spawn(http1::Builder::new().serve_connection(FuturesIo::new(stream), service_fn(hello)))
            .detach();
    }
}
