//! The thread of a console, and what listens on it.

use super::ConsoleError;
use super::answers::Answers;
use crate::compat::hyper::Timer;
use crate::net::{TcpListener, TcpStream};
use crate::runtime::{Handle, Runtime, complain};
use crate::sync::CancellationToken;
use crate::{AbortHandle, TaskGroup, select};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

/// Connections at a time. For one more, the one goes that has asked for nothing for the longest time: so who does not read answers, or
/// does not ask, keeps nobody out.
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
    let (mut connections, mut seats) = (TaskGroup::new(), Vec::new());
    let mut is_said = false;
    loop {
        select! {
            () = stop.cancelled() => break,
            Some(_ended) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    is_said = false;
                    make_room(&mut connections, &mut seats).await;
                    let asked = Asked::now();
                    let task = connections.spawn(connection(stream, answers.clone(), asked.clone()));
                    seats.push(Seat { task, asked });
                }
                Err(error) => {
                    if !std::mem::replace(&mut is_said, true) {
                        let pause = PAUSE.as_millis();
                        complain(format_args!("the console accepts nobody, and tries again every {pause} ms: {error}"));
                    }
                    crate::time::sleep(PAUSE).await;
                }
            },
        }
    }
    connections.cancel_all();
    connections.join_all().await;
}

/// A connection, and when it was last asked something.
struct Seat {
    task: AbortHandle,
    asked: Asked,
}

#[derive(Clone)]
struct Asked(Arc<Mutex<Instant>>);

impl Asked {
    fn now() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn again(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn make_room(connections: &mut TaskGroup<()>, seats: &mut Vec<Seat>) {
    seats.retain(|seat| !seat.task.is_finished());
    while seats.len() >= CONNECTIONS {
        let quietest = (0..seats.len()).min_by_key(|at| seats[*at].asked.last()).expect("there are some");
        seats.swap_remove(quietest).task.cancel();
    }
    while connections.len() >= CONNECTIONS && connections.join_next().await.is_some() {}
}

/// Answers until the client is done. What it does wrong is its own business.
async fn connection(stream: TcpStream, answers: Arc<Answers>, asked: Asked) {
    let service = service_fn(|request| {
        asked.again();
        let answers = answers.clone();
        async move { answers.to(request).await }
    });
    let mut server = http1::Builder::new();
    server.timer(Timer::new()).header_read_timeout(PATIENCE);
    let _ended = server.serve_connection(stream, service).await;
}
