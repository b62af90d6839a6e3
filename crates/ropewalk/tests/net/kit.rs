//! The drivers and kinds of runtime that every test here runs on.

pub use crate::common::guarded;
use ropewalk::driver::IoDriverKind;
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::{Builder, Runtime};
use std::future::Future;
use std::io;

/// Every driver there is here, with threads and without.
pub fn runtimes() -> Vec<(String, Runtime)> {
    let kinds = [IoDriverKind::Epoll, IoDriverKind::Kqueue, IoDriverKind::Poll, IoDriverKind::IoUring];
    let mut all = Vec::new();
    for kind in kinds {
        for workers in [0, 1, 2] {
            if let Ok(runtime) = builder(workers).io_driver(kind).build() {
                all.push((format!("{kind}, {workers} workers"), runtime));
            }
        }
    }
    assert!(all.len() >= 3, "there is at least one driver here");
    all
}

pub fn builder(workers: usize) -> Builder {
    Runtime::builder().worker_threads(workers)
}

/// Runs one test on all of them.
pub fn everywhere<F: Future<Output = io::Result<()>>>(test: impl Fn() -> F) {
    for (name, runtime) in runtimes() {
        if let Err(error) = runtime.block_on(test()) {
            panic!("on {name}: {error}");
        }
    }
}

/// Two ends of a connection.
pub async fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, from) = listener.accept().await?;
    assert_eq!(from, client.local_addr()?);
    Ok((client, server))
}
