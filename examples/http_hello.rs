//! HTTP by hyper: one port for HTTP/1.1 and HTTP/2, and a client of each. Our sockets go into hyper as they are; what it
//! wants beside them, an executor and a timer, is in `ropewalk::compat::hyper`.
//!
//! With an address it serves until it is stopped:
//! `cargo run --release -p ropewalk-examples --bin http_hello -- 127.0.0.1:8080`

use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::server::conn::auto;
use ropewalk::compat::hyper::{Executor, Timer};
use ropewalk::net::{TcpListener, TcpStream};
use std::convert::Infallible;
use std::net::SocketAddr;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[ropewalk::main]
async fn main() -> Result<(), Failure> {
    if let Some(address) = std::env::args().nth(1) {
        let listener = TcpListener::bind(address.as_str()).await?;
        println!("serving http://{}/", listener.local_addr()?);
        match serve(listener).await {}
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let serving = ropewalk::spawn(serve(listener));
    println!("HTTP/1.1: {}", ask_by_http1(address).await?);
    println!("HTTP/2:   {}", ask_by_http2(address).await?);
    serving.cancel();
    Ok(())
}

async fn serve(listener: TcpListener) -> Infallible {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                eprintln!("nobody was accepted: {error}"); // the listener is as good as before
                continue;
            }
        };
        let _gone_already = stream.set_nodelay(true);
        drop(ropewalk::spawn(async {
            let mut server = auto::Builder::new(Executor);
            server.http1().timer(Timer::new());
            server.http2().timer(Timer::new());
            if let Err(error) = server.serve_connection(stream, service_fn(hello)).await {
                eprintln!("a connection broke off: {error}");
            }
        }));
    }
}

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from(format!("hello by {:?}", request.version()))))
}

async fn ask_by_http1(address: SocketAddr) -> Result<String, Failure> {
    let (mut sender, connection) = http1::handshake(TcpStream::connect(address).await?).await?;
    drop(ropewalk::spawn(connection));
    let request = Request::get("/").header("host", address.to_string()).body(Empty::<Bytes>::new())?;
    text(sender.send_request(request).await?).await
}

async fn ask_by_http2(address: SocketAddr) -> Result<String, Failure> {
    let (mut sender, connection) = http2::handshake(Executor, TcpStream::connect(address).await?).await?;
    drop(ropewalk::spawn(connection));
    let request = Request::get(format!("http://{address}/")).body(Empty::<Bytes>::new())?;
    text(sender.send_request(request).await?).await
}

async fn text(response: Response<Incoming>) -> Result<String, Failure> {
    let body = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(body.to_vec())?)
}
