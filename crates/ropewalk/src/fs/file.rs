//! An open file.

mod stream;

use super::behind::{Behind, Target, write_counted};
use super::engine::{self, Extent};
use super::{Metadata, OpenOptions, PathError, Permissions};
use ropewalk_core::prim::real::{AtomicU64, Ordering};
use std::fs::File as StdFile;
use std::future::poll_fn;
use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use stream::Cursor;

/// An open file: [`AsyncRead`](crate::io::AsyncRead), [`AsyncWrite`](crate::io::AsyncWrite) and
/// [`AsyncSeek`](crate::io::AsyncSeek).
///
/// ```
/// use ropewalk::{fs::File, io::{SeekFrom, prelude::*}};
/// # let path = std::env::temp_dir().join(format!("ropewalk-file-{}", std::process::id()));
/// # ropewalk::block_on(async {
/// let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).await?;
/// file.write_all(b"hello, disk").await?;
/// file.seek(SeekFrom::Start(7)).await?;
/// let mut word = String::new();
/// file.read_to_string(&mut word).await?;
/// assert_eq!(word, "disk");
/// # std::fs::remove_file(&path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// **Reading** is ahead: a regular file is read in pieces of 8 KiB that grow to 128 KiB while it is read in sequence, so what others
/// write to it may be seen late; what is written through this `File` is always seen. Seeking drops what was read ahead.
///
/// **Writing** is behind: [`write`](crate::io::AsyncWriteExt::write) takes up to 128 KiB into memory and returns; they are written
/// soon, in order, whether or not anybody comes back, also when the `File` was dropped or the runtime shut down. An **error** is
/// remembered and reported by the next operation of any kind, and says how many bytes are missing; if none comes, it goes to standard error. Call
/// [`flush`](crate::io::AsyncWriteExt::flush) to know, [`sync_all`](Self::sync_all) to know that the disk has it. At the end of the
/// process only what was flushed is certain.
///
/// **Cancel safety**: reading, writing and seeking may be dropped at any time; what was read meanwhile comes with the next read,
/// what was accepted is written.
///
/// Methods that take `&self` may run at the same time, in any order, from any number of tasks.
#[derive(Debug)]
pub struct File {
    shared: Arc<Behind<Disk>>,
    cursor: Cursor,
}

/// The file itself, and what its operations have to know of each other.
#[derive(Debug)]
struct Disk {
    file: StdFile,
    path: Option<PathBuf>,
    /// Counts changes that pass by the cursor: what was read ahead before one is out of date.
    changes: AtomicU64,
}

impl AsRef<StdFile> for Behind<Disk> {
    fn as_ref(&self) -> &StdFile {
        &self.target.file
    }
}

impl Disk {
    fn wrap(&self, doing: &'static str) -> impl FnOnce(io::Error) -> io::Error {
        move |error| PathError::wrap(doing, self.path.as_deref(), error)
    }
}

impl Target for Disk {
    fn write_all(&self, rewind: u64, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        engine::rewind(&self.file, rewind).map_err(|error| (0, error))?;
        write_counted(&self.file, bytes)
    }

    fn explain(&self, error: io::Error, lost: usize) -> io::Error {
        PathError::wrap_lost("write", self.path.as_deref(), error, lost)
    }
}

impl File {
    /// Opens the file at `path` for reading.
    ///
    /// # Errors
    /// The system's.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().read(true).open(path).await
    }

    /// Makes the file at `path`, or empties it, and opens it for writing.
    ///
    /// # Errors
    /// The system's.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path).await
    }

    /// Makes the file at `path`, which must not exist, and opens it for reading and writing.
    ///
    /// # Errors
    /// The system's; it exists.
    pub async fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path).await
    }

    /// Other ways to open a file.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    pub(super) fn at(file: StdFile, path: PathBuf) -> Self {
        Self::new(file, Some(path))
    }

    /// A file that the standard library opened. Errors cannot name its path.
    pub fn from_std(file: StdFile) -> Self {
        Self::new(file, None)
    }

    fn new(file: StdFile, path: Option<PathBuf>) -> Self {
        let disk = Disk { file, path, changes: AtomicU64::new(0) };
        Self { shared: Arc::new(Behind::new(disk)), cursor: Cursor::default() }
    }

    /// The file for the standard library, at the same position, after everything was written.
    ///
    /// # Errors
    /// Of an earlier write; the system's. Then the file is closed.
    pub async fn into_std(mut self) -> io::Result<StdFile> {
        self.duplicate().await
    }

    /// Another handle of the same open file; they share one position. Each reads ahead for itself, so only one of them should read
    /// without seeking first.
    ///
    /// # Errors
    /// Of an earlier write; the system's.
    pub async fn try_clone(&mut self) -> io::Result<Self> {
        let file = self.duplicate().await?;
        Ok(Self::new(file, self.shared.target.path.clone()))
    }

    async fn duplicate(&mut self) -> io::Result<StdFile> {
        poll_fn(|cx| self.poll_seek_to(cx, None)).await?;
        let shared = self.shared.clone();
        engine::run(move || shared.target.file.try_clone().map_err(shared.target.wrap("duplicate"))).await
    }

    /// Goes to `position`; where that is, counted from the start.
    ///
    /// **Cancel safety**: if it is dropped unfinished, it may have happened or not; the next operation starts after that.
    ///
    /// # Errors
    /// Of an earlier write; the system's: a position before the start, a file that has none.
    pub async fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.cursor.give_up_seek();
        let seek = stream::GiveUp(self);
        poll_fn(|cx| seek.0.poll_seek_to(cx, Some(position))).await
    }

    /// Does something that does not concern the cursor, after everything that was accepted is written.
    async fn after_writes<T: Send + 'static>(
        &self,
        doing: &'static str,
        call: impl FnOnce(&Disk) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        poll_fn(|cx| self.shared.poll_idle(cx)).await?;
        let shared = self.shared.clone();
        engine::run(move || call(&shared.target).map_err(shared.target.wrap(doing))).await
    }

    /// Waits until the disk has everything: contents, length, times.
    ///
    /// # Errors
    /// Of an earlier write; the system's.
    pub async fn sync_all(&self) -> io::Result<()> {
        self.sync(Extent::All).await
    }

    /// Waits until the disk has the contents, and what is needed to find them.
    ///
    /// # Errors
    /// Of an earlier write; the system's.
    pub async fn sync_data(&self) -> io::Result<()> {
        self.sync(Extent::Data).await
    }

    async fn sync(&self, what: Extent) -> io::Result<()> {
        poll_fn(|cx| self.shared.poll_idle(cx)).await?;
        engine::sync(self.shared.clone(), what).await.map_err(self.shared.target.wrap("sync"))
    }

    /// Makes the file `len` bytes long: cuts it off, or adds zeros. The position stays.
    ///
    /// # Errors
    /// Of an earlier write; the system's: not open for writing, no room.
    pub async fn set_len(&self, len: u64) -> io::Result<()> {
        self.after_writes("set the length of", move |disk| {
            let result = disk.file.set_len(len);
            disk.changes.fetch_add(1, Ordering::Release);
            result
        })
        .await
    }

    /// What the system knows of it.
    ///
    /// # Errors
    /// Of an earlier write; the system's.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        self.after_writes("look at", |disk| disk.file.metadata()).await
    }

    /// Changes its permissions.
    ///
    /// # Errors
    /// Of an earlier write; the system's.
    pub async fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.after_writes("set permissions of", |disk| disk.file.set_permissions(permissions)).await
    }

    /// Reads at `offset`, wherever the position is, and leaves that alone; how many bytes, zero at the end.
    ///
    /// ```
    /// use ropewalk::fs::File;
    /// # let path = std::env::temp_dir().join(format!("ropewalk-at-{}", std::process::id()));
    /// # ropewalk::block_on(async {
    /// let file = File::create_new(&path).await?;
    /// file.write_at(b"ropewalk", 100).await?;
    /// let mut word = [0; 4];
    /// assert_eq!(file.read_at(&mut word, 104).await?, 4);
    /// assert_eq!(&word, b"walk");
    /// # std::fs::remove_file(&path)?;
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// **Cancel safety**: dropping it has no effect.
    ///
    /// # Errors
    /// Of an earlier write; the system's.
    #[cfg(unix)]
    pub async fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        poll_fn(|cx| self.shared.poll_idle(cx)).await?;
        let owned = vec![0; buf.len().min(stream::LARGEST)];
        let read = engine::read_at(self.shared.clone(), owned, offset).await;
        let (owned, count) = read.map_err(self.shared.target.wrap("read"))?;
        buf[..count].copy_from_slice(&owned[..count]);
        Ok(count)
    }

    /// Writes at `offset`, wherever the position is, and leaves that alone; how many bytes. It is written when this returns. A file
    /// opened for [`append`](OpenOptions::append) is written at its end all the same.
    ///
    /// **Cancel safety**: if it is dropped unfinished, it may have happened or not.
    ///
    /// # Errors
    /// Of an earlier write; the system's.
    #[cfg(unix)]
    pub async fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        poll_fn(|cx| self.shared.poll_idle(cx)).await?;
        let owned = buf[..buf.len().min(stream::LARGEST)].to_owned();
        let written = engine::write_at(Arc::new(Changing(self.shared.clone())), owned, offset).await;
        written.map_err(self.shared.target.wrap("write"))
    }
}

/// A file while something is written to it past the cursor. At the end, whoever waits for it or not, that counts as a change.
#[cfg(unix)]
struct Changing(Arc<Behind<Disk>>);

#[cfg(unix)]
impl AsRef<StdFile> for Changing {
    fn as_ref(&self) -> &StdFile {
        &self.0.target.file
    }
}

#[cfg(unix)]
impl Drop for Changing {
    fn drop(&mut self) {
        self.0.target.changes.fetch_add(1, Ordering::Release);
    }
}

impl From<StdFile> for File {
    fn from(file: StdFile) -> Self {
        Self::from_std(file)
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for File {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.shared.target.file.as_fd()
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for File {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.shared.target.file.as_raw_fd()
    }
}
