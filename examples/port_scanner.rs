//! A port scanner, bounded in three ways: at most so many connections at a time (a semaphore), so long for each (a timeout),
//! and only this machine: it refuses every address that is not on the loopback interface.
//!
//!     cargo run -p ropewalk-examples --bin port_scanner -- 127.0.0.1 1 1024
//!
//! Without arguments it opens a few ports and finds them.

use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::sync::Semaphore;
use ropewalk::time::timeout;
use ropewalk::{TaskGroup, Wait};
use std::collections::BTreeSet;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// Connections at a time.
const AT_ONCE: usize = 100;
/// How long a port may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [] => show().wait(),
        [host, first, last] => {
            let open = scan(host.parse()?, first.parse()?..=last.parse()?).wait()?;
            open.iter().for_each(|port| println!("{port} is open"));
            Ok(())
        }
        _ => Err("usage: port_scanner [IP FIRST LAST]".into()),
    }
}

/// The ports of `ports` at which somebody listens.
async fn scan(host: IpAddr, ports: RangeInclusive<u16>) -> Result<BTreeSet<u16>, Box<dyn Error>> {
    if !host.is_loopback() {
        return Err(format!("{host} is not this machine; accepted: 127.0.0.0/8 and ::1").into());
    }
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut probes = TaskGroup::new();
    for port in ports {
        let turn = turns.clone().acquire_owned().await?; // no more tasks than turns
        probes.spawn(async move {
            let _turn = turn;
            let connected = timeout(PATIENCE, TcpStream::connect((host, port))).await;
            matches!(connected, Ok(Ok(_))).then_some(port)
        });
    }
    let found = probes.join_all().await.into_iter().map(|probe| probe.expect("no probe panics"));
    Ok(found.flatten().collect())
}

async fn show() -> Result<(), Box<dyn Error>> {
    let host = Ipv4Addr::LOCALHOST;
    let mut listeners = Vec::new();
    for _ in 0..3 {
        listeners.push(TcpListener::bind((host, 0)).await?);
    }
    let listening = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
    let open = listening.collect::<Result<BTreeSet<u16>, std::io::Error>>()?;
    let (first, last) = (*open.first().expect("three"), *open.last().expect("three"));
    let found = scan(host.into(), first.saturating_sub(200)..=last.saturating_add(200)).await?;
    assert!(open.is_subset(&found), "{found:?}");
    println!("all three that listen were found");

    let refused = scan(IpAddr::from([192, 0, 2, 1]), 1..=1024).await.expect_err("it is not this machine");
    println!("refused: {refused}");
    Ok(())
}
