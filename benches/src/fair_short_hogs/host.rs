//! The peers that run futures, with all that may be due on them.

use super::hogs::yields;
use super::score::{compute, is_over, length};
use super::shape::Poll;
use crate::channels::{self, Channel};
use crate::timed::{Ropewalk, Smol, Timed, Tokio};
use ropewalk::strand;
use std::net::TcpStream;
use std::process::Command;

/// Messages of an echo.
pub const MESSAGE: usize = 64;
const CAPACITY: usize = 128;

/// A runtime on which things are due.
pub trait Host: Timed {
    type Channel: Channel;

    /// Runs a task to its end, on this thread if there are no workers.
    fn drive(self, workers: usize, future: impl Future<Output = ()> + Send + 'static);

    /// Sends back what comes, until the other end is closed.
    fn echo(stream: TcpStream) -> impl Future<Output = ()> + Send;

    /// Starts a process, when called, and waits for its end.
    fn ended(command: Command) -> impl Future<Output = ()> + Send;

    /// Tells `ready` when it listens to SIGUSR1, and `heard` whenever it comes.
    fn listen(ready: impl FnOnce() + Send, heard: impl FnMut() + Send) -> impl Future<Output = ()> + Send;

    /// Starts a ticker that is a strand.
    fn tick_on_strand(self, _ticks: fn()) {
        unreachable!("it has no strands");
    }

    /// Starts a hog that is a strand, or the next to it.
    fn detach_strand(self, poll: Poll) {
        self.detach(yields::<Self>(poll));
    }
}

/// One source for all whose streams have the same methods.
macro_rules! echo {
    ($stream:expr) => {{
        let mut stream = $stream.expect("it takes the stream");
        let mut buffer = [0; MESSAGE];
        while stream.read_exact(&mut buffer).await.is_ok() {
            stream.write_all(&buffer).await.expect("the client is there");
        }
    }};
}

impl Host for Ropewalk {
    type Channel = channels::ropewalk::Of<CAPACITY>;

    fn drive(self, _: usize, future: impl Future<Output = ()> + Send + 'static) {
        self.run(future);
    }

    async fn echo(stream: TcpStream) {
        use ropewalk::io::AsyncReadExt;
        echo!(ropewalk::net::TcpStream::from_std(stream));
    }

    fn ended(command: Command) -> impl Future<Output = ()> + Send {
        let mut child = ropewalk::process::Command::from(command).spawn().expect("it starts");
        async move { child.wait().await.map(drop).expect("it ends") }
    }

    async fn listen(ready: impl FnOnce() + Send, mut heard: impl FnMut() + Send) {
        use ropewalk::signal::unix::{SignalKind, signal};
        let mut signals = signal(SignalKind::user_defined1()).expect("it listens");
        ready();
        loop {
            signals.recv().await;
            heard();
        }
    }

    fn tick_on_strand(self, ticks: fn()) {
        drop(strand::Builder::new().pool(&self.pool()).spawn(ticks));
    }

    fn detach_strand(self, poll: Poll) {
        drop(strand::Builder::new().pool(&self.pool()).spawn(move || {
            while !is_over() {
                compute(length(poll));
                strand::yield_now();
            }
        }));
    }
}

impl Host for Tokio {
    type Channel = channels::tokio::Bounded<CAPACITY>;

    fn drive(self, _: usize, future: impl Future<Output = ()> + Send + 'static) {
        self.run(future);
    }

    async fn echo(stream: TcpStream) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        echo!(tokio::net::TcpStream::from_std(stream));
    }

    fn ended(command: Command) -> impl Future<Output = ()> + Send {
        let mut child = tokio::process::Command::from(command).spawn().expect("it starts");
        async move { child.wait().await.map(drop).expect("it ends") }
    }

    async fn listen(ready: impl FnOnce() + Send, mut heard: impl FnMut() + Send) {
        use tokio::signal::unix::{SignalKind, signal};
        let mut signals = signal(SignalKind::user_defined1()).expect("it listens");
        ready();
        loop {
            signals.recv().await;
            heard();
        }
    }
}

impl Host for Smol {
    type Channel = channels::smol::Of<CAPACITY>;

    fn drive(self, workers: usize, future: impl Future<Output = ()> + Send + 'static) {
        if workers == 0 { smol::block_on(self.executor().run(future)) } else { self.run(future) }
    }

    async fn echo(stream: TcpStream) {
        use smol::io::{AsyncReadExt, AsyncWriteExt};
        echo!(smol::net::TcpStream::try_from(stream));
    }

    fn ended(command: Command) -> impl Future<Output = ()> + Send {
        let mut child = smol::process::Command::from(command).spawn().expect("it starts");
        async move { child.status().await.map(drop).expect("it ends") }
    }

    async fn listen(_: impl FnOnce() + Send, _: impl FnMut() + Send) {
        unreachable!("it brings no signals")
    }
}
