//! Connections by the thousand, opened and closed in every way there is: orderly, halfway, by a reset, in the middle of a read or
//! a write, from either end. Each is accounted for at both ends; no descriptor and not a byte is left.

use crate::child::{Kind, child_of, in_children, stage};
use crate::kit::until_async;
use crate::leaks::{Possessions, wait_for_the_harness};
use crate::limits::more_descriptors;
use ropewalk::net::{IntoIncoming, TcpListener, TcpSocket, TcpStream};
use ropewalk::time::timeout;
use ropewalk::{Runtime, TaskHandle, spawn, task_group};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const TEST: &str = "connections::opened_and_closed";
/// How many are open at once.
const WAVE: usize = 200;
/// Room in the sockets: it is soon full.
const LITTLE: usize = 4 << 10;
/// How many in the life of one runtime.
const ROUND: usize = 10_000;

/// How many connections each kind of runtime makes.
fn how_many() -> usize {
    let given = std::env::var("ROPEWALK_SOAK_CONNECTIONS").ok();
    given.map_or(400, |number| number.parse().expect("ROPEWALK_SOAK_CONNECTIONS is a number"))
}

#[test]
fn opened_and_closed() {
    in_children(TEST, &Kind::all(), 1, attack, |kind| child_of(TEST, kind));
}

fn attack(kind: &Kind) {
    more_descriptors();
    wait_for_the_harness();
    // What a process keeps once it has been used; a little for each worker that there ever was at the same time, stand-ins included.
    drop(Kind(kind.0, 64).build());
    (0..2).for_each(|_| round(*kind, WAVE));
    let (before, many) = (Possessions::now(), how_many());
    for from in (0..many).step_by(ROUND) {
        round(*kind, ROUND.min(many - from));
        before.assert_nothing_more("after a round");
    }
    println!("attack: {many} connections, {before:?}");
}

/// One runtime, from beginning to end.
fn round(kind: Kind, connections: usize) {
    stage("build");
    let runtime = kind.build();
    let account = Arc::new(Account::default());
    runtime.block_on(waves(account.clone(), connections));
    check_registrations(&runtime);
    stage("the end of the runtime");
    drop(runtime);
    let Account { opened, accepted, ended } = &*account;
    assert_eq!([opened, accepted, ended].map(|count| count.load(SeqCst)), [connections; 3]);
}

fn check_registrations(runtime: &Runtime) {
    let io = runtime.metrics().io;
    assert_eq!((io.registered, io.failures), (0, 0), "{io:?}");
}

#[derive(Default)]
struct Account {
    opened: AtomicUsize,
    accepted: AtomicUsize,
    /// At the server's end.
    ended: AtomicUsize,
}

async fn waves(account: Arc<Account>, connections: usize) {
    let mut servers = Vec::new();
    for number in 0..4 {
        servers.push(Server::begin(&account, number).await);
    }
    for from in (0..connections).step_by(WAVE) {
        stage(format_args!("the wave from {from}"));
        let clients = task_group(|group| {
            for number in from..connections.min(from + WAVE) {
                let to = servers[number % servers.len()].address;
                group.spawn(client(account.clone(), to, number as u8 % WAYS));
            }
        });
        clients.await.into_iter().for_each(|outcome| outcome.unwrap());
        let opened = account.opened.load(SeqCst);
        let all = || account.ended.load(SeqCst) == opened;
        until_async("all connections have ended at the server's end, too", all).await;
    }
    for server in servers {
        server.accepting.cancel();
        let _cancelled = server.accepting.await;
    }
}

struct Server {
    address: SocketAddr,
    accepting: TaskHandle<()>,
}

/// One accepts when it is told to, another one ahead, if the driver can.
enum Acceptor {
    Asked(TcpListener),
    Ahead(IntoIncoming<TcpListener>),
}

impl Acceptor {
    async fn next(&mut self) -> io::Result<TcpStream> {
        match self {
            Self::Asked(listener) => Ok(listener.accept().await?.0),
            Self::Ahead(incoming) => incoming.next().await,
        }
    }
}

impl Server {
    async fn begin(account: &Arc<Account>, number: u8) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(LITTLE).unwrap();
        // Of an address of its own: there are not that many ports.
        socket.bind((Ipv4Addr::new(127, 0, 0, 1 + number), 0).into()).unwrap();
        let listener = socket.listen(WAVE as u32).unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = if number.is_multiple_of(2) {
            Acceptor::Asked(listener)
        } else {
            Acceptor::Ahead(listener.into_incoming())
        };
        Self { address, accepting: spawn(accept(account.clone(), acceptor)) }
    }
}

async fn accept(account: Arc<Account>, mut acceptor: Acceptor) {
    loop {
        let stream = acceptor.next().await.unwrap();
        account.accepted.fetch_add(1, SeqCst);
        let account = account.clone();
        drop(spawn(async move {
            let _broken_off = serve(stream).await;
            account.ended.fetch_add(1, SeqCst);
        }));
    }
}

/// The first byte says in which way this one is to end.
const WAYS: u8 = 8;
const RESET: u8 = 1;
const HALF: u8 = 2;
const MID_READ: u8 = 3;
const MID_WRITE: u8 = 4;
const AT_ONCE: u8 = 5;
const SERVER_FIRST: u8 = 6;
const SERVER_RESETS: u8 = 7;

async fn client(account: Arc<Account>, to: SocketAddr, way: u8) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(LITTLE).unwrap();
    let stream = socket.connect(to).await.unwrap();
    account.opened.fetch_add(1, SeqCst);
    if way != AT_ONCE {
        let ended = go_on(stream, way).await;
        let may_fail = [RESET, MID_WRITE, SERVER_FIRST, SERVER_RESETS].contains(&way);
        assert!(ended.is_ok() || may_fail, "way {way}: {ended:?}");
    }
}

async fn go_on(stream: TcpStream, way: u8) -> io::Result<()> {
    stream.write_all(&[way; 10]).await?;
    match way {
        RESET => stream.set_linger(Some(Duration::ZERO)),
        HALF => {
            stream.shutdown(Shutdown::Write)?;
            assert_eq!(read_to_end(&stream).await?, 10, "what was sent came back");
            Ok(())
        }
        MID_READ => {
            let mut never = [0; 100];
            while let Ok(count) = timeout(Duration::from_micros(500), stream.read(&mut never)).await {
                assert!(count? > 0, "nobody has closed it");
            }
            Ok(())
        }
        MID_WRITE => {
            let lots = [way; 64 * 1024];
            while let Ok(written) = timeout(Duration::from_millis(2), stream.write_all(&lots)).await {
                written?;
            }
            Ok(())
        }
        SERVER_FIRST | SERVER_RESETS => read_to_end(&stream).await.map(drop),
        _ => stream.read(&mut [0; 10]).await.map(|count| assert!(count > 0, "it is an echo")),
    }
}

async fn read_to_end(stream: &TcpStream) -> io::Result<usize> {
    let (mut buffer, mut sum) = ([0; 64], 0);
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(sum),
            count => sum += count,
        }
    }
}

async fn serve(stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 64];
    loop {
        let count = stream.read(&mut buffer).await?;
        match (count, buffer[0]) {
            (0, _) | (_, SERVER_FIRST) => return Ok(()),
            (_, SERVER_RESETS) => return stream.set_linger(Some(Duration::ZERO)),
            // It does not read on until the client has gone.
            (_, MID_WRITE) => return gone(&stream).await,
            _ => stream.write_all(&buffer[..count]).await?,
        }
    }
}

async fn gone(stream: &TcpStream) -> io::Result<()> {
    ropewalk::time::sleep(Duration::from_millis(5)).await;
    read_to_end(stream).await.map(drop)
}
