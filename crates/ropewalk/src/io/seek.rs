//! Seeking: the methods of everything with a position.

use super::{AsyncSeek, SeekFrom};
use ropewalk_core::budget::poll_proceed;
use std::future::Future;
use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The methods of every [`AsyncSeek`].
///
/// ```
/// use ropewalk::io::{Cursor, SeekFrom, prelude::*};
/// # ropewalk::block_on(async {
/// let mut cursor = Cursor::new(*b"ropewalk");
/// cursor.seek(SeekFrom::End(-4)).await?;
/// let mut word = String::new();
/// cursor.read_to_string(&mut word).await?;
/// assert_eq!(word, "walk");
/// assert_eq!(cursor.stream_position().await?, 8);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncSeekExt: AsyncSeek {
    /// Goes to `position`; where that is, counted from the start.
    ///
    /// **Cancel safety**: if it is dropped unfinished, it may have happened or not.
    ///
    /// # Errors
    /// Those of what is sought in; before the start there is nothing.
    fn seek(&mut self, position: SeekFrom) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        Seek { seeker: self, position }
    }

    /// Goes to the start.
    ///
    /// **Cancel safety**: as for [`seek`](Self::seek).
    ///
    /// # Errors
    /// Those of what is sought in.
    fn rewind(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Start(0))
    }

    /// The current position, counted from the start.
    ///
    /// **Cancel safety**: dropping it has no effect.
    ///
    /// # Errors
    /// Those of what is sought in.
    fn stream_position(&mut self) -> Seek<'_, Self>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}

one_call! {
    /// Future of [`AsyncSeekExt::seek`].
    Seek: AsyncSeek, seeker, position: SeekFrom => poll_seek, u64
}
