//! Reading from a buffer: the methods of every buffered reader.

use super::read::append_text;
use super::{AsyncBufRead, LimitExceeded, Lines, Split};
use ropewalk_core::budget::poll_proceed;
use std::future::Future;
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The methods of every [`AsyncBufRead`].
pub trait AsyncBufReadExt: AsyncBufRead {
    /// What is in the buffer, after reading some if it was empty; empty at the end. Nothing is taken: that is
    /// [`consume`](Self::consume). So it is also a way to peek.
    ///
    /// ```
    /// use ropewalk::io::{BufReader, prelude::*};
    /// # ropewalk::block_on(async {
    /// let mut reader = BufReader::new(&b"GET /"[..]);
    /// assert!(reader.fill_buf().await?.starts_with(b"GET"));
    /// reader.consume(4);
    /// assert_eq!(reader.fill_buf().await?, b"/");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// **Cancel safety**: dropping it has no effect.
    ///
    /// # Errors
    /// Those of the reader.
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        FillBuf { reader: Some(self) }
    }

    /// Takes `count` bytes out of the buffer, of those that [`fill_buf`](Self::fill_buf) showed.
    fn consume(&mut self, count: usize)
    where
        Self: Unpin,
    {
        AsyncBufRead::consume(Pin::new(self), count);
    }

    /// Reads up to and including the next `byte`, or to the end, and appends it to `buf`; how many bytes.
    /// [`ReadUntil::limit`] bounds it.
    ///
    /// ```
    /// use ropewalk::io::{BufReader, prelude::*};
    /// # ropewalk::block_on(async {
    /// let (mut reader, mut field) = (BufReader::new(&b"a;bc"[..]), Vec::new());
    /// assert_eq!(reader.read_until(b';', &mut field).limit(100).await?, 2);
    /// assert_eq!(field, b"a;");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// **Cancel safety**: what was read is in `buf`; calling it again with the same buffer goes on.
    ///
    /// # Errors
    /// [`LimitExceeded`]; those of the reader. What was read before the error is in `buf`.
    fn read_until<'a>(&'a mut self, byte: u8, buf: &'a mut Vec<u8>) -> ReadUntil<'a, Self>
    where
        Self: Unpin,
    {
        ReadUntil { reader: self, byte, buf, total: 0, limit: usize::MAX }
    }

    /// Reads a line with its `\n`, or to the end, and appends it to `buf`; how many bytes. [`ReadLine::limit`] bounds it.
    ///
    /// **Not cancel-safe**: what was read so far is lost with the future. [`lines`](Self::lines) keeps it.
    ///
    /// # Errors
    /// [`InvalidData`](super::ErrorKind::InvalidData) if it is not UTF-8; [`LimitExceeded`]; those of the reader. `buf` is as
    /// it was.
    fn read_line<'a>(&'a mut self, buf: &'a mut String) -> ReadLine<'a, Self>
    where
        Self: Unpin,
    {
        ReadLine { reader: self, buf, bytes: Vec::new(), limit: usize::MAX }
    }

    /// The lines of this reader, without `\n` or `\r\n`, one by one.
    ///
    /// ```
    /// use ropewalk::io::{BufReader, prelude::*};
    /// # ropewalk::block_on(async {
    /// let mut lines = BufReader::new(&b"one\r\ntwo"[..]).lines().limit(80);
    /// while let Some(line) = lines.next_line().await? {
    ///     assert_eq!(line.len(), 3);
    /// }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }

    /// The pieces between the bytes `byte` of this reader, one by one.
    fn split(self, byte: u8) -> Split<Self>
    where
        Self: Sized,
    {
        Split::new(self, byte)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}

/// Future of [`AsyncBufReadExt::fill_buf`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct FillBuf<'a, R: ?Sized> {
    reader: Option<&'a mut R>,
}

impl<'a, R: AsyncBufRead + Unpin + ?Sized> Future for FillBuf<'a, R> {
    type Output = Result<&'a [u8]>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(poll_proceed(cx));
        let reader = self.reader.take().expect("fill_buf was polled after it was done");
        if Pin::new(&mut *reader).poll_fill_buf(cx)?.is_pending() {
            self.reader = Some(reader);
            return Poll::Pending;
        }
        // It is in the buffer now, and is asked for again because the first answer could not be kept as long as this one.
        match Pin::new(reader).poll_fill_buf(cx) {
            Poll::Ready(there) => Poll::Ready(there),
            Poll::Pending => Poll::Ready(Ok(&[])), // an end that is none any more
        }
    }
}

/// Future of [`AsyncBufReadExt::read_until`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ReadUntil<'a, R: ?Sized> {
    reader: &'a mut R,
    byte: u8,
    buf: &'a mut Vec<u8>,
    total: usize,
    limit: usize,
}

impl<R: ?Sized> ReadUntil<'_, R> {
    /// Ends with [`LimitExceeded`] if there are more than `limit` bytes, the delimiter included; that many are in the buffer
    /// then.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

impl<R: AsyncBufRead + Unpin + ?Sized> Future for ReadUntil<'_, R> {
    type Output = Result<usize>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let before = this.buf.len();
        let ended = poll_until(&mut *this.reader, this.byte, this.buf, this.limit - this.total, cx);
        this.total += this.buf.len() - before;
        match ready!(ended)? {
            Stop::Limit => Poll::Ready(Err(LimitExceeded { limit: this.limit }.into())),
            Stop::Delimiter | Stop::End => Poll::Ready(Ok(this.total)),
        }
    }
}

/// Why [`poll_until`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Delimiter,
    End,
    /// There was something else after `room` bytes.
    Limit,
}

/// Appends at most `room` bytes to `into`, up to the delimiter. At every suspension they are in `into`.
pub(super) fn poll_until<R: AsyncBufRead + Unpin + ?Sized>(
    reader: &mut R,
    byte: u8,
    into: &mut Vec<u8>,
    mut room: usize,
    cx: &mut Context<'_>,
) -> Poll<Result<Stop>> {
    loop {
        ready!(poll_proceed(cx));
        let there = ready!(Pin::new(&mut *reader).poll_fill_buf(cx))?;
        if there.is_empty() {
            return Poll::Ready(Ok(Stop::End));
        }
        if room == 0 {
            return Poll::Ready(Ok(Stop::Limit));
        }
        let there = &there[..there.len().min(room)];
        let found = memchr::memchr(byte, there);
        let count = found.map_or(there.len(), |at| at + 1);
        into.extend_from_slice(&there[..count]);
        Pin::new(&mut *reader).consume(count);
        room -= count;
        if found.is_some() {
            return Poll::Ready(Ok(Stop::Delimiter));
        }
    }
}

/// Future of [`AsyncBufReadExt::read_line`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ReadLine<'a, R: ?Sized> {
    reader: &'a mut R,
    buf: &'a mut String,
    bytes: Vec<u8>,
    limit: usize,
}

impl<R: ?Sized> ReadLine<'_, R> {
    /// Ends with [`LimitExceeded`] if the line has more than `limit` bytes, its `\n` included.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

impl<R: AsyncBufRead + Unpin + ?Sized> Future for ReadLine<'_, R> {
    type Output = Result<usize>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let room = this.limit - this.bytes.len();
        if ready!(poll_until(&mut *this.reader, b'\n', &mut this.bytes, room, cx))? == Stop::Limit {
            return Poll::Ready(Err(LimitExceeded { limit: this.limit }.into()));
        }
        let count = this.bytes.len();
        append_text(this.buf, std::mem::take(&mut this.bytes))?;
        Poll::Ready(Ok(count))
    }
}
