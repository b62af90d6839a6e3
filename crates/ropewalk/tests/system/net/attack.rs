//! Clients that mean harm: some ask for much and never read it, some never finish their question. The others are served all the
//! same, the server has no more in hand for anybody than one piece, and nothing is lost when they go on after all.

use super::common::{guarded, until_async};
use super::kit::{ATTACKERS, CROWD, LOTS, THERE, everywhere, there};
use super::limits::more_descriptors;
use ropewalk::net::{TcpListener, TcpSocket, TcpStream};
use ropewalk::{TaskGroup, TaskHandle};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the greedy ask for: more than the buffers of both ends hold.
const MUCH: usize = LOTS / 2;
/// How much room they get on each side. (The system doubles it.)
const BUFFER: usize = LOTS / 32;
/// What is repeated in each answer; the server writes as many at a time.
const STRAND: usize = 251;
const STRANDS: usize = 32;

/// The answer to everything is so many bytes of this.
fn bytes(count: usize) -> Vec<u8> {
    Vec::from_iter(0..STRAND as u8).repeat(count / STRAND + 1)[..count].to_vec()
}

/// What a server knows of its connections.
#[derive(Default)]
struct Book {
    open: AtomicUsize,
    /// For each greedy client, how much of its answer the system took.
    handed: Mutex<Vec<Arc<AtomicUsize>>>,
}

struct Server {
    address: SocketAddr,
    book: Arc<Book>,
    accepting: TaskHandle<io::Result<()>>,
}

impl Server {
    async fn start() -> io::Result<Self> {
        let socket = there(async { TcpSocket::new_v4() }).await?;
        socket.set_send_buffer_size(BUFFER)?;
        socket.bind((THERE, 0).into())?;
        let listener = socket.listen(1024)?;
        let (address, book) = (listener.local_addr()?, Arc::<Book>::default());
        let accepting = ropewalk::spawn(accept(listener, book.clone()));
        Ok(Self { address, book, accepting })
    }

    /// A client with little room, so that what it does not read is soon too much.
    async fn connect(&self) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(BUFFER)?;
        socket.connect(self.address).await
    }

    /// So many clients who have sent this and do nothing more.
    async fn attackers(&self, said: &str) -> io::Result<Vec<TcpStream>> {
        let mut all = Vec::new();
        for _ in 0..ATTACKERS {
            let client = self.connect().await?;
            client.write_all(said.as_bytes()).await?;
            all.push(client);
        }
        Ok(all)
    }

    fn handed(&self) -> Vec<usize> {
        self.book.handed.lock().unwrap().iter().map(|handed| handed.load(Relaxed)).collect()
    }
}

async fn accept(listener: TcpListener, book: Arc<Book>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        book.open.fetch_add(1, Relaxed);
        let book = book.clone();
        drop(ropewalk::spawn(async move {
            let _whoever_vanishes_is_an_error_of_theirs = answer(stream, &book).await;
            book.open.fetch_sub(1, Relaxed);
        }));
    }
}

/// Questions are a number and an end of line. An answer is made and written piece by piece.
async fn answer(stream: TcpStream, book: &Book) -> io::Result<()> {
    let (piece, mut question) = (bytes(STRAND * STRANDS), Vec::new());
    loop {
        let mut byte = [0];
        match stream.read(&mut byte).await? {
            0 => return Ok(()),
            _ if byte != *b"\n" => question.push(byte[0]),
            _ => {
                let mut left: usize = str::from_utf8(&question).unwrap().parse().unwrap();
                question.clear();
                let handed = Arc::new(AtomicUsize::new(0));
                if left == MUCH {
                    book.handed.lock().unwrap().push(handed.clone());
                }
                while left > 0 {
                    let count = left.min(piece.len());
                    stream.write_all(&piece[..count]).await?;
                    handed.fetch_add(count, Relaxed);
                    left -= count;
                }
            }
        }
    }
}

async fn read_answer(stream: &TcpStream, count: usize) -> io::Result<()> {
    let (mut got, mut all) = (0, vec![0; count]);
    while got < count {
        match stream.read(&mut all[got..]).await? {
            0 => return Err(io::Error::other(format!("it ended after {got} of {count} bytes"))),
            more => got += more,
        }
    }
    assert!(all == bytes(count), "something else came");
    Ok(())
}

/// Clients that ask and read the answers, one question after the other.
async fn serve_the_others(server: &Server) -> io::Result<()> {
    let mut clients = TaskGroup::new();
    for number in 0..CROWD {
        let stream = server.connect().await?;
        clients.spawn(async move {
            for round in 0..10 {
                let count = 1 + number * 10 + round * 100;
                stream.write_all(format!("{count}\n").as_bytes()).await?;
                read_answer(&stream, count).await?;
            }
            Ok::<_, io::Error>(())
        });
    }
    clients.join_all().await.into_iter().try_for_each(|ended| ended.unwrap())
}

#[test]
fn who_never_reads_and_who_never_finishes_a_question_harm_nobody() {
    more_descriptors(); // both ends of everything are here
    guarded("the server is held up", || everywhere(attack));
}

async fn attack() -> io::Result<()> {
    let server = Server::start().await?;
    let mut greedy = server.attackers(&format!("{MUCH}\n")).await?;
    let mut halting = server.attackers("77").await?;
    until_async("all the greedy are being answered", || {
        let handed = server.handed();
        handed.len() == ATTACKERS && !handed.contains(&0)
    })
    .await;
    serve_the_others(&server).await?;
    let handed = server.handed();
    assert!(handed.iter().all(|handed| *handed < MUCH), "a writer does not wait: {handed:?}");

    // Some vanish, politely or not. The others go on, and everything is there.
    for (number, gone) in greedy.drain(2..).chain(halting.drain(2..)).enumerate() {
        if number % 2 == 0 {
            gone.set_linger(Some(Duration::ZERO))?;
        }
    }
    for stream in halting {
        stream.write_all(b"77\n").await?;
        read_answer(&stream, 7777).await?;
    }
    for stream in greedy {
        read_answer(&stream, MUCH).await?;
        stream.write_all(b"8\n").await?;
        read_answer(&stream, 8).await?;
    }
    until_async("the server has let go of all of them", || server.book.open.load(Relaxed) == 0).await;
    serve_the_others(&server).await?;
    assert!(!server.accepting.is_finished());
    server.accepting.cancel();
    Ok(())
}
