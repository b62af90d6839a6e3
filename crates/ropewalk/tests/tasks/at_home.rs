//! A runtime without threads whose root waits: the thread that drives it sleeps in the worker's loop. Whatever ends that sleep, and whatever
//! ends the runtime meanwhile, the root hears of it.

use crate::kit::{Gate, guarded, panic_of, quiet, until};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk::{Builder, Handle, Pool, Runtime, UnhandledPanic, Wait, WorkerState, spawn, strand, time};
use std::future::pending;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

fn one_thread() -> Builder {
    Runtime::builder().worker_threads(0)
}

/// The root sleeps.
fn sleeps(handle: &Handle) {
    until("it sleeps", || handle.metrics().pools[0].workers[0].state != WorkerState::Busy);
}

/// Runs `root` on this thread; `meddle` comes as soon as it sleeps, from another one.
fn while_it_sleeps<T>(runtime: &Runtime, root: impl Future<Output = T>, meddle: impl FnOnce() + Send) -> T {
    let handle = runtime.handle();
    thread::scope(|scope| {
        scope.spawn(move || {
            sleeps(&handle);
            meddle();
        });
        guarded("the root", || runtime.block_on(root))
    })
}

#[test]
fn it_is_woken_by_another_thread() {
    let (runtime, gate) = (one_thread().build().unwrap(), Gate::new());
    while_it_sleeps(&runtime, gate.passed(), || gate.open());
}

#[test]
fn a_task_comes_from_another_thread() {
    let (runtime, gate) = (one_thread().build().unwrap(), Gate::new());
    let (handle, done) = (runtime.handle(), gate.clone());
    while_it_sleeps(&runtime, gate.passed(), move || drop(handle.spawn(async move { done.open() })));
}

/// It is on a stack of its own, and the loop went on on another one.
#[test]
fn a_poll_that_waits_is_woken_by_another_thread() {
    let (runtime, gate) = (one_thread().build().unwrap(), Gate::new());
    let inside = gate.clone();
    let task = runtime.spawn(async move { inside.passed().wait() });
    while_it_sleeps(&runtime, task, || gate.open()).unwrap();
}

#[test]
fn a_strand_is_woken_by_another_thread() {
    let (runtime, gate) = (one_thread().build().unwrap(), Gate::new());
    let handle = runtime.handle();
    thread::scope(|scope| {
        scope.spawn(|| {
            sleeps(&handle);
            gate.open();
        });
        let (sum, passed) = (1, gate.passed());
        let root = move || strand::scope(|s| s.spawn(|| (passed.wait(), sum + 1).1).join());
        assert_eq!(guarded("the root", || runtime.run(root)), 2);
    });
}

#[test]
fn a_deadline_ends_it() {
    let runtime = one_thread().build().unwrap();
    let sleeps = async {
        for _ in 0..3 {
            time::sleep(Duration::from_millis(5)).await;
        }
    };
    guarded("the root", || runtime.block_on(sleeps));
    assert!(runtime.metrics().pools[0].workers[0].parks >= 3, "it slept for each");
}

/// A deadline that another thread sets, earlier than the one it sleeps until. That thread does not drive: it waits for who does.
#[test]
fn an_earlier_deadline_ends_it() {
    let runtime = one_thread().build().unwrap();
    let late = runtime.spawn(time::sleep(Duration::from_secs(1000)));
    let (handle, gate) = (runtime.handle(), Gate::new());
    let done = gate.clone();
    while_it_sleeps(&runtime, gate.passed(), move || {
        handle.block_on(time::sleep(Duration::from_millis(5)));
        done.open();
    });
    late.cancel();
}

#[test]
fn a_panic_elsewhere_ends_the_runtime_and_the_root() {
    quiet();
    let runtime = one_thread().unhandled_panic(UnhandledPanic::Terminate).build().unwrap();
    let pool = Pool::builder().name("other").workers(1).build(&runtime.handle()).unwrap();
    let raised = panic_of(|| {
        while_it_sleeps(&runtime, pending::<()>(), move || {
            drop(pool.spawn(async { panic!("on purpose: elsewhere") }))
        })
    });
    assert_eq!(raised.unwrap(), "on purpose: elsewhere");
}

/// The pool closes under the root: its tasks end, and the root, which waits for one of them, is told.
#[test]
fn it_is_shut_down_by_another_thread() {
    let runtime = one_thread().build().unwrap();
    let handle = runtime.handle();
    let task = runtime.spawn(pending::<()>());
    let ended = while_it_sleeps(&runtime, task, move || handle.shutdown_now());
    ended.unwrap_err();
}

/// Another `block_on` takes over when the first one is done, and sleeps where that one did.
#[test]
fn the_seat_changes_hands() {
    let (runtime, first, second) = (one_thread().build().unwrap(), Gate::new(), Gate::new());
    thread::scope(|scope| {
        let driver = scope.spawn(|| runtime.block_on(first.passed()));
        sleeps(&runtime.handle());
        let other = scope.spawn(|| runtime.block_on(second.passed()));
        until("the other one waits", || second.waiting() > 0);
        first.open();
        driver.join().unwrap();
        sleeps(&runtime.handle());
        second.open();
        other.join().unwrap();
    });
}

/// The driver is asked once for each time that the thread sleeps: an event costs one call, that which slept for it.
#[test]
fn the_driver_is_asked_once_for_each_sleep() {
    const ROUNDS: u64 = 300;
    let runtime = one_thread().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = listener.local_addr().unwrap();
    let handle = runtime.handle();
    let client = thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let mut byte = [0];
        for _ in 0..ROUNDS {
            sleeps(&handle);
            stream.write_all(&[7]).unwrap();
            stream.read_exact(&mut byte).unwrap();
        }
    });
    runtime.block_on(async {
        let (stream, _) = listener.accept().await.unwrap();
        spawn(echo(stream)).await.unwrap();
    });
    client.join().unwrap();
    let metrics = runtime.metrics();
    let (polls, parks) = (metrics.io.polls, metrics.pools[0].workers[0].parks);
    assert!(parks >= ROUNDS, "{parks}: it sleeps before each message");
    assert!(polls <= parks + parks / 8, "{polls} calls for {parks} sleeps");
}

async fn echo(stream: TcpStream) {
    let mut byte = [0];
    while stream.read(&mut byte).await.unwrap() > 0 {
        stream.write_all(&byte).await.unwrap();
    }
}
