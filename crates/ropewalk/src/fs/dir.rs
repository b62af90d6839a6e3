//! The entries of a directory, in lots.

use super::{FileType, Metadata, PathError, at, engine};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs as std_fs;
use std::future::{Future, poll_fn};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How many entries come with one trip to the blocking pool.
const LOT: usize = 128;

/// The entries of the directory at `path`, in no particular order, without `.` and `..`. The first ones are there when it
/// returns.
///
/// ```
/// use ropewalk::fs;
/// # ropewalk::block_on(async {
/// let mut entries = fs::read_dir(".").await?;
/// while let Some(entry) = entries.next_entry().await? {
///     println!("{}", entry.path().display());
/// }
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// With the feature `stream` it is a `Stream` too. A directory that is removed meanwhile ends early; what is made or removed
/// in it meanwhile may be there or not.
///
/// # Errors
/// The system's.
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let first = at("read the directory", path.as_ref(), |path| {
        Ok(next_lot(std_fs::read_dir(path)?, Arc::from(path)))
    });
    Ok(ReadDir { lot: first.await?, next: None })
}

/// See [`read_dir`].
pub struct ReadDir {
    lot: Lot,
    /// The next lot, which is being read.
    next: Option<engine::Op<Lot>>,
}

/// Some entries, and where to get more.
struct Lot {
    entries: VecDeque<io::Result<DirEntry>>,
    more: Option<std_fs::ReadDir>,
    path: Arc<Path>,
}

fn next_lot(mut more: std_fs::ReadDir, path: Arc<Path>) -> Lot {
    let mut entries = VecDeque::new();
    for found in more.by_ref().take(LOT) {
        entries.push_back(match found {
            Ok(found) => Ok(DirEntry { file_type: found.file_type().ok(), found: Arc::new(found) }),
            Err(error) => Err(PathError::wrap("read the directory", Some(&path), error)),
        });
    }
    let more = (entries.len() == LOT).then_some(more);
    Lot { entries, more, path }
}

impl ReadDir {
    /// The next entry; `None` at the end.
    ///
    /// **Cancel safety**: dropping it loses nothing.
    ///
    /// # Errors
    /// The system's; asking again goes on with the next entry, if there is one.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// The same for implementers of futures.
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        ready!(ropewalk_core::budget::poll_proceed(cx));
        loop {
            if let Some(next) = &mut self.next {
                let lot = ready!(Pin::new(next).poll(cx));
                self.next = None;
                self.lot = lot?;
            }
            if let Some(entry) = self.lot.entries.pop_front() {
                return Poll::Ready(entry.map(Some));
            }
            let Some(more) = self.lot.more.take() else { return Poll::Ready(Ok(None)) };
            let path = self.lot.path.clone();
            self.next = Some(engine::run(move || Ok(next_lot(more, path))));
        }
    }
}

#[cfg(feature = "stream")]
impl futures_core::Stream for ReadDir {
    type Item = io::Result<DirEntry>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_next_entry(cx).map(Result::transpose)
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadDir").field(&self.lot.path).finish()
    }
}

/// What [`ReadDir`] found.
#[derive(Clone)]
pub struct DirEntry {
    found: Arc<std_fs::DirEntry>,
    file_type: Option<FileType>,
}

impl DirEntry {
    /// Where it is: the path given to [`read_dir`] and the name.
    pub fn path(&self) -> PathBuf {
        self.found.path()
    }

    /// Its name.
    pub fn file_name(&self) -> OsString {
        self.found.file_name()
    }

    /// What it is; mostly known already, without asking the system again. Symbolic links are not followed.
    ///
    /// # Errors
    /// The system's.
    pub async fn file_type(&self) -> io::Result<FileType> {
        match self.file_type {
            Some(known) => Ok(known),
            None => self.metadata().await.map(|found| found.file_type()),
        }
    }

    /// What the system knows of it. Symbolic links are not followed.
    ///
    /// # Errors
    /// The system's; it may be gone.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let found = self.found.clone();
        at("look at", &self.path(), move |_| found.metadata()).await
    }
}

impl fmt::Debug for DirEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DirEntry").field(&self.path()).finish()
    }
}
