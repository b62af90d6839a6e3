//! io_uring: files by completion, what is dropped and forgotten under way, more completions than there is room for, threads that
//! go away, and a kernel that has none. The suites of sockets and files run on it, too: `net.rs`, `files.rs`.
#![cfg(target_os = "linux")]

mod absent;
mod lost;
mod ops;

use ropewalk::driver::IoDriverKind;
use ropewalk::fs::File;
use ropewalk::io::prelude::*;
use ropewalk::{Builder, Runtime};
use std::fs::File as StdFile;
use std::io::Write;
use std::pin::Pin;
use std::task::Poll;

fn builder(workers: usize) -> Builder {
    Runtime::builder().worker_threads(workers).io_driver(IoDriverKind::IoUring)
}

/// A runtime on io_uring, or `None` with the reason printed: what is tested here is not there.
fn ring(workers: usize) -> Option<Runtime> {
    let runtime = builder(workers).build().unwrap();
    runtime.block_on(async {
        drop(ropewalk::net::UnixStream::pair().unwrap());
    });
    let io = runtime.metrics().io;
    if io.driver == Some(IoDriverKind::IoUring) {
        return Some(runtime);
    }
    eprintln!("skipped: {}", io.why);
    None
}

/// Polls a future once, at the place where this is awaited.
async fn once<F: Future>(future: &mut Pin<Box<F>>) -> Option<F::Output> {
    std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// A pipe: its reading end as a file that is known to be one, so that the next read goes to the ring and stays there.
async fn pipe() -> (File, StdFile) {
    let (read, write) = std::io::pipe().unwrap();
    let (read, mut write) =
        (StdFile::from(std::os::fd::OwnedFd::from(read)), StdFile::from(std::os::fd::OwnedFd::from(write)));
    let mut file = File::from_std(read);
    write.write_all(b"first").unwrap();
    let mut first = [0; 5];
    file.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"first");
    (file, write)
}
