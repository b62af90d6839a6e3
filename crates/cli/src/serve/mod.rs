//! `ropewalk serve`: a server that ends in good order.
//!
//! The order is: stop accepting, let what is open go on for a while, cancel what is left, say how many.

mod account;
mod echo;
mod http;
mod options;

use crate::command::{Failure, Verdict};
use account::{Account, Line};
pub(crate) use options::help;
use options::{Options, Service};
use ropewalk::console::Console;
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::signal::unix::{Signal, SignalKind, signal};
use ropewalk::sync::CancellationToken;
use ropewalk::time::{sleep, timeout};
use ropewalk::{Runtime, TaskGroup, select};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How many events of each worker a recording has.
const EVENTS: usize = 1 << 16;
/// How long nobody is accepted after accepting failed: the reason, too many open files, does not go away at once.
const PAUSE: Duration = Duration::from_millis(100);

/// `ropewalk serve`.
pub(crate) fn run(args: &[String]) -> Result<Verdict, Failure> {
    let options = Options::parse(args)?;
    let events = if options.trace.is_some() { EVENTS } else { 0 };
    // Who looks wants to see what the tasks wait for.
    let built = Runtime::builder().observe(options.console.is_some()).record(events).build();
    let runtime = built.map_err(|error| Failure::Trouble(error.to_string()))?;
    let serve_console = |address| Console::builder().address(address).serve(&runtime.handle());
    let console = options.console.map(serve_console).transpose();
    let console = console.map_err(|error| Failure::Trouble(error.to_string()))?;
    let mut recording = None;
    let served = runtime.block_on(serve(&options, console.as_ref(), &mut recording));
    if let Some(recording) = recording {
        recording.end(&runtime)?;
    }
    served
}

/// A file for what was recorded. It is made as soon as something will come into it: whether that works should not be known only when all is
/// over.
struct Recording<'a> {
    name: &'a str,
    file: File,
}

impl<'a> Recording<'a> {
    fn begin(name: &'a str) -> Result<Self, Failure> {
        let file = File::create(name).map_err(|error| cannot_write(name, &error))?;
        Ok(Self { name, file })
    }

    fn end(self, runtime: &Runtime) -> Result<(), Failure> {
        let mut out = BufWriter::new(self.file);
        let written = runtime.trace().write_chrome(&mut out).and_then(|()| out.flush());
        written.map_err(|error| cannot_write(self.name, &error))
    }
}

fn cannot_write(name: &str, error: &io::Error) -> Failure {
    Failure::Trouble(format!("cannot write {name}: {error}"))
}

async fn serve<'a>(
    options: &'a Options,
    console: Option<&Console>,
    recording: &mut Option<Recording<'a>>,
) -> Result<Verdict, Failure> {
    let mut stop = Stop::listen()?;
    let listener =
        TcpListener::bind(options.listen).await.map_err(|error| cannot_listen(options.listen, &error))?;
    let address = listener.local_addr().map_err(|error| Failure::Trouble(error.to_string()))?;
    *recording = options.trace.as_deref().map(Recording::begin).transpose()?;
    let account = Arc::new(Account::new(options, address));
    account.welcome(console.map(Console::url))?;
    let line = Line::show(&account);

    let (mut connections, no_more) = (TaskGroup::new(), CancellationToken::new());
    let serve = |stream| connection(options.service, stream, account.clone(), no_more.clone());
    accept_until(&mut stop, &listener, &mut connections, serve, &account).await;
    drop(listener); // who comes now is refused
    no_more.cancel();
    line.say(&account.draining(options.drain));
    let cancelled = drain(&mut stop, &mut connections, options.drain).await;
    drop(line);
    account.farewell(cancelled)
}

/// Ctrl-c and SIGTERM. It goes on listening, so that a second one does not end the process half way.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::Trouble(format!("no signals: {error}")));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    async fn asked(&mut self) {
        select! {
            () = self.interrupt.recv() => {}
            () = self.terminate.recv() => {}
        }
    }
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!(
                "port {} is in use already; choose another with --listen, or 0 for a free one",
                address.port()
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!("port {} needs a right that you do not have; choose one above 1023", address.port())
        }
        io::ErrorKind::AddrNotAvailable => format!("this machine does not have the address {}", address.ip()),
        _ => error.to_string(),
    };
    Failure::Trouble(format!("cannot listen on {address}: {advice}"))
}

/// Starts a task for each connection until it is asked to stop.
async fn accept_until<F: Future<Output = ()> + Send + 'static>(
    stop: &mut Stop,
    listener: &TcpListener,
    connections: &mut TaskGroup<()>,
    serve: impl Fn(TcpStream) -> F,
    account: &Account,
) {
    loop {
        select! {
            () = stop.asked() => return,
            Some(_ended) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream))),
                Err(error) => {
                    account.trouble(&format!("nobody is accepted for {} ms: {error}", PAUSE.as_millis()));
                    sleep(PAUSE).await;
                }
            },
        }
    }
}

/// One connection. When `no_more` is said, services that know where an answer ends stop there.
async fn connection(service: Service, stream: TcpStream, account: Arc<Account>, no_more: CancellationToken) {
    let _open = account.open();
    // What a client does wrong is its own business; the connection is over.
    let _ended = match service {
        Service::Echo => echo::serve(stream, &account).await.map_err(drop),
        Service::Http => http::serve(stream, &account, &no_more).await.map_err(drop),
    };
}

/// Waits for connections to end, for at most `limit` or until it is asked to stop again; how many were cancelled.
async fn drain(stop: &mut Stop, connections: &mut TaskGroup<()>, limit: Duration) -> usize {
    select! {
        _ended_or_late = timeout(limit, all_end(connections)) => {}
        () = stop.asked() => {}
    }
    let left = connections.len();
    connections.cancel_all();
    let ends = connections.join_all().await;
    // Some may have ended by themselves at the last moment.
    left.min(ends.iter().filter(|end| end.is_err()).count())
}

async fn all_end(connections: &mut TaskGroup<()>) {
    while connections.join_next().await.is_some() {}
}
