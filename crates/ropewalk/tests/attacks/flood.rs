//! Floods of datagrams: more come than anybody takes. What lives beside the flood goes on; what was sent was received, or the
//! kernel says that it was dropped; closing a socket in the middle wakes all who wait there.

use crate::child::{Kind, child_of, in_children, seconds, share, stage};
use ropewalk::net::UdpSocket;
use ropewalk::time::{sleep, timeout};
use ropewalk::{TaskHandle, spawn, yield_now};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

const TEST: &str = "flood::of_datagrams";
const SENDERS: usize = 4;
const RECEIVERS: usize = 3;

#[test]
fn of_datagrams() {
    let kinds = Kind::all();
    let span = share(kinds.len() * 2, Duration::from_millis(60));
    let attack = |kind: &Kind| {
        println!("attack: counted: {}", kind.build().block_on(counted(span)));
        stage("closing in the middle");
        let mut closed = 0;
        let runtime = kind.build();
        let until = std::time::Instant::now() + span;
        while closed == 0 || std::time::Instant::now() < until {
            runtime.block_on(closed_in_the_middle());
            closed += 1;
            stage(format_args!("closing in the middle, after {closed} times"));
        }
        runtime_goes_first(kind);
        println!("attack: closed in the middle {closed} times");
    };
    in_children(TEST, &kinds, 1, attack, |kind| child_of(TEST, kind));
}

/// What goes on beside the flood, and the order to end.
#[derive(Default)]
struct Flood {
    stop: AtomicBool,
    sent: AtomicU64,
    refused: AtomicU64,
    received: AtomicU64,
    ticks: AtomicU64,
}

impl Flood {
    fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    /// As fast as can be; others have their turn.
    async fn pour(self: Arc<Self>, to: Vec<SocketAddr>) {
        let socket = mailbox().await;
        let datagram = [7; 300];
        while self.goes_on() {
            for address in &to {
                match socket.send_to(&datagram, *address).await {
                    Ok(_) => self.sent.fetch_add(1, Relaxed),
                    Err(_) => self.refused.fetch_add(1, Relaxed),
                };
            }
        }
    }

    /// Slower than the flood; at the end, all that is left.
    async fn drink(self: Arc<Self>, socket: UdpSocket) -> UdpSocket {
        let mut buffer = [0; 512];
        loop {
            let limit = Duration::from_millis(if self.goes_on() { 5 } else { 50 });
            match timeout(limit, socket.recv_from(&mut buffer)).await {
                Ok(received) => {
                    let (count, _) = received.unwrap();
                    assert_eq!((count, buffer[0], buffer[count - 1]), (300, 7, 7), "it is whole");
                    self.received.fetch_add(1, Relaxed);
                }
                Err(_) if self.goes_on() => {}
                Err(_) => return socket,
            }
            if self.goes_on() {
                sleep(Duration::from_micros(100)).await;
            }
        }
    }

    async fn tick(self: Arc<Self>) {
        while self.goes_on() {
            sleep(Duration::from_millis(1)).await;
            self.ticks.fetch_add(1, Relaxed);
        }
    }
}

async fn mailbox() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap()
}

/// A flood from its beginning to its end, and its account.
async fn counted(span: Duration) -> String {
    stage("the flood");
    let (flood, lost_on_the_way) = (Arc::new(Flood::default()), lost_on_the_way());
    let mut mailboxes = Vec::new();
    for _ in 0..RECEIVERS {
        mailboxes.push(mailbox().await);
    }
    let to: Vec<_> = mailboxes.iter().map(|mailbox| mailbox.local_addr().unwrap()).collect();
    let drinking: Vec<_> = mailboxes.into_iter().map(|mailbox| spawn(flood.clone().drink(mailbox))).collect();
    let ticker = spawn(flood.clone().tick());
    let pouring: Vec<_> = (0..SENDERS).map(|_| spawn(flood.clone().pour(to.clone()))).collect();
    go_on_for(span, &flood).await;
    flood.stop.store(true, SeqCst);
    for task in pouring.into_iter().chain([ticker]) {
        task.await.unwrap();
    }
    stage("what is left of the flood");
    let mut dropped = 0;
    for task in drinking {
        let mailbox = task.await.unwrap();
        dropped += dropped_at(mailbox.local_addr().unwrap());
    }
    let [sent, refused, received, ticks] =
        [&flood.sent, &flood.refused, &flood.received, &flood.ticks].map(|count| count.load(SeqCst));
    let lost = lost_on_the_way_since(lost_on_the_way);
    let known = received + dropped..=received + dropped + lost;
    assert!(
        known.contains(&sent),
        "{sent} were sent, {received} received, {dropped} dropped, {lost} lost on the way"
    );
    assert!(received > 0 && ticks > 0, "{received} received, {ticks} ticks");
    format!(
        "{sent} sent ({refused} refused), {received} received, {dropped} dropped; {ticks} ticks beside it"
    )
}

/// In parts: a flood that keeps everybody else away is seen as one.
async fn go_on_for(span: Duration, flood: &Flood) {
    let from = std::time::Instant::now();
    while from.elapsed() < span {
        sleep(Duration::from_millis(20)).await;
        stage(format_args!("the flood, after {} ticks", flood.ticks.load(Relaxed)));
    }
}

/// How many datagrams the kernel has dropped at the socket of this address, since there was no room.
fn dropped_at(address: SocketAddr) -> u64 {
    let sockets = std::fs::read_to_string("/proc/net/udp").unwrap();
    let port = format!(":{:04X}", address.port());
    let mut rows = sockets.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row[1].ends_with(&port)).expect("the socket is open");
    row.last().unwrap().parse().unwrap()
}

/// How many packets of all kinds this machine has dropped before it looked for their socket.
fn lost_on_the_way() -> u64 {
    let Ok(processors) = std::fs::read_to_string("/proc/net/softnet_stat") else { return 0 };
    let dropped = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    processors.lines().filter_map(dropped).sum()
}

fn lost_on_the_way_since(before: u64) -> u64 {
    lost_on_the_way() - before
}

/// Receivers that wait for ever, and those that wait to be ready, are gone when their tasks are cancelled in the flood.
async fn closed_in_the_middle() {
    let flood = Arc::new(Flood::default());
    let (open, closing) = (Arc::new(mailbox().await), Arc::new(mailbox().await));
    let to = vec![open.local_addr().unwrap(), closing.local_addr().unwrap()];
    let pouring: Vec<_> = (0..SENDERS).map(|_| spawn(flood.clone().pour(to.clone()))).collect();
    let [one, other] = [&open, &closing].map(|mailbox| [drain(&flood, mailbox), drain(&flood, mailbox)]);
    drop((open, closing));
    while flood.received.load(Relaxed) < 20 {
        yield_now().await;
    }
    for task in other {
        task.cancel();
        let _cancelled_or_done = task.await;
    }
    // Nobody is there any more: a socket that is connected to it is told.
    told_that_nobody_listens(to[1]).await;
    flood.stop.store(true, SeqCst);
    for task in pouring {
        task.await.unwrap();
    }
    for task in one {
        task.cancel();
        let _cancelled_or_done = task.await;
    }
}

fn drain(flood: &Arc<Flood>, mailbox: &Arc<UdpSocket>) -> TaskHandle<io::Result<()>> {
    let (flood, mailbox) = (flood.clone(), mailbox.clone());
    spawn(async move {
        let mut buffer = [0; 512];
        loop {
            mailbox.recv(&mut buffer).await?;
            flood.received.fetch_add(1, Relaxed);
        }
    })
}

/// A driver that looked at the closed socket just then lets go of it a moment later: what comes until then is lost.
async fn told_that_nobody_listens(address: SocketAddr) {
    let socket = mailbox().await;
    socket.connect(address).await.unwrap();
    loop {
        // An earlier one may have been answered already.
        let told = match socket.send(b"anybody?").await {
            Ok(_) => {
                timeout(Duration::from_millis(20), socket.recv(&mut [0; 8])).await.map(|got| got.map(drop))
            }
            Err(error) => Ok(Err(error)),
        };
        if let Ok(told) = told {
            let error = told.unwrap_err();
            return assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
        }
    }
}

/// The runtime ends in the middle of it, from outside: nobody is left waiting, and nothing hangs.
fn runtime_goes_first(kind: &Kind) {
    for _ in 0..if seconds().is_some() { 20 } else { 1 } {
        stage("the runtime ends in the middle of a flood");
        let runtime = kind.build();
        let flood = Arc::new(Flood::default());
        let receiving = runtime.block_on(async {
            let mailbox = Arc::new(mailbox().await);
            let to = vec![mailbox.local_addr().unwrap()];
            (0..SENDERS).for_each(|_| drop(spawn(flood.clone().pour(to.clone()))));
            let receiving = [drain(&flood, &mailbox), drain(&flood, &mailbox)];
            while flood.received.load(Relaxed) < 20 {
                yield_now().await;
            }
            receiving
        });
        drop(runtime);
        assert!(receiving.iter().all(TaskHandle::is_finished), "dropped with their sockets");
        assert_eq!(Arc::strong_count(&flood), 1, "nobody is left");
    }
}
