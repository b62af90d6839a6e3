//! Files: real ones, large, sparse, special and forbidden; full disks, vanishing directories, futures dropped at every poll.

#![cfg(target_os = "linux")]

mod atomic;
mod cancel;
mod model;
mod plain;
mod trouble;

use crate::kit;
use ropewalk::driver::IoDriverKind;
use ropewalk::fs::File;
use ropewalk::io::AsyncReadExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;

/// A directory of a test's own, removed at its end.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let path = std::env::temp_dir().join(format!("ropewalk-files-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names that are there.
    fn names(&self) -> Vec<String> {
        names_in(&self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Polls a future at most so often, whenever it is woken; its output, if it had one by then. It is dropped.
async fn polled<F: Future>(mut times: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|cx| {
        if times == 0 {
            return Poll::Ready(None);
        }
        times -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if times == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Bytes that tell where they are.
fn pattern(len: usize, salt: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u64).wrapping_mul(0x9E37_79B9).to_le_bytes()[3] ^ salt).collect()
}

const DRIVER: &str = "ROPEWALK_IO_DRIVER";

/// The driver that reads a file here, and why it is that one. Those of sockets only are not even made for it.
fn driver(builder: ropewalk::Builder) -> (Option<IoDriverKind>, String) {
    let place = Place::new();
    std::fs::write(place.at("a"), "a").unwrap();
    let runtime = builder.worker_threads(1).build().unwrap();
    runtime.block_on(async {
        let mut text = String::new();
        File::open(place.at("a")).await.unwrap().read_to_string(&mut text).await.unwrap();
    });
    let io = runtime.metrics().io;
    (io.driver, io.why.to_string())
}

#[test]
fn it_is_the_driver_that_was_asked_for() {
    if std::env::var(DRIVER).is_ok_and(|asked| asked == "IoUring") {
        let (driver, why) = driver(ropewalk::Runtime::builder());
        assert_eq!(driver, Some(IoDriverKind::IoUring), "{why}");
    }
}

/// All of this again with io_uring, in a child.
#[test]
fn all_of_this_on_io_uring() {
    if kit::is_child() || std::env::var_os(DRIVER).is_some() {
        return;
    }
    let (found, why) = driver(ropewalk::Runtime::builder().io_driver(IoDriverKind::IoUring));
    if found != Some(IoDriverKind::IoUring) {
        eprintln!("skipped: {why}");
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let output = child.args(["files::", "--skip", "all_of_this"]).env(DRIVER, "IoUring").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("test result: ok"), "{said}{}", kit::stderr_of(&output));
}
