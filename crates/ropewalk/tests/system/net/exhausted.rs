//! A listener without descriptors. Each test is in child processes, because descriptors are the whole process's.

use super::common::{drivers, is_child, run_as_child, stderr_of};
use ropewalk::net::{IntoIncoming, TcpListener, TcpStream};
use ropewalk::time::timeout;
use ropewalk::{Builder, Runtime};
use std::future::poll_fn;
use std::io;
use std::time::Duration;

const KIND: &str = "ROPEWALK_TEST_EMFILE";

/// Runs `child` in a process of its own for each driver. One that is not to be had here is skipped with its reason.
fn with_each_driver(name: &str, child: impl FnOnce(Builder) -> io::Result<()>) {
    if is_child() {
        let wanted = std::env::var(KIND).unwrap();
        let kind = drivers().into_iter().find(|kind| kind.to_string() == wanted).unwrap();
        return child(Runtime::builder().worker_threads(1).io_driver(kind)).unwrap();
    }
    for kind in drivers() {
        let child = run_as_child(&format!("net::exhausted::{name}"), |child| {
            child.env(KIND, kind.to_string());
        });
        assert!(child.status.success(), "with {kind}: {}", stderr_of(&child));
    }
}

/// A listener where a client waits that has sent a byte, and all other descriptors that the process may have.
async fn nothing_left() -> io::Result<(TcpListener, TcpStream, Vec<std::fs::File>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let client = TcpStream::connect(listener.local_addr()?).await?;
    client.write_all(b"x").await?;
    rustix::process::setrlimit(
        rustix::process::Resource::Nofile,
        rustix::process::Rlimit { current: Some(64), maximum: Some(64) },
    )?;
    let hoard = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
    Ok((listener, client, hoard))
}

async fn is_refused(listener: &TcpListener) {
    is_refusal(listener.accept().await);
}

fn is_refusal<T>(accepted: io::Result<T>) {
    match accepted {
        Ok(_) => panic!("there is no descriptor for it"),
        Err(error) => assert_eq!(error.raw_os_error(), Some(24), "{error}"),
    }
}

/// A server, in one of the ways in which one can accept.
trait Server {
    fn of(listener: TcpListener) -> Self;

    async fn accept(&mut self) -> io::Result<TcpStream>;
}

impl Server for TcpListener {
    fn of(listener: TcpListener) -> Self {
        listener
    }

    async fn accept(&mut self) -> io::Result<TcpStream> {
        TcpListener::accept(self).await.map(|(stream, _)| stream)
    }
}

struct Polling(TcpListener);

impl Server for Polling {
    fn of(listener: TcpListener) -> Self {
        Self(listener)
    }

    async fn accept(&mut self) -> io::Result<TcpStream> {
        poll_fn(|cx| self.0.poll_accept(cx)).await.map(|(stream, _)| stream)
    }
}

/// On io_uring the kernel accepts ahead.
impl Server for IntoIncoming<TcpListener> {
    fn of(listener: TcpListener) -> Self {
        listener.into_incoming()
    }

    async fn accept(&mut self) -> io::Result<TcpStream> {
        self.next().await
    }
}

#[test]
fn accepting_is_an_error_and_not_a_busy_loop_and_the_listener_lives() {
    no_busy_loop::<TcpListener>("accepting_is_an_error_and_not_a_busy_loop_and_the_listener_lives");
}

#[test]
fn neither_is_polling_a_listener() {
    no_busy_loop::<Polling>("neither_is_polling_a_listener");
}

#[test]
fn nor_accepting_ahead() {
    no_busy_loop::<IntoIncoming<TcpListener>>("nor_accepting_ahead");
}

fn no_busy_loop<S: Server>(name: &str) {
    with_each_driver(name, |builder| {
        let runtime = builder.build().unwrap();
        runtime.block_on(async {
            let (listener, _client, hoard) = nothing_left().await?;
            let (mut server, mut refused) = (S::of(listener), 0);
            let polls = || runtime.metrics().total(|worker| worker.polls);
            let before = polls();
            let limit = timeout(Duration::from_millis(300), async {
                loop {
                    is_refusal(server.accept().await);
                    refused += 1;
                }
            });
            assert!(limit.await.is_err());
            assert!((1..100).contains(&refused), "{refused} refusals in 300 ms");
            assert!(polls() - before < 1000, "a busy loop: {} polls", polls() - before);
            drop(hoard);
            let stream = loop {
                match server.accept().await {
                    Err(error) if error.raw_os_error() == Some(24) => {} // from before there were any
                    accepted => break accepted?,
                }
            };
            assert_eq!(stream.read(&mut [0; 8]).await?, 1);
            Ok(())
        })
    });
}

/// The pause belongs to the listener: who gives up and calls again goes on with it. On a clock that stands still but for naps.
#[test]
fn an_accept_that_is_dropped_again_and_again_comes_through() {
    with_each_driver("an_accept_that_is_dropped_again_and_again_comes_through", |builder| {
        builder.worker_threads(0).paused(true).build().unwrap().block_on(async {
            let (listener, _client, hoard) = nothing_left().await?;
            for _ in 0..12 {
                is_refused(&listener).await;
            }
            drop(hoard);
            let mut dropped = 0;
            let (server, _) = loop {
                match timeout(Duration::from_millis(200), listener.accept()).await {
                    Ok(accepted) => break accepted?,
                    Err(_) => dropped += 1,
                }
                assert!(dropped < 10, "the listener is lost");
            };
            assert_eq!(dropped, 2, "it rests for 512 ms");
            assert_eq!(server.read(&mut [0; 8]).await?, 1);
            Ok(())
        })
    });
}

/// Another runtime's clock may be far behind: the pause is never longer than it would be from now on.
#[test]
fn a_pause_of_another_clock_is_no_longer_than_one_of_this() {
    with_each_driver("a_pause_of_another_clock_is_no_longer_than_one_of_this", |builder| {
        let there = builder.clone().build().unwrap();
        let (listener, _client, hoard) = there.block_on(async {
            let all = nothing_left().await?;
            is_refused(&all.0).await;
            io::Result::Ok(all)
        })?;
        drop(hoard);
        let here = builder.worker_threads(0).paused(true).build().unwrap();
        here.block_on(async {
            let from = ropewalk::time::Instant::now();
            let (_server, _) = listener.accept().await?;
            assert!(from.elapsed() <= Duration::from_millis(2), "{:?}", from.elapsed());
            Ok(())
        })
    });
}
