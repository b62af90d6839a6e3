//! Moving everything from a reader to a writer, one way or both.

use super::write::takes_no_more;
use super::{AsyncBufRead, AsyncRead, AsyncWrite, BUFFER};
use ropewalk_core::budget::poll_proceed;
use std::future::poll_fn;
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Copies everything up to the end of `reader` to `writer` and flushes it; how many bytes. While the reader has nothing,
/// what was written is flushed, so nothing is held back. `writer` is not closed.
///
/// ```
/// use ropewalk::io;
/// # ropewalk::block_on(async {
/// let mut copied = Vec::new();
/// assert_eq!(io::copy(&mut &b"all of it"[..], &mut copied).await?, 9);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// **Not cancel-safe**: up to 8 KiB that were read and not yet written are lost with the future. [`copy_buf`] loses
/// nothing.
///
/// # Errors
/// Those of the reader and the writer, and [`WriteZero`](super::ErrorKind::WriteZero).
pub async fn copy<R, W>(reader: &mut R, writer: &mut W) -> Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut transfer = Transfer::new();
    poll_fn(|cx| transfer.poll(reader, writer, usize::MAX, cx)).await
}

/// As [`copy`], out of the reader's own buffer.
///
/// ```
/// use ropewalk::io::{self, BufReader};
/// # ropewalk::block_on(async {
/// let mut reader = BufReader::with_capacity(64 * 1024, &b"in large pieces"[..]);
/// assert_eq!(io::copy_buf(&mut reader, &mut io::sink()).await?, 15);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// **Cancel safety**: what was not written is still in the reader; calling it again goes on. Only the count is lost.
///
/// # Errors
/// Those of the reader and the writer, and [`WriteZero`](super::ErrorKind::WriteZero). What was not written is still in the
/// reader.
pub async fn copy_buf<R, W>(reader: &mut R, writer: &mut W) -> Result<u64>
where
    R: AsyncBufRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let (mut copied, mut unflushed) = (0, false);
    poll_fn(|cx| {
        loop {
            ready!(poll_proceed(cx));
            let Poll::Ready(there) = Pin::new(&mut *reader).poll_fill_buf(cx)? else {
                return flush_meanwhile(writer, &mut unflushed, cx);
            };
            if there.is_empty() {
                ready!(Pin::new(&mut *writer).poll_flush(cx))?;
                return Poll::Ready(Ok(copied));
            }
            let count = ready!(Pin::new(&mut *writer).poll_write(cx, there))?;
            if count == 0 {
                return Poll::Ready(Err(takes_no_more(0, there.len())));
            }
            Pin::new(&mut *reader).consume(count);
            copied += count as u64;
            unflushed = true;
        }
    })
    .await
}

/// The reader has nothing now: what was written should not wait for it.
fn flush_meanwhile<W, T>(writer: &mut W, unflushed: &mut bool, cx: &mut Context<'_>) -> Poll<Result<T>>
where
    W: AsyncWrite + Unpin + ?Sized,
{
    if *unflushed {
        ready!(Pin::new(writer).poll_flush(cx))?;
        *unflushed = false;
    }
    Poll::Pending
}

/// Copies from `a` to `b` and from `b` to `a` until both ways are at their end; how many bytes went from `a` to `b`, and
/// from `b` to `a`. When one side ends, the other is closed for writing at once, and the way back goes on: a half-closed
/// connection stays half-closed through it. Neither way keeps the other from its turn, however much it brings.
///
/// ```
/// use ropewalk::io::{self, prelude::*};
/// # ropewalk::block_on(async {
/// let (mut client, mut front) = io::duplex(64);
/// let (mut back, mut server) = io::duplex(64);
/// let proxy = ropewalk::spawn(async move { io::copy_bidirectional(&mut front, &mut back).await });
/// client.write_all(b"question").await?;
/// client.close().await?;
/// let mut asked = String::new();
/// server.read_to_string(&mut asked).await?; // sees the end, and can still answer
/// server.write_all(b"answer").await?;
/// server.close().await?;
/// assert_eq!(proxy.await.unwrap()?, (8, 6));
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// **Not cancel-safe**: up to 8 KiB each way that were read and not yet written are lost with the future.
///
/// # Errors
/// The first of either side, at once.
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let (mut there, mut back, mut back_first) = (Way::new(), Way::new(), true);
    poll_fn(|cx| {
        // Both are polled, whatever the first one says, unless it fails. It may use up the task's budget: next time the other
        // one is the first.
        back_first = !back_first;
        let early = if back_first { Some(back.poll(b, a, cx)?) } else { None };
        let there = there.poll(a, b, cx)?;
        let back = early.map_or_else(|| back.poll(b, a, cx), |early| early.map(Ok))?;
        Poll::Ready(Ok((ready!(there), ready!(back))))
    })
    .await
}

/// How many buffers one way moves before it is the other one's turn.
const LOT: usize = 16;

/// One way of a [`copy_bidirectional`].
struct Way {
    transfer: Option<Transfer>,
    copied: u64,
    is_over: bool,
}

impl Way {
    fn new() -> Self {
        Self { transfer: Some(Transfer::new()), copied: 0, is_over: false }
    }

    fn poll<R, W>(&mut self, reader: &mut R, writer: &mut W, cx: &mut Context<'_>) -> Poll<Result<u64>>
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        if let Some(transfer) = &mut self.transfer {
            self.copied = ready!(transfer.poll(reader, writer, LOT, cx))?;
            self.transfer = None;
        }
        if !self.is_over {
            ready!(Pin::new(writer).poll_close(cx))?;
            self.is_over = true;
        }
        Poll::Ready(Ok(self.copied))
    }
}

/// What is on its way from a reader to a writer.
struct Transfer {
    buf: Box<[u8]>,
    /// `buf[from..to]` was read and not written.
    from: usize,
    to: usize,
    copied: u64,
    unflushed: bool,
    at_end: bool,
}

impl Transfer {
    fn new() -> Self {
        let buf = vec![0; BUFFER].into_boxed_slice();
        Self { buf, from: 0, to: 0, copied: 0, unflushed: false, at_end: false }
    }

    /// After `lot` buffers it wants to be polled again.
    fn poll<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        mut lot: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<u64>>
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        while !self.at_end {
            if self.from == self.to {
                ready!(poll_proceed(cx));
                if lot == 0 {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                lot -= 1;
                let Poll::Ready(count) = Pin::new(&mut *reader).poll_read(cx, &mut self.buf)? else {
                    return flush_meanwhile(writer, &mut self.unflushed, cx);
                };
                (self.from, self.to, self.at_end) = (0, count, count == 0);
            }
            ready!(self.poll_empty(writer, cx))?;
        }
        ready!(Pin::new(writer).poll_flush(cx))?;
        Poll::Ready(Ok(self.copied))
    }

    fn poll_empty<W>(&mut self, writer: &mut W, cx: &mut Context<'_>) -> Poll<Result<()>>
    where
        W: AsyncWrite + Unpin + ?Sized,
    {
        while self.from < self.to {
            ready!(poll_proceed(cx));
            match ready!(Pin::new(&mut *writer).poll_write(cx, &self.buf[self.from..self.to]))? {
                0 => return Poll::Ready(Err(takes_no_more(0, self.to - self.from))),
                count => {
                    self.from += count;
                    self.copied += count as u64;
                    self.unflushed = true;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
