//! What every test here runs on: all drivers and kinds of runtime, and a link between two places, HERE and THERE.
//!
//! The suite does not know which link it is. `loopback.rs` and `apart.rs` have the same items, and each is the `link` of a test
//! program of its own:
//!
//! - `HERE`, `THERE`: the addresses of the two places. A socket belongs to the place where it was made, which is here.
//! - `there(future)`: the sockets that this future makes are there.
//! - `deaf()`: an address there that does not answer, or does not after some connections.
//! - `linked(test)`: runs `test`, and all threads that it starts, where the link is.
//! - `LOSES`: packets get lost. `AT_ONCE`: the runtimes run at the same time, because they mostly wait.
//! - `LOTS`: more bytes than the buffers hold. `MANY` connections one after the other, a `CROWD` of them at
//!   once, `ATTACKERS` of each kind.

use super::common::drivers;
use super::link::AT_ONCE;
pub use super::link::{ATTACKERS, CROWD, HERE, LOTS, MANY, THERE, linked, there};
use ropewalk::net::{TcpListener, TcpStream, UdpSocket};
use ropewalk::{Builder, Runtime};
use std::future::Future;
use std::io;

/// Every driver there is here, with threads and without.
pub fn runtimes() -> Vec<(String, Runtime)> {
    let mut all = Vec::new();
    for kind in drivers() {
        for workers in [0, 1, 2] {
            let runtime = builder(workers).io_driver(kind).build().unwrap();
            all.push((format!("{kind}, {workers} workers"), runtime));
        }
    }
    all
}

pub fn builder(workers: usize) -> Builder {
    Runtime::builder().worker_threads(workers)
}

/// Runs one test on all of them.
pub fn everywhere<F: Future<Output = io::Result<()>>>(test: impl Fn() -> F + Sync) {
    let run = |(name, runtime): (String, Runtime)| {
        if let Err(error) = runtime.block_on(test()) {
            panic!("on {name}: {error}");
        }
    };
    linked(|| {
        if AT_ONCE {
            std::thread::scope(|scope| {
                for one in runtimes() {
                    scope.spawn(|| run(one));
                }
            });
        } else {
            runtimes().into_iter().for_each(run);
        }
    });
}

/// A listener there.
pub async fn listen() -> io::Result<TcpListener> {
    there(TcpListener::bind((THERE, 0))).await
}

/// Two ends of a connection: the first is here, the second there.
pub async fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = listen().await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    let (server, from) = listener.accept().await?;
    assert_eq!(from, client.local_addr()?);
    Ok((client, server))
}

/// A socket for datagrams here, and one there.
pub async fn mailboxes() -> io::Result<(UdpSocket, UdpSocket)> {
    Ok((UdpSocket::bind((HERE, 0)).await?, there(UdpSocket::bind((THERE, 0))).await?))
}
