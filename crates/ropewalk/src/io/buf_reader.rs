//! A reader with a buffer.

use super::read::read_from_buffer;
use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, BUFFER, IoSlice, IoSliceMut, SeekFrom};
use std::fmt;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Reads in large pieces and gives out small ones. What is written to it goes straight to what it reads from.
///
/// ```
/// use ropewalk::io::{BufReader, prelude::*};
/// # ropewalk::block_on(async {
/// let mut reader = BufReader::with_capacity(4096, &b"key: value\n"[..]);
/// let mut key = Vec::new();
/// reader.read_until(b':', &mut key).await?;
/// assert_eq!(key, b"key:");
/// assert_eq!(reader.buffer(), b" value\n");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct BufReader<R: ?Sized> {
    buf: Box<[u8]>,
    /// `buf[from..to]` was read and not taken.
    from: usize,
    to: usize,
    seeking: Option<Seeking<R>>,
    inner: R,
}

/// A seek that has begun below and was not seen to end. Whatever comes next ends it first: until then it is not known where the
/// reader below is, nor whether the buffer is worth something.
struct Seeking<R: ?Sized> {
    /// What was asked for here, and what that is below.
    asked: SeekFrom,
    below: SeekFrom,
    /// Polls it: those who read know nothing of seeking.
    poll: fn(&mut R, &mut Context<'_>, SeekFrom) -> Poll<Result<u64>>,
}

impl<R> BufReader<R> {
    /// With a buffer of 8 KiB.
    pub fn new(inner: R) -> Self {
        Self::with_capacity(BUFFER, inner)
    }

    /// With a buffer of `capacity` bytes, at least one.
    pub fn with_capacity(capacity: usize, inner: R) -> Self {
        Self { buf: vec![0; capacity.max(1)].into_boxed_slice(), from: 0, to: 0, seeking: None, inner }
    }

    /// The reader below. What is in the buffer is lost.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// The reader below.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The reader below. Reading from it leaves out what is in the buffer.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// What was read and not taken.
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.from..self.to]
    }

    fn discard(&mut self) {
        (self.from, self.to) = (0, 0);
    }

    /// Ends a seek that is under way, if there is one; where it went.
    fn poll_seeking(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<u64>>> {
        let Some(seeking) = &self.seeking else { return Poll::Ready(None) };
        let reached = ready!((seeking.poll)(&mut self.inner, cx, seeking.below));
        self.seeking = None;
        if reached.is_ok() {
            self.discard();
        }
        Poll::Ready(Some(reached))
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BufReader<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<Result<usize>> {
        let _of_who_gave_up = ready!(self.poll_seeking(cx));
        if self.buffer().is_empty() && buf.len() >= self.buf.len() {
            self.discard();
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        read_from_buffer(&mut *self, cx, buf)
    }

    fn poll_read_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<Result<usize>> {
        let _of_who_gave_up = ready!(self.poll_seeking(cx));
        let wanted: usize = bufs.iter().map(|buf| buf.len()).sum();
        if self.buffer().is_empty() && wanted >= self.buf.len() {
            self.discard();
            return Pin::new(&mut self.inner).poll_read_vectored(cx, bufs);
        }
        let mut there = ready!(self.as_mut().poll_fill_buf(cx))?;
        let mut total = 0;
        for buf in bufs {
            let count = there.len().min(buf.len());
            buf[..count].copy_from_slice(&there[..count]);
            there = &there[count..];
            total += count;
        }
        self.consume(total);
        Poll::Ready(Ok(total))
    }
}

impl<R: AsyncRead + Unpin> AsyncBufRead for BufReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<&[u8]>> {
        let this = self.get_mut();
        let _of_who_gave_up = ready!(this.poll_seeking(cx));
        if this.from == this.to {
            this.discard();
            this.to = ready!(Pin::new(&mut this.inner).poll_read(cx, &mut this.buf))?;
        }
        Poll::Ready(Ok(this.buffer()))
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.from = (self.from + count).min(self.to);
    }
}

/// Seeking drops what is in the buffer; asking for the position does not.
///
/// A seek that is dropped unfinished is ended by whatever comes next. If that is the same seek, it is not begun a second time.
impl<R: AsyncSeek + Unpin> AsyncSeek for BufReader<R> {
    fn poll_seek(mut self: Pin<&mut Self>, cx: &mut Context<'_>, position: SeekFrom) -> Poll<Result<u64>> {
        while let Some(Seeking { asked, .. }) = self.seeking {
            if let Some(reached) = ready!(self.poll_seeking(cx))
                && asked == position
            {
                return Poll::Ready(reached);
            }
        }
        let ahead = self.buffer().len() as u64;
        let below = match position {
            SeekFrom::Current(0) => {
                let below = ready!(Pin::new(&mut self.inner).poll_seek(cx, position))?;
                return Poll::Ready(Ok(below.saturating_sub(ahead)));
            }
            // A buffer is never longer than i64::MAX.
            SeekFrom::Current(by) => match by.checked_sub(ahead as i64) {
                Some(by) => SeekFrom::Current(by),
                None => return Poll::Ready(Err(too_far(by))),
            },
            absolute => absolute,
        };
        let poll = |inner: &mut R, cx: &mut Context<'_>, to| Pin::new(inner).poll_seek(cx, to);
        self.seeking = Some(Seeking { asked: position, below, poll });
        self.poll_seeking(cx).map(|reached| reached.expect("it has just begun"))
    }
}

fn too_far(by: i64) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("cannot seek by {by} from here: that is before the start"))
}

impl<R: AsyncWrite + Unpin> AsyncWrite for BufReader<R> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<Result<usize>> {
        let _of_who_gave_up = ready!(self.poll_seeking(cx));
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let _of_who_gave_up = ready!(self.poll_seeking(cx));
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_close(cx)
    }
}

impl<R: fmt::Debug> fmt::Debug for BufReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ahead, capacity) = (self.to - self.from, self.buf.len());
        f.debug_struct("BufReader")
            .field("inner", &self.inner)
            .field("buffered", &format_args!("{ahead}/{capacity}"))
            .finish()
    }
}
