//! The thread of a console, and what listens on it.

use super::ConsoleError;
use super::answers::Answers;
use crate::compat::hyper::Timer;
use crate::net::{TcpListener, TcpStream};
use crate::runtime::{Handle, Runtime, complain};
use crate::sync::CancellationToken;
use crate::{TaskGroup, select};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

/// Connections at a time; others wait to be accepted.
const CONNECTIONS: usize = 32;
/// A request must be there after that, or its connection is closed.
const PATIENCE: Duration = Duration::from_secs(10);
/// After an accept that failed (there are no descriptors left, for instance).
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Served {
    pub(super) address: SocketAddr,
    pub(super) thread: JoinHandle<()>,
}

/// Listens, and serves on a thread of its own from then on.
pub(super) fn start(
    shown: Handle,
    address: SocketAddr,
    token: Option<String>,
    stop: CancellationToken,
) -> Result<Served, ConsoleError> {
    let (tell, told) = mpsc::channel();
    let run = move || {
        let begun = Runtime::builder().worker_threads(0).build().map_err(io::Error::other);
        let listening = begun.and_then(|own| {
            let listener = own.block_on(TcpListener::bind(address))?;
            Ok((own, listener.local_addr()?, listener))
        });
        match listening {
            Err(error) => drop(tell.send(Err(error))),
            Ok((own, at, listener)) => {
                let _ = tell.send(Ok(at)); // who asked waits for it
                let answers = Arc::new(Answers::new(shown, token));
                own.block_on(accept(&listener, &answers, &stop));
            }
        }
    };
    let thread = thread::Builder::new().name("ropewalk-console".to_owned());
    let thread = thread.spawn(run).map_err(ConsoleError::Thread)?;
    match told.recv() {
        Ok(Ok(address)) => Ok(Served { address, thread }),
        Ok(Err(error)) => Err(ConsoleError::Listen(address, error)),
        Err(_) => Err(ConsoleError::Listen(address, io::Error::other("its thread ended"))),
    }
}

async fn accept(listener: &TcpListener, answers: &Arc<Answers>, stop: &CancellationToken) {
    let mut connections = TaskGroup::new();
    loop {
        let is_full = connections.len() >= CONNECTIONS;
        select! {
            () = stop.cancelled() => break,
            Some(_ended) = connections.join_next() => {}
            accepted = listener.accept(), if !is_full => match accepted {
                Ok((stream, _)) => drop(connections.spawn(connection(stream, answers.clone()))),
                Err(error) => {
                    complain(format_args!("the console accepts nobody for {} ms: {error}", PAUSE.as_millis()));
                    crate::time::sleep(PAUSE).await;
                }
            },
        }
    }
    connections.cancel_all();
    connections.join_all().await;
}

/// Answers until the client is done. What it does wrong is its own business.
async fn connection(stream: TcpStream, answers: Arc<Answers>) {
    let service = service_fn(|request| {
        let answers = answers.clone();
        async move { answers.to(request).await }
    });
    let mut server = http1::Builder::new();
    server.timer(Timer::new()).header_read_timeout(PATIENCE);
    let _ended = server.serve_connection(stream, service).await;
}
