//! Pieces in buffers that the runtime lends, and connections that are accepted ahead.

use super::kit::{everywhere, pair, runtimes};
use ropewalk::driver::IoDriverKind;
use ropewalk::net::{Chunks, TcpListener, TcpStream, UnixStream};
use ropewalk::time::{sleep, timeout};
use ropewalk::{Handle, select, spawn};
use std::io;
use std::net::Shutdown;
use std::time::Duration;

/// Whether the kernel does it here by itself.
fn is_uring() -> bool {
    let io = Handle::current().metrics().io;
    io.driver == Some(IoDriverKind::IoUring)
}

fn arrivals() -> u64 {
    Handle::current().metrics().io.arrivals
}

/// Bytes that do not repeat at any power of two.
fn lots(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

async fn read_all(chunks: &mut Chunks<TcpStream>) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(chunk) = chunks.next().await? {
        assert!(!chunk.is_empty(), "an empty piece would be the end");
        all.extend_from_slice(&chunk);
    }
    Ok(all)
}

#[test]
fn everything_arrives_in_order_and_then_the_end() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let before = arrivals();
        let sender = spawn(async move {
            left.write_all(&lots(1 << 20)).await?;
            left.shutdown(Shutdown::Write)?;
            Ok::<_, io::Error>(left)
        });
        let mut chunks = right.into_chunks();
        assert!(read_all(&mut chunks).await? == lots(1 << 20));
        assert!(chunks.next().await?.is_none(), "and stays");
        chunks.stream().write_all(b"thanks").await?;
        let left = sender.await.unwrap()?;
        let mut back = left.into_chunks();
        assert_eq!(&*back.next().await?.unwrap(), b"thanks");
        assert!(!is_uring() || arrivals() > before, "the kernel was asked for each");
        Ok(())
    });
}

#[test]
fn pieces_of_unix_streams() {
    everywhere(|| async {
        let (left, right) = UnixStream::pair()?;
        let mut chunks = right.into_chunks();
        for _ in 0..100 {
            left.write_all(b"ping").await?;
            assert_eq!(&*chunks.next().await?.unwrap(), b"ping");
        }
        drop(left);
        assert!(chunks.next().await?.is_none());
        Ok(())
    });
}

/// A wait that is dropped, again and again, loses nothing.
#[test]
fn nothing_is_lost_by_who_gives_up() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let sender = spawn(async move {
            for byte in 0..200_u8 {
                left.write_all(&[byte]).await?;
                if byte % 16 == 0 {
                    sleep(Duration::from_micros(200)).await;
                }
            }
            Ok::<_, io::Error>(left)
        });
        let mut chunks = right.into_chunks();
        let mut got = Vec::new();
        while got.len() < 200 {
            if let Ok(chunk) = timeout(Duration::from_micros(50), chunks.next()).await {
                got.extend_from_slice(&chunk?.expect("it has not ended"));
            }
        }
        assert!(got.iter().copied().eq(0..200));
        sender.await.unwrap().map(drop)
    });
}

/// More pieces are kept than the driver has buffers: the others get theirs all the same.
#[test]
fn pieces_that_are_kept_keep_nobody_waiting() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        left.set_nodelay(true)?;
        let (mut chunks, mut kept) = (right.into_chunks(), Vec::new());
        for number in 0..300_u16 {
            left.write_all(&number.to_ne_bytes()).await?;
            kept.push(chunks.next().await?.unwrap());
        }
        let (other, there) = pair().await?;
        let mut others = there.into_chunks();
        for _ in 0..10 {
            other.write_all(b"more").await?;
            assert_eq!(&*others.next().await?.unwrap(), b"more");
        }
        assert!(kept.iter().zip(0..300_u16).all(|(chunk, number)| **chunk == number.to_ne_bytes()));
        drop(kept);
        other.write_all(b"again").await?;
        assert_eq!(&*others.next().await?.unwrap(), b"again");
        Ok(())
    });
}

#[test]
fn who_wants_the_stream_back_gets_what_was_taken_ahead() {
    everywhere(|| async {
        for taken in 0..4 {
            let (left, right) = pair().await?;
            let all = lots(200_000);
            let sent = all.clone();
            let sender = spawn(async move {
                left.write_all(&sent).await?;
                left.shutdown(Shutdown::Write)?;
                Ok::<_, io::Error>(left)
            });
            let (mut chunks, mut got) = (right.into_chunks(), Vec::new());
            for _ in 0..taken {
                got.extend_from_slice(&chunks.next().await?.unwrap());
            }
            let (stream, ahead, outcome) = chunks.into_parts().await;
            outcome?;
            got.extend_from_slice(&ahead);
            let mut buffer = vec![0; 10_000];
            loop {
                match stream.read(&mut buffer).await? {
                    0 => break,
                    count => got.extend_from_slice(&buffer[..count]),
                }
            }
            assert!(got == all, "after {taken} pieces: {} bytes", got.len());
            sender.await.unwrap()?;
        }
        Ok(())
    });
}

#[test]
fn a_reset_is_an_error_and_dropping_closes() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let mut chunks = right.into_chunks();
        let waiting = spawn(async move { chunks.next().await.map(|chunk| chunk.is_some()) });
        ropewalk::yield_now().await;
        left.set_linger(Some(Duration::ZERO))?;
        drop(left);
        assert_eq!(waiting.await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionReset);

        let (left, right) = pair().await?;
        let mut chunks = right.into_chunks();
        let _none_yet = timeout(Duration::from_millis(1), chunks.next()).await;
        drop(chunks);
        assert_eq!(left.read(&mut [0; 8]).await?, 0, "the other side hears of it");
        Ok(())
    });
}

/// The error that comes behind what was taken ahead is told, for the stream does not tell it again.
#[test]
fn who_wants_a_stream_back_that_was_reset_hears_of_it() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let mut chunks = right.into_chunks();
        left.write_all(b"first").await?;
        assert_eq!(&*chunks.next().await?.unwrap(), b"first");
        left.set_linger(Some(Duration::ZERO))?;
        drop(left);
        let (stream, ahead, outcome) = chunks.into_parts().await;
        assert!(ahead.is_empty());
        let error = match outcome {
            Err(error) => error,
            Ok(()) => stream.read(&mut [0; 8]).await.unwrap_err(),
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        Ok(())
    });
}

/// What is forgotten stays where it is, and nobody else is harmed.
#[test]
fn forgetting_is_harmless() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let mut chunks = right.into_chunks();
        left.write_all(b"one").await?;
        std::mem::forget(chunks.next().await?);
        left.write_all(b"two").await?;
        let mut next = Box::pin(async move { chunks.next().await.map(|chunk| chunk.is_some()) });
        let _polled = timeout(Duration::from_millis(1), next.as_mut()).await;
        std::mem::forget(next);
        left.write_all(b"three").await?;
        let (other, there) = pair().await?;
        let mut others = there.into_chunks();
        other.write_all(b"fine").await?;
        assert_eq!(&*others.next().await?.unwrap(), b"fine");
        Ok(())
    });
}

#[test]
fn the_end_of_the_runtime_is_an_error() {
    for (name, runtime) in runtimes() {
        let (left, right) = runtime.block_on(pair()).unwrap();
        let mut chunks = right.into_chunks();
        let mut incoming =
            runtime.block_on(async { TcpListener::bind("127.0.0.1:0").await }).unwrap().into_incoming();
        let polled = runtime.block_on(async {
            select! {
                _ = chunks.next() => false,
                _ = incoming.next() => false,
                _ = sleep(Duration::from_millis(2)) => true,
            }
        });
        assert!(polled, "on {name}");
        drop(runtime);
        assert!(ropewalk::wait(chunks.next()).is_err(), "on {name}");
        assert!(ropewalk::wait(incoming.next()).is_err(), "on {name}");
        drop((left, chunks, incoming));
    }
}

#[test]
fn whoever_comes_is_accepted_also_by_who_gives_up_now_and_then() {
    everywhere(|| async {
        let mut incoming = TcpListener::bind("127.0.0.1:0").await?.into_incoming();
        let (address, before) = (incoming.listener().local_addr()?, arrivals());
        let clients = spawn(async move {
            let mut all = Vec::new();
            for number in 0..100_u8 {
                let client = TcpStream::connect(address).await?;
                client.write_all(&[number]).await?;
                all.push(client);
            }
            Ok::<_, io::Error>(all)
        });
        let mut seen = [false; 100];
        while seen.contains(&false) {
            let Ok(stream) = timeout(Duration::from_micros(100), incoming.next()).await else { continue };
            let stream = stream?;
            let mut byte = [0];
            assert_eq!(stream.read(&mut byte).await?, 1);
            assert!(!std::mem::replace(&mut seen[usize::from(byte[0])], true), "twice");
        }
        assert!(!is_uring() || arrivals() >= before + 100, "the kernel was asked for each");
        clients.await.unwrap().map(drop)
    });
}

/// Nobody takes them: a few are accepted, if the runtime gets to look in between, the others wait in the system's queue, and all
/// are closed in the end.
#[test]
fn those_accepted_ahead_are_few_and_closed_with_the_listener() {
    everywhere(|| async {
        let mut incoming = TcpListener::bind("127.0.0.1:0").await?.into_incoming();
        let (address, before) = (incoming.listener().local_addr()?, arrivals());
        let first = TcpStream::connect(address).await?;
        incoming.next().await?; // from now on the kernel accepts
        let mut clients = vec![first];
        for _ in 0..100 {
            clients.push(TcpStream::connect(address).await?);
            sleep(Duration::from_millis(1)).await; // the runtime looks at what has come
        }
        let ahead = || arrivals() - before;
        assert!(ahead() <= 80, "{} are accepted ahead", ahead());
        for _ in 0..100 {
            incoming.next().await?;
        }
        clients.push(TcpStream::connect(address).await?);
        drop(incoming);
        for client in clients {
            assert_eq!(client.read(&mut [0; 8]).await.unwrap_or(0), 0);
        }
        Ok(())
    });
}

/// What the kernel will not do again and again by itself is asked for each time, and says what it then says.
#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_cannot_do_by_itself_is_asked_for() {
    use std::os::fd::OwnedFd;
    use std::{net, os::unix};

    everywhere(|| async {
        let before = arrivals();
        let datagrams = OwnedFd::from(net::UdpSocket::bind("127.0.0.1:0")?);
        let mut incoming = TcpListener::from_std(net::TcpListener::from(datagrams))?.into_incoming();
        let path = std::env::temp_dir().join(format!("ropewalk-by-itself-{}", std::process::id()));
        let _of_the_last_driver = std::fs::remove_file(&path);
        let listening = OwnedFd::from(unix::net::UnixListener::bind(&path)?);
        let mut chunks = UnixStream::from_std(unix::net::UnixStream::from(listening))?.into_chunks();
        for _ in 0..3 {
            assert_eq!(incoming.next().await.unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
            assert_eq!(chunks.next().await.err().unwrap().raw_os_error(), Some(libc::EINVAL));
        }
        let tried = arrivals() - before;
        assert_eq!(tried, if is_uring() { 2 } else { 0 }, "once for each of them");
        std::fs::remove_file(path)
    });
}
