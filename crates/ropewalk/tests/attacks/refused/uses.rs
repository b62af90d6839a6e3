//! What a program does with a runtime, once each. What needs no system call that may be refused succeeds.

use crate::child::stage;
use ropewalk::channel::oneshot;
use ropewalk::fs::File;
use ropewalk::io::prelude::*;
use ropewalk::net::{TcpListener, TcpStream, UdpSocket, UnixStream};
use ropewalk::process::Command;
use ropewalk::time::sleep;
use ropewalk::{Runtime, spawn, spawn_blocking, strand};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Everything, one after the other, and what became of it.
pub fn all(runtime: &Runtime) -> Vec<(&'static str, io::Result<()>)> {
    plain(runtime);
    vec![
        ("TCP", at("TCP", || runtime.block_on(in_a_task(tcp())))),
        ("UDP", at("UDP", || runtime.block_on(in_a_task(udp())))),
        ("Unix", at("Unix", || runtime.block_on(in_a_task(unix())))),
        ("file", at("file", || runtime.block_on(in_a_task(file())))),
        ("process", at("process", || runtime.block_on(in_a_task(process())))),
        ("TCP by the caller", at("TCP by the caller", || runtime.block_on(tcp()))),
        ("file by the caller", at("file by the caller", || runtime.block_on(file()))),
    ]
}

fn at<T>(what: &str, use_it: impl FnOnce() -> T) -> T {
    stage(what);
    use_it()
}

async fn in_a_task(use_it: impl Future<Output = io::Result<()>> + Send + 'static) -> io::Result<()> {
    spawn(use_it).await.unwrap()
}

/// Timers, tasks, strands, blocking jobs, and wake-ups from elsewhere: nothing here may fail.
fn plain(runtime: &Runtime) {
    at("timers", || runtime.block_on(spawn_timers()));
    at("strands", || {
        let strands: u32 = runtime.run(|| (0..4).map(|n| strand::spawn(move || n)).map(|s| s.join()).sum());
        assert_eq!(6, strands);
    });
    at("blocking jobs", || {
        let sum = runtime
            .block_on(async { spawn_blocking(|| 1).await.unwrap() + spawn_blocking(|| 2).await.unwrap() });
        assert_eq!(3, sum);
    });
    at("a wake-up from a thread", || from_outside(runtime));
}

async fn spawn_timers() {
    let timers: Vec<_> = (0..4).map(|n| spawn(on_time(Duration::from_millis(n)))).collect();
    for timer in timers {
        timer.await.unwrap();
    }
}

async fn on_time(span: Duration) {
    let from = Instant::now();
    sleep(span).await;
    assert!(from.elapsed() >= span, "a timer of {span:?} was early");
}

/// Threads that are not the runtime's wake its sleepers.
fn from_outside(runtime: &Runtime) {
    for round in 0..10 {
        let (tell, told) = oneshot::channel();
        let waiting = runtime.spawn(told);
        let handle = runtime.handle();
        let outside = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(200 * round)); // those inside are asleep, or are not
            tell.send(round).unwrap();
            handle.spawn(async move { round })
        });
        assert_eq!(runtime.block_on(waiting).unwrap(), Ok(round));
        assert_eq!(runtime.block_on(outside.join().unwrap()).unwrap(), round);
    }
}

async fn tcp() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let client = spawn(async move {
        let asked = ask(address).await;
        if asked.is_err() {
            let _ends_the_wait_for_it = std::net::TcpStream::connect(address);
        }
        asked
    });
    let served = serve(&listener).await;
    drop(listener);
    client.await.unwrap().and(served)
}

async fn ask(address: SocketAddr) -> io::Result<()> {
    let mut client = TcpStream::connect(address).await?;
    for number in 0..5u8 {
        client.write_all(&[number; 100]).await?;
        let mut back = [0; 100];
        client.read_exact(&mut back).await?;
        assert_eq!(back, [number; 100]);
    }
    Ok(())
}

async fn serve(listener: &TcpListener) -> io::Result<()> {
    let (stream, _) = listener.accept().await?;
    let mut buffer = [0; 1000];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count]).await?,
        }
    }
}

async fn udp() -> io::Result<()> {
    let (here, there) = (UdpSocket::bind("127.0.0.1:0").await?, UdpSocket::bind("127.0.0.1:0").await?);
    let to = there.local_addr()?;
    let sent = spawn(async move { here.send_to(b"hello", to).await });
    assert_eq!(there.recv_from(&mut [0; 8]).await?.0, 5);
    sent.await.unwrap().map(drop)
}

async fn unix() -> io::Result<()> {
    let (left, mut right) = UnixStream::pair()?;
    let reader = spawn(async move {
        let mut all = Vec::new();
        right.read_to_end(&mut all).await.map(|_| all)
    });
    left.write_all(&[7; 10_000]).await?;
    drop(left);
    assert_eq!(reader.await.unwrap()?, vec![7; 10_000]);
    Ok(())
}

async fn file() -> io::Result<()> {
    let path = std::env::temp_dir().join(format!("ropewalk-refused-{}", std::process::id()));
    let written = write_and_read(&path).await;
    let _it_may_not_be_there = std::fs::remove_file(&path);
    written
}

async fn write_and_read(path: &std::path::Path) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(path).await?;
    file.write_all(b"by the stream").await?;
    file.flush().await?;
    assert_eq!(file.write_at(b"at", 0).await?, 2);
    file.sync_all().await?;
    let mut back = [0; 13];
    assert_eq!(file.read_at(&mut back, 0).await?, 13);
    assert_eq!(&back, b"at the stream");
    Ok(())
}

async fn process() -> io::Result<()> {
    let output = Command::new("echo").arg("hello").output().await?;
    assert_eq!((output.status.success(), &*output.stdout), (true, &b"hello\n"[..]));
    Ok(())
}
