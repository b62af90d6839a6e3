//! matmul_echo: what threads that compute do to an echo server in the same process. A client on a thread of its own sends
//! 64 bytes, waits until they are back, and pauses for a millisecond. In turns it is undisturbed, and beside a matrix product
//! that is computed again and again on two threads. The value is the p99 of the round trip beside it, as a multiple of the
//! undisturbed one. Ropewalk's computing threads stand back for others, because its `thread::Builder` can ask for that; the
//! standard library's cannot.

use super::{Product, limit, ropewalk};
use crate::latency::{Latencies, since, stamp};
use crate::meter::{Sample, Speed};
use crate::peers::{self, Peer};
use crate::tcp_echo;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

const WORKERS: usize = 2;
/// Computing threads: as many as the machine has cores.
const THREADS: usize = 2;
const TURNS: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);

pub fn run(peer: Peer, speed: Speed) -> Option<Sample> {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback is there");
    let address = server.local_addr().expect("it is bound");
    server.set_nonblocking(true).expect("it is a socket");
    // It serves until the process ends.
    thread::spawn(move || serve(peer, server));
    let multiply = if peer == Peer::Ropewalk { ropewalk::multiply_standing_back } else { limit::multiply };
    let (messages, size) = speed.pick((500, 320), (30, 64));
    Some(compare(address, messages, &mut Product::new(size), multiply).expect("the server answers"))
}

fn serve(peer: Peer, server: TcpListener) -> io::Result<()> {
    match peer {
        Peer::Ropewalk => tcp_echo::ropewalk::serve(&peers::ropewalk(WORKERS), server),
        Peer::TokioMt => tcp_echo::tokio::serve(&peers::tokio_mt_io(WORKERS), server),
        Peer::TokioCt => tcp_echo::tokio::serve(&peers::tokio_ct_io(), server),
        Peer::Smol => tcp_echo::smol::serve(peers::smol_io(WORKERS), server),
        _ => tcp_echo::limit::serve(&server),
    }
}

fn compare(
    server: SocketAddr,
    messages: usize,
    product: &mut Product,
    multiply: fn(&mut Product, usize),
) -> io::Result<Sample> {
    let mut client = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    ask(&mut client, messages / 10, &mut Latencies::start(0))?; // warm
    let (mut alone, mut beside) = (Latencies::start(TURNS * messages), Latencies::start(TURNS * messages));
    for _ in 0..TURNS {
        ask(&mut client, messages, &mut alone)?;
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    multiply(product, THREADS);
                }
            });
            let asked = ask(&mut client, messages, &mut beside);
            stop.store(true, Relaxed);
            asked
        })?;
    }
    let (alone, mut sample) = (alone.finish("us", 1e3), beside.finish("us", 1e3));
    sample.extra.extend([
        ("alone_p50".to_owned(), alone.value),
        ("alone_p99".to_owned(), alone.extra["p99"]),
        ("beside_p50".to_owned(), sample.value),
    ]);
    sample.cpu_ns_per_op = None; // that of the product
    sample.value = sample.extra["p99"] / alone.extra["p99"];
    sample.unit = "x".into();
    Ok(sample)
}

fn ask(client: &mut TcpStream, messages: usize, latencies: &mut Latencies) -> io::Result<()> {
    let mut buffer = [7; 64];
    for _ in 0..messages {
        thread::sleep(PAUSE);
        let sent = stamp();
        client.write_all(&buffer)?;
        client.read_exact(&mut buffer)?;
        latencies.note(since(sent));
    }
    Ok(())
}
