//! Stop: an echo server and a few hundred clients, over real sockets.

use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::heap::{CountAllocations, Heap};
use crate::show::grouped;
use ropewalk::io::{AsyncReadExt, AsyncWriteExt};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::sync::Barrier;
use ropewalk::{TaskGroup, TaskHandle};
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Trouble = Box<dyn Error + Send + Sync>;

/// Bytes in a request, and in its answer.
const REQUEST: usize = 64;

pub(crate) struct Sockets;

impl Stop for Sockets {
    fn name(&self) -> &'static str {
        "sockets"
    }

    fn title(&self) -> &'static str {
        "Real sockets"
    }

    fn about(&self) -> &'static str {
        "An echo server and its clients, over TCP in this process: all connect, and\n\
         then all ask at once, again and again. One worker waits for all of them."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Trouble> {
        let (clients, requests) = (guide.amount(400, 50), guide.amount(250, 20));
        let runtime = super::builder().build()?;
        let found = runtime.block_on(visit(guide, clients, requests))?;

        let total = clients * requests;
        let columns = [
            Column::noted("connections", "connections", "each with a task at both ends"),
            Column::noted("requests", "requests", "64 bytes there and back"),
            Column::noted("took_ns", "done in", "from the first to the last"),
            Column::noted("requests_per_s", "rate", "clients and server share the cores"),
            Column::noted("median_ns", "median", "of the time to an answer"),
            Column::noted("p99_ns", "99 %", "of the answers came within"),
            Column::noted("bytes_per_connection", "memory", "heap for both ends of a connection"),
        ];
        let mut table = Table::new("Questions and answers", columns).turned();
        table.row([
            Value::Count(clients),
            Value::Count(total),
            Value::time(found.took),
            Value::rate(total, found.took),
            Value::time(found.quantile(50)),
            Value::time(found.quantile(99)),
            Value::Bytes(found.heap as f64 / clients as f64),
        ]);
        let mut findings = Findings::default();
        findings.table(table);
        findings.check(found.times.len() as u64 == total, "every request got the right answer");
        findings
            .check(found.served == clients, "every connection was closed by both sides, without an error");
        Ok(findings)
    }
}

/// What was found.
struct Found {
    /// Of each request, sorted.
    times: Vec<Duration>,
    took: Duration,
    /// Bytes on the heap for all connections.
    heap: i64,
    /// Connections that the server saw ending as they should.
    served: u64,
}

impl Found {
    fn quantile(&self, percent: usize) -> Duration {
        let at = (self.times.len() * percent / 100).min(self.times.len().saturating_sub(1));
        self.times.get(at).copied().unwrap_or_default()
    }
}

async fn visit(guide: &Guide, clients: u64, requests: u64) -> Result<Found, Trouble> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server: TaskHandle<io::Result<u64>> = ropewalk::spawn(serve(listener, clients));
    let (ready, go) =
        (Arc::new(Barrier::new(clients as usize + 1)), Arc::new(Barrier::new(clients as usize + 1)));
    let asked = Arc::new(AtomicU64::new(0));

    guide.pause();
    let (counting, before) = (CountAllocations::start(), Heap::now());
    let mut group = TaskGroup::new();
    for number in 0..clients {
        group.spawn(client(address, number, requests, ready.clone(), go.clone(), asked.clone()));
    }
    ready.wait().await;
    let heap = Heap::now().since(before).live;
    drop(counting);

    let (total, progress) = (clients * requests, asked.clone());
    guide.phase(format!("{} requests", grouped(total)), move || progress.load(Relaxed) as f64 / total as f64);
    let from = Instant::now();
    go.wait().await;
    let mut times = Vec::new();
    for answered in group.join_all().await {
        times.extend(answered??);
    }
    let took = from.elapsed();
    times.sort();
    Ok(Found { times, took, heap, served: server.await?? })
}

/// Accepts so many connections; how many ended well.
async fn serve(listener: TcpListener, connections: u64) -> io::Result<u64> {
    let mut group = TaskGroup::new();
    for _ in 0..connections {
        let (stream, _) = listener.accept().await?;
        group.spawn(echo(stream));
    }
    let ends = group.join_all().await;
    Ok(ends.iter().filter(|end| matches!(end, Ok(Ok(())))).count() as u64)
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; REQUEST];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return stream.close().await,
            count => stream.write_all(&buffer[..count]).await?,
        }
    }
}

/// Connects, waits for the others, asks; how long each right answer took.
async fn client(
    server: SocketAddr,
    number: u64,
    requests: u64,
    ready: Arc<Barrier>,
    go: Arc<Barrier>,
    asked: Arc<AtomicU64>,
) -> io::Result<Vec<Duration>> {
    let connected = TcpStream::connect(server).await;
    ready.wait().await; // also who could not connect: the others wait for it
    go.wait().await;
    let mut stream = connected?;
    stream.set_nodelay(true)?;
    let mut times = Vec::with_capacity(requests as usize);
    for request in 0..requests {
        let (said, mut heard) = ([(number + request) as u8; REQUEST], [0; REQUEST]);
        let from = Instant::now();
        stream.write_all(&said).await?;
        stream.read_exact(&mut heard).await?;
        if heard == said {
            times.push(from.elapsed());
        }
        asked.fetch_add(1, Relaxed);
    }
    stream.close().await?;
    Ok(times)
}
