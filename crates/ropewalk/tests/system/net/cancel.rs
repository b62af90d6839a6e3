//! Every operation is dropped at every one of its polls, and nothing is lost.

use super::kit::{LOTS, everywhere, listen, mailboxes, pair};
use super::link::LOSES;
use ropewalk::driver::Interest;
use ropewalk::net::{TcpStream, lookup_host};
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Polls `future` until it is done, but at most `polls` times; between two of them it waits to be woken, or for `pause`, so that a
/// future that would never be woken again is dropped all the same.
pub async fn at_most<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let mut pause = pin!(ropewalk::time::sleep(Duration::from_micros(200)));
        let mut polled = false;
        let done = poll_fn(|cx| {
            if !std::mem::replace(&mut polled, true)
                && let Poll::Ready(output) = future.as_mut().poll(cx)
            {
                return Poll::Ready(Some(output));
            }
            pause.as_mut().poll(cx).map(|()| None)
        });
        if let Some(output) = done.await {
            return Some(output);
        }
    }
    None
}

pub const ROUNDS: usize = 60;

#[test]
fn reading() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let writer = ropewalk::spawn(async move {
            for byte in 0..ROUNDS as u8 {
                left.write_all(&[byte]).await?;
                ropewalk::time::sleep(Duration::from_micros(100)).await;
            }
            Ok::<_, io::Error>(left)
        });
        let (mut got, mut polls) = (Vec::new(), 0);
        while got.len() < ROUNDS {
            let mut buffer = [0; 4];
            if let Some(count) = at_most(polls % 4, right.read(&mut buffer)).await {
                got.extend_from_slice(&buffer[..count?]);
            }
            polls += 1;
        }
        assert!(got.iter().copied().eq(0..ROUNDS as u8), "{got:?}");
        writer.await.unwrap().map(drop)
    });
}

#[test]
fn writing() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let reader = ropewalk::spawn(async move {
            let (mut got, mut buffer) = (0, vec![0; 30_000]);
            loop {
                match right.read(&mut buffer).await? {
                    0 => return Ok::<_, io::Error>(got),
                    count => got += count,
                }
                ropewalk::time::sleep(Duration::from_micros(50)).await;
            }
        });
        let (mut sent, mut polls, chunk) = (0, 0, vec![1; 300_000]);
        while sent < 3 * LOTS {
            if let Some(count) = at_most(polls % 3, left.write(&chunk)).await {
                sent += count?;
            }
            polls += 1;
        }
        drop(left);
        assert_eq!(reader.await.unwrap()?, sent);
        Ok(())
    });
}

#[test]
fn accepting_and_connecting() {
    everywhere(|| async {
        let listener = listen().await?;
        let address = listener.local_addr()?;
        for polls in 0..8 {
            let _dropped_or_not = at_most(polls % 3, TcpStream::connect(address)).await;
        }
        let clients = ropewalk::spawn(async move {
            let mut all = Vec::new();
            for number in 0..20u8 {
                let client = TcpStream::connect(address).await?;
                client.write_all(&[number]).await?;
                all.push(client);
            }
            Ok::<_, io::Error>(all)
        });
        let (mut seen, mut polls) = ([false; 20], 0);
        while seen.contains(&false) {
            polls += 1;
            let Some(accepted) = at_most(polls % 3, listener.accept()).await else { continue };
            let mut byte = [0];
            if accepted?.0.read(&mut byte).await.is_ok_and(|count| count == 1) {
                seen[usize::from(byte[0])] = true; // the others were dropped by us
            }
        }
        clients.await.unwrap().map(drop)
    });
}

/// What did not come may have got lost on its way, so it is sent again after a while; where nothing gets lost all of it comes.
#[test]
fn datagrams_and_readiness() {
    everywhere(|| async {
        let (a, b) = mailboxes().await?;
        a.connect(b.local_addr()?).await?;
        let (mut sent, mut got, mut next, mut polls) = (0, 0, 0u8, 0);
        let mut buffer = [0; 8];
        while next < 30 {
            polls += 1;
            let _maybe = at_most(polls % 3, b.ready(Interest::READABLE)).await;
            if a.try_send(&[next]).is_err() {
                continue;
            }
            sent += 1;
            for _ in 0..60 {
                polls += 1;
                let Some(count) = at_most(polls % 3, b.recv(&mut buffer)).await else { continue };
                got += 1;
                assert_eq!(count?, 1);
                assert!(buffer[0] <= next, "{} came before it was sent", buffer[0]);
                if buffer[0] == next {
                    next += 1;
                    break;
                }
            }
        }
        while b.try_recv(&mut buffer).is_ok() {
            got += 1;
        }
        assert!(got == sent || LOSES && got < sent, "{got} of {sent} came");
        Ok(())
    });
}

/// Several buffers at once, and a look ahead, which takes nothing whether it ends or not.
#[test]
fn looking_ahead_and_several_buffers() {
    everywhere(|| async {
        let (left, right) = pair().await?;
        let total = 3 * LOTS;
        let writer = ropewalk::spawn(async move {
            let (mut sent, mut polls) = (0, 0);
            while sent < total {
                // What it is follows from where it is.
                let chunk: Vec<u8> = (sent..total.min(sent + 100_000)).map(|at| at as u8).collect();
                let (one, two) = chunk.split_at(chunk.len() / 3);
                polls += 1;
                let parts = [IoSlice::new(one), IoSlice::new(&[]), IoSlice::new(two)];
                if let Some(count) = at_most(polls % 3, left.write_vectored(&parts)).await {
                    sent += count?;
                }
            }
            Ok::<_, io::Error>(())
        });
        let (mut got, mut polls) = (0, 0);
        let (mut ahead, mut first, mut second) = ([0; 16], vec![0; 1000], vec![0; 60_000]);
        while got < total {
            polls += 1;
            if let Some(count) = at_most(polls % 3, right.peek(&mut ahead)).await {
                assert!(ahead[..count?].iter().zip(got..).all(|(byte, at)| *byte == at as u8));
            }
            let mut buffers = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
            if let Some(count) = at_most(polls % 2, right.read_vectored(&mut buffers)).await {
                let count = count?;
                let mut bytes = first.iter().chain(&second).take(count).zip(got..);
                assert!(bytes.all(|(byte, at)| *byte == at as u8), "at {got}");
                got += count;
            }
        }
        writer.await.unwrap()
    });
}

/// Datagrams by address, both ways; each that was said to be sent comes once, or got lost on the way.
#[test]
fn datagrams_by_address() {
    everywhere(|| async {
        let (a, b) = mailboxes().await?;
        let (from, to) = (a.local_addr()?, b.local_addr()?);
        let (mut buffer, mut polls, mut got, mut sent) = ([0; 8], 0, 0, 0);
        for number in 0..60u8 {
            polls += 1;
            let _looked = at_most(polls % 3, b.peek_from(&mut buffer)).await;
            let Some(count) = at_most(polls % 2, a.send_to(&[number], to)).await else { continue };
            assert_eq!(count?, 1);
            sent += 1;
            for _ in 0..if LOSES { 20 } else { 2_000 } {
                polls += 1;
                let Some(received) = at_most(polls % 3, b.recv_from(&mut buffer)).await else { continue };
                assert_eq!(received?, (1, from));
                got += 1;
                break;
            }
        }
        assert!(sent > 0 && (got == sent || LOSES && got <= sent), "{got} of {sent} came");
        Ok(())
    });
}

/// By name: what is looked up goes on in the blocking pool without whoever asked, and hurts nobody.
#[test]
fn names() {
    everywhere(|| async {
        let listener = listen().await?;
        let address = listener.local_addr()?;
        let acceptor = ropewalk::spawn(async move {
            loop {
                if listener.accept().await?.0.read(&mut [0]).await.is_ok_and(|count| count == 1) {
                    return Ok::<_, io::Error>(());
                }
            }
        });
        for polls in 0..12 {
            let _found_or_not = at_most(polls % 4, lookup_host(("localhost", 80))).await;
            let name = (address.ip().to_string(), address.port());
            let _connected_or_not = at_most(polls % 4, TcpStream::connect((&*name.0, name.1))).await;
        }
        assert!(!lookup_host(("localhost", 80)).await?.is_empty());
        let stream = TcpStream::connect((&*address.ip().to_string(), address.port())).await?;
        stream.write_all(b"x").await?;
        acceptor.await.unwrap()
    });
}
