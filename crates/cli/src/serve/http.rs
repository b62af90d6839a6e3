//! The HTTP service: HTTP/1.1 and HTTP/2 on one port, by hyper. It greets who asks and gives back what is posted.

use super::account::Account;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::server::conn::auto;
use ropewalk::compat::hyper::{Executor, Timer};
use ropewalk::net::TcpStream;
use ropewalk::select;
use ropewalk::sync::CancellationToken;
use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;

/// Answers until the client is done. When it is to stop, it ends the answer under way and no other begins.
pub(super) async fn serve(
    stream: TcpStream,
    account: &Arc<Account>,
    stop: &CancellationToken,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    let mut server = auto::Builder::new(Executor);
    server.http1().timer(Timer::new());
    server.http2().timer(Timer::new());
    let service = service_fn(|request| {
        let account = account.clone();
        async move { Ok::<_, Infallible>(answer(request, &account).await) }
    });
    let mut connection = pin!(server.serve_connection(stream, service));
    select! {
        ended = connection.as_mut() => return ended,
        () = stop.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

/// How much may be posted.
const MOST: usize = 1 << 20;

async fn answer(request: Request<Incoming>, account: &Account) -> Response<Full<Bytes>> {
    let (status, body) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/") => {
            (StatusCode::OK, format!("hello by {:?}\n", request.version()).into())
        }
        (&Method::POST, "/") => match Limited::new(request.into_body(), MOST).collect().await {
            Ok(posted) => (StatusCode::OK, posted.to_bytes()),
            Err(_) => {
                (StatusCode::PAYLOAD_TOO_LARGE, format!("more than {MOST} bytes are not taken\n").into())
            }
        },
        (&Method::GET | &Method::HEAD | &Method::POST, path) => {
            (StatusCode::NOT_FOUND, format!("there is no {path} here; try /\n").into())
        }
        (method, _) => {
            let text = format!("{method} is not accepted; GET, HEAD and POST are\n");
            (StatusCode::METHOD_NOT_ALLOWED, text.into())
        }
    };
    account.answered(body.len());
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response
}
