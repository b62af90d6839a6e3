//! What is under way when a call is refused from one moment on: each of them ends, or is told.

use crate::child::stage;
use ropewalk::channel::oneshot;
use ropewalk::fs::File;
use ropewalk::io::prelude::*;
use ropewalk::net::{Chunks, IntoIncoming, TcpListener, UnixStream};
use ropewalk::process::{Command, Stdio};
use ropewalk::time::sleep;
use ropewalk::{Runtime, TaskHandle, spawn};
use std::fs::File as StdFile;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::time::{Duration, Instant};

type Task = TaskHandle<io::Result<()>>;

/// Tasks that wait, and what ends their waiting.
pub struct Waiting {
    tasks: Vec<(&'static str, Task)>,
    peer: StdUnixStream,
    address: SocketAddr,
    pipe: StdFile,
    input: StdFile,
    tell: oneshot::Sender<()>,
    listener: Task,
    ahead: Ahead,
}

impl Waiting {
    pub async fn begin() -> Self {
        stage("beginning to wait");
        let (ours, peer) = StdUnixStream::pair().unwrap();
        let ours = UnixStream::from_std(ours).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ahead = Ahead::begin().await;
        let (mut file, pipe) = pipe().await;
        let (child, input) = child();
        let (tell, told) = oneshot::channel();
        let tasks = vec![
            (
                "a reader",
                spawn(async move { ours.read(&mut [0; 8]).await.map(|count| assert_eq!(count, 4)) }),
            ),
            ("an acceptor", spawn(async move { listener.accept().await.map(drop) })),
            ("a pipe", spawn(async move { file.read_exact(&mut [0; 4]).await.map(drop) })),
            ("a child", spawn(child)),
        ];
        sleep(Duration::from_millis(5)).await; // all of them wait, or will; both has to do
        let listener = spawn(async move { told.await.map_err(io::Error::other) });
        Self { tasks, peer, address, pipe, input, tell, listener, ahead }
    }

    /// From now on something is refused. Then the waiting is ended, from outside of the runtime; what they were told.
    pub fn end(self, runtime: &Runtime, refuse: impl Fn() + Sync) -> Vec<(&'static str, io::Result<()>)> {
        let Self { tasks, mut peer, address, mut pipe, input, tell, listener, ahead } = self;
        stage("what waited: a listener to a thread");
        // A wake-up that nothing of the system's comes with, while those inside are asleep in a call from before that, or are not.
        let heard = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(10));
                refuse();
                tell.send(()).unwrap();
            });
            runtime.block_on(listener).unwrap()
        });
        stage("what waited: ending it");
        let outside = std::thread::spawn(move || {
            peer.write_all(b"news").unwrap();
            let _refused_if_nobody_listens = std::net::TcpStream::connect(address);
            pipe.write_all(b"news").unwrap();
            drop(input);
            (peer, pipe)
        });
        let mut told = vec![("a listener to a thread", heard)];
        for (what, task) in tasks.into_iter().chain([("a sleeper", runtime.spawn(sleeper()))]) {
            stage(format_args!("what waited: {what}"));
            told.push((what, runtime.block_on(task).unwrap()));
        }
        drop(outside.join().unwrap());
        told.extend(ahead.end(runtime));
        told
    }
}

/// What the kernel carries out again and again, if that is the driver: begun before, and only made before.
struct Ahead {
    begun: [(&'static str, Task); 2],
    late: (IntoIncoming<TcpListener>, Chunks<UnixStream>),
    addresses: [SocketAddr; 2],
    peers: [StdUnixStream; 2],
}

impl Ahead {
    async fn begin() -> Self {
        let (one, other) = (incoming().await, incoming().await);
        let addresses = [&one, &other].map(|incoming| incoming.listener().local_addr().unwrap());
        let ((first, a), (second, b)) = (chunks(), chunks());
        let begun = [("an incoming", spawn(accept_twice(one))), ("chunks", spawn(read_and_part(first)))];
        Self { begun, late: (other, second), addresses, peers: [a, b] }
    }

    fn end(self, runtime: &Runtime) -> Vec<(&'static str, io::Result<()>)> {
        for address in self.addresses.repeat(2) {
            let _refused_if_nobody_listens = std::net::TcpStream::connect(address);
        }
        for mut peer in &self.peers {
            let _broken_if_nobody_reads = peer.write_all(b"news");
        }
        let late = (runtime.spawn(accept_twice(self.late.0)), runtime.spawn(read_and_part(self.late.1)));
        let late = [("a late incoming", late.0), ("late chunks", late.1)];
        let mut told = Vec::new();
        for (what, task) in self.begun.into_iter().chain(late) {
            stage(format_args!("what the kernel does ahead: {what}"));
            told.push((what, runtime.block_on(task).unwrap()));
        }
        told
    }
}

async fn incoming() -> IntoIncoming<TcpListener> {
    TcpListener::bind("127.0.0.1:0").await.unwrap().into_incoming()
}

fn chunks() -> (Chunks<UnixStream>, StdUnixStream) {
    let (ours, peer) = StdUnixStream::pair().unwrap();
    (UnixStream::from_std(ours).unwrap().into_chunks(), peer)
}

/// Each is told by itself.
async fn accept_twice(mut incoming: IntoIncoming<TcpListener>) -> io::Result<()> {
    let first = incoming.next().await.map(drop);
    first.and(incoming.next().await.map(drop))
}

async fn read_and_part(mut chunks: Chunks<UnixStream>) -> io::Result<()> {
    let first = chunks.next().await.map(drop);
    let (_, _, rest) = chunks.into_parts().await;
    first.and(rest)
}

async fn sleeper() -> io::Result<()> {
    let (from, span) = (Instant::now(), Duration::from_millis(20));
    sleep(span).await;
    assert!(from.elapsed() >= span, "it was early");
    Ok(())
}

/// A pipe whose reading end is known to be one: with io_uring the next read is the kernel's.
async fn pipe() -> (File, StdFile) {
    let (read, write) = io::pipe().unwrap();
    let (mut file, mut write) =
        (File::from_std(OwnedFd::from(read).into()), StdFile::from(OwnedFd::from(write)));
    write.write_all(b"first").unwrap();
    file.read_exact(&mut [0; 5]).await.unwrap();
    (file, write)
}

/// A child that ends when its input does.
fn child() -> (impl Future<Output = io::Result<()>> + Send + 'static, StdFile) {
    let (read, write) = io::pipe().unwrap();
    let input = StdFile::from(OwnedFd::from(write));
    let mut child = Command::new("cat").stdin(Stdio::from(OwnedFd::from(read))).spawn().unwrap();
    let wait = async move { child.wait().await.map(|status| assert!(status.success(), "{status}")) };
    (wait, input)
}
