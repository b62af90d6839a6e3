//! Several tasks and threads at once: pipes with too little room, halves, proxies, and sources that never run dry.

use super::choppy::{Choppy, Random, finish};
use crate::kit::{guarded, on_every_kind};
use ropewalk::io::{self, BufReader, ErrorKind, prelude::*};
use ropewalk::{Runtime, Wait, join};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};

#[test]
fn a_pipe_with_little_room_moves_everything_between_two_tasks() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let bytes = Random(7).bytes(20_000);
        let (wanted, (mut near, mut far)) = (bytes.clone(), io::duplex(7));
        let writing = runtime.spawn(async move { near.write_all(&bytes).await });
        let reading = runtime.spawn(async move {
            let mut all = Vec::new();
            far.read_to_end(&mut all).await.map(|_| all)
        });
        let (written, read) = runtime.block_on(async { join!(writing, reading) });
        written.unwrap().unwrap();
        assert_eq!(read.unwrap().unwrap(), wanted);
    });
}

#[test]
fn a_pipe_works_between_threads() {
    guarded("threads", || {
        let (mut reader, mut writer) = io::pipe(3);
        let writing = std::thread::spawn(move || writer.write_all(&[5; 1000]).wait().unwrap());
        let mut all = Vec::new();
        reader.read_to_end(&mut all).wait().unwrap();
        assert_eq!(all, [5; 1000]);
        writing.join().unwrap();
    });
}

#[test]
fn an_end_that_is_dropped_wakes_who_waits() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let ((mut near, far), mut buf) = (io::duplex(4), [0; 1]);
        let waiting = runtime.spawn(async move { (near.read(&mut buf).await.unwrap(), near) });
        let closing = runtime.spawn(async move { drop(far) });
        let (count, mut near) = runtime.block_on(waiting).unwrap();
        assert_eq!(count, 0);
        runtime.block_on(closing).unwrap();
        assert_eq!(runtime.block_on(near.write(b"x")).unwrap_err().kind(), ErrorKind::BrokenPipe);

        let (mut near, far) = io::duplex(4);
        let waiting = runtime.spawn(async move { near.write_all(b"more than fits").await });
        let closing = runtime.spawn(async move { drop(far) });
        assert_eq!(runtime.block_on(waiting).unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
        runtime.block_on(closing).unwrap();
    });
}

#[test]
fn after_closing_what_was_written_is_read_and_nothing_more_is_taken() {
    let (mut near, mut far) = io::duplex(64);
    finish(near.write_all(b"last words")).unwrap();
    finish(near.close()).unwrap();
    assert_eq!(finish(near.write(b"x")).unwrap_err().kind(), ErrorKind::BrokenPipe);
    let mut all = String::new();
    finish(far.read_to_string(&mut all)).unwrap();
    assert_eq!(all, "last words");
    finish(far.write_all(b"still open this way")).unwrap();
    let mut buf = [0; 5];
    finish(near.read_exact(&mut buf)).unwrap();
    assert_eq!(&buf, b"still");
}

#[test]
fn halves_are_used_at_once_and_reunited() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let (near, mut far) = io::duplex(16);
        let (mut reader, mut writer) = io::split(near);
        let echo = runtime.spawn(async move {
            let (mut back, mut forth) = io::split(&mut far);
            io::copy(&mut back, &mut forth).await.unwrap();
            forth.close().await.unwrap();
        });
        let bytes = Random(3).bytes(10_000);
        let wanted = bytes.clone();
        let writing = runtime.spawn(async move {
            writer.write_all(&bytes).await.unwrap();
            writer.close().await.unwrap();
            writer
        });
        let reading = runtime.spawn(async move {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).await.unwrap();
            (reader, all)
        });
        let (writer, read, echoed) = runtime.block_on(async { join!(writing, reading, echo) });
        echoed.unwrap();
        let (reader, all) = read.unwrap();
        assert_eq!(all, wanted);
        reader.reunite(writer.unwrap()).unwrap();
    });
}

#[test]
fn halves_of_different_wholes_are_given_back() {
    let (one, two) = io::duplex(1);
    let ((one, _), (_, two)) = (io::split(one), io::split(two));
    assert!(!one.is_pair_of(&two));
    let error = one.reunite(two).unwrap_err();
    assert_eq!(error.to_string(), "these halves come from different calls of split");
}

#[test]
fn a_half_whose_poll_panics_leaves_the_other_usable() {
    struct Thorn;
    impl AsyncRead for Thorn {
        fn poll_read(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            _: &mut [u8],
        ) -> std::task::Poll<io::Result<usize>> {
            panic!("on purpose")
        }
    }
    impl AsyncWrite for Thorn {
        fn poll_write(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buf: &[u8],
        ) -> std::task::Poll<io::Result<usize>> {
            std::task::Poll::Ready(Ok(buf.len()))
        }
        fn poll_flush(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
        fn poll_close(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
    }
    crate::kit::quiet();
    let (mut reader, mut writer) = io::split(Thorn);
    assert!(crate::kit::panic_of(|| finish(reader.read(&mut [0]))).is_some());
    finish(writer.write_all(b"goes on")).unwrap();
}

#[test]
fn a_proxy_passes_half_closes_on_and_counts() {
    on_every_kind(|kind| {
        let runtime = kind.build();
        let ((mut client, mut front), (mut back, mut server)) = (io::duplex(5), io::duplex(9));
        let proxy = runtime.spawn(async move { io::copy_bidirectional(&mut front, &mut back).await });
        let serving = runtime.spawn(async move {
            let mut question = Vec::new();
            server.read_to_end(&mut question).await.unwrap(); // only ends if the close was passed on
            server.write_all(&question[..question.len() / 2]).await.unwrap();
            server.close().await.unwrap();
        });
        let answer = runtime.block_on(async move {
            client.write_all(&[9; 5000]).await.unwrap();
            client.close().await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            answer
        });
        assert_eq!(answer.len(), 2500);
        runtime.block_on(serving).unwrap();
        assert_eq!(runtime.block_on(proxy).unwrap().unwrap(), (5000, 2500));
    });
}

#[test]
fn a_proxy_ends_with_the_first_error() {
    let (mut front, client) = io::duplex(8);
    let (mut back, mut server) = io::duplex(8);
    finish(server.write_all(b"unread")).unwrap();
    drop(client); // front reads the end, and writing to it fails
    let error = finish(io::copy_bidirectional(&mut front, &mut back)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

/// One side of a proxy: reads `1`s without end and notes that something else was written to it, or gives one `x` and then
/// nothing, and takes everything until the other side has noted it.
struct Side {
    is_endless: bool,
    has_given: bool,
    noted: Arc<AtomicBool>,
}

impl AsyncRead for Side {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.is_endless {
            buf.fill(1);
            return Poll::Ready(Ok(buf.len()));
        }
        if std::mem::replace(&mut self.has_given, true) {
            return Poll::Pending;
        }
        buf[0] = b'x';
        Poll::Ready(Ok(1))
    }
}

impl AsyncWrite for Side {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_endless {
            assert_eq!(buf, b"x");
            self.noted.store(true, SeqCst);
        } else if self.noted.load(SeqCst) {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// It ends only when the `x` has come through.
async fn proxy_with_an_endless_side(endless_first: bool) {
    let noted: Arc<AtomicBool> = Arc::default();
    let side = |is_endless| Side { is_endless, has_given: false, noted: noted.clone() };
    let (mut a, mut b) = (side(endless_first), side(!endless_first));
    let error = io::copy_bidirectional(&mut a, &mut b).await.unwrap_err();
    assert!(error.kind() == ErrorKind::BrokenPipe && noted.load(SeqCst));
}

#[test]
fn a_proxy_lets_both_ways_have_their_turn() {
    for endless_first in [true, false] {
        on_every_kind(|kind| {
            let runtime = kind.build();
            runtime.block_on(runtime.spawn(proxy_with_an_endless_side(endless_first))).unwrap();
        });
        guarded("on a plain thread", || proxy_with_an_endless_side(endless_first).wait());
        guarded("without anybody", || finish(proxy_with_an_endless_side(endless_first)));
    }
}

#[test]
fn what_was_copied_is_flushed_while_the_reader_has_nothing() {
    let (mut source, mut reader) = io::duplex(64);
    let (writer, mut sink) = io::duplex(64);
    let mut writer = io::BufWriter::new(writer);
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    let copying = runtime.spawn(async move { io::copy(&mut reader, &mut writer).await });
    guarded("flush", || {
        runtime.block_on(async {
            source.write_all(b"now").await.unwrap();
            let mut buf = [0; 3];
            sink.read_exact(&mut buf).await.unwrap();
            source.close().await.unwrap();
        });
        assert_eq!(runtime.block_on(copying).unwrap().unwrap(), 3);
    });
}

/// On one worker: if one of these did not yield, the other task would never run.
#[test]
fn sources_that_are_always_ready_let_others_run() {
    let runtime = Runtime::builder().worker_threads(1).build().unwrap();
    guarded("fairness", || {
        let polls = Arc::new(AtomicUsize::new(0));
        let endless: [ropewalk::TaskHandle<()>; 4] = [
            runtime.spawn(async { drop(io::copy(&mut io::repeat(1), &mut io::sink()).await) }),
            runtime.spawn(async {
                drop(io::copy_buf(&mut BufReader::new(io::repeat(1)), &mut io::sink()).await);
            }),
            runtime.spawn(async {
                let mut lines = BufReader::new(io::repeat(b'\n')).lines();
                while lines.next_line().await.unwrap().is_some() {}
            }),
            runtime.spawn(async {
                let mut buf = [0; 8];
                while io::repeat(1).read(&mut buf).await.unwrap() > 0 {
                    io::sink().write_all(&buf).await.unwrap();
                }
            }),
        ];
        let seen = polls.clone();
        let beside = runtime.spawn(async move {
            for _ in 0..50 {
                seen.fetch_add(1, SeqCst);
                ropewalk::yield_now().await;
            }
        });
        runtime.block_on(beside).unwrap();
        assert_eq!(polls.load(SeqCst), 50);
        for task in endless {
            task.cancel();
            assert!(runtime.block_on(task).is_err());
        }
    });
}

#[test]
fn everything_waits_on_plain_threads_and_strands() {
    guarded("wait", || {
        let runtime = Runtime::builder().worker_threads(1).build().unwrap();
        let strand = crate::kit::strand_in(&runtime, || {
            let mut reader = BufReader::new(Choppy::new(b"one\ntwo\n", 2)).lines();
            (reader.next_line().wait().unwrap(), reader.next_line().wait().unwrap())
        });
        let lines = runtime.block_on(strand).unwrap();
        assert_eq!(lines, (Some("one".to_owned()), Some("two".to_owned())));
        let mut all = Vec::new();
        assert_eq!(Choppy::new(b"thread", 1).read_to_end(&mut all).wait().unwrap(), 6);
    });
}
