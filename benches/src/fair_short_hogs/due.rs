//! What is due, and how late it is.
//!
//! | due | late by |
//! |---|---|
//! | timers, strands | the time since the end of a sleep of a millisecond, which began when the last one was over |
//! | echo | the time from just before a thread sends 64 bytes until it has read them back; then it pauses for a millisecond |
//! | inject | the time from just before a thread spawns a task until it runs; every millisecond, whatever became of the last one |
//! | child | the time from when a thread closes what a process reads, which ends it, until the task that waits goes on |
//! | signals | the time from just before a thread sends SIGUSR1 to the process until a task has it; then that thread pauses for a millisecond |

use super::host::{Host, MESSAGE};
use super::score::{FINISH, happened, is_over, took};
use super::shape::Due;
use crate::latency::{since, stamp};
use ropewalk::strand;
use ropewalk_core::prim::real::{AtomicU64, AtomicUsize, Ordering::*};
use rustix::process::{Signal, getpid, kill_process};
use std::io::{PipeWriter, Read, Write, pipe};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);
/// Until a process has started and waits.
const STARTS: Duration = Duration::from_millis(5);
/// Multiples of it, taken modulo one, are spread evenly: the golden ratio, in units of 2^-64.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

pub fn start<H: Host>(host: H, due: Due, tickers: usize) {
    match due {
        Due::Inject => drop(thread::spawn(move || inject(host, tickers))),
        Due::Signals => signals(host, tickers),
        _ => (0..tickers).for_each(|_| start_one(host, due)),
    }
}

fn start_one<H: Host>(host: H, due: Due) {
    match due {
        Due::Timers => host.detach(tick::<H>()),
        Due::Strands => host.tick_on_strand(tick_on_strand),
        Due::Echo => {
            let (ours, theirs) = connection().expect("there is a loopback");
            host.detach(H::echo(theirs));
            thread::spawn(move || talk(ours));
        }
        Due::Child => {
            let (writers, to_close) = channel();
            let closed = Arc::new(AtomicU64::new(0));
            thread::spawn({
                let closed = closed.clone();
                move || close(&to_close, &closed)
            });
            host.detach(async move {
                while !is_over() {
                    let (reader, writer) = pipe().expect("there are pipes");
                    let mut reads = Command::new("cat");
                    reads.stdin(reader);
                    let ended = H::ended(reads);
                    writers.send(writer).expect("it is taken");
                    ended.await;
                    took(since(closed.load(Acquire)));
                }
                FINISH.one_done();
            });
        }
        Due::Inject | Due::Signals => unreachable!("they are started at once"),
    }
}

async fn tick<H: Host>() {
    while !is_over() {
        let due = Instant::now() + TICK;
        H::sleep(TICK).await;
        happened(due);
    }
    FINISH.one_done();
}

fn tick_on_strand() {
    while !is_over() {
        let due = Instant::now() + TICK;
        strand::sleep(TICK);
        happened(due);
    }
    FINISH.one_done();
}

/// Both ends of one; the second for a runtime.
fn connection() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let ours = TcpStream::connect(listener.local_addr()?)?;
    let (theirs, _) = listener.accept()?;
    ours.set_nodelay(true)?;
    theirs.set_nodelay(true)?;
    theirs.set_nonblocking(true)?;
    Ok((ours, theirs))
}

/// The client of an echo.
fn talk(mut stream: TcpStream) {
    let mut answer = [0; MESSAGE];
    while !is_over() {
        let sent = Instant::now();
        stream.write_all(&[7; MESSAGE]).and_then(|()| stream.read_exact(&mut answer)).expect("it answers");
        happened(sent);
        thread::sleep(TICK);
    }
    FINISH.one_done();
}

/// Ends processes that have begun to read.
fn close(writers: &Receiver<PipeWriter>, closed: &AtomicU64) {
    for (writer, at) in writers.iter().zip(1_u64..) {
        // At any moment of a poll, evenly: how long a process takes would else decide at which.
        let share = at.wrapping_mul(GOLDEN) >> 32;
        thread::sleep(STARTS + 2 * TICK * share as u32 / u32::MAX);
        closed.store(stamp(), Release);
        drop(writer);
    }
}

/// Spawns so many tasks at once, from outside.
fn inject<H: Host>(host: H, tickers: usize) {
    let under_way = Arc::new(AtomicUsize::new(0));
    while !is_over() {
        for _ in 0..tickers {
            under_way.fetch_add(1, Relaxed);
            let (ran, spawned) = (under_way.clone(), Instant::now());
            host.detach(async move {
                happened(spawned);
                ran.fetch_sub(1, Release);
            });
        }
        thread::sleep(TICK);
    }
    while under_way.load(Acquire) > 0 {
        thread::sleep(TICK);
    }
    FINISH.one_done();
}

/// So many tasks wait for the same signal, and a thread sends it.
fn signals<H: Host>(host: H, tickers: usize) {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let (tell, told) = channel();
    for _ in 0..tickers {
        let (ready, heard) = (tell.clone(), tell.clone());
        let hears = move || {
            took(since(SENT.load(Acquire)));
            let _ = heard.send(()); // nobody waits any more
        };
        host.detach(H::listen(move || ready.send(()).expect("it is waited for"), hears));
    }
    thread::spawn(move || {
        let all = || (0..tickers).for_each(|_| told.recv().expect("they tell"));
        all();
        while !is_over() {
            SENT.store(stamp(), Release);
            kill_process(getpid(), Signal::USR1).expect("one may signal oneself");
            all();
            thread::sleep(TICK);
        }
        FINISH.one_done();
    });
}
