//! Files over HTTP by hyper: read as they are sent, so that a large one takes no more memory than a small one.
//!
//! With a directory and an address it serves until it is stopped:
//! `cargo run --release -p ropewalk-examples --bin file_server -- . 127.0.0.1:8080`

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use ropewalk::compat::hyper::Timer;
use ropewalk::fs::{self, File};
use ropewalk::io::{self, AsyncRead};
use ropewalk::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<BoxBody<Bytes, io::Error>>;

#[ropewalk::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    if let (Some(folder), Some(address)) = (arguments.next(), arguments.next()) {
        let listener = TcpListener::bind(address.as_str()).await?;
        println!("serving {folder} at http://{}/", listener.local_addr()?);
        return serve(listener, folder.into()).await;
    }
    let folder = std::env::temp_dir().join(format!("ropewalk-file-server-{}", std::process::id()));
    let outcome = show(&folder).await;
    fs::remove_dir_all(&folder).await?;
    outcome
}

/// Serves a folder made for it, and asks for some things.
async fn show(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder.join("coils")).await?;
    fs::write(folder.join("readme.txt"), "hemp, manila, sisal").await?;
    fs::write(folder.join("coils/long.bin"), vec![7; 5_000_000]).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let stream = TcpStream::connect(listener.local_addr()?).await?;
    let serving = ropewalk::spawn(serve(listener, folder.to_owned()));
    let (mut sender, connection) = client::handshake(stream).await?;
    drop(ropewalk::spawn(connection));
    for path in ["/readme.txt", "/coils/long.bin", "/coils", "/nothing", "/../../etc/passwd"] {
        let request = Request::get(path).header("host", "localhost").body(Empty::<Bytes>::new())?;
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        println!("{path}: {status}, {} bytes", body.len());
    }
    serving.cancel();
    Ok(())
}

async fn serve(listener: TcpListener, folder: PathBuf) -> Result<(), Failure> {
    let folder: Arc<Path> = fs::canonicalize(folder).await?.into();
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                eprintln!("nobody was accepted: {error}"); // the listener is as good as before
                continue;
            }
        };
        let folder = folder.clone();
        drop(ropewalk::spawn(async move {
            let service = service_fn(|request| answer(folder.clone(), request));
            let mut server = http1::Builder::new();
            if let Err(error) = server.timer(Timer::new()).serve_connection(stream, service).await {
                eprintln!("{from}: {error}");
            }
        }));
    }
}

async fn answer(folder: Arc<Path>, request: Request<Incoming>) -> Result<Answer, hyper::Error> {
    if request.method() != Method::GET {
        return Ok(refuse(StatusCode::METHOD_NOT_ALLOWED, "only GET is understood\n".into()));
    }
    Ok(match open(&folder, request.uri().path()).await {
        Ok(Some(body)) => Response::new(body.boxed()),
        Ok(None) => refuse(StatusCode::FORBIDDEN, "that is outside of the folder\n".into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse(StatusCode::NOT_FOUND, "no such file\n".into())
        }
        Err(error) => refuse(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    })
}

fn refuse(status: StatusCode, words: String) -> Answer {
    let mut response = Response::new(Full::from(words).map_err(|never| match never {}).boxed());
    *response.status_mut() = status;
    response
}

/// The file that `path` names; `None` if it leads out of the folder, by its parts or by links.
async fn open(folder: &Path, path: &str) -> io::Result<Option<FileBody>> {
    let path = Path::new(path.trim_start_matches('/'));
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(None);
    }
    let path = fs::canonicalize(folder.join(path)).await?;
    if !path.starts_with(folder) {
        return Ok(None);
    }
    FileBody::open(&path).await.map(Some)
}

/// A file, piece by piece, as long as it was when it was opened.
struct FileBody {
    file: File,
    buffer: Box<[u8]>,
    left: u64,
}

impl FileBody {
    async fn open(path: &Path) -> io::Result<Self> {
        let not_a_file = || io::Error::new(io::ErrorKind::NotFound, "not a file");
        // Before it is opened: to open a pipe is to wait for whoever writes to it.
        if !fs::metadata(path).await?.is_file() {
            return Err(not_a_file());
        }
        let file = File::open(path).await?;
        let about = file.metadata().await?;
        if !about.is_file() {
            return Err(not_a_file());
        }
        Ok(Self { file, buffer: vec![0; 64 * 1024].into(), left: about.len() })
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let most = this.left.min(this.buffer.len() as u64) as usize;
        let count = ready!(Pin::new(&mut this.file).poll_read(cx, &mut this.buffer[..most]))?;
        if count == 0 {
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))); // it has become shorter
        }
        this.left -= count as u64;
        Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(&this.buffer[..count])))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
