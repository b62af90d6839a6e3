//! The same for what is on this machine only: sockets with names in the file system, and files of one's own.

use super::cancel::{ROUNDS, at_most};
use super::kit::everywhere;
use super::unix::Place;
use ropewalk::driver::Interest;
use ropewalk::net::{AsyncFd, UnixDatagram, UnixListener, UnixStream};
use std::io::{self, Read, Write};
use std::time::Duration;

/// Sockets of this machine: connecting and accepting, and datagrams to a receiver that is mostly full.
#[test]
fn unix_sockets() {
    everywhere(|| async {
        let place = Place::new();
        let listener = UnixListener::bind(&place.0)?;
        let clients = {
            let path = place.0.clone();
            ropewalk::spawn(async move {
                let (mut all, mut polls) = (Vec::new(), 0);
                while all.len() < 20 {
                    polls += 1;
                    let Some(client) = at_most(polls % 3, UnixStream::connect(&path)).await else { continue };
                    let client = client?;
                    client.write_all(&[all.len() as u8]).await?;
                    all.push(client);
                }
                Ok::<_, io::Error>(all)
            })
        };
        let (mut seen, mut polls, mut kept) = ([false; 20], 0, Vec::new());
        while seen.contains(&false) {
            polls += 1;
            let Some(accepted) = at_most(polls % 3, listener.accept()).await else { continue };
            let (server, mut byte) = (accepted?.0, [0]);
            if server.read(&mut byte).await? == 1 {
                seen[usize::from(byte[0])] = true; // the others were dropped by us
                kept.push(server);
            }
        }
        drop(clients.await.unwrap()?);

        let (left, right) = UnixDatagram::pair()?;
        let sender = ropewalk::spawn(async move {
            let (mut next, mut polls) = (0u16, 0);
            while next < 2_000 {
                polls += 1;
                if let Some(sent) = at_most(polls % 3, left.send(&next.to_le_bytes())).await {
                    assert_eq!(sent?, 2);
                    next += 1;
                }
            }
            Ok::<_, io::Error>(())
        });
        let (mut expected, mut polls, mut bytes) = (0u16, 0, [0; 2]);
        while expected < 2_000 {
            polls += 1;
            if let Some(count) = at_most(polls % 3, right.recv(&mut bytes)).await {
                assert_eq!((count?, u16::from_le_bytes(bytes)), (2, expected));
                expected += 1;
            }
        }
        sender.await.unwrap()
    });
}

/// A file of one's own, that is watched.
#[test]
fn what_is_watched() {
    everywhere(|| async {
        let (reader, mut writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        let reader = AsyncFd::with_interest(reader, Interest::READABLE)?;
        let writes = ropewalk::spawn(async move {
            for byte in 0..ROUNDS as u8 {
                writer.write_all(&[byte])?; // there is room for all of them
                ropewalk::time::sleep(Duration::from_micros(100)).await;
            }
            Ok::<_, io::Error>(writer)
        });
        let (mut got, mut polls) = (Vec::new(), 0);
        while got.len() < ROUNDS {
            polls += 1;
            let _ready_or_not = at_most(polls % 2, reader.ready(Interest::READABLE)).await;
            let mut buffer = [0; 4];
            let read = at_most(
                polls % 3,
                reader.async_io(Interest::READABLE, |mut file| {
                    let count = file.read(&mut buffer)?;
                    Ok(buffer[..count].to_vec())
                }),
            );
            if let Some(bytes) = read.await {
                got.extend(bytes?);
            }
        }
        assert!(got.iter().copied().eq(0..ROUNDS as u8), "{got:?}");
        writes.await.unwrap().map(drop)
    });
}
