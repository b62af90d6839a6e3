//! Reading: the methods of every reader.

use super::{AsyncBufRead, AsyncRead, Chain, IoSliceMut, Take};
use ropewalk_core::budget::poll_proceed;
use std::fmt;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The methods of every [`AsyncRead`].
pub trait AsyncReadExt: AsyncRead {
    /// Reads some bytes, at least one unless `buf` is empty or the end is reached; how many.
    ///
    /// ```
    /// use ropewalk::io::prelude::*;
    /// # ropewalk::block_on(async {
    /// let mut buf = [0; 4];
    /// assert_eq!((&b"ab"[..]).read(&mut buf).await?, 2);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// **Cancel safety**: if it is dropped unfinished, nothing was read.
    ///
    /// # Errors
    /// Those of the reader.
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Read<'a, Self>
    where
        Self: Unpin,
    {
        Read { reader: self, buf }
    }

    /// As [`read`](Self::read), into several buffers, one after the other.
    ///
    /// **Cancel safety**: if it is dropped unfinished, nothing was read.
    ///
    /// # Errors
    /// Those of the reader.
    fn read_vectored<'a>(&'a mut self, bufs: &'a mut [IoSliceMut<'a>]) -> ReadVectored<'a, Self>
    where
        Self: Unpin,
    {
        ReadVectored { reader: self, bufs }
    }

    /// Fills `buf`.
    ///
    /// **Not cancel-safe**: what was read so far is lost with the future. [`BufReader`](super::BufReader) and
    /// [`fill_buf`](super::AsyncBufReadExt::fill_buf) look without taking.
    ///
    /// # Errors
    /// [`UnexpectedEof`](ErrorKind::UnexpectedEof), with the numbers, if there are not so many bytes; those of the reader.
    fn read_exact<'a>(&'a mut self, buf: &'a mut [u8]) -> ReadExact<'a, Self>
    where
        Self: Unpin,
    {
        ReadExact { reader: self, buf, filled: 0 }
    }

    /// Reads to the end and appends it to `buf`; how many bytes. [`ReadToEnd::limit`] bounds it.
    ///
    /// ```
    /// use ropewalk::io::{self, ErrorKind, prelude::*};
    /// # ropewalk::block_on(async {
    /// let mut all = Vec::new();
    /// assert_eq!((&b"abc"[..]).read_to_end(&mut all).await?, 3);
    /// // A peer that never stops is refused at a limit of yours:
    /// let error = io::repeat(1).read_to_end(&mut all).limit(1000).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// **Cancel safety**: what was read is in `buf`; calling it again with the same buffer goes on.
    ///
    /// # Errors
    /// [`LimitExceeded`]; those of the reader. What was read before the error is in `buf`.
    fn read_to_end<'a>(&'a mut self, buf: &'a mut Vec<u8>) -> ReadToEnd<'a, Self>
    where
        Self: Unpin,
    {
        ReadToEnd { reader: self, buf, gather: Gather::default() }
    }

    /// Reads to the end and appends it to `buf`, if it is UTF-8; how many bytes. [`ReadToString::limit`] bounds it.
    ///
    /// **Not cancel-safe**: what was read so far is lost with the future; `buf` is as it was.
    ///
    /// # Errors
    /// [`InvalidData`](ErrorKind::InvalidData) if it is not UTF-8; [`LimitExceeded`]; those of the reader. `buf` is as it was.
    fn read_to_string<'a>(&'a mut self, buf: &'a mut String) -> ReadToString<'a, Self>
    where
        Self: Unpin,
    {
        ReadToString { reader: self, buf, bytes: Vec::new(), gather: Gather::default() }
    }

    /// A reader of this one's bytes and then `next`'s.
    ///
    /// ```
    /// use ropewalk::io::prelude::*;
    /// # ropewalk::block_on(async {
    /// let mut word = String::new();
    /// (&b"rope"[..]).chain(&b"walk"[..]).read_to_string(&mut word).await?;
    /// assert_eq!(word, "ropewalk");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn chain<R: AsyncRead>(self, next: R) -> Chain<Self, R>
    where
        Self: Sized,
    {
        Chain::new(self, next)
    }

    /// A reader that ends after `limit` bytes of this one.
    ///
    /// ```
    /// use ropewalk::io::{self, prelude::*};
    /// # ropewalk::block_on(async {
    /// let mut three = Vec::new();
    /// io::repeat(7).take(3).read_to_end(&mut three).await?;
    /// assert_eq!(three, [7, 7, 7]);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn take(self, limit: u64) -> Take<Self>
    where
        Self: Sized,
    {
        Take::new(self, limit)
    }
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}

one_call! {
    /// Future of [`AsyncReadExt::read`].
    Read: AsyncRead, reader, buf: &'a mut [u8] => poll_read, usize
}

one_call! {
    /// Future of [`AsyncReadExt::read_vectored`].
    ReadVectored: AsyncRead, reader, bufs: &'a mut [IoSliceMut<'a>] => poll_read_vectored, usize
}

/// Future of [`AsyncReadExt::read_exact`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ReadExact<'a, R: ?Sized> {
    reader: &'a mut R,
    buf: &'a mut [u8],
    filled: usize,
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadExact<'_, R> {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        while this.filled < this.buf.len() {
            ready!(poll_proceed(cx));
            match ready!(Pin::new(&mut *this.reader).poll_read(cx, &mut this.buf[this.filled..]))? {
                0 => return Poll::Ready(Err(too_short(this.filled, this.buf.len()))),
                count => this.filled += count,
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn too_short(got: usize, wanted: usize) -> Error {
    Error::new(ErrorKind::UnexpectedEof, format!("the end came after {got} of {wanted} bytes"))
}

/// Future of [`AsyncReadExt::read_to_end`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ReadToEnd<'a, R: ?Sized> {
    reader: &'a mut R,
    buf: &'a mut Vec<u8>,
    gather: Gather,
}

impl<R: ?Sized> ReadToEnd<'_, R> {
    /// Ends with [`LimitExceeded`] if there are more than `limit` bytes: `limit` of them are in the buffer then, and at most
    /// one more was taken from the reader.
    pub fn limit(mut self, limit: usize) -> Self {
        self.gather.limit = limit;
        self
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadToEnd<'_, R> {
    type Output = Result<usize>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.gather.poll(&mut *this.reader, this.buf, cx)
    }
}

/// Future of [`AsyncReadExt::read_to_string`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct ReadToString<'a, R: ?Sized> {
    reader: &'a mut R,
    buf: &'a mut String,
    bytes: Vec<u8>,
    gather: Gather,
}

impl<R: ?Sized> ReadToString<'_, R> {
    /// Ends with [`LimitExceeded`] if there are more than `limit` bytes.
    pub fn limit(mut self, limit: usize) -> Self {
        self.gather.limit = limit;
        self
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadToString<'_, R> {
    type Output = Result<usize>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let count = ready!(this.gather.poll(&mut *this.reader, &mut this.bytes, cx))?;
        append_text(this.buf, std::mem::take(&mut this.bytes))?;
        Poll::Ready(Ok(count))
    }
}

/// Appends bytes if they are text.
pub(super) fn append_text(buf: &mut String, bytes: Vec<u8>) -> Result<()> {
    let text = String::from_utf8(bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    if buf.is_empty() {
        *buf = text;
    } else {
        buf.push_str(&text);
    }
    Ok(())
}

/// Reads to the end by way of a buffer of its own, which grows while it is filled: so at every suspension, and whatever
/// becomes of the future, the caller's buffer holds what was read and nothing else.
#[derive(Debug)]
struct Gather {
    chunk: Vec<u8>,
    total: usize,
    limit: usize,
}

impl Default for Gather {
    fn default() -> Self {
        Self { chunk: Vec::new(), total: 0, limit: usize::MAX }
    }
}

impl Gather {
    const FIRST: usize = 2 * 1024;
    const LARGEST: usize = 64 * 1024;

    fn poll<R>(&mut self, reader: &mut R, into: &mut Vec<u8>, cx: &mut Context<'_>) -> Poll<Result<usize>>
    where
        R: AsyncRead + Unpin + ?Sized,
    {
        if self.chunk.is_empty() {
            self.chunk.resize(Self::FIRST, 0);
        }
        loop {
            ready!(poll_proceed(cx));
            let left = self.limit - self.total;
            // With nothing left it is one byte that says whether this is the end.
            let room = self.chunk.len().min(left.max(1));
            let count = ready!(Pin::new(&mut *reader).poll_read(cx, &mut self.chunk[..room]))?;
            if count == 0 {
                return Poll::Ready(Ok(self.total));
            }
            if left == 0 {
                return Poll::Ready(Err(LimitExceeded { limit: self.limit }.into()));
            }
            into.extend_from_slice(&self.chunk[..count]);
            self.total += count;
            if count == self.chunk.len() && count < Self::LARGEST {
                self.chunk.resize(2 * count, 0);
            }
        }
    }
}

/// There was more to read than the caller allowed. As an [`Error`] it is of the kind [`ErrorKind::FileTooLarge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// How much was allowed.
    pub limit: usize,
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is more to read than the limit of {} bytes", self.limit)
    }
}

impl std::error::Error for LimitExceeded {}

impl From<LimitExceeded> for Error {
    fn from(error: LimitExceeded) -> Self {
        Self::new(ErrorKind::FileTooLarge, error)
    }
}

/// What buffered readers and their wrappers share: a read is a look into the buffer.
pub(super) fn read_from_buffer<R: AsyncBufRead + Unpin + ?Sized>(
    reader: &mut R,
    cx: &mut Context<'_>,
    buf: &mut [u8],
) -> Poll<Result<usize>> {
    let there = ready!(Pin::new(&mut *reader).poll_fill_buf(cx))?;
    let count = there.len().min(buf.len());
    buf[..count].copy_from_slice(&there[..count]);
    Pin::new(reader).consume(count);
    Poll::Ready(Ok(count))
}
