//! Pipes in memory.
//!
//! Invariants, all under the lock of a [`Pipe`]:
//!
//! * **PI1** Never more than `capacity` bytes are in it.
//! * **PI2** A side that found nothing to do has left its waker in the same critical section in which it looked. Whoever
//!   changes what it looked at (bytes, room, an end) takes that waker in the critical section of the change, and calls it
//!   after.
//! * **PI3** Wakers are cloned, called and dropped outside of the lock.

use super::{AsyncRead, AsyncWrite};
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::budget::poll_proceed;
use ropewalk_core::prim::Lock;
use std::collections::VecDeque;
use std::fmt;
use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// Two ends of a connection in memory: what is written to one is read from the other, in order. Each way holds at most
/// `capacity` bytes (at least one); who writes more waits until the other side has read.
///
/// ```
/// use ropewalk::io::{self, prelude::*};
/// # ropewalk::block_on(async {
/// let (mut client, mut server) = io::duplex(64);
/// client.write_all(b"ping").await?;
/// let mut buf = [0; 4];
/// server.read_exact(&mut buf).await?;
/// server.write_all(b"pong").await?;
/// client.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"pong");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// **When one end is closed or dropped**, the other reads what was written and then the end; writing to an end that was dropped is
/// [`BrokenPipe`](ErrorKind::BrokenPipe). Whoever waits is woken.
pub fn duplex(capacity: usize) -> (DuplexStream, DuplexStream) {
    let ((here, there), (back, forth)) = (pipe(capacity), pipe(capacity));
    (DuplexStream { reader: here, writer: forth }, DuplexStream { reader: back, writer: there })
}

/// One way of a [`duplex`].
///
/// ```
/// use ropewalk::io::{self, prelude::*};
/// # ropewalk::block_on(async {
/// let (mut reader, mut writer) = io::pipe(8);
/// let writing = ropewalk::spawn(async move { writer.write_all(b"more than fits at once").await });
/// let mut text = String::new();
/// reader.read_to_string(&mut text).await?; // the writer is dropped at the end
/// assert_eq!(text, "more than fits at once");
/// writing.await.unwrap()
/// # }).unwrap();
/// ```
pub fn pipe(capacity: usize) -> (PipeReader, PipeWriter) {
    let pipe = Arc::new(Pipe::new(capacity));
    (PipeReader(pipe.clone()), PipeWriter(pipe))
}

/// One end of a [`duplex`].
#[derive(Debug)]
pub struct DuplexStream {
    reader: PipeReader,
    writer: PipeWriter,
}

impl DuplexStream {
    /// Both ways by themselves.
    pub fn into_split(self) -> (PipeReader, PipeWriter) {
        (self.reader, self.writer)
    }
}

/// The reading end of a [`pipe`].
pub struct PipeReader(Arc<Pipe>);

/// The writing end of a [`pipe`].
pub struct PipeWriter(Arc<Pipe>);

struct Pipe {
    capacity: usize,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    /// Nothing more will be written.
    ended: bool,
    /// Nobody will read.
    deserted: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), state: Lock::new(State::default()) }
    }

    /// `None`: there is nothing, and `waker`, if there is one, will be called when there is.
    fn read(&self, buf: &mut [u8], waker: &mut Option<Waker>) -> Option<usize> {
        let mut state = self.state.lock();
        if state.bytes.is_empty() && !state.ended {
            if waker.is_some() {
                std::mem::swap(&mut state.reader, waker);
            }
            return None;
        }
        let count = state.bytes.len().min(buf.len());
        let (front, back) = state.bytes.as_slices();
        let of_front = front.len().min(count);
        buf[..of_front].copy_from_slice(&front[..of_front]);
        buf[of_front..count].copy_from_slice(&back[..count - of_front]);
        state.bytes.drain(..count);
        let to_wake = state.writer.take();
        drop(state);
        wake(to_wake);
        Some(count)
    }

    /// `None`: there is no room, and `waker`, if there is one, will be called when there is.
    fn write(&self, buf: &[u8], waker: &mut Option<Waker>) -> Option<Result<usize>> {
        let mut state = self.state.lock();
        if state.deserted || state.ended {
            return Some(Err(ErrorKind::BrokenPipe.into()));
        }
        let count = buf.len().min(self.capacity - state.bytes.len());
        if count == 0 {
            if waker.is_some() {
                std::mem::swap(&mut state.writer, waker);
            }
            return None;
        }
        state.bytes.extend(&buf[..count]);
        let to_wake = state.reader.take();
        drop(state);
        wake(to_wake);
        Some(Ok(count))
    }

    /// Nothing more will be written.
    fn end(&self) {
        let mut state = self.state.lock();
        state.ended = true;
        let to_wake = [state.reader.take(), state.writer.take()];
        drop(state);
        to_wake.into_iter().for_each(wake);
    }

    /// Nobody will read.
    fn desert(&self) {
        let mut state = self.state.lock();
        state.deserted = true;
        let (to_wake, unread) = (state.writer.take(), std::mem::take(&mut state.bytes));
        let of_reader = state.reader.take();
        drop(state);
        drop((unread, of_reader));
        wake(to_wake);
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Tries, and tries again with a waker to leave there: it is cloned only if it is needed, and not under the lock (PI3).
fn poll_twice<T>(
    cx: &mut Context<'_>,
    (reason, what): (Reason, usize),
    mut attempt: impl FnMut(&mut Option<Waker>) -> Option<T>,
) -> Poll<T> {
    ready!(poll_proceed(cx));
    if let Some(value) = attempt(&mut None) {
        return Poll::Ready(value);
    }
    let mut waker = Some(cx.waker().clone());
    match attempt(&mut waker) {
        Some(value) => Poll::Ready(value),
        None => {
            blocked::note(reason, what);
            Poll::Pending
        }
    }
}

impl AsyncRead for PipeReader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let pipe = &*self.0;
        poll_twice(cx, (Reason::Recv, blocked::address_of(pipe)), |waker| pipe.read(buf, waker)).map(Ok)
    }
}

impl AsyncWrite for PipeWriter {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let pipe = &*self.0;
        poll_twice(cx, (Reason::Send, blocked::address_of(pipe)), |waker| pipe.write(buf, waker))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.end();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for DuplexStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.reader).poll_read(cx, buf)
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.writer).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.writer).poll_close(cx)
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        self.0.desert();
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl fmt::Debug for PipeReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipeReader").field("capacity", &self.0.capacity).finish_non_exhaustive()
    }
}

impl fmt::Debug for PipeWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipeWriter").field("capacity", &self.0.capacity).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
