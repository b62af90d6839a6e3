//! Standard output and standard error, shared line by line.
//!
//! Each handle gathers its line; whole lines go to the one [`Behind`] of the stream, in one piece, and are written by one job at
//! a time under the standard library's lock. So neither another handle nor `println!` gets between. At the end of the process it
//! goes without that lock: whoever has it, perhaps the one who ends the process, may never let go of it.
//!
//! * **ST1** `finish` is called by the C library when the process exits, on the thread that does: it needs no thread-local with a
//!   destructor, takes nothing, and unwinding out of it would abort.

use super::AsyncWrite;
use crate::fs::behind::{Behind, Target, write_counted};
use crate::fs::engine;
use ropewalk_core::budget::poll_proceed;
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};

/// Longer lines go out in pieces.
const LONGEST: usize = 64 * 1024;

/// Standard output.
///
/// ```
/// use ropewalk::io::{stdout, AsyncWriteExt};
/// # ropewalk::block_on(async {
/// let tasks: Vec<_> = (0..4)
///     .map(|n| {
///         ropewalk::spawn(async move {
///             let mut out = stdout();
///             out.write_all(b"a line in ").await?; // nobody gets between these two
///             out.write_all(format!("two pieces by {n}\n").as_bytes()).await
///         })
///     })
///     .collect();
/// for task in tasks {
///     task.await.unwrap()?;
/// }
/// stdout().flush().await
/// # }).unwrap();
/// ```
///
/// **Lines are not torn**: what a handle writes is kept until there is a `\n` (or 64 KiB, or a flush, or the handle is dropped),
/// and goes out in one piece. Take a handle of your own in each task; a clone gathers its own line.
///
/// **When it is written**: soon, in the blocking pool, in the order of acceptance; up to 128 KiB are accepted before a writer
/// waits. What was accepted is written when the runtime shuts down, and when the process exits by returning from `main` or by
/// [`std::process::exit`] (on Linux; elsewhere flush). It is not when the process is killed or aborts. A reader that does not read,
/// a pager say, is waited for, as other programs do. An error is reported by the next operation of any handle.
///
/// **Cancel safety**: `write` that is dropped unfinished has accepted nothing; `flush` may be called again.
pub fn stdout() -> Stdout {
    Stdout(Lines::of(&OUT))
}

/// Standard error. As [`stdout`] in everything: it is not unbuffered, but line by line.
pub fn stderr() -> Stderr {
    Stderr(Lines::of(&ERR))
}

/// See [`stdout`].
#[derive(Debug, Clone)]
pub struct Stdout(Lines<OutStream>);

/// See [`stderr`].
#[derive(Debug, Clone)]
pub struct Stderr(Lines<ErrStream>);

#[derive(Debug)]
struct OutStream;
#[derive(Debug)]
struct ErrStream;

static OUT: LazyLock<Arc<Behind<OutStream>>> = LazyLock::new(|| {
    finish_at_exit();
    Arc::new(Behind::new(OutStream))
});
static ERR: LazyLock<Arc<Behind<ErrStream>>> = LazyLock::new(|| {
    finish_at_exit();
    Arc::new(Behind::new(ErrStream))
});

fn write_to(mut stream: impl Write, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    write_counted(&mut stream, bytes)?;
    stream.flush().map_err(|error| (bytes.len(), error))
}

/// Past the standard library, which has written what it had before.
#[cfg(target_os = "linux")]
fn write_past(stream: impl AsFd, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    struct Past<'a>(BorrowedFd<'a>);
    impl Write for Past<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(rustix::io::write(self.0, bytes)?)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    write_counted(Past(stream.as_fd()), bytes)
}

fn name(stream: &str, error: &io::Error, lost: usize) -> io::Error {
    let text =
        format!("cannot write to {stream}: {error}; {lost} bytes that were accepted before are not written");
    io::Error::new(error.kind(), text)
}

impl Target for OutStream {
    fn write_all(&self, _: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        write_to(io::stdout().lock(), bytes)
    }

    fn alone(&self) -> impl Sized {
        io::stdout().lock()
    }

    #[cfg(target_os = "linux")]
    fn write_last(&self, _: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        write_past(io::stdout(), bytes)
    }

    fn explain(&self, error: io::Error, lost: usize) -> io::Error {
        name("standard output", &error, lost)
    }
}

impl Target for ErrStream {
    fn write_all(&self, _: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        write_to(io::stderr().lock(), bytes)
    }

    fn alone(&self) -> impl Sized {
        io::stderr().lock()
    }

    #[cfg(target_os = "linux")]
    fn write_last(&self, _: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        write_past(io::stderr(), bytes)
    }

    fn explain(&self, error: io::Error, lost: usize) -> io::Error {
        name("standard error", &error, lost)
    }
}

/// The line that a handle gathers.
#[derive(Debug)]
struct Lines<T: Target> {
    stream: Arc<Behind<T>>,
    begun: Vec<u8>,
}

impl<T: Target> Lines<T> {
    fn of(stream: &Arc<Behind<T>>) -> Self {
        Self { stream: stream.clone(), begun: Vec::new() }
    }

    /// Passes on everything up to the last `\n` of `bytes`, and keeps the rest.
    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(poll_proceed(cx));
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        let whole = match memchr::memrchr(b'\n', bytes) {
            Some(at) => at + 1,
            None if self.begun.len() + bytes.len() >= LONGEST => bytes.len(),
            None => 0,
        };
        if whole > 0 {
            let before = self.begun.len();
            self.begun.extend_from_slice(&bytes[..whole]);
            if let result @ (Poll::Pending | Poll::Ready(Err(_))) = self.poll_pass_on(cx) {
                self.begun.truncate(before);
                return result.map_ok(|()| 0);
            }
        }
        self.begun.extend_from_slice(&bytes[whole..]);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_pass_on(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.begun.is_empty() {
            ready!(self.stream.poll_accept(cx, (&self.begun, 0, true), engine::write_behind))?;
            self.begun.clear();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pass_on(cx))?;
        self.stream.poll_idle(cx)
    }
}

impl<T: Target> Clone for Lines<T> {
    fn clone(&self) -> Self {
        Self::of(&self.stream)
    }
}

impl<T: Target> Drop for Lines<T> {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            self.stream.accept_last(&self.begun, engine::write_behind);
        }
    }
}

macro_rules! writes {
    ($($handle:ty),*) => {$(
        impl AsyncWrite for $handle {
            fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.0.poll_write(cx, buf)
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.0.poll_flush(cx)
            }

            fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.0.poll_flush(cx)
            }
        }
    )*};
}
writes!(Stdout, Stderr);

/// What was accepted is written before the process exits.
fn finish_at_exit() {
    #[cfg(target_os = "linux")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            // SAFETY: ST1.
            let _refused = unsafe { libc::atexit(finish) };
        });
    }
}

#[cfg(target_os = "linux")]
extern "C" fn finish() {
    OUT.finish();
    ERR.finish();
}
