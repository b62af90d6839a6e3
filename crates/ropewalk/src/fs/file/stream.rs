//! The cursor of a file: reading ahead, writing behind, seeking.
//!
//! The system's cursor and the one that the user sees differ by what was read ahead:
//!
//! * **CU1** While no operation is under way: seen = system's - `debt` - what is in `ahead`.
//! * **CU2** `ahead` holds something only while `debt` is zero: who reads repays first, who drops what was read ahead owes it.
//! * **CU3** One operation that moves the system's cursor is under way at a time: a read, a seek or a write-behind. Each waits for
//!   the others to end, also for those of futures that were dropped, and takes up what they brought. One that ended with its runtime
//!   brought nothing, and may have moved that cursor: then the user has to say where to go on.

use super::File;
use crate::fs::engine::{self, Op, ReadDone, ReadOrder};
use crate::io::{AsyncRead, AsyncSeek, AsyncWrite};
use ropewalk_core::budget::poll_proceed;
use ropewalk_core::prim::real::Ordering;
use std::future::Future;
use std::io::{self, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The first piece that is read ahead, the last one, and the most that one operation moves.
const FIRST: usize = 8 * 1024;
const AHEAD: usize = 128 * 1024;
pub(super) const LARGEST: usize = 1024 * 1024;

/// Where a file is read and written.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    /// `ahead[from..to]` was read and not taken.
    ahead: Vec<u8>,
    from: usize,
    to: usize,
    /// [`Disk::changes`](super::Disk) when it was read.
    as_of: u64,
    /// How far the system's cursor is too far.
    debt: u64,
    /// How much to read next.
    window: usize,
    is_regular: Option<bool>,
    /// A read has ended with its runtime, and nobody knows how far it came: CU1 does not hold until somebody says where to go on.
    astray: bool,
    reading: Option<(Op<ReadDone>, u64)>,
    seeking: Option<Seeking>,
}

#[derive(Debug)]
struct Seeking {
    /// `None`: only to where it is seen to be.
    to: Option<SeekFrom>,
    op: Op<u64>,
    /// The future that asked for it is gone.
    given_up: bool,
}

impl Cursor {
    fn left(&self) -> usize {
        self.to - self.from
    }

    /// Drops what was read ahead: the system's cursor is too far then. What came from a pipe stays.
    fn forget_ahead(&mut self) {
        if self.is_regular == Some(true) {
            self.debt += self.left() as u64;
            (self.from, self.to) = (0, 0);
        }
    }

    /// How far the system's cursor is ahead of what is seen.
    fn lead(&self) -> u64 {
        let ahead = if self.is_regular == Some(true) { self.left() as u64 } else { 0 };
        self.debt + ahead
    }

    /// The system's cursor is where it is seen.
    fn is_level(&mut self) {
        self.forget_ahead();
        self.debt = 0;
    }

    pub(super) fn give_up_seek(&mut self) {
        if let Some(seeking) = &mut self.seeking {
            seeking.given_up = true;
        }
    }

    /// The next piece: as much as is wanted, at least the window.
    fn order(&mut self, wanted: usize) -> ReadOrder {
        let at_most = wanted.max(self.window.max(FIRST)).min(LARGEST);
        ReadOrder {
            buf: std::mem::take(&mut self.ahead),
            at_most,
            at_most_if_special: wanted.min(LARGEST),
            rewind: self.debt,
            is_regular: self.is_regular,
        }
    }

    /// Takes up what a read brought; its error, if it had one.
    fn take_up(&mut self, done: ReadDone, as_of: u64) -> io::Result<()> {
        if done.rewound {
            self.debt = 0;
        }
        // A whole piece: it is read in sequence, so the next one is larger.
        self.window = if done.count == done.buf.len() { (2 * done.count).clamp(FIRST, AHEAD) } else { FIRST };
        (self.ahead, self.from, self.to, self.as_of) = (done.buf, 0, done.count, as_of);
        self.is_regular = Some(done.is_regular);
        if done.count == 0 {
            self.ahead = Vec::new(); // at the end a buffer is not needed
        }
        done.error.map_or(Ok(()), Err)
    }
}

impl File {
    /// Waits for a read that is under way and takes up what it brought; whether there was one.
    fn poll_reading(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Some((op, as_of)) = &mut self.cursor.reading else { return Poll::Ready(Ok(false)) };
        let done = ready!(Pin::new(op).poll(cx));
        let as_of = *as_of;
        self.cursor.reading = None;
        self.cursor.astray |=
            done.is_err() && self.shared.target.file.metadata().is_ok_and(|it| it.is_file());
        let result = done.and_then(|done| self.cursor.take_up(done, as_of));
        Poll::Ready(result.map(|()| true).map_err(self.shared.target.wrap("read")))
    }

    /// Waits for a seek that is under way; what it was for, and where it went, unless that concerns nobody.
    fn poll_seeking(&mut self, cx: &mut Context<'_>) -> Poll<Option<(Option<SeekFrom>, io::Result<u64>)>> {
        let Some(seeking) = &mut self.cursor.seeking else { return Poll::Ready(None) };
        let result = ready!(Pin::new(&mut seeking.op).poll(cx));
        let (to, given_up) = (seeking.to, seeking.given_up);
        self.cursor.seeking = None;
        let result = match result {
            // Only asked: nothing has moved.
            Ok(there) if to == Some(SeekFrom::Current(0)) => Ok(there.saturating_sub(self.cursor.lead())),
            Ok(there) => {
                self.cursor.is_level();
                self.cursor.window = 0;
                self.cursor.astray = false;
                Ok(there)
            }
            error => error,
        };
        let result = result.map_err(self.shared.target.wrap("seek in"));
        Poll::Ready((!given_up).then_some((to, result)))
    }

    /// Moves the cursor, or with `None` only the system's to where it is seen.
    pub(super) fn poll_seek_to(
        &mut self,
        cx: &mut Context<'_>,
        to: Option<SeekFrom>,
    ) -> Poll<io::Result<u64>> {
        loop {
            if let Some((sought, result)) = ready!(self.poll_seeking(cx))
                && sought == to
            {
                return Poll::Ready(result);
            }
            ready!(self.poll_reading(cx))?;
            ready!(self.shared.poll_idle(cx))?;
            if !matches!(to, Some(SeekFrom::Start(_) | SeekFrom::End(_))) {
                self.refuse_astray("seek in")?;
            }
            let lead = self.cursor.lead();
            if to.is_none() && lead == 0 {
                return Poll::Ready(Ok(0));
            }
            let Some(position) = in_terms_of_the_system(to, lead) else {
                return Poll::Ready(Err(self.before_the_start()));
            };
            let shared = self.shared.clone();
            let op = engine::run(move || (&shared.target.file).seek(position));
            self.cursor.seeking = Some(Seeking { to, op, given_up: false });
        }
    }

    /// It is not known where the system's cursor is.
    fn refuse_astray(&self, doing: &'static str) -> io::Result<()> {
        if !self.cursor.astray {
            return Ok(());
        }
        let error = io::Error::other(
            "a read was under way when its runtime was shut down: the position is not known; seek to one, from the start or the end",
        );
        Err(self.shared.target.wrap(doing)(error))
    }

    fn before_the_start(&self) -> io::Error {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "that position is before the start");
        self.shared.target.wrap("seek in")(error)
    }

    /// What others of this file's operations changed has to be read again.
    fn forget_if_outdated(&mut self) {
        if self.cursor.left() > 0 && !self.is_up_to_date() {
            self.cursor.forget_ahead();
        }
    }

    /// Whether what was read last, be it the end, is what is there: others of this file's operations changed nothing since.
    fn is_up_to_date(&self) -> bool {
        self.cursor.as_of == self.shared.target.changes.load(Ordering::Acquire)
    }
}

impl AsyncRead for File {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        ready!(poll_proceed(cx));
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        loop {
            ready!(self.poll_seeking(cx)); // also before taking from `ahead`, of which it makes a debt (CU3)
            let has_read = ready!(self.poll_reading(cx))?;
            self.forget_if_outdated();
            let (from, left) = (self.cursor.from, self.cursor.left());
            if left > 0 {
                let count = left.min(buf.len());
                buf[..count].copy_from_slice(&self.cursor.ahead[from..from + count]);
                self.cursor.from += count;
                return Poll::Ready(Ok(count));
            }
            if has_read && self.cursor.debt == 0 && self.is_up_to_date() {
                return Poll::Ready(Ok(0)); // it found the end
            }
            ready!(self.shared.poll_idle(cx))?;
            self.refuse_astray("read")?;
            let order = self.cursor.order(buf.len());
            let as_of = self.shared.target.changes.load(Ordering::Acquire);
            let op = engine::read(self.shared.clone(), order);
            self.cursor.reading = Some((op, as_of));
        }
    }
}

impl AsyncWrite for File {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(poll_proceed(cx));
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        ready!(self.poll_seeking(cx));
        ready!(self.poll_reading(cx))?;
        self.refuse_astray("write")?;
        let offer = (buf, self.cursor.lead(), false);
        let count = ready!(self.shared.poll_accept(cx, offer, engine::write_behind))?;
        self.cursor.is_level();
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.poll_idle(cx)
    }

    /// Waits until everything is written. The file is closed when it is dropped.
    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.poll_idle(cx)
    }
}

/// Of a seek that is dropped unfinished and asked for again with the same position the first one counts: where that matters (from
/// the current position), use [`File::seek`].
impl AsyncSeek for File {
    fn poll_seek(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: SeekFrom) -> Poll<io::Result<u64>> {
        self.poll_seek_to(cx, Some(to))
    }
}

/// What the system has to be told, whose cursor is `lead` further than the one that is seen. `None`: that is before the start.
fn in_terms_of_the_system(to: Option<SeekFrom>, lead: u64) -> Option<SeekFrom> {
    // What was read ahead is far less than i64::MAX.
    let lead = lead as i64;
    match to {
        Some(SeekFrom::Current(0)) => to, // only asks
        Some(SeekFrom::Current(by)) => by.checked_sub(lead).map(SeekFrom::Current),
        Some(absolute) => Some(absolute),
        None => Some(SeekFrom::Current(-lead)),
    }
}

/// A seek whose future may be dropped.
pub(super) struct GiveUp<'a>(pub(super) &'a mut File);

impl Drop for GiveUp<'_> {
    fn drop(&mut self) {
        self.0.cursor.give_up_seek();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::prelude::*;

    /// Nobody knows how far a read came that ended with its runtime: what counts from there is refused, until it is said where to go on.
    #[test]
    fn a_position_that_is_not_known_is_not_used() {
        let path = std::env::temp_dir().join(format!("ropewalk-astray-{}", std::process::id()));
        crate::block_on(async {
            crate::fs::write(&path, b"0123456789").await.unwrap();
            let mut file = crate::fs::OpenOptions::new().read(true).write(true).open(&path).await.unwrap();
            let mut buf = [0; 4];
            file.read_exact(&mut buf).await.unwrap();
            file.seek(SeekFrom::Current(0)).await.unwrap();
            file.cursor.forget_ahead();
            file.cursor.astray = true;
            let refusals = [
                file.read(&mut buf).await.map(drop),
                file.seek(SeekFrom::Current(1)).await.map(drop),
                file.seek(SeekFrom::Current(0)).await.map(drop),
                file.write_all(b"x").await,
            ];
            for refused in refusals {
                let text = refused.unwrap_err().to_string();
                assert!(
                    text.contains("the position is not known") && text.contains("ropewalk-astray"),
                    "{text}"
                );
            }
            assert_eq!(file.seek(SeekFrom::Start(2)).await.unwrap(), 2);
            file.read_exact(&mut buf).await.unwrap();
            assert_eq!(&buf, b"2345");
        });
        std::fs::remove_file(path).unwrap();
    }
}
