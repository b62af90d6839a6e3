//! A buffered reader in pieces: lines, and what stands between delimiters.

use super::buf_read::{Stop, poll_until};
use super::{AsyncBufRead, LimitExceeded};
use std::future::poll_fn;
use std::io::{Error, ErrorKind, Result};
use std::task::{Context, Poll, ready};

/// What [`AsyncBufReadExt::split`](super::AsyncBufReadExt::split) gives: pieces between delimiters.
#[derive(Debug)]
#[must_use = "it reads nothing unless it is asked for segments"]
pub struct Split<R> {
    reader: R,
    byte: u8,
    /// The beginning of a piece that is not whole.
    begun: Vec<u8>,
    limit: usize,
}

impl<R> Split<R> {
    pub(super) fn new(reader: R, byte: u8) -> Self {
        Self { reader, byte, begun: Vec::new(), limit: usize::MAX }
    }

    /// A piece of more than `limit` bytes, its delimiter included, is an error.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// The reader. The beginning of a piece that was not whole yet is lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

impl<R: AsyncBufRead + Unpin> Split<R> {
    /// The next piece, without its delimiter; `None` at the end.
    ///
    /// ```
    /// use ropewalk::io::{BufReader, prelude::*};
    /// # ropewalk::block_on(async {
    /// let mut fields = BufReader::new(&b"a;b"[..]).split(b';');
    /// assert_eq!(fields.next_segment().await?.as_deref(), Some(&b"a"[..]));
    /// assert_eq!(fields.next_segment().await?.as_deref(), Some(&b"b"[..]));
    /// assert_eq!(fields.next_segment().await?, None);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// **Cancel safety**: dropping it loses nothing: a beginning is kept for the next call.
    ///
    /// # Errors
    /// [`LimitExceeded`], also when called again: nothing is skipped. Those of the reader; after those it may be called again.
    pub async fn next_segment(&mut self) -> Result<Option<Vec<u8>>> {
        poll_fn(|cx| self.poll_next_segment(cx)).await
    }

    /// The same for implementers of futures.
    pub fn poll_next_segment(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>>> {
        let piece = ready!(self.poll_piece(cx))?;
        Poll::Ready(Ok(piece.map(|mut piece| {
            piece.pop_if(|last| *last == self.byte);
            piece
        })))
    }

    /// The next piece with its delimiter, which only the last one may lack.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>>> {
        let room = self.limit.saturating_sub(self.begun.len());
        if ready!(poll_until(&mut self.reader, self.byte, &mut self.begun, room, cx))? == Stop::Limit {
            return Poll::Ready(Err(LimitExceeded { limit: self.limit }.into()));
        }
        let piece = std::mem::take(&mut self.begun);
        Poll::Ready(Ok((!piece.is_empty()).then_some(piece)))
    }
}

/// What [`AsyncBufReadExt::lines`](super::AsyncBufReadExt::lines) gives.
#[derive(Debug)]
#[must_use = "it reads nothing unless it is asked for lines"]
pub struct Lines<R>(Split<R>);

impl<R> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self(Split::new(reader, b'\n'))
    }

    /// A line of more than `limit` bytes, its `\n` included, is an error: for peers that are not trusted.
    pub fn limit(self, limit: usize) -> Self {
        Self(self.0.limit(limit))
    }

    /// The reader. The beginning of a line that was not whole yet is lost.
    pub fn into_inner(self) -> R {
        self.0.into_inner()
    }
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// The next line, without `\n` or `\r\n`; `None` at the end.
    ///
    /// **Cancel safety**: dropping it loses nothing: a beginning is kept for the next call.
    ///
    /// # Errors
    /// [`LimitExceeded`]; [`InvalidData`](ErrorKind::InvalidData) for a line that is not UTF-8, which is skipped; those of the
    /// reader.
    pub async fn next_line(&mut self) -> Result<Option<String>> {
        poll_fn(|cx| self.poll_next_line(cx)).await
    }

    /// The same for implementers of futures.
    pub fn poll_next_line(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<String>>> {
        let Some(mut line) = ready!(self.0.poll_piece(cx))? else { return Poll::Ready(Ok(None)) };
        if line.pop_if(|last| *last == b'\n').is_some() {
            line.pop_if(|last| *last == b'\r');
        }
        let text = String::from_utf8(line).map_err(|error| Error::new(ErrorKind::InvalidData, error));
        Poll::Ready(text.map(Some))
    }
}

#[cfg(feature = "stream")]
mod stream {
    use super::*;
    use futures_core::Stream;
    use std::pin::Pin;

    impl<R: AsyncBufRead + Unpin> Stream for Split<R> {
        type Item = Result<Vec<u8>>;

        fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.poll_next_segment(cx).map(Result::transpose)
        }
    }

    impl<R: AsyncBufRead + Unpin> Stream for Lines<R> {
        type Item = Result<String>;

        fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.poll_next_line(cx).map(Result::transpose)
        }
    }
}
