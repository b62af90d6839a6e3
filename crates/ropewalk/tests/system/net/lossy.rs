//! What only a link between two places has: that it is one, and addresses that answer late or not at all.

use super::kit::{builder, everywhere, linked, listen, pair, runtimes, there};
use super::link::{DEAF6, LATE, THERE6, counts, deaf};
use super::pressure::{read_lots, write_lots};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::time::{sleep, timeout};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

#[test]
fn packets_get_lost_and_wait_both_ways() {
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
    linked(|| {
        for count in counts() {
            assert!(count.arrived > 600 && count.lost > 0, "nothing gets lost: {count:?}");
            assert!(count.held > 0, "there is no limit: {count:?}");
        }
    });
}

/// The same address, once of this place and once of the other.
#[test]
fn each_place_has_a_loopback_of_its_own() {
    everywhere(|| async {
        let listener = there(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).await?;
        let address = listener.local_addr()?;
        let same = TcpListener::bind(address).await?;
        let _stream = TcpStream::connect(address).await?;
        same.accept().await?;
        let _stream = there(TcpStream::connect(address)).await?;
        listener.accept().await?;
        Ok(())
    });
}

#[test]
fn a_connection_is_made_although_its_first_packet_gets_lost() {
    linked(|| {
        let before = counts()[1].late;
        everywhere(|| async {
            let listener = there(TcpListener::bind((LATE, 0))).await?;
            let client = TcpStream::connect(listener.local_addr()?).await?;
            let (server, from) = listener.accept().await?;
            assert_eq!(from, client.local_addr()?);
            client.write_all(b"hello").await?;
            assert_eq!(server.read(&mut [0; 8]).await?, 5);
            Ok(())
        });
        assert_eq!(counts()[1].late - before, runtimes().len() as u64, "one for each of them");
    });
}

/// IPv6 comes first. It wins if it answers; if it does not, IPv4 is not kept waiting.
#[test]
fn the_other_family_is_tried_when_the_first_does_not_answer() {
    linked(|| {
        let runtime = builder(0).build().unwrap();
        let is_there = runtime.block_on(async {
            let listener = there(TcpListener::bind((THERE6, 0))).await?;
            // It may take the system a moment to find the way.
            while TcpStream::connect(listener.local_addr()?).await.is_err() {
                sleep(Duration::from_millis(5)).await;
            }
            Ok::<_, io::Error>(())
        });
        if let Err(error) = is_there {
            return eprintln!("skipped: two families of addresses: {error}");
        }
        everywhere(|| async {
            let (one, other) = (listen().await?, there(TcpListener::bind((THERE6, 0))).await?);
            let (four, six) = (one.local_addr()?, other.local_addr()?);
            let connect =
                async |addresses: [SocketAddr; 2]| TcpStream::connect(&addresses[..]).await?.peer_addr();
            assert_eq!(connect([four, six]).await?, four);
            assert_eq!(connect([six, four]).await?, six);
            assert_eq!(connect([SocketAddr::new(DEAF6, 7), four]).await?, four);
            Ok(())
        });
    });
}

#[test]
fn nobody_answers_and_giving_up_leaves_nothing_behind() {
    linked(|| {
        let before = counts()[1].unheard;
        everywhere(|| async {
            let registered = || ropewalk::Handle::current().metrics().io.registered;
            let (((), one), ((), other)) = (deaf()?, deaf()?);
            let none = timeout(Duration::from_millis(300), TcpStream::connect(&[one, other][..])).await;
            assert!(none.is_err(), "{none:?}");
            assert_eq!(registered(), 0);
            Ok(())
        });
        assert!(counts()[1].unheard >= before + runtimes().len() as u64, "all were asked");
    });
}
