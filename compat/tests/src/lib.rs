//! What the tests of hyper on Ropewalk share: a service, and servers and clients of both protocols for it.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, client, server};
use ropewalk::TaskHandle;
use ropewalk::compat::hyper::{Executor, Timer};
use ropewalk::net::{TcpListener, TcpStream};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

/// What an answer carries.
pub type Body = BoxBody<Bytes, hyper::Error>;
/// Anything that went wrong.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Which HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    One,
    /// HTTP/2, from the first byte on.
    Two,
}

/// Both of them.
pub const PROTOCOLS: [Protocol; 2] = [Protocol::One, Protocol::Two];

/// A body that is there as a whole.
pub fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed()
}

/// So many bytes, the same every time.
pub fn pattern(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at % 251) as u8).collect()
}

/// `/hello` says hello, `/echo` sends back what comes as it comes, `/bytes/N` sends so many, all else is not found.
///
/// # Errors
/// None of its own.
pub async fn answer(request: Request<Incoming>) -> Result<Response<Body>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let body = match (path.as_str(), path.strip_prefix("/bytes/").and_then(|count| count.parse().ok())) {
        ("/hello", _) => whole("hello"),
        ("/echo", _) => request.into_body().boxed(),
        (_, Some(count)) => whole(pattern(count)),
        _ => {
            let mut nothing = Response::new(whole("no such page"));
            *nothing.status_mut() = StatusCode::NOT_FOUND;
            return Ok(nothing);
        }
    };
    Ok(Response::new(body))
}

/// Serves one connection to its end.
///
/// # Errors
/// What hyper says.
pub async fn serve<S>(protocol: Protocol, stream: S) -> hyper::Result<()>
where
    S: Read + Write + Unpin + Send + 'static,
{
    let service = service_fn(answer);
    match protocol {
        Protocol::One => {
            server::conn::http1::Builder::new().timer(Timer::new()).serve_connection(stream, service).await
        }
        Protocol::Two => {
            let mut builder = server::conn::http2::Builder::new(Executor);
            builder.timer(Timer::new()).serve_connection(stream, service).await
        }
    }
}

/// Serves all who come, in a task; dropping what is returned does not end it, cancelling does.
///
/// # Errors
/// There is no port.
pub async fn start(protocol: Protocol) -> io::Result<(SocketAddr, TaskHandle<io::Result<()>>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let accepting = ropewalk::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await?;
            drop(ropewalk::spawn(serve(protocol, stream)));
        }
    });
    Ok((address, accepting))
}

/// The client's end of one connection.
#[derive(Debug)]
pub enum Sender {
    /// One request at a time.
    One(client::conn::http1::SendRequest<Body>),
    /// Any number.
    Two(client::conn::http2::SendRequest<Body>),
}

/// Connects by TCP.
///
/// # Errors
/// What the system or hyper says.
pub async fn connect(protocol: Protocol, address: SocketAddr) -> Result<Sender, Failure> {
    shake_hands(protocol, TcpStream::connect(address).await?).await
}

/// Makes a client's connection of a stream.
///
/// # Errors
/// What hyper says.
pub async fn shake_hands<S>(protocol: Protocol, stream: S) -> Result<Sender, Failure>
where
    S: Read + Write + Unpin + Send + 'static,
{
    Ok(match protocol {
        Protocol::One => {
            let (sender, connection) = client::conn::http1::handshake(stream).await?;
            drop(ropewalk::spawn(connection));
            Sender::One(sender)
        }
        Protocol::Two => {
            let mut builder = client::conn::http2::Builder::new(Executor);
            let (sender, connection) = builder.timer(Timer::new()).handshake(stream).await?;
            drop(ropewalk::spawn(connection));
            Sender::Two(sender)
        }
    })
}

impl Sender {
    /// Sends a request and waits for the head of its answer.
    ///
    /// # Errors
    /// What hyper says.
    pub async fn send(&mut self, request: Request<Body>) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Self::Two(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    /// Asks for a page and takes it whole.
    ///
    /// # Errors
    /// What hyper says.
    pub async fn ask(&mut self, path: &str, body: Body) -> Result<(StatusCode, Bytes), Failure> {
        let uri = format!("http://ropewalk.test{path}");
        let request = Request::post(uri).header("host", "ropewalk.test").body(body)?;
        let response = self.send(request).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }
}
