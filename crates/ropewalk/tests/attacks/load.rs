//! A load with an account: of everything that is begun it is known what became of it. What is late is nobody's fault here; what
//! is early, lost or done twice is.

use ropewalk::channel::{Receiver, Sender, bounded};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::time::{Instant, sleep, timeout};
use ropewalk::{Runtime, spawn, spawn_blocking, strand, task_group};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;

/// What was begun and what has ended, of one sort.
#[derive(Default)]
struct Line {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Line {
    fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Relaxed)
    }

    fn end(&self) {
        self.ended.fetch_add(1, Relaxed);
    }
}

/// The account, and the order to come to an end.
#[derive(Default)]
pub struct Load {
    stop: AtomicBool,
    timers: Line,
    messages: Line,
    echoes: Line,
    strands: Line,
    jobs: Line,
    tasks: Line,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, line) in self.lines() {
            write!(f, "{} {name} ", line.ended.load(SeqCst))?;
        }
        Ok(())
    }
}

/// Numbers that look random; the same ones each time.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27) % most
    }
}

/// One that belongs to `seed`.
fn below(seed: u64, most: u64) -> u64 {
    Random(seed).below(most)
}

impl Load {
    fn lines(&self) -> [(&'static str, &Line); 6] {
        [
            ("timers", &self.timers),
            ("messages", &self.messages),
            ("echoes", &self.echoes),
            ("strands", &self.strands),
            ("jobs", &self.jobs),
            ("tasks", &self.tasks),
        ]
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    /// All of it for a while; returns when all has ended, and the account is right.
    pub fn run(runtime: &Runtime, span: Duration) -> Arc<Self> {
        let load = Arc::new(Self::default());
        runtime.block_on(load.clone().all(span));
        for (name, line) in load.lines() {
            let (begun, ended) = (line.begun.load(SeqCst), line.ended.load(SeqCst));
            assert!(begun == ended && begun > 0, "{name}: {begun} were begun, {ended} ended");
        }
        load
    }

    async fn all(self: Arc<Self>, span: Duration) {
        let ended = task_group(|group| {
            for number in 0..40 {
                group.spawn(self.clone().sleep(number));
            }
            for number in 0..4 {
                group.spawn(self.clone().send_messages());
                group.spawn(self.clone().echo(number));
                group.spawn(self.clone().run_strands(number));
                group.spawn(self.clone().run_jobs());
                group.spawn(self.clone().spawn_tasks());
            }
            group.spawn(self.clone().stop_after(span));
        });
        ended.await.into_iter().for_each(|outcome| outcome.unwrap());
    }

    async fn stop_after(self: Arc<Self>, span: Duration) {
        sleep(span).await;
        self.stop.store(true, Relaxed);
    }

    async fn sleep(self: Arc<Self>, number: u64) {
        while self.goes_on() {
            let seed = number + self.timers.begin();
            let (from, outside) = (Instant::now(), std::time::Instant::now());
            let span = Duration::from_micros(below(seed, 20_000));
            sleep(span).await;
            assert!(from.elapsed() >= span && outside.elapsed() >= span, "a timer of {span:?} was early");
            self.timers.end();
        }
    }

    async fn send_messages(self: Arc<Self>) {
        let (sender, receiver) = bounded(8);
        let receiving = spawn(self.clone().receive(receiver));
        let sent = self.send(sender).await;
        assert_eq!(receiving.await.unwrap(), sent, "the sum of what was sent");
    }

    async fn send(&self, sender: Sender<u64>) -> u64 {
        let mut sum = 0;
        while self.goes_on() {
            let number = self.messages.begin();
            sum += number;
            sender.send(number).await.unwrap();
            if number.is_multiple_of(16) {
                sleep(Duration::from_micros(300)).await;
            }
        }
        sum
    }

    /// Gives up and begins again now and then, which loses nothing.
    async fn receive(self: Arc<Self>, receiver: Receiver<u64>) -> u64 {
        let mut sum = 0;
        loop {
            match timeout(Duration::from_micros(100), receiver.next()).await {
                Ok(None) => return sum,
                Ok(Some(number)) => {
                    sum += number;
                    self.messages.end();
                }
                Err(_) => {}
            }
        }
    }

    async fn echo(self: Arc<Self>, number: u64) {
        let listener = TcpListener::bind((IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = spawn(async move { answer(listener.accept().await.unwrap().0).await });
        let asked = self.ask(address, number).await;
        assert_eq!(server.await.unwrap(), asked, "bytes");
    }

    async fn ask(&self, address: SocketAddr, number: u64) -> u64 {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut asked = 0;
        while self.goes_on() {
            let word = (number << 32 | self.echoes.begin()).to_le_bytes();
            stream.write_all(&word).await.unwrap();
            let (mut back, mut there) = ([0; 8], 0);
            while there < back.len() {
                let count = stream.read(&mut back[there..]).await.unwrap();
                assert!(count > 0, "the server is gone");
                there += count;
            }
            assert_eq!(back, word);
            asked += 8;
            self.echoes.end();
            sleep(Duration::from_micros(200)).await;
        }
        asked
    }

    async fn run_strands(self: Arc<Self>, number: u64) {
        while self.goes_on() {
            let load = self.clone();
            let strand = strand::spawn(move || load.be_a_strand(number));
            assert_eq!(strand.await.unwrap(), number);
        }
    }

    fn be_a_strand(&self, number: u64) -> u64 {
        let seed = self.strands.begin();
        strand::yield_now();
        strand::sleep(Duration::from_micros(below(seed, 3_000)));
        self.strands.end();
        number
    }

    async fn run_jobs(self: Arc<Self>) {
        while self.goes_on() {
            let number = self.jobs.begin();
            let job = move || {
                std::thread::sleep(Duration::from_micros(below(number, 2_000)));
                number
            };
            assert_eq!(spawn_blocking(job).await.unwrap(), number);
            self.jobs.end();
        }
    }

    async fn spawn_tasks(self: Arc<Self>) {
        while self.goes_on() {
            let tasks: Vec<_> = (0..50).map(|n| spawn(self.clone().be_a_task(n))).collect();
            for (number, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), number);
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    async fn be_a_task(self: Arc<Self>, number: usize) -> usize {
        self.tasks.begin();
        ropewalk::yield_now().await;
        self.tasks.end();
        number
    }
}

/// Sends back whatever comes; how much.
async fn answer(stream: TcpStream) -> u64 {
    let (mut buffer, mut sum) = ([0; 64], 0);
    loop {
        match stream.read(&mut buffer).await.unwrap() {
            0 => return sum,
            count => {
                stream.write_all(&buffer[..count]).await.unwrap();
                sum += count as u64;
            }
        }
    }
}
