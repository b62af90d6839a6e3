//! More than fits: backpressure both ways, a peer that stops reading, many connections that come and go.

use super::kit::{LOTS, MANY, everywhere, listen, pair};
use ropewalk::driver::Interest;
use ropewalk::net::TcpStream;
use ropewalk::time::timeout;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, IoSliceMut};
use std::task::Poll;
use std::time::Duration;

/// What is sent: it does not repeat at any power of two.
pub fn lots() -> Vec<u8> {
    let mut lots = Vec::from_iter(0..251u8).repeat(LOTS / 251 + 1);
    lots.truncate(LOTS);
    lots
}

pub async fn write_lots(stream: &TcpStream) -> io::Result<()> {
    stream.write_all(&lots()).await
}

pub async fn read_lots(stream: &TcpStream) -> io::Result<()> {
    let (mut got, mut all) = (0, vec![0; LOTS]);
    while got < LOTS {
        let end = LOTS.min(got + 10_000);
        let count = stream.read(&mut all[got..end]).await?;
        assert!(count > 0, "it ended after {got} bytes");
        got += count;
    }
    assert!(all == lots(), "something else arrived");
    Ok(())
}

#[test]
fn both_directions_at_once_with_more_than_the_buffers_hold() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let right = ropewalk::spawn(async move {
            let both = ropewalk::join!(write_lots(&right), read_lots(&right));
            both.0.and(both.1)
        });
        let both = ropewalk::join!(write_lots(&left), read_lots(&left));
        both.0.and(both.1)?;
        right.await.unwrap()
    });
}

#[test]
fn a_writer_waits_for_a_peer_that_stopped_reading_and_goes_on_when_it_reads() {
    everywhere(|| async {
        let (writer, reader) = pair().await?;
        let mut stuffed = 0;
        // The system may find more room a moment after it said that there is none: it grows its buffers while it moves bytes.
        while let Ok(count) = timeout(Duration::from_millis(20), writer.write(&[7; 65_536])).await {
            stuffed += count?;
            assert!(stuffed < 1 << 30, "there is always room");
        }
        let more = ropewalk::spawn(async move {
            writer.writable().await?;
            writer.write_all(&[8; 1000]).await
        });
        let (mut got, mut buffer) = (0, vec![0; 65_536]);
        while got < stuffed + 1000 {
            got += reader.read(&mut buffer).await?;
        }
        assert_eq!(got, stuffed + 1000);
        more.await.unwrap()
    });
}

#[test]
fn several_buffers_at_once() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let sent =
            left.write_vectored(&[IoSlice::new(b"one"), IoSlice::new(b""), IoSlice::new(b"three")]).await?;
        assert_eq!(sent, 8);
        right.readable().await?;
        let (mut first, mut second) = ([0; 5], [0; 10]);
        let mut buffers = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        let mut got = right.read_vectored(&mut buffers).await?;
        while got < 8 {
            got += right.read(&mut second[got - 5..]).await?;
        }
        assert_eq!((&first, &second[..3]), (b"oneth", &b"ree"[..]));
        assert_eq!(right.read(&mut []).await?, 0, "an empty buffer does not wait");
        Ok(())
    });
}

/// Nothing to write needs no room.
#[test]
fn nothing_is_written_without_waiting() {
    everywhere(|| async {
        let (left, _right) = pair().await?;
        loop {
            match left.try_write(&[0; 65_536]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                written => drop(written?),
            }
        }
        assert_eq!(left.write(&[]).await?, 0);
        left.write_all(&[]).await?;
        assert_eq!(left.write_vectored(&[]).await?, 0);
        Ok(())
    });
}

#[test]
fn thousands_come_and_go_while_others_wait() {
    everywhere(|| async {
        let listener = listen().await?;
        let address = listener.local_addr()?;
        let waiting: Vec<_> = {
            let mut all = Vec::new();
            for _ in 0..20 {
                let client = TcpStream::connect(address).await?;
                let (server, _) = listener.accept().await?;
                all.push((client, ropewalk::spawn(async move { server.read(&mut [0; 8]).await })));
            }
            all
        };
        let server = ropewalk::spawn(async move {
            for _ in 0..MANY {
                let (stream, _) = listener.accept().await?;
                stream.set_linger(Some(Duration::ZERO))?; // no port is kept waiting
                stream.write_all(b"x").await?;
                assert_eq!(stream.read(&mut [0; 8]).await.unwrap_or(0), 0);
            }
            Ok::<_, io::Error>(())
        });
        for _ in 0..MANY {
            let stream = TcpStream::connect(address).await?;
            assert_eq!(stream.read(&mut [0; 8]).await?, 1);
        }
        server.await.unwrap()?;
        for (client, reader) in waiting {
            client.write_all(b"still").await?;
            assert_eq!(reader.await.unwrap()?, 5);
        }
        Ok(())
    });
}

#[test]
fn many_wait_for_one_socket_and_all_are_told() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let right = std::sync::Arc::new(right);
        let mut waiting = Vec::new();
        while waiting.len() < 10 {
            // It counts as ready until somebody has tried, and nothing happened to the socket meanwhile.
            assert_eq!(right.try_read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
            let right = right.clone();
            let mut waiter = Box::pin(async move { right.ready(Interest::READABLE).await });
            if poll_fn(|cx| Poll::Ready(waiter.as_mut().poll(cx).is_pending())).await {
                waiting.push(ropewalk::spawn(waiter));
            }
        }
        left.write_all(b"x").await?;
        for waiter in waiting {
            assert!(waiter.await.unwrap()?.is_readable());
        }
        assert_eq!(right.try_read(&mut [0; 8])?, 1);
        Ok(())
    });
}
