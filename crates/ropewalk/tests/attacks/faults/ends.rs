//! The two ends of a cable: a runtime each, and what they say to each other.

use super::cable::{Cable, FAR, NEAR};
use crate::child::{Kind, stage};
use ropewalk::net::{TcpListener, TcpStream, UdpSocket};
use ropewalk::time::{sleep, timeout};
use ropewalk::{Runtime, TaskHandle, spawn};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread;
use std::time::Duration;

/// How many talk at once, in each way.
const TALKERS: usize = 6;

pub struct Ends<'a> {
    pub cable: &'a Cable,
    pub here: Runtime,
    /// Dropped where it was made or not: its threads are there.
    _there: Runtime,
    tcp: SocketAddr,
    udp: SocketAddr,
    pub number: usize,
}

impl<'a> Ends<'a> {
    /// The calling thread is near then.
    pub fn new(cable: &'a Cable, kind: Kind) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let far = || {
            cable.go_far();
            let runtime = Kind(kind.0, 2).build();
            let addresses = runtime.block_on(runtime.spawn(serve())).unwrap();
            (runtime, addresses)
        };
        let (there, (tcp, udp)) = thread::scope(|scope| scope.spawn(far).join()).unwrap();
        cable.go_near();
        Self { cable, here: kind.build(), _there: there, tcp, udp, number: NUMBER.fetch_add(1, Relaxed) }
    }

    /// Begins to talk, and goes on until it is ended.
    pub fn talk(&self) -> Talk<'_> {
        let words = Arc::new(Words::default());
        let (tcp, udp) = (self.tcp, self.udp);
        let stay = (0..TALKERS).map(|n| self.here.spawn(words.clone().stay(tcp, n)));
        let come_and_go = (0..TALKERS).map(|_| self.here.spawn(words.clone().come_and_go(tcp)));
        let shout = (0..TALKERS).map(|_| self.here.spawn(words.clone().shout(udp)));
        let talkers: Vec<_> = stay.chain(come_and_go).chain(shout).collect();
        let drive = Drive::new(self, &words);
        Talk { ends: self, words, talkers, drive }
    }

    /// Connections where each waits for something else; the peer is there, and has heard of all of them.
    pub fn wait(&self) -> Waiting {
        stage("connections");
        let connected = async || {
            let stream = TcpStream::connect(self.tcp).await.unwrap();
            stream.write_all(b"there?").await.unwrap();
            assert!(stream.read(&mut [0; 8]).await.unwrap() > 0);
            Arc::new(stream)
        };
        self.here.block_on(async {
            Waiting { reading: connected().await, writing: connected().await, silent: connected().await }
        })
    }
}

/// A runtime without threads goes on while somebody drives it.
struct Drive(Option<thread::JoinHandle<()>>);

impl Drive {
    fn new(ends: &Ends<'_>, words: &Arc<Words>) -> Self {
        let (handle, words) = (ends.here.handle(), words.clone());
        Self(Some(thread::spawn(move || {
            handle.block_on(async {
                while !words.over.load(Relaxed) {
                    sleep(Duration::from_millis(5)).await;
                }
            });
        })))
    }
}

pub struct Talk<'a> {
    ends: &'a Ends<'a>,
    words: Arc<Words>,
    talkers: Vec<TaskHandle<()>>,
    drive: Drive,
}

impl Talk<'_> {
    /// The cable is whole again: everybody comes to an end.
    pub fn end(mut self) -> String {
        self.words.over.store(true, SeqCst);
        self.drive.0.take().unwrap().join().unwrap();
        for (number, talker) in self.talkers.drain(..).enumerate() {
            stage(format_args!("talker {number} comes to its end"));
            self.ends.here.block_on(talker).unwrap();
        }
        let [answered, failed, shouted, heard] =
            [&self.words.answered, &self.words.failed, &self.words.shouted, &self.words.heard]
                .map(|count| count.load(SeqCst));
        assert!(answered > 0 && heard <= shouted);
        format!(
            "{answered} words answered, {failed} connections failed, {heard} of {shouted} datagrams heard"
        )
    }
}

/// What was said.
#[derive(Default)]
struct Words {
    over: AtomicBool,
    answered: AtomicUsize,
    failed: AtomicUsize,
    shouted: AtomicUsize,
    heard: AtomicUsize,
}

impl Words {
    /// One connection, which is there until the end or until the system gives it up; nothing in it is lost or twice.
    async fn stay(self: Arc<Self>, to: SocketAddr, number: usize) {
        while !self.over.load(Relaxed) {
            let said = self.say(to, number, usize::MAX).await;
            self.note(said).await;
        }
    }

    async fn come_and_go(self: Arc<Self>, to: SocketAddr) {
        while !self.over.load(Relaxed) {
            let said = self.say(to, 7, 3).await;
            self.note(said).await;
        }
    }

    async fn note(&self, said: io::Result<()>) {
        if said.is_err() {
            self.failed.fetch_add(1, Relaxed);
            sleep(Duration::from_millis(5)).await; // nobody hammers at a cable that is not there
        }
    }

    async fn say(&self, to: SocketAddr, number: usize, words: usize) -> io::Result<()> {
        let stream = TcpStream::connect(to).await?;
        for word in 0..words {
            let word = (number << 32 | word).to_le_bytes().repeat(100);
            let (written, back) = ropewalk::join!(stream.write_all(&word), read(&stream, word.len()));
            written?;
            assert_eq!(back?, word);
            self.answered.fetch_add(1, Relaxed);
            if self.over.load(Relaxed) {
                return Ok(());
            }
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Datagrams: what is lost is lost.
    async fn shout(self: Arc<Self>, to: SocketAddr) {
        let socket = UdpSocket::bind((NEAR, 0)).await.unwrap();
        while !self.over.load(Relaxed) {
            if socket.send_to(&[7; 100], to).await.is_ok() {
                self.shouted.fetch_add(1, Relaxed);
            }
            if let Ok(Ok(_)) = timeout(Duration::from_millis(5), socket.recv_from(&mut [0; 200])).await {
                self.heard.fetch_add(1, Relaxed);
            }
        }
    }
}

async fn read(stream: &TcpStream, len: usize) -> io::Result<Vec<u8>> {
    let (mut all, mut there) = (vec![0; len], 0);
    while there < len {
        match stream.read(&mut all[there..]).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => there += count,
        }
    }
    Ok(all)
}

/// The far end: sends back what comes, until its runtime ends.
async fn serve() -> (SocketAddr, SocketAddr) {
    let listener = TcpListener::bind((FAR, 0)).await.unwrap();
    let socket = UdpSocket::bind((FAR, 0)).await.unwrap();
    let addresses = (listener.local_addr().unwrap(), socket.local_addr().unwrap());
    drop(spawn(async move {
        let mut buffer = [0; 200];
        loop {
            // An error is about one who does not listen any more, or whom no way leads to.
            if let Ok((count, from)) = socket.recv_from(&mut buffer).await {
                let _lost = socket.send_to(&buffer[..count], from).await;
            }
        }
    }));
    drop(spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            drop(spawn(echo(stream)));
        }
    }));
    addresses
}

async fn echo(stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 1000];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count]).await?,
        }
    }
}

/// Connections to somebody who is about to vanish.
pub struct Waiting {
    reading: Arc<TcpStream>,
    writing: Arc<TcpStream>,
    silent: Arc<TcpStream>,
}

impl Waiting {
    /// All of them are told an error, whatever it is called.
    pub fn are_told(self, ends: &Ends<'_>) -> String {
        let Self { reading, writing, silent } = self;
        let to = ends.tcp;
        let unanswered = async move {
            reading.write_all(b"still there?").await?;
            reading.read(&mut [0; 8]).await.map(drop)
        };
        let full = async move { writing.write_all(&vec![7; 64 << 20]).await };
        let quiet = async move {
            silent.set_keepalive(Some(Duration::from_secs(1)))?;
            silent.read(&mut [0; 8]).await.map(drop)
        };
        let new = async move { TcpStream::connect(to).await.map(drop) };
        let here = &ends.here;
        let tasks = [here.spawn(unanswered), here.spawn(full), here.spawn(quiet), here.spawn(new)];
        let what = ["an answer", "room", "anything", "a connection"];
        let mut told = String::new();
        for (what, task) in what.into_iter().zip(tasks) {
            stage(format_args!("{what} from somebody who has vanished"));
            let error = here.block_on(task).unwrap().unwrap_err();
            told += &format!("{what}: {error}; ");
        }
        told
    }
}
