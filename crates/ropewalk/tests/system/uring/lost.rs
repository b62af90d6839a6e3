//! Operations whose future, file, thread or runtime is gone.

use super::{builder, once, pipe, ring};
use crate::kit::{guarded, until};
use ropewalk::fs::File;
use ropewalk::io::prelude::*;
use ropewalk::net::UnixStream;
use std::io::Write;
use std::mem::forget;

/// The kernel writes into buffers whose futures are forgotten, or dropped with their files. Under AddressSanitizer this is the
/// proof that none is freed early.
#[test]
fn dropped_and_forgotten_under_way() {
    for workers in [0, 1, 2] {
        let Some(runtime) = ring(workers) else { return };
        guarded("lost", || {
            runtime.block_on(async {
                let mut writers = Vec::new();
                for number in 0..60 {
                    let (mut file, write) = pipe().await;
                    let mut buf = [0u8; 64];
                    let mut read = Box::pin(async move {
                        let count = file.read(&mut buf).await;
                        (file, count)
                    });
                    assert!(once(&mut read).await.is_none(), "nothing was written");
                    match number % 3 {
                        0 => drop(read),
                        1 => forget(read),
                        _ => writers.push((Some(read), None)),
                    }
                    writers.push((None, Some(write)));
                }
                for (read, write) in writers {
                    if let Some(mut write) = write {
                        // A pipe whose reader was dropped and let go by the kernel is closed.
                        let _closed = write.write_all(b"late");
                    }
                    drop(read);
                }
            });
        });
    }
}

/// A dropped read is cancelled: the kernel lets go of the file.
#[test]
fn what_is_dropped_is_cancelled() {
    let Some(runtime) = ring(1) else { return };
    let mut write = runtime.block_on(async {
        let (mut file, write) = pipe().await;
        let mut read = Box::pin(async move { file.read(&mut [0; 8]).await.map(drop) });
        assert!(once(&mut read).await.is_none());
        write
    });
    until("the pipe is closed", || {
        let written = write.write(b"x");
        written.is_err_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    });
}

/// The runtime goes down while the kernel has operations of its, some of which others wait for.
#[test]
fn the_runtime_goes_first() {
    for workers in [0, 1, 2] {
        let Some(runtime) = ring(workers) else { return };
        guarded("shutdown", || {
            let (mut file, mut write) = runtime.block_on(pipe());
            let mut read = Box::pin(async move { (file.read(&mut [0; 8]).await, file) });
            assert!(runtime.block_on(once(&mut read)).is_none());
            let (mut file, other_write) = runtime.block_on(pipe());
            let task = runtime.spawn(async move { file.read(&mut [0; 8]).await });
            drop(runtime);
            assert!(task.is_finished(), "dropped with its read");
            drop(other_write);
            let other = builder(1).build().unwrap();
            let (read, mut file) = other.block_on(read);
            let error = read.unwrap_err();
            assert!(error.to_string().contains("shut down"), "{error}");
            // A pipe has no position that could be lost. (What came into it before that, the read may have taken.)
            write.write_all(b"late").unwrap();
            assert_eq!(other.block_on(file.read(&mut [0; 8])).unwrap(), 4);
        });
    }
}

/// What a thread submitted is cancelled by the kernel when it ends. It is submitted again by another.
#[test]
fn the_thread_that_began_it_goes_first() {
    let Some(runtime) = ring(0) else { return };
    guarded("thread", || {
        let (mut read, mut write, stream, mut peer) = std::thread::scope(|scope| {
            let begin = || {
                runtime.block_on(async {
                    let (mut file, write) = pipe().await;
                    let mut read = Box::pin(async move {
                        let mut buf = [0; 8];
                        let count = file.read(&mut buf).await.unwrap();
                        buf[..count].to_vec()
                    });
                    assert!(once(&mut read).await.is_none());
                    let (stream, peer) = std::os::unix::net::UnixStream::pair().unwrap();
                    let stream = UnixStream::from_std(stream).unwrap();
                    assert!(stream.try_read(&mut [0; 8]).is_err());
                    (read, write, stream, peer)
                })
            };
            scope.spawn(begin).join().unwrap()
        });
        write.write_all(b"file").unwrap();
        peer.write_all(b"socket").unwrap();
        assert_eq!(runtime.block_on(&mut read), b"file");
        let mut buf = [0; 8];
        assert_eq!(runtime.block_on(stream.read(&mut buf)).unwrap(), 6);
        peer.write_all(b"again").unwrap();
        assert_eq!(runtime.block_on(stream.read(&mut buf)).unwrap(), 5);
    });
}

/// Registered and deregistered by many threads while the kernel reports: no event of one reaches another, and none is lost.
#[test]
fn sockets_come_and_go_on_threads_that_come_and_go() {
    for workers in [1, 2] {
        let Some(runtime) = ring(workers) else { return };
        guarded("threads", || {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for number in 0..100u8 {
                            let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
                            let reader = runtime.spawn(async move {
                                let ours = UnixStream::from_std(ours).unwrap();
                                let mut got = [0; 1];
                                ours.read(&mut got).await.unwrap();
                                got[0]
                            });
                            theirs.write_all(&[number]).unwrap();
                            assert_eq!(runtime.block_on(reader).unwrap(), number);
                        }
                    });
                }
            });
        });
        until("all are gone", || runtime.metrics().io.registered == 0);
    }
}

/// Files that are always ready are refused, as by the other drivers.
#[test]
fn what_cannot_be_watched_is_refused() {
    let Some(runtime) = ring(0) else { return };
    runtime.block_on(async {
        for path in ["/dev/null", "/proc/self/exe"] {
            let file = std::fs::File::open(path).unwrap();
            let refused = ropewalk::net::AsyncFd::new(file);
            assert!(refused.is_err(), "{path}");
        }
        assert!(File::open("/dev/null").await.is_ok(), "but read");
    });
}
