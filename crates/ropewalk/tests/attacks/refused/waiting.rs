//! What is under way when a call is refused from one moment on: each of them ends, or is told.

use crate::child::stage;
use ropewalk::channel::oneshot;
use ropewalk::fs::File;
use ropewalk::io::prelude::*;
use ropewalk::net::{TcpListener, UnixStream};
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
}

impl Waiting {
    pub async fn begin() -> Self {
        stage("beginning to wait");
        let (ours, peer) = StdUnixStream::pair().unwrap();
        let ours = UnixStream::from_std(ours).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mut file, pipe) = pipe().await;
        let (child, input) = child();
        let (tell, told) = oneshot::channel();
        let tasks = vec![
            ("a reader", spawn(async move { ours.read(&mut [0; 8]).await.map(|count| assert_eq!(count, 4)) })),
            ("an acceptor", spawn(async move { listener.accept().await.map(drop) })),
            ("a pipe", spawn(async move { file.read_exact(&mut [0; 4]).await.map(drop) })),
            ("a child", spawn(child)),
            ("a listener to a thread", spawn(async move { told.await.map_err(io::Error::other) })),
            ("a sleeper", spawn(sleeper())),
        ];
        sleep(Duration::from_millis(5)).await; // all of them wait, or will; both has to do
        Self { tasks, peer, address, pipe, input, tell }
    }

    /// Ends it, from outside of the runtime; what they were told.
    pub fn end(self, runtime: &Runtime) -> Vec<(&'static str, io::Result<()>)> {
        let Self { tasks, mut peer, address, mut pipe, input, tell } = self;
        stage("what waited: ending it");
        let outside = std::thread::spawn(move || {
            peer.write_all(b"news").unwrap();
            let _refused_if_nobody_listens = std::net::TcpStream::connect(address);
            pipe.write_all(b"news").unwrap();
            drop(input);
            tell.send(()).unwrap();
            (peer, pipe)
        });
        let mut told = Vec::new();
        for (what, task) in tasks {
            stage(format_args!("what waited: {what}"));
            told.push((what, runtime.block_on(task).unwrap()));
        }
        drop(outside.join().unwrap());
        told
    }
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
    let (mut file, mut write) = (File::from_std(OwnedFd::from(read).into()), StdFile::from(OwnedFd::from(write)));
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
