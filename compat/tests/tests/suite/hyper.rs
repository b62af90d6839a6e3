//! hyper's clients against hyper's servers, both on Ropewalk.

use crate::kit::{Gate, RuntimeKind, for_sockets, guarded};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::service::service_fn;
use hyper::{Request, server};
use ropewalk::compat::hyper::{Executor, Io, Timer};
use ropewalk::net::{TcpListener, TcpStream, UnixStream};
use ropewalk::{Runtime, io, task_group};
use ropewalk_compat_tests::{
    PROTOCOLS, Protocol, Sender, answer, connect, pattern, serve, shake_hands, start, whole,
};
use std::convert::Infallible;
use std::io::Write;
use std::pin::pin;
use std::time::Duration;

const HERE: [RuntimeKind; 3] = [RuntimeKind::Threads(1), RuntimeKind::Threads(2), RuntimeKind::Caller];

fn everywhere(test: impl Fn(&Runtime, Protocol)) {
    for (name, builder) in for_sockets() {
        let runtime = builder.build().unwrap();
        for protocol in PROTOCOLS {
            guarded(format!("{name} {protocol:?}"), || test(&runtime, protocol));
        }
    }
}

#[test]
fn requests_are_answered_one_after_the_other_on_one_connection() {
    everywhere(|runtime, protocol| {
        runtime.block_on(async {
            let (address, _) = start(protocol).await.unwrap();
            let mut sender = connect(protocol, address).await.unwrap();
            for _ in 0..50 {
                let (status, body) = sender.ask("/hello", whole("")).await.unwrap();
                assert_eq!((status.as_u16(), &body[..]), (200, &b"hello"[..]));
            }
            assert_eq!(sender.ask("/nothing", whole("")).await.unwrap().0, 404);
        });
    });
}

#[test]
fn a_body_larger_than_every_buffer_goes_both_ways_at_once() {
    everywhere(|runtime, protocol| {
        runtime.block_on(async {
            let (address, _) = start(protocol).await.unwrap();
            let mut sender = connect(protocol, address).await.unwrap();
            let sent = pattern(3 << 20);
            let (_, back) = sender.ask("/echo", whole(sent.clone())).await.unwrap();
            assert!(back == sent, "{} of {} bytes came back", back.len(), sent.len());
        });
    });
}

#[test]
fn many_connections_are_served_at_once() {
    everywhere(|runtime, protocol| {
        runtime.block_on(async {
            let (address, _) = start(protocol).await.unwrap();
            let clients: Vec<_> = (0..40)
                .map(|number| {
                    ropewalk::spawn(async move {
                        let mut sender = connect(protocol, address).await.unwrap();
                        for step in 0..5 {
                            let count = number * 100 + step;
                            let (_, body) = sender.ask(&format!("/bytes/{count}"), whole("")).await.unwrap();
                            assert_eq!(body, pattern(count));
                        }
                    })
                })
                .collect();
            for client in clients {
                client.await.unwrap();
            }
        });
    });
}

#[test]
fn a_hundred_streams_share_one_connection() {
    for kind in HERE {
        guarded(format!("{kind:?}"), || {
            kind.build().block_on(async {
                let (address, _) = start(Protocol::Two).await.unwrap();
                let Sender::Two(sender) = connect(Protocol::Two, address).await.unwrap() else {
                    panic!("asked for the other one")
                };
                let streams = task_group(|group| {
                    for number in 0..100 {
                        let mut sender = Sender::Two(sender.clone());
                        group.spawn(async move {
                            let sent = pattern(number * 1000);
                            let (_, back) = sender.ask("/echo", whole(sent.clone())).await.unwrap();
                            assert!(back == sent, "stream {number}");
                        });
                    }
                });
                streams.await.into_iter().for_each(|outcome| outcome.unwrap());
            });
        });
    }
}

#[test]
fn a_client_that_leaves_in_the_middle_ends_its_connection_and_no_other() {
    everywhere(|runtime, protocol| {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut stays = {
                let connecting = ropewalk::spawn(async move { connect(protocol, address).await.unwrap() });
                let (stream, _) = listener.accept().await.unwrap();
                drop(ropewalk::spawn(serve(protocol, stream)));
                connecting.await.unwrap()
            };
            let leaves = ropewalk::spawn(async move { TcpStream::connect(address).await.unwrap() });
            let (stream, _) = listener.accept().await.unwrap();
            let serving = ropewalk::spawn(serve(protocol, stream));
            let leaves = leaves.await.unwrap();
            leaves.write_all(b"POST /echo HTTP/1.1\r\ncontent-length: 100\r\n\r\nhalf").await.unwrap();
            drop(leaves);
            let _broken_off = serving.await.unwrap();
            assert_eq!(&stays.ask("/hello", whole("")).await.unwrap().1[..], b"hello");
        });
    });
}

#[test]
fn headers_that_do_not_come_are_waited_for_by_the_runtimes_clock() {
    guarded("headers", || {
        let runtime = Runtime::builder().paused(true).build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.write_all(b"GET / HTTP/1.1\r\nhost:").unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let mut builder = server::conn::http1::Builder::new();
            builder.timer(Timer::new()).header_read_timeout(Duration::from_secs(3600));
            // An hour that nobody waits for.
            let outcome = builder.serve_connection(stream, service_fn(answer)).await;
            assert!(outcome.unwrap_err().is_timeout());
        });
    });
}

/// Asks a pinned connection to end when a request is under way, and lets that one go on then. (hyper's kinds of connections
/// have this in common, and no trait.)
macro_rules! ended_in_between {
    ($serving:ident, $under_way:ident, $go_on:ident) => {{
        let mut serving = $serving;
        ropewalk::select! {
            biased;
            _ = serving.as_mut() => panic!("nothing was asked yet"),
            _ = $under_way => {}
        }
        serving.as_mut().graceful_shutdown();
        $go_on.open();
        serving.await
    }};
}

#[test]
fn a_connection_that_is_asked_to_end_answers_first() {
    everywhere(|runtime, protocol| {
        runtime.block_on(async {
            let (near, far) = UnixStream::pair().unwrap();
            let (asked, go_on) = (Gate::new(), Gate::new());
            let (tell, wait) = (asked.clone(), go_on.clone());
            // hyper's client gives a request up if the end is announced before it came to send the body.
            let sends = Gate::new();
            let sending = sends.clone();
            let body = Full::new(Bytes::from("hello")).map_frame(move |frame| {
                sending.open();
                frame
            });
            let body = body.map_err(|never: Infallible| match never {}).boxed();
            let slow = service_fn(move |request| {
                tell.open();
                let wait = wait.passed();
                async move {
                    wait.await;
                    answer(request).await
                }
            });
            let serving = ropewalk::spawn(async move {
                let under_way = async { (asked.passed().await, sends.passed().await) };
                match protocol {
                    Protocol::One => {
                        let mut builder = server::conn::http1::Builder::new();
                        let serving = pin!(builder.timer(Timer::new()).serve_connection(near, slow));
                        ended_in_between!(serving, under_way, go_on)
                    }
                    Protocol::Two => {
                        let builder = server::conn::http2::Builder::new(Executor);
                        let serving = pin!(builder.serve_connection(near, slow));
                        ended_in_between!(serving, under_way, go_on)
                    }
                }
            });
            let mut sender = shake_hands(protocol, far).await.unwrap();
            assert_eq!(&sender.ask("/echo", body).await.unwrap().1[..], b"hello");
            if let Err(error) = serving.await.unwrap() {
                // The client knows from the first word that this is the end, and may be gone before the last.
                let cause =
                    std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
                assert_eq!(cause.map(io::Error::kind), Some(io::ErrorKind::BrokenPipe), "{error:?}");
            }
            assert!(sender.ask("/hello", whole("")).await.is_err(), "there is nobody any more");
        });
    });
}

#[test]
fn anything_that_reads_and_writes_carries_a_connection() {
    everywhere(|runtime, protocol| {
        runtime.block_on(async {
            let (near, far) = io::duplex(100);
            drop(ropewalk::spawn(serve(protocol, Io::new(near))));
            let mut sender = shake_hands(protocol, Io::new(far)).await.unwrap();
            let (_, body) = sender.ask("/bytes/10000", whole("")).await.unwrap();
            assert_eq!(body, pattern(10_000));
        });
    });
}

#[test]
fn a_handle_runs_hypers_tasks_for_a_foreign_executor() {
    guarded("foreign", || {
        let runtime = RuntimeKind::Threads(1).build();
        let (address, _) = runtime.block_on(start(Protocol::Two)).unwrap();
        let handle = runtime.handle();
        let body = plain_block_on(async {
            let stream = TcpStream::connect(address).await.unwrap();
            let builder = hyper::client::conn::http2::Builder::new(handle.clone());
            let (mut sender, connection) = builder.handshake(stream).await.unwrap();
            drop(handle.spawn(connection));
            let request = Request::get("http://ropewalk.test/hello").body(whole("")).unwrap();
            sender.send_request(request).await.unwrap().into_body().collect().await.unwrap().to_bytes()
        });
        assert_eq!(&body[..], b"hello");
    });
}

/// An executor that knows nothing of runtimes.
fn plain_block_on<F: Future>(future: F) -> F::Output {
    use std::task::{Context, Poll, Wake, Waker};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
