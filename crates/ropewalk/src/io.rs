//! Reading and writing without blocking: the traits of futures-io as ours, and what is built on them.
//!
//! [`AsyncRead`], [`AsyncWrite`], [`AsyncBufRead`] and [`AsyncSeek`] are those of the crate `futures-io`, so everything that
//! speaks them works here. The methods one calls are in [`AsyncReadExt`], [`AsyncWriteExt`], [`AsyncBufReadExt`] and
//! [`AsyncSeekExt`]; [`prelude`] brings in all of them.
//!
//! ```
//! use ropewalk::Wait;
//! use ropewalk::io::{self, BufReader, prelude::*};
//!
//! ropewalk::block_on(async {
//!     let (mut near, far) = io::duplex(64);
//!     ropewalk::spawn(async move {
//!         near.write_all(b"first\nsecond\n").await.unwrap();
//!     });
//!     let mut lines = BufReader::new(far).lines();
//!     assert_eq!(lines.next_line().await?.as_deref(), Some("first"));
//!     assert_eq!(lines.next_line().await?.as_deref(), Some("second"));
//!     assert_eq!(lines.next_line().await?, None);
//!     io::Result::Ok(())
//! })?;
//!
//! let mut word = String::new();
//! (&b"from a plain thread"[..]).read_to_string(&mut word).limit(100).wait()?; // `wait` where there is no `await`
//! assert_eq!(word, "from a plain thread");
//! # io::Result::Ok(())
//! ```
//!
//! **Cancel safety.** Dropping a future of these before it is done:
//!
//! | operation | what is lost |
//! |---|---|
//! | [`read`](AsyncReadExt::read), [`read_vectored`](AsyncReadExt::read_vectored), [`fill_buf`](AsyncBufReadExt::fill_buf) | nothing |
//! | [`read_to_end`](AsyncReadExt::read_to_end), [`read_until`](AsyncBufReadExt::read_until) | nothing: what was read is in the caller's buffer; call again with the same one |
//! | [`Lines::next_line`], [`Split::next_segment`] | nothing: the beginning is kept for the next call |
//! | [`read_exact`](AsyncReadExt::read_exact), [`read_to_string`](AsyncReadExt::read_to_string), [`read_line`](AsyncBufReadExt::read_line) | **what was read so far** |
//! | [`write`](AsyncWriteExt::write), [`write_vectored`](AsyncWriteExt::write_vectored), [`flush`](AsyncWriteExt::flush), [`close`](AsyncWriteExt::close) | nothing |
//! | [`write_all`](AsyncWriteExt::write_all) | nothing, **but how much was written is not known** |
//! | [`copy_buf`] | nothing but the count: what was not written is still in the reader |
//! | [`copy`], [`copy_bidirectional`] | **what was read and not yet written**, up to 8 KiB a direction |
//! | [`seek`](AsyncSeekExt::seek) | it may have happened or not |
//!
//! **Fairness.** Each step of these operations spends of the task's budget, so a source that always has something does not
//! keep others from running.

/// A future that is one call of a `poll_` function. Each try spends of the task's budget.
macro_rules! one_call {
    ($(#[$about:meta])* $name:ident: $trait:ident, $of:ident $(, $argument:ident: $type:ty)? => $poll:ident, $output:ty) => {
        $(#[$about])*
        #[derive(Debug)]
        #[must_use = "futures do nothing unless awaited"]
        pub struct $name<'a, T: ?Sized> {
            $of: &'a mut T,
            $($argument: $type,)?
        }

        impl<T: $trait + Unpin + ?Sized> Future for $name<'_, T> {
            type Output = Result<$output>;

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                let this = &mut *self;
                ready!(poll_proceed(cx));
                Pin::new(&mut *this.$of).$poll(cx $(, this.$argument)?)
            }
        }
    };
}

mod buf_read;
mod buf_reader;
mod buf_stream;
mod buf_writer;
mod chain;
mod copy;
mod cursor;
mod duplex;
mod ends;
mod lines;
mod read;
mod seek;
mod split;
mod stdin;
mod stdout;
mod take;
mod write;

pub use buf_read::{AsyncBufReadExt, FillBuf, ReadLine, ReadUntil};
pub use buf_reader::BufReader;
pub use buf_stream::BufStream;
pub use buf_writer::BufWriter;
pub use chain::Chain;
pub use copy::{copy, copy_bidirectional, copy_buf};
pub use cursor::Cursor;
pub use duplex::{DuplexStream, PipeReader, PipeWriter, duplex, pipe};
pub use ends::{Empty, Repeat, Sink, empty, repeat, sink};
pub use futures_io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
pub use lines::{Lines, Split};
pub use read::{AsyncReadExt, LimitExceeded, Read, ReadExact, ReadToEnd, ReadToString, ReadVectored};
pub use seek::{AsyncSeekExt, Seek};
pub use split::{NotAPair, ReadHalf, WriteHalf, split};
pub use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result, SeekFrom};
pub use stdin::{Stdin, stdin};
pub use stdout::{Stderr, Stdout, stderr, stdout};
pub use take::Take;
pub use write::{AsyncWriteExt, Close, Flush, Write, WriteAll, WriteVectored};

/// The traits, to be imported by `use ropewalk::io::prelude::*`.
pub mod prelude {
    pub use super::{
        AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite,
        AsyncWriteExt,
    };
}

/// How large buffers are if nobody says otherwise.
const BUFFER: usize = 8 * 1024;
