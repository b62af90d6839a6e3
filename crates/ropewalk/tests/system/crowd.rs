//! Clients that misbehave harm nobody but themselves: those who send and never read, those who say half of something and
//! then nothing, those who break off. The others are served as if they were alone, and nothing is left of any of them.

use crate::kit::{for_sockets, guarded, until_async};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::{Runtime, task_group, time};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const GOOD: usize = 100;
const BAD: usize = 100;
/// Each of them fills the buffers of the system, which takes a while.
const SLOW: usize = 8;
/// Messages are of a fixed size, and are sent back when they are whole.
const MESSAGE: usize = 1024;

/// Counts itself while it exists.
struct Present(Arc<AtomicUsize>);

impl Present {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Accepts for ever; `count` says how many connections there are.
async fn serve(listener: TcpListener, count: Arc<AtomicUsize>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let present = Present::new(&count);
        drop(ropewalk::spawn(async move {
            let _present = present;
            let _broken_off = echo(stream).await;
        }));
    }
}

async fn echo(stream: TcpStream) -> std::io::Result<()> {
    let mut message = [0; MESSAGE];
    loop {
        let mut there = 0;
        while there < MESSAGE {
            match stream.read(&mut message[there..]).await? {
                0 => return Ok(()),
                count => there += count,
            }
        }
        stream.write_all(&message).await?;
    }
}

/// Ten messages to and fro.
async fn behave(address: SocketAddr, number: usize) {
    let stream = TcpStream::connect(address).await.unwrap();
    for step in 0..10 {
        let message = [(number * 10 + step) as u8; MESSAGE];
        stream.write_all(&message).await.unwrap();
        let (mut back, mut there) = ([0; MESSAGE], 0);
        while there < MESSAGE {
            let count = stream.read(&mut back[there..]).await.unwrap();
            assert!(count > 0, "client {number} was turned away");
            there += count;
        }
        assert_eq!(back, message, "client {number}");
    }
}

/// Sends until the server takes no more, because it cannot send what it has; then does nothing.
async fn never_read(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.unwrap();
    let words = [7; 16 * 1024];
    // The server waits for room, and so does this: a silence of this length means that both do.
    while let Ok(written) = time::timeout(Duration::from_millis(200), stream.write(&words)).await {
        written.unwrap();
    }
    stream
}

/// Says half of something.
async fn stop_halfway(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&[7; MESSAGE / 2]).await.unwrap();
    stream
}

/// Says half of something and breaks off.
async fn break_off(address: SocketAddr) {
    let stream = stop_halfway(address).await;
    stream.set_linger(Some(Duration::ZERO)).unwrap();
}

fn with_server(test: impl AsyncFn(SocketAddr)) {
    crate::limits::more_descriptors();
    for (name, builder) in for_sockets() {
        guarded(name, || in_runtime(&builder.build().unwrap(), &test));
    }
}

fn in_runtime(runtime: &Runtime, test: &impl AsyncFn(SocketAddr)) {
    runtime.block_on(async {
        let count = Arc::new(AtomicUsize::new(0));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = ropewalk::spawn(serve(listener, count.clone()));
        test(address).await;
        until_async("all connections have ended", || count.load(Ordering::Relaxed) == 0).await;
        serving.cancel();
    });
}

/// All of the good ones at once; returns when all were served.
async fn all_behave(address: SocketAddr) {
    let served = task_group(|group| {
        for number in 0..GOOD {
            group.spawn(behave(address, number));
        }
    });
    served.await.into_iter().for_each(|outcome| outcome.unwrap());
}

#[test]
fn those_who_never_read_hold_up_nobody() {
    with_server(async |address| {
        let slow: Vec<_> = (0..SLOW).map(|_| ropewalk::spawn(never_read(address))).collect();
        let mut streams = Vec::new();
        for task in slow {
            streams.push(task.await.unwrap());
        }
        all_behave(address).await;
        drop(streams);
    });
}

#[test]
fn those_who_stop_halfway_hold_up_nobody() {
    with_server(async |address| {
        let mut streams = Vec::new();
        for _ in 0..BAD {
            streams.push(stop_halfway(address).await);
        }
        all_behave(address).await;
        drop(streams);
    });
}

#[test]
fn those_who_break_off_hold_up_nobody() {
    with_server(async |address| {
        let breaking = ropewalk::spawn(async move {
            for _ in 0..3 * BAD {
                break_off(address).await;
            }
        });
        all_behave(address).await;
        breaking.await.unwrap();
    });
}
