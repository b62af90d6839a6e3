//! The seam: how operations on files are carried out. Each is a job of the blocking pool of the current runtime, or, if its driver
//! is io_uring, an operation of the ring (`completion.rs`).
//!
//! Contract:
//!
//! * **EN1** An operation owns everything it touches: the file by a counted reference, the buffer by value. So a future may
//!   be dropped or forgotten at any time.
//! * **EN2** Dropping an [`Op`] gives the operation up: if it has not begun it never will, else it goes on to its end, or is cut
//!   short by the kernel.
//! * **EN3** A write-behind is never given up: if the runtime does not carry it out any more, whoever drops it does, on the
//!   spot.

use super::behind::{Behind, Target};
#[cfg(target_os = "linux")]
use super::completion;
use super::open::Asked;
#[cfg(target_os = "linux")]
use crate::drive::io::uring::{Flight, Landing};
use crate::runtime::Handle;
use crate::sched::blocking;
use ropewalk_core::task::{TaskError, TaskHandle};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io::{self, Read, Seek, SeekFrom};
#[cfg(unix)]
use std::os::unix::fs::FileExt;
use std::panic::Location;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// An operation under way: a future of its result (EN2).
#[derive(Debug)]
pub(crate) struct Op<T>(By<T>);

/// Who carries it out.
enum By<T> {
    Pool(TaskHandle<io::Result<T>>),
    #[cfg(target_os = "linux")]
    Kernel(Flight, Option<Finish<T>>),
}

/// What is made of the kernel's answer.
#[cfg(target_os = "linux")]
type Finish<T> = Box<dyn FnOnce(Landing) -> io::Result<T> + Send + Sync>;

impl<T> fmt::Debug for By<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(job) => f.debug_tuple("Pool").field(job).finish(),
            #[cfg(target_os = "linux")]
            Self::Kernel(flight, _) => f.debug_tuple("Kernel").field(flight).finish(),
        }
    }
}

/// Starts `call` where it may block.
#[track_caller]
pub(crate) fn run<T: Send + 'static>(call: impl FnOnce() -> io::Result<T> + Send + 'static) -> Op<T> {
    Op(By::Pool(blocking::spawn(&Handle::current(), call, None, Location::caller(), None)))
}

#[cfg(target_os = "linux")]
impl<T> Op<T> {
    pub(super) fn flight(
        flight: Flight,
        finish: impl FnOnce(Landing) -> io::Result<T> + Send + Sync + 'static,
    ) -> Self {
        Self(By::Kernel(flight, Some(Box::new(finish))))
    }
}

impl<T> Future for Op<T> {
    type Output = io::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            By::Pool(job) => {
                Pin::new(job).poll(cx).map(|result| result.unwrap_or_else(|error| Err(not_done(error))))
            }
            #[cfg(target_os = "linux")]
            By::Kernel(flight, finish) => {
                let landing = std::task::ready!(Pin::new(flight).poll(cx))?;
                Poll::Ready(finish.take().expect("it is polled to its end once")(landing))
            }
        }
    }
}

impl<T> Drop for Op<T> {
    fn drop(&mut self) {
        match &self.0 {
            By::Pool(job) => {
                job.cancel();
            }
            #[cfg(target_os = "linux")]
            By::Kernel(..) => {} // by itself
        }
    }
}

fn not_done(error: TaskError) -> io::Error {
    match error {
        TaskError::Panicked(info) => io::Error::other(info.to_string()),
        error => io::Error::other(format!("the file operation was not carried out: {error}")),
    }
}

/// What a [`read`] brings back.
#[derive(Debug)]
pub(crate) struct ReadDone {
    pub(crate) buf: Vec<u8>,
    /// `buf[..count]` was read.
    pub(crate) count: usize,
    /// Whether the cursor is back where the reader believes it.
    pub(crate) rewound: bool,
    pub(crate) is_regular: bool,
    pub(crate) error: Option<io::Error>,
}

/// What to read.
pub(crate) struct ReadOrder {
    /// To be used again, for what its length is.
    pub(crate) buf: Vec<u8>,
    /// At most so many bytes.
    pub(crate) at_most: usize,
    /// So many if it turns out to be something else than a regular file, which cannot be read ahead.
    pub(crate) at_most_if_special: usize,
    /// How far the cursor has to go back first.
    pub(crate) rewind: u64,
    /// Whether it is a regular file, if that is known.
    pub(crate) is_regular: Option<bool>,
}

/// A file that stays open for as long as somebody has this (EN1).
pub(crate) type Held = Arc<dyn AsRef<File> + Send + Sync>;

/// Reads at the cursor.
pub(crate) fn read(file: Held, order: ReadOrder) -> Op<ReadDone> {
    #[cfg(target_os = "linux")]
    let order = match completion::read(&file, order) {
        Ok(op) => return op,
        Err(order) => order,
    };
    read_in_pool(file, order)
}

fn read_in_pool(file: Held, mut order: ReadOrder) -> Op<ReadDone> {
    run(move || {
        let file = (*file).as_ref();
        let is_regular =
            order.is_regular.unwrap_or_else(|| file.metadata().is_ok_and(|found| found.is_file()));
        let size = if is_regular { order.at_most } else { order.at_most_if_special };
        order.buf.resize(size, 0);
        let mut done = ReadDone { buf: order.buf, count: 0, rewound: false, is_regular, error: None };
        match rewind(file, order.rewind).and_then(|()| {
            done.rewound = true;
            retry(|| (&mut &*file).read(&mut done.buf))
        }) {
            Ok(count) => done.count = count,
            Err(error) => done.error = Some(error),
        }
        Ok(done)
    })
}

/// Reads at `offset`; the buffer, and how much of it was read.
#[cfg(unix)]
#[track_caller]
pub(crate) fn read_at(file: Held, buf: Vec<u8>, offset: u64) -> Op<(Vec<u8>, usize)> {
    #[cfg(target_os = "linux")]
    let buf = match completion::read_at(&file, buf, offset) {
        Ok(op) => return op,
        Err(buf) => buf,
    };
    let mut buf = buf;
    run(move || {
        let count = (*file).as_ref().read_at(&mut buf, offset)?;
        Ok((buf, count))
    })
}

/// Writes at `offset`; how much.
#[cfg(unix)]
#[track_caller]
pub(crate) fn write_at(file: Held, buf: Vec<u8>, offset: u64) -> Op<usize> {
    #[cfg(target_os = "linux")]
    let buf = match completion::write_at(&file, buf, offset) {
        Ok(op) => return op,
        Err(buf) => buf,
    };
    run(move || {
        let result = (*file).as_ref().write_at(&buf, offset);
        drop(file); // before anybody knows of it
        result
    })
}

/// Opens a file: as `asked`, if that says all of `options`.
#[track_caller]
pub(super) fn open(options: OpenOptions, asked: Option<&Asked>, path: PathBuf) -> Op<File> {
    #[cfg(target_os = "linux")]
    if let Some(op) = asked.and_then(|asked| completion::open(asked, &path)) {
        return op;
    }
    let _ = asked;
    run(move || options.open(&path))
}

/// Moves the cursor back.
pub(crate) fn rewind(mut file: &File, by: u64) -> io::Result<()> {
    // What was read ahead is less than i64::MAX.
    if by > 0 { file.seek(SeekFrom::Current(-(by as i64))).map(drop) } else { Ok(()) }
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Sees to it that what `behind` has accepted is written (EN3).
#[track_caller]
pub(crate) fn write_behind<T: Target>(behind: Arc<Behind<T>>) {
    let duty = Duty(behind);
    drop(blocking::spawn(&Handle::current(), move || drop(duty), None, Location::caller(), None));
}

/// Done by whoever drops it: the job that it was given to, or the one who removes that job unrun.
struct Duty<T: Target>(Arc<Behind<T>>);

impl<T: Target> Drop for Duty<T> {
    fn drop(&mut self) {
        self.0.drain();
    }
}

/// What has to be on the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extent {
    All,
    Data,
}

/// Waits until the disk has it.
pub(crate) fn sync(file: Held, what: Extent) -> Op<()> {
    #[cfg(target_os = "linux")]
    if let Some(op) = completion::sync(&file, what) {
        return op;
    }
    run(move || match what {
        Extent::All => (*file).as_ref().sync_all(),
        Extent::Data => (*file).as_ref().sync_data(),
    })
}
