//! Functions have no colour: one program (files, a connection, a channel, a timer, a lock) for `.await`, and the same for
//! `.wait()`, which does not know where it runs. Wherever that is, both say the same.

use crate::kit::{RuntimeKind, guarded, on_every_kind};
use ropewalk::channel::bounded;
use ropewalk::io::prelude::*;
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::sync::Mutex;
use ropewalk::time::{Instant, sleep, timeout};
use ropewalk::{Blocking, Handler, OnStrand, Runtime, Wait, fs, spawn, strand, with_handler, yield_now};
use std::cell::Cell;
use std::future::pending;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const SAID: [&str; 5] = [
    "file: 2 lines, the last is sisal",
    "connection: HEMP, and then the end",
    "channel: [0, 1, 4, 9, 16]",
    "timer: 2 ms were over, and so was the timeout",
    "lock: 40",
];
const SHORT: Duration = Duration::from_millis(2);
const ROUNDS: usize = 20;

/// A file of its own for each run.
fn path() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Relaxed);
    std::env::temp_dir().join(format!("ropewalk-colours-{}-{number}", std::process::id()))
}

/// The program for async code.
mod awaited {
    use super::*;

    pub async fn program() -> io::Result<Vec<String>> {
        let mut said = Vec::new();

        let path = path();
        fs::write(&path, "hemp\nsisal\n").await?;
        let text = fs::read_to_string(&path).await?;
        fs::remove_file(&path).await?;
        said.push(format!(
            "file: {} lines, the last is {}",
            text.lines().count(),
            text.lines().last().unwrap()
        ));

        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let partner = spawn(async move { shout(&listener).await });
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"hemp").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        partner.await.unwrap()?;
        said.push(format!("connection: {answer}, and then the end"));

        let (sender, receiver) = bounded(1);
        let partner = spawn(async move {
            for number in 0..5 {
                sender.send(number * number).await.unwrap();
            }
        });
        let mut squares = Vec::new();
        while let Ok(square) = receiver.recv().await {
            squares.push(square);
        }
        partner.await.unwrap();
        said.push(format!("channel: {squares:?}"));

        let from = Instant::now();
        sleep(SHORT).await;
        let over = from.elapsed() >= SHORT && timeout(SHORT, pending::<()>()).await.is_err();
        assert!(over);
        said.push(format!("timer: {} ms were over, and so was the timeout", SHORT.as_millis()));

        let count = Arc::new(Mutex::new(0));
        let other = count.clone();
        let partner = spawn(async move { raise(&other).await });
        raise(&count).await;
        partner.await.unwrap();
        said.push(format!("lock: {}", count.lock().await));
        Ok(said)
    }

    async fn shout(listener: &TcpListener) -> io::Result<()> {
        let (mut stream, _) = listener.accept().await?;
        let mut word = [0; 4];
        stream.read_exact(&mut word).await?;
        word.make_ascii_uppercase();
        stream.write_all(&word).await
    }

    /// Gives its turn away in the middle of it, with the lock held.
    async fn raise(count: &Mutex<usize>) {
        for _ in 0..ROUNDS {
            let mut count = count.lock().await;
            let before = *count;
            yield_now().await;
            *count = before + 1;
        }
    }
}

/// The program for everybody else: strands as partners, which borrow.
mod waited {
    use super::*;

    pub fn program() -> io::Result<Vec<String>> {
        let mut said = Vec::new();

        let path = path();
        fs::write(&path, "hemp\nsisal\n").wait()?;
        let text = fs::read_to_string(&path).wait()?;
        fs::remove_file(&path).wait()?;
        said.push(format!(
            "file: {} lines, the last is {}",
            text.lines().count(),
            text.lines().last().unwrap()
        ));

        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).wait()?;
        let answer = strand::scope(|s| -> io::Result<String> {
            let partner = s.spawn(|| shout(&listener));
            let mut stream = TcpStream::connect(listener.local_addr()?).wait()?;
            stream.write_all(b"hemp").wait()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).wait()?;
            partner.join()?;
            Ok(answer)
        })?;
        said.push(format!("connection: {answer}, and then the end"));

        let (sender, receiver) = bounded(1);
        let squares = strand::scope(|s| {
            let partner = s.spawn(move || {
                for number in 0..5 {
                    sender.send(number * number).wait().unwrap();
                }
            });
            let mut squares = Vec::new();
            while let Ok(square) = receiver.recv().wait() {
                squares.push(square);
            }
            partner.join();
            squares
        });
        said.push(format!("channel: {squares:?}"));

        let from = Instant::now();
        sleep(SHORT).wait();
        let over = from.elapsed() >= SHORT && timeout(SHORT, pending::<()>()).wait().is_err();
        assert!(over);
        said.push(format!("timer: {} ms were over, and so was the timeout", SHORT.as_millis()));

        let count = Mutex::new(0);
        strand::scope(|s| {
            let partner = s.spawn(|| raise(&count));
            raise(&count);
            partner.join();
        });
        said.push(format!("lock: {}", count.lock().wait()));
        Ok(said)
    }

    fn shout(listener: &TcpListener) -> io::Result<()> {
        let (mut stream, _) = listener.accept().wait()?;
        let mut word = [0; 4];
        stream.read_exact(&mut word).wait()?;
        word.make_ascii_uppercase();
        stream.write_all(&word).wait()
    }

    fn raise(count: &Mutex<usize>) {
        for _ in 0..ROUNDS {
            let mut count = count.lock().wait();
            let before = *count;
            strand::yield_now();
            *count = before + 1;
        }
    }
}

#[test]
fn awaited_in_tasks() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let said = runtime.block_on(runtime.spawn(awaited::program())).unwrap();
        assert_eq!(said.unwrap(), SAID);
        assert_eq!(runtime.block_on(awaited::program()).unwrap(), SAID);
    });
}

#[test]
fn waited_for_on_strands() {
    on_every_kind(|kind| assert_eq!(kind.build().run(waited::program).unwrap(), SAID));
}

/// Many at once, on few workers.
#[test]
fn waited_for_on_many_strands() {
    for kind in [RuntimeKind::Threads(1), RuntimeKind::Threads(2), RuntimeKind::Caller] {
        guarded(format!("{kind:?}"), || {
            kind.build().run(|| {
                strand::scope(|s| {
                    let programs: Vec<_> = (0..20).map(|_| s.spawn(waited::program)).collect();
                    programs.into_iter().for_each(|program| assert_eq!(program.join().unwrap(), SAID));
                });
            });
        });
    }
}

#[test]
fn waited_for_inside_a_poll() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let said = runtime.block_on(runtime.spawn(async { waited::program() })).unwrap();
        assert_eq!(said.unwrap(), SAID);
        // Here it is the caller's own stack, which belongs to no task.
        assert_eq!(runtime.block_on(async { waited::program() }).unwrap(), SAID);
    });
}

#[test]
fn waited_for_on_plain_threads() {
    guarded("plain threads", || {
        std::thread::scope(|s| {
            let threads: Vec<_> = (0..4).map(|_| s.spawn(waited::program)).collect();
            threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap().unwrap(), SAID));
        });
        let thread = ropewalk::thread::spawn(waited::program).unwrap();
        assert_eq!(thread.wait().unwrap().unwrap(), SAID);
        assert_eq!(ropewalk::spawn_blocking(waited::program).wait().unwrap().unwrap(), SAID);
    });
}

/// A handler decides for the program, not for its partners.
#[test]
fn waited_for_under_handlers() {
    struct Counts(Cell<usize>);
    impl Handler for Counts {
        fn suspend(&self, future: Pin<&mut dyn Future<Output = ()>>) {
            self.0.set(self.0.get() + 1);
            OnStrand.suspend(future);
        }
    }
    guarded("on a thread", || {
        assert_eq!(with_handler(&Blocking, waited::program).unwrap(), SAID);
    });
    on_every_kind(|kind| {
        let counts = || {
            let counts = Counts(Cell::new(0));
            let said = with_handler(&counts, waited::program);
            assert!(counts.0.get() >= 5, "{} waits", counts.0.get());
            said
        };
        let runtime = kind.build();
        assert_eq!(runtime.run(counts).unwrap(), SAID);
        assert_eq!(runtime.block_on(runtime.spawn(async move { counts() })).unwrap().unwrap(), SAID);
    });
}

/// Who parks a worker's thread needs another one that goes on.
#[test]
fn waited_for_by_parking_a_worker() {
    for workers in [2, 16] {
        guarded(format!("{workers} workers"), || {
            let runtime = Runtime::builder().worker_threads(workers).build().unwrap();
            let program = || with_handler(&Blocking, waited::program);
            assert_eq!(runtime.run(program).unwrap(), SAID);
            assert_eq!(runtime.block_on(runtime.spawn(async move { program() })).unwrap().unwrap(), SAID);
        });
    }
}

/// Runs the program when it is dropped, and gives what it said.
struct RunsInDrop(mpsc::Sender<io::Result<Vec<String>>>);

impl Drop for RunsInDrop {
    fn drop(&mut self) {
        self.0.send(waited::program()).unwrap();
    }
}

/// Destructors that run on a worker: of a task that was cancelled, of a value nobody takes, of a strand that ends or is
/// interrupted.
#[test]
fn waited_for_in_destructors() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (give, take) = mpsc::channel();
        let runs = || RunsInDrop(give.clone());

        let began = Arc::new(ropewalk::sync::Notify::new());
        let (held, begins) = (runs(), began.clone());
        runtime.block_on(async {
            let cancelled = spawn(async move {
                let _held = held;
                begins.notify_one();
                pending::<()>().await;
            });
            began.notified().await;
            cancelled.cancel();
            assert!(cancelled.await.is_err());
        });
        assert_eq!(take.recv().unwrap().unwrap(), SAID, "in a task that was cancelled");

        let (held, (done, ended)) = (runs(), ropewalk::channel::oneshot::channel());
        runtime.block_on(async {
            drop(spawn(async move {
                let _told = Tells(Some(done)); // after the value is gone
                drop(held);
            }));
            ended.await.unwrap();
        });
        assert_eq!(take.recv().unwrap().unwrap(), SAID, "at the end of a poll");

        let held = runs();
        runtime.run(|| drop(held));
        assert_eq!(take.recv().unwrap().unwrap(), SAID, "on a strand");

        let held = runs();
        runtime.run(|| {
            strand::scope(|s| {
                let child = s.spawn(|| {
                    let _held = held;
                    began.notify_one();
                    pending::<()>().wait();
                });
                began.notified().wait();
                child.cancel();
                assert!(child.try_join().is_err());
            });
        });
        assert_eq!(take.recv().unwrap().unwrap(), SAID, "on a strand that is interrupted");
    });
}

/// Tells when it is dropped.
struct Tells(Option<ropewalk::channel::oneshot::Sender<()>>);

impl Drop for Tells {
    fn drop(&mut self) {
        let _nobody_waits = self.0.take().unwrap().send(());
    }
}
