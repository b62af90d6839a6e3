//! UDP. A datagram may get lost on its way: who waits in vain for an answer asks again.

use super::kit::{THERE, everywhere, mailboxes, there};
use ropewalk::net::UdpSocket;
use ropewalk::time::timeout;
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Sends so many bytes until as many come back; other ones are late answers.
async fn ask(socket: &UdpSocket, size: usize) -> io::Result<()> {
    let mut buffer = [0; 64];
    loop {
        assert_eq!(socket.send(&[size as u8; 64][..size]).await?, size);
        while let Ok(answer) = timeout(PATIENCE, socket.recv(&mut buffer)).await {
            let count = answer?;
            assert_eq!(buffer[..count], [count as u8; 64][..count]);
            if count == size {
                return Ok(());
            }
        }
    }
}

#[test]
fn datagrams_go_to_and_fro() {
    everywhere(|| async {
        let (a, b) = mailboxes().await?;
        let to = b.local_addr()?;
        assert_eq!(b.try_recv(&mut [0; 64]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let echo = ropewalk::spawn(async move {
            let mut buffer = [0; 64];
            loop {
                let (count, from) = b.recv_from(&mut buffer).await?;
                b.send_to(&buffer[..count], from).await?;
            }
            #[expect(unreachable_code, reason = "it says what `?` returns")]
            Ok::<(), io::Error>(())
        });
        a.connect(to).await?;
        for size in 1..=10 {
            ask(&a, size).await?;
        }
        assert_eq!(a.peer_addr()?, to);
        assert!(!echo.is_finished());
        echo.cancel();
        Ok(())
    });
}

/// A datagram to nobody comes back as an error of a later call, once: it is no endless readiness.
#[test]
fn a_datagram_to_nobody_is_an_error_once() {
    everywhere(|| async {
        // It hears itself only, and keeps others from getting its address.
        let (socket, deaf) = mailboxes().await?;
        let gone = deaf.local_addr()?;
        deaf.connect(gone).await?;
        socket.connect(gone).await?;
        let (mut sent, mut buffer) = (0, [0; 8]);
        let error = loop {
            sent += 1;
            if let Err(error) = socket.send(b"anybody?").await {
                break error;
            }
            if let Ok(answer) = timeout(PATIENCE, socket.recv(&mut buffer)).await {
                break answer.unwrap_err();
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        let mut errors = 1;
        while timeout(Duration::from_millis(5), socket.recv(&mut buffer)).await.is_ok() {
            errors += 1;
            assert!(errors <= sent, "{errors} errors for {sent} datagrams");
        }
        Ok(())
    });
}

/// More than the receiver has room for: what is dropped is dropped whole, and what comes is as it was sent, once.
#[test]
fn a_flood_of_datagrams_comes_whole_or_not_at_all() {
    everywhere(|| async {
        let (a, b) = mailboxes().await?;
        a.connect(b.local_addr()?).await?;
        let reader = ropewalk::spawn(async move {
            let (mut seen, mut buffer) = (BTreeSet::new(), [0; 1000]);
            loop {
                let count = b.recv(&mut buffer).await?;
                let number = u32::from_ne_bytes(buffer[..4].try_into().unwrap());
                if number == u32::MAX {
                    return Ok::<_, io::Error>(seen);
                }
                assert_eq!(count, 4 + number as usize % 900);
                assert!(buffer[4..count].iter().all(|byte| *byte == number as u8));
                assert!(seen.insert(number), "{number} came twice");
            }
        });
        for number in 0..500u32 {
            let mut datagram = number.to_ne_bytes().to_vec();
            datagram.resize(4 + number as usize % 900, number as u8);
            assert_eq!(a.send(&datagram).await?, datagram.len());
        }
        while !reader.is_finished() {
            let _nobody_reads_it_any_more = a.send(&u32::MAX.to_ne_bytes()).await;
            ropewalk::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(!reader.await.unwrap()?.is_empty(), "nothing came");
        Ok(())
    });
}

/// What comes to a socket that was connected elsewhere is not its own.
#[test]
fn a_stranger_is_not_heard() {
    everywhere(|| async {
        let (a, b) = mailboxes().await?;
        let stranger = there(UdpSocket::bind((THERE, 0))).await?;
        a.connect(b.local_addr()?).await?;
        let to = a.local_addr()?;
        let mut buffer = [0; 8];
        loop {
            stranger.send_to(b"psst", to).await?;
            b.send_to(b"hello", to).await?;
            if let Ok(count) = timeout(PATIENCE, a.recv(&mut buffer)).await {
                assert_eq!(&buffer[..count?], b"hello");
                return Ok(());
            }
        }
    });
}
