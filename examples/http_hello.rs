//! HTTP by hyper: one port for HTTP/1.1 and HTTP/2, and a client of each. Our sockets go into hyper as they are; what it
//! wants beside them, an executor and a timer, is in `ropewalk::compat::hyper`.
//!
//! With an address it serves until ctrl-c, and then still answers what was asked:
//! `cargo run --release -p ropewalk-examples --bin http_hello -- 127.0.0.1:8080`

use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::server::conn::auto;
use ropewalk::compat::hyper::{Executor, Timer};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::sync::CancellationToken;
use ropewalk::time::timeout;
use ropewalk::{TaskGroup, select, signal};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

/// How long connections may take to end.
const GRACE: Duration = Duration::from_secs(10);

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[ropewalk::main]
async fn main() -> Result<(), Failure> {
    let given = std::env::args().nth(1);
    let listener = TcpListener::bind(given.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let address = listener.local_addr()?;
    let pressed = signal::ctrl_c(); // before anybody comes, who may take the last descriptor
    let closing = CancellationToken::new();
    let serving = ropewalk::spawn(serve(listener, closing.clone()));
    if given.is_some() {
        println!("listening on {address}");
        pressed.await?;
    } else {
        println!("HTTP/1.1: {}", ask_by_http1(address).await?);
        println!("HTTP/2:   {}", ask_by_http2(address).await?);
    }
    closing.cancel();
    let served = serving.await?;
    println!("{served} connections");
    Ok(())
}

/// Serves who comes until it is to close; then lets those who are there come to an end. Gives their number.
async fn serve(listener: TcpListener, closing: CancellationToken) -> usize {
    let (mut connections, mut served) = (TaskGroup::new(), 0);
    loop {
        select! {
            () = closing.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let _gone_already = stream.set_nodelay(true);
                    connections.spawn(converse(stream, closing.clone()));
                    served += 1;
                }
                Err(error) => eprintln!("nobody was accepted: {error}"), // the listener is as good as before
            },
            Some(_ended) = connections.join_next() => {}
        }
    }
    drop(listener); // nobody waits in its queue in vain
    if timeout(GRACE, connections.join_all()).await.is_err() {
        eprintln!("{} connections were cut off", connections.len());
    }
    served
}

/// Answers one client. When it is to close, the question at hand is the last one.
async fn converse(stream: TcpStream, closing: CancellationToken) {
    let mut server = auto::Builder::new(Executor);
    server.http1().timer(Timer::new());
    server.http2().timer(Timer::new());
    let mut connection = pin!(server.serve_connection(stream, service_fn(hello)));
    let served = select! {
        served = connection.as_mut() => served,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        eprintln!("a connection broke off: {error}");
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
