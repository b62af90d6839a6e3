//! How connections end: half-close, reset, after shutdown, dropped while somebody waits, with their runtime.

use super::kit::{THERE, builder, everywhere, linked, pair, runtimes, there};
use futures_io::{AsyncRead, AsyncWrite};
use ropewalk::Wait;
use ropewalk::net::{TcpListener, TcpStream, UnixStream};
use std::future::poll_fn;
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

#[test]
fn half_a_connection_goes_on() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        left.write_all(b"question").await?;
        left.shutdown(Shutdown::Write)?;
        let mut buffer = [0; 64];
        let mut got = 0;
        loop {
            match right.read(&mut buffer[got..]).await? {
                0 => break,
                count => got += count,
            }
        }
        assert_eq!(&buffer[..got], b"question");
        right.write_all(b"answer").await?;
        assert_eq!(left.read(&mut buffer).await?, 6);
        assert_eq!(left.write(b"more").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        Ok(())
    });
}

#[test]
fn the_end_that_comes_with_the_data_is_seen_after_it() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        left.write_all(b"last words").await?;
        drop(left);
        let mut buffer = [0; 64];
        assert_eq!(right.read(&mut buffer).await?, 10);
        assert_eq!(right.read(&mut buffer).await?, 0);
        assert_eq!(right.read(&mut buffer).await?, 0, "and stays");
        Ok(())
    });
}

#[test]
fn a_reset_is_an_error_for_who_waits() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let reader = ropewalk::spawn(async move { right.read(&mut [0; 8]).await });
        ropewalk::yield_now().await;
        left.set_linger(Some(Duration::ZERO))?;
        drop(left);
        assert_eq!(reader.await.unwrap().unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        Ok(())
    });
}

#[test]
fn reading_and_writing_after_shutdown() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        left.shutdown(Shutdown::Both)?;
        assert_eq!(left.read(&mut [0; 8]).await?, 0);
        assert_eq!(left.write(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(right.read(&mut [0; 8]).await?, 0);
        Ok(())
    });
}

#[test]
fn shutdown_ends_a_read_of_one_s_own_that_waits() {
    everywhere(|| async {
        let (left, _right) = pair().await?;
        let left = Arc::new(left);
        let there = left.clone();
        let reader = ropewalk::spawn(async move { there.read(&mut [0; 8]).await });
        ropewalk::yield_now().await;
        left.shutdown(Shutdown::Both)?;
        assert_eq!(reader.await.unwrap()?, 0);
        Ok(())
    });
}

#[test]
fn halves_are_two_and_can_be_put_together() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let (read, write) = left.into_split();
        let (other_read, other_write) = right.into_split();
        let error = read.reunite(other_write).unwrap_err();
        assert!(error.to_string().contains("two streams"));
        let (read, other_write) = (error.0, error.1);
        let left = read.reunite(write).expect("of one stream");
        let right = other_write.reunite(other_read).expect("of one stream");
        let (read, write) = left.into_split();
        drop(write); // ends writing
        assert_eq!(right.read(&mut [0; 8]).await?, 0);
        right.write_all(b"still").await?;
        assert_eq!(read.read(&mut [0; 8]).await?, 5);
        Ok(())
    });
}

/// The traits have one place per direction. Who left its waker there hears of the end.
#[test]
fn dropping_a_stream_wakes_who_polled_it() {
    everywhere(|| async {
        let (left, _right) = pair().await?;
        let (read, write) = left.into_split();
        let mut read = Some(read);
        drop(write);
        let woken = Arc::new(ropewalk::sync::Notify::new());
        struct Ring(Arc<ropewalk::sync::Notify>);
        impl std::task::Wake for Ring {
            fn wake(self: Arc<Self>) {
                self.0.notify_one();
            }
        }
        let waker = std::task::Waker::from(Arc::new(Ring(woken.clone())));
        let mut cx = std::task::Context::from_waker(&waker);
        let polled = Pin::new(read.as_mut().unwrap()).poll_read(&mut cx, &mut [0; 8]);
        assert!(polled.is_pending());
        drop(read.take());
        woken.notified().await;
        Ok(())
    });
}

#[test]
fn the_traits_of_futures_io() {
    everywhere(|| async {
        let (mut left, right) = pair().await?;
        let sent = poll_fn(|cx| Pin::new(&mut left).poll_write(cx, b"hello")).await?;
        assert_eq!(sent, 5);
        poll_fn(|cx| Pin::new(&mut left).poll_flush(cx)).await?;
        let mut buffer = [0; 8];
        assert_eq!(poll_fn(|cx| Pin::new(&mut &right).poll_read(cx, &mut buffer)).await?, 5);
        poll_fn(|cx| Pin::new(&mut left).poll_close(cx)).await?;
        assert_eq!(poll_fn(|cx| Pin::new(&mut &right).poll_read(cx, &mut buffer)).await?, 0);
        drop(right);
        poll_fn(|cx| Pin::new(&mut left).poll_close(cx)).await
    });
}

/// A socket outlives its runtime: who waits for it elsewhere gets an error, and so does who comes later.
#[test]
fn the_end_of_the_runtime_is_an_error_for_who_waits() {
    linked(|| {
        for (name, runtime) in runtimes() {
            let (left, right) = runtime.block_on(pair()).unwrap();
            let waiter = std::thread::spawn(move || {
                let waited = right.read(&mut [0; 8]).wait();
                (right, waited)
            });
            std::thread::sleep(Duration::from_millis(5)); // either way it is an error
            drop(runtime);
            let (right, waited) = waiter.join().unwrap();
            let error = waited.unwrap_err();
            assert!(error.to_string().contains("shut down"), "on {name}: {error}");
            assert!(right.write(b"x").wait().is_err());
            drop((left, right));
        }
    });
}

#[test]
fn a_socket_serves_tasks_of_another_runtime_and_threads() {
    linked(|| {
        let (one, other) = (builder(1).build().unwrap(), builder(1).build().unwrap());
        let (left, right) = one.block_on(pair()).unwrap();
        let echo = other.spawn(async move {
            let mut buffer = [0; 8];
            let count = right.read(&mut buffer).await?;
            right.write_all(&buffer[..count]).await
        });
        left.write_all(b"ping").wait().unwrap();
        assert_eq!(left.read(&mut [0; 8]).wait().unwrap(), 4);
        other.block_on(echo).unwrap().unwrap();
    });
}

#[test]
fn to_std_and_back() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let plain = std::net::TcpStream::from(left);
        plain.set_nonblocking(false)?;
        io::Write::write_all(&mut &plain, b"std")?;
        assert_eq!(right.read(&mut [0; 8]).await?, 3);
        let left = TcpStream::try_from(plain)?;
        right.write_all(b"back").await?;
        assert_eq!(left.read(&mut [0; 8]).await?, 4);
        let listener = there(async { std::net::TcpListener::bind((THERE, 0)) }).await?;
        let listener = TcpListener::from_std(listener)?;
        let _client = TcpStream::connect(listener.local_addr()?).await?;
        listener.accept().await?;
        let (a, b) = std::os::unix::net::UnixStream::pair()?;
        let (a, b) = (UnixStream::from_std(a)?, UnixStream::from_std(b)?);
        a.write_all(b"x").await?;
        b.into_std().set_nonblocking(false)?;
        Ok(())
    });
}
