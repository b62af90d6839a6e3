//! Connecting to a host that has several addresses: RFC 8305, "Happy Eyeballs".
//!
//! Addresses are tried in turn, the two families alternating and the resolver's favourite first. A new attempt begins when
//! [`STAGGER`] is over or all before it have failed; the first that connects wins, and the others are dropped.

use super::super::Named;
use super::{TcpSocket, TcpStream};
use crate::time::sleep;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long an attempt has the field to itself.
pub(super) const STAGGER: Duration = Duration::from_millis(250);

type Attempt = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

pub(super) async fn connect(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    match addresses[..] {
        [] => Err(io::Error::new(io::ErrorKind::AddrNotAvailable, "the host has no address to connect to")),
        [only] => TcpSocket::of(only)?.connect(only).await,
        _ => race(in_turn(addresses)).await,
    }
}

async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut failed = Vec::new();
    for address in addresses {
        attempts.push(Box::pin(async move { TcpSocket::of(address)?.connect(address).await }));
        let mut delay = Box::pin(sleep(STAGGER));
        let won = poll_fn(|cx| {
            if let Some(winner) = poll_all(&mut attempts, &mut failed, cx) {
                return Poll::Ready(Some(winner));
            }
            if attempts.is_empty() { Poll::Ready(None) } else { delay.as_mut().poll(cx).map(|()| None) }
        });
        if let Some(winner) = won.await {
            return Ok(winner);
        }
    }
    let rest = poll_fn(|cx| match poll_all(&mut attempts, &mut failed, cx) {
        None if !attempts.is_empty() => Poll::Pending,
        winner => Poll::Ready(winner),
    });
    rest.await.ok_or_else(|| all_failed(failed))
}

/// The first that is connected; those that failed are taken out.
fn poll_all(
    attempts: &mut Vec<Attempt>,
    failed: &mut Vec<io::Error>,
    cx: &mut Context<'_>,
) -> Option<TcpStream> {
    let mut at = 0;
    while let Some(attempt) = attempts.get_mut(at) {
        match attempt.as_mut().poll(cx) {
            Poll::Pending => at += 1,
            Poll::Ready(Ok(stream)) => return Some(stream),
            Poll::Ready(Err(error)) => {
                failed.push(error);
                drop(attempts.remove(at));
            }
        }
    }
    None
}

/// All that went wrong, with the kind and the source of the first.
fn all_failed(failed: Vec<io::Error>) -> io::Error {
    let text = failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let first = failed.into_iter().next();
    Named { text, error: first.unwrap_or_else(|| io::ErrorKind::Other.into()) }.into()
}

/// The families in turn, each in the resolver's order, beginning with that of its favourite.
fn in_turn(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut all = Vec::new();
    loop {
        let (one, other) = (first.next(), second.next());
        if one.is_none() && other.is_none() {
            return all;
        }
        all.extend(one.into_iter().chain(other));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns_and_keep_their_order() {
        let given = ["[::1]:1", "[::2]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"];
        let expected = ["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"];
        let parse = |list: [&str; 5]| list.map(|text| text.parse::<SocketAddr>().unwrap()).to_vec();
        assert_eq!(in_turn(parse(given)), parse(expected));
    }
}
