//! A duplex in two halves, for two tasks.
//!
//! The halves share what they were made of. Who wants to poll it takes it out (a pointer), polls it without any lock and puts it
//! back; who finds it taken leaves a waker. Invariants, under the lock of [`Shared`]:
//!
//! * **SP1** While it is taken, exactly one half is in a poll and will put it back, also when that panics.
//! * **SP2** A half that found it taken has left its waker in the same critical section; who puts it back takes that waker in
//!   the critical section in which it does so, and calls it after.

use super::{AsyncRead, AsyncWrite, IoSlice, IoSliceMut};
use ropewalk_core::blocked::{self, Reason};
use ropewalk_core::prim::Lock;
use std::fmt;
use std::io::Result;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Splits any duplex into a half to read from and a half to write to, for different tasks. One of them at a time polls it, which
/// is brief; sockets have an `into_split` of their own that shares nothing.
///
/// ```
/// use ropewalk::io::{self, prelude::*};
/// # ropewalk::block_on(async {
/// let (near, mut far) = io::duplex(16);
/// let (mut reader, mut writer) = io::split(near);
/// let echo = ropewalk::spawn(async move { io::copy(&mut reader, &mut writer).await });
/// far.write_all(b"echo").await?;
/// far.close().await?;
/// let mut back = String::new();
/// far.read_to_string(&mut back).await?;
/// assert_eq!((back.as_str(), echo.await.unwrap()?), ("echo", 4));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// It is dropped with the later of the two halves: dropping the writing half alone does not close it,
/// [`close`](super::AsyncWriteExt::close) does.
pub fn split<T: AsyncRead + AsyncWrite + Unpin>(duplex: T) -> (ReadHalf<T>, WriteHalf<T>) {
    let shared = Arc::new(Shared(Lock::new(State { whole: Some(Box::new(duplex)), waiting: None })));
    (ReadHalf(shared.clone()), WriteHalf(shared))
}

/// The half to read from; see [`split`].
pub struct ReadHalf<T>(Arc<Shared<T>>);

/// The half to write to; see [`split`].
pub struct WriteHalf<T>(Arc<Shared<T>>);

struct Shared<T>(Lock<State<T>>);

struct State<T> {
    /// `None` while a half polls it.
    whole: Option<Box<T>>,
    /// Of the other half. There are two, so one waits at most.
    waiting: Option<Waker>,
}

/// What was taken out; dropping it puts it back (SP1).
struct Taken<'a, T> {
    shared: &'a Shared<T>,
    whole: Option<Box<T>>,
}

impl<T> Shared<T> {
    fn take(&self, waker: &mut Option<Waker>) -> Option<Taken<'_, T>> {
        let mut state = self.0.lock();
        let whole = state.whole.take();
        if whole.is_none() && waker.is_some() {
            std::mem::swap(&mut state.waiting, waker);
        }
        drop(state);
        whole.map(|whole| Taken { shared: self, whole: Some(whole) })
    }

    fn poll<R>(
        &self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut T>, &mut Context<'_>) -> Poll<R>,
    ) -> Poll<R>
    where
        T: Unpin,
    {
        let taken = match self.take(&mut None) {
            None => self.take(&mut Some(cx.waker().clone())),
            taken => taken,
        };
        let Some(mut taken) = taken else {
            blocked::note(Reason::Other, blocked::address_of(self)); // the other half is at it
            return Poll::Pending;
        };
        poll(Pin::new(taken.whole.as_mut().expect("it is there until it is put back")), cx)
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        let mut state = self.shared.0.lock();
        state.whole = self.whole.take();
        let waiting = state.waiting.take();
        drop(state);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl<T> ReadHalf<T> {
    /// Whether `writer` is the other half.
    pub fn is_pair_of(&self, writer: &WriteHalf<T>) -> bool {
        Arc::ptr_eq(&self.0, &writer.0)
    }

    /// Both halves together again.
    ///
    /// # Errors
    /// They are not of the same whole; both are given back.
    pub fn reunite(self, writer: WriteHalf<T>) -> std::result::Result<T, NotAPair<T>> {
        if !self.is_pair_of(&writer) {
            return Err(NotAPair(self, writer));
        }
        drop(writer);
        // Nobody polls: that takes a half. So it is there, and this is the only reference.
        let whole = self.0.0.lock().whole.take();
        Ok(*whole.expect("no half is in a poll"))
    }
}

/// [`ReadHalf::reunite`] was given halves of different wholes: here they are.
pub struct NotAPair<T>(pub ReadHalf<T>, pub WriteHalf<T>);

impl<T> fmt::Debug for NotAPair<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotAPair")
    }
}

impl<T> fmt::Display for NotAPair<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these halves come from different calls of split")
    }
}

impl<T> std::error::Error for NotAPair<T> {}

impl<T: AsyncRead + Unpin> AsyncRead for ReadHalf<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        self.0.poll(cx, |whole, cx| whole.poll_read(cx, buf))
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<Result<usize>> {
        self.0.poll(cx, |whole, cx| whole.poll_read_vectored(cx, bufs))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for WriteHalf<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        self.0.poll(cx, |whole, cx| whole.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.0.poll(cx, |whole, cx| whole.poll_write_vectored(cx, bufs))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll(cx, |whole, cx| whole.poll_flush(cx))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.0.poll(cx, |whole, cx| whole.poll_close(cx))
    }
}

impl<T> fmt::Debug for ReadHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadHalf")
    }
}

impl<T> fmt::Debug for WriteHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteHalf")
    }
}

#[cfg(test)]
mod tests;
