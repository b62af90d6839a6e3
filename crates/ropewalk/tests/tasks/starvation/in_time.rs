//! What is due waits for few polls, however long they are: hogs compute in polls far below any threshold, and give way after each.
//!
//! No clock judges: the hogs write down when their polls begin, and what counts is how many began after something was due and before it
//! was served. With looks after a number of polls only, that number was sixty, and in the single-threaded runtime without end.

use ropewalk::channel::unbounded;
use ropewalk::io::AsyncReadExt;
use ropewalk::{Handle, Runtime, Wait, net, spawn, spawn_blocking, strand, task, time, yield_now};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_micros(300);
const HOGS: usize = 2;
/// Polls of no length before the others.
const SHORT: usize = 20_000;
/// So often something is due.
const TIMES: usize = 30;
/// So many polls may begin meanwhile, all hogs together: what comes before a look, the look's own, and a neighbour's that is new to the
/// watchdog. (The first of all may be in the middle of a window.)
const FEW: usize = 4 * HOGS;

/// When the polls of all hogs began.
#[derive(Clone, Default)]
struct Log {
    polls: Arc<Mutex<Vec<(Instant, ThreadId)>>>,
    over: Arc<AtomicBool>,
    /// So many polls are short at first, and not written down.
    short: Arc<AtomicUsize>,
}

impl Log {
    /// One poll. False: it was the last.
    fn compute(&self) -> bool {
        let is_short = self.short.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok();
        if !is_short {
            let begun = Instant::now();
            self.polls.lock().unwrap().push((begun, thread::current().id()));
            while begun.elapsed() < POLL {
                std::hint::spin_loop();
            }
        }
        !self.over.load(Relaxed)
    }

    /// Waits until some more have begun: what runs beside them is waiting again by then.
    fn let_some_pass(&self) {
        let polls = || self.polls.lock().unwrap().len();
        let enough = polls() + FEW;
        while polls() < enough {
            thread::yield_now();
        }
    }

    /// How many began since something was due.
    fn since(&self, due: Instant) -> usize {
        self.polls.lock().unwrap().iter().rev().take_while(|(begun, _)| *begun >= due).count()
    }

    /// The same, of the polls of this thread: for what cannot go to another one.
    fn here_since(&self, due: Instant) -> usize {
        let (polls, here) = (self.polls.lock().unwrap(), thread::current().id());
        polls
            .iter()
            .rev()
            .take_while(|(begun, _)| *begun >= due)
            .filter(|(_, thread)| *thread == here)
            .count()
    }
}

/// Ends the hogs, whatever becomes of the test.
struct Hogs(Log);

impl Drop for Hogs {
    fn drop(&mut self) {
        self.0.over.store(true, Relaxed);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Yields,
    /// First in polls so short that a worker counts them, and reads no clock.
    TurnsLong,
    WakesItself,
    HandsOver,
    SpawnsItsSuccessor,
    UsesUpItsBudget,
    IsAStrand,
}

const WAYS: [Way; 6] = [
    Way::Yields,
    Way::WakesItself,
    Way::HandsOver,
    Way::SpawnsItsSuccessor,
    Way::UsesUpItsBudget,
    Way::IsAStrand,
];

impl Way {
    fn start(self, runtime: &Runtime) -> Hogs {
        let log = Log::default();
        if self == Way::TurnsLong {
            log.short.store(SHORT, Relaxed);
        }
        match self {
            Way::HandsOver => hand_over(runtime, &log),
            _ => (0..HOGS).for_each(|_| self.start_one(runtime, log.clone())),
        }
        Hogs(log)
    }

    fn start_one(self, runtime: &Runtime, log: Log) {
        match self {
            Way::Yields | Way::TurnsLong => drop(runtime.spawn(async move {
                while log.compute() {
                    yield_now().await;
                }
            })),
            Way::WakesItself => drop(runtime.spawn(poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                if log.compute() { Poll::Pending } else { Poll::Ready(()) }
            }))),
            Way::SpawnsItsSuccessor => drop(runtime.spawn(successor(log))),
            Way::UsesUpItsBudget => drop(runtime.spawn(async move {
                while log.compute() {
                    for _ in 0..128 {
                        task::consume_budget().await;
                    }
                }
            })),
            Way::IsAStrand => drop(runtime.spawn(async move {
                drop(strand::spawn(move || {
                    while log.compute() {
                        strand::yield_now();
                    }
                }));
            })),
            Way::HandsOver => unreachable!("two of them make a pair"),
        }
    }
}

fn successor(log: Log) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if log.compute() {
            drop(spawn(successor(log)));
        }
    })
}

/// Two hogs, one of which is runnable.
fn hand_over(runtime: &Runtime, log: &Log) {
    let ((to_first, first), (to_second, second)) = (unbounded::<()>(), unbounded::<()>());
    to_first.try_send(()).unwrap();
    for (from, to) in [(first, to_second), (second, to_first)] {
        let log = log.clone();
        drop(runtime.spawn(async move {
            while from.recv().await.is_ok() && log.compute() && to.send(()).await.is_ok() {}
        }));
    }
}

/// How many polls something waited, each time.
type Waits = Pin<Box<dyn Future<Output = Vec<usize>> + Send>>;

async fn ticker(log: Log) -> Vec<usize> {
    let mut waits = Vec::new();
    while log.short.load(Relaxed) > 0 {
        time::sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..TIMES {
        let due = Instant::now() + Duration::from_millis(1);
        time::sleep(Duration::from_millis(1)).await;
        waits.push(log.since(due));
    }
    waits
}

async fn strand_ticker(log: Log) -> Vec<usize> {
    let body = move || {
        let tick = |_| {
            let due = Instant::now() + Duration::from_millis(1);
            strand::sleep(Duration::from_millis(1));
            log.here_since(due)
        };
        (0..TIMES).map(tick).collect()
    };
    strand::spawn(body).await.expect("it counts")
}

async fn blocking(log: Log) -> Vec<usize> {
    let mut waits = Vec::new();
    for _ in 0..TIMES {
        let due = spawn_blocking(Instant::now).await.unwrap();
        waits.push(log.since(due));
    }
    waits
}

/// A thread spawns a task, again and again.
async fn injection(log: Log) -> Vec<usize> {
    let (runtime, (give, taken)) = (Handle::current(), unbounded());
    let thread = thread::spawn(move || {
        for _ in 0..TIMES {
            log.let_some_pass();
            let (due, log) = (Instant::now(), log.clone());
            let waited = runtime.spawn(async move { log.since(due) }).wait().unwrap();
            give.try_send(waited).unwrap();
        }
    });
    let mut waits = Vec::new();
    while let Ok(waited) = taken.recv().await {
        waits.push(waited);
    }
    thread.join().unwrap();
    waits
}

/// A thread sends to a task that waits.
async fn message(log: Log) -> Vec<usize> {
    let ((give, taken), (back, answers)) = (unbounded::<Instant>(), std::sync::mpsc::channel::<()>());
    let pace = log.clone();
    let thread = thread::spawn(move || {
        for _ in 0..TIMES {
            pace.let_some_pass();
            give.try_send(Instant::now()).unwrap();
            answers.recv().unwrap();
        }
    });
    let mut waits = Vec::new();
    while let Ok(due) = taken.recv().await {
        waits.push(log.since(due));
        back.send(()).unwrap();
    }
    thread.join().unwrap();
    waits
}

/// What the server waits for is counted there: the client may have to wait for a core until it reads the answer.
async fn echo(log: Log) -> Vec<usize> {
    let listener = net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sent, pace) = (Arc::new(Mutex::new(Instant::now())), log.clone());
    let sends = sent.clone();
    let client = thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        for _ in 0..TIMES {
            pace.let_some_pass();
            *sends.lock().unwrap() = Instant::now();
            stream.write_all(&[7; 64]).unwrap();
            stream.read_exact(&mut [0; 64]).unwrap();
        }
    });
    let (mut stream, _) = listener.accept().await.unwrap();
    let (mut bytes, mut waits) = ([0; 64], Vec::new());
    while stream.read_exact(&mut bytes).await.is_ok() {
        waits.push(log.since(*sent.lock().unwrap()));
        stream.write_all(&bytes).await.unwrap();
    }
    client.join().unwrap();
    waits
}

const CHILD: &str = "a child";
/// What a child that ends, and the system that says so, may take is less than half of what it took before.
const SOME: usize = 25;

#[cfg(unix)]
async fn child(log: Log) -> Vec<usize> {
    use ropewalk::process::Command;
    use std::process::Stdio;
    let mut waits = Vec::new();
    for _ in 0..9 {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let pace = log.clone();
        let ends = thread::spawn(move || {
            pace.let_some_pass(); // it is waited for by then
            let due = Instant::now();
            drop(input);
            due
        });
        assert!(child.wait().await.unwrap().success());
        let due = ends.join().unwrap();
        waits.push(log.since(due));
    }
    waits
}

/// The waits of `due` beside hogs that give way in this way. On a machine that has stopped a worker's thread for a while, that counts for
/// one of them; so it is not the longest that is judged.
fn judge(workers: usize, way: Way, what: &str, due: impl FnOnce(Log) -> Waits) {
    let runtime = Runtime::builder().worker_threads(workers).build().unwrap();
    let hogs = way.start(&runtime);
    let mut waits = runtime.block_on(due(hogs.0.clone()));
    drop(hogs);
    waits.sort_unstable();
    let (most, limit) = (waits[waits.len() * 3 / 4], if what == CHILD { SOME } else { FEW });
    assert!(most <= limit, "{what}, {workers} workers, {way:?}: waited for {waits:?} polls");
}

#[test]
fn a_timer_beside_short_hogs() {
    for workers in [0, 1, 2] {
        for way in WAYS {
            judge(workers, way, "a timer", |log| Box::pin(async { spawn(ticker(log)).await.unwrap() }));
        }
    }
}

#[test]
fn a_sleeping_strand_beside_short_hogs() {
    for workers in [0, 1, 2] {
        judge(workers, Way::Yields, "a strand", |log| Box::pin(strand_ticker(log)));
    }
}

#[test]
fn work_from_outside_beside_short_hogs() {
    for workers in [0, 1, 2] {
        judge(workers, Way::Yields, "a spawn outside", |log| {
            Box::pin(async { spawn(injection(log)).await.unwrap() })
        });
        judge(workers, Way::Yields, "a message", |log| {
            Box::pin(async { spawn(message(log)).await.unwrap() })
        });
        judge(workers, Way::Yields, "a job", |log| Box::pin(async { spawn(blocking(log)).await.unwrap() }));
    }
}

#[test]
fn a_socket_beside_short_hogs() {
    for workers in [0, 1, 2] {
        judge(workers, Way::Yields, "an echo", |log| Box::pin(async { spawn(echo(log)).await.unwrap() }));
    }
}

#[cfg(unix)]
#[test]
fn the_end_of_a_child_beside_short_hogs() {
    for workers in [0, 1, 2] {
        judge(workers, Way::Yields, CHILD, |log| Box::pin(async { spawn(child(log)).await.unwrap() }));
    }
}
