//! Files and directories, without blocking a worker.
//!
//! The system has no way to wait for a file as it has for sockets, so operations run in the blocking pool of the current runtime
//! (outside of any: the default one's), unless its I/O driver is io_uring: then open files are read, written and synced by that. Each function is one trip there, however much it does: [`read`] opens, reads and
//! closes. [`File`] reads ahead and writes behind, so that small steps are cheap.
//!
//! ```
//! use ropewalk::{Wait, fs};
//!
//! let path = std::env::temp_dir().join(format!("ropewalk-doc-{}", std::process::id()));
//! ropewalk::block_on(async {
//!     fs::write_atomic(&path, "whole, or not at all").await?;
//!     assert_eq!(fs::read_to_string(&path).await?, "whole, or not at all");
//!     std::io::Result::Ok(())
//! })?;
//! fs::remove_file(&path).wait()?; // on a plain thread
//! # std::io::Result::Ok(())
//! ```
//!
//! **Errors** name the path and what was being done; see [`PathError`].
//!
//! **Cancel safety.** Nothing that a future borrows is ever touched by an operation under way. Dropping a future of one of these
//! functions: if it has not begun it never will, else it goes on to its end, and its result is lost. Where more is to be said, it
//! is said there. If the runtime shuts down first, an operation that has not begun fails; what a [`File`] had accepted is written
//! all the same.

mod atomic;
pub(crate) mod behind;
#[cfg(target_os = "linux")]
mod completion;
mod dir;
pub(crate) mod engine;
mod error;
mod file;
mod open;

pub use atomic::write_atomic;
pub use dir::{DirEntry, ReadDir, read_dir};
pub use error::PathError;
pub use file::File;
pub use open::OpenOptions;
pub use std::fs::{FileType, Metadata, Permissions};

use std::fs as std_fs;
use std::io;
use std::path::{Path, PathBuf};

/// Does something to a path where it may block.
async fn at<T: Send + 'static>(
    doing: &'static str,
    path: &Path,
    call: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let path = path.to_owned();
    engine::run(move || call(&path).map_err(|error| PathError::wrap(doing, Some(&path), error))).await
}

/// The same with two paths.
async fn at_two<T: Send + 'static>(
    doing: &'static str,
    (from, to): (&Path, &Path),
    call: impl FnOnce(&Path, &Path) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (from, to) = (from.to_owned(), to.to_owned());
    engine::run(move || call(&from, &to).map_err(|error| PathError::wrap_two(doing, from, to, error))).await
}

/// Everything in the file at `path`.
///
/// # Errors
/// The system's.
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    at("read", path.as_ref(), |path| std_fs::read(path)).await
}

/// Everything in the file at `path`, which is UTF-8.
///
/// # Errors
/// The system's; [`InvalidData`](io::ErrorKind::InvalidData) if it is not UTF-8.
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    at("read", path.as_ref(), |path| std_fs::read_to_string(path)).await
}

/// Makes the file at `path` consist of `contents`, of which a copy is taken. Others may see a part of it meanwhile, and
/// after a failure: if that matters, [`write_atomic`].
///
/// # Errors
/// The system's.
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let contents = contents.as_ref().to_owned();
    at("write", path.as_ref(), move |path| std_fs::write(path, contents)).await
}

/// Copies a file's contents and permissions; how many bytes. What was at `to` is replaced.
///
/// # Errors
/// The system's; `from` must be a regular file.
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    at_two("copy", (from.as_ref(), to.as_ref()), |from, to| std_fs::copy(from, to)).await
}

/// Renames a file or directory, replacing a file at `to`. Within one file system.
///
/// # Errors
/// The system's.
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    at_two("rename", (from.as_ref(), to.as_ref()), |from, to| std_fs::rename(from, to)).await
}

/// Makes `link` another name of the file at `original`.
///
/// # Errors
/// The system's.
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    at_two("link", (original.as_ref(), link.as_ref()), |from, to| std_fs::hard_link(from, to)).await
}

/// Makes `link` a symbolic link to `original`, which need not exist.
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let call = |from: &Path, to: &Path| std::os::unix::fs::symlink(from, to);
    at_two("symlink", (original.as_ref(), link.as_ref()), call).await
}

/// Where the symbolic link at `path` leads.
///
/// # Errors
/// The system's; it is not a symbolic link.
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    at("read the link", path.as_ref(), |path| std_fs::read_link(path)).await
}

/// Removes a file.
///
/// # Errors
/// The system's; it is a directory.
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    at("remove", path.as_ref(), |path| std_fs::remove_file(path)).await
}

/// What the system knows of a path; symbolic links are followed.
///
/// # Errors
/// The system's.
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    at("look at", path.as_ref(), |path| std_fs::metadata(path)).await
}

/// What the system knows of a path; a symbolic link is looked at itself.
///
/// # Errors
/// The system's.
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    at("look at", path.as_ref(), |path| std_fs::symlink_metadata(path)).await
}

/// Whether there is something at `path`. An error means that this is not known.
///
/// # Errors
/// The system's, but for those that say that there is nothing.
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    at("look for", path.as_ref(), |path| std_fs::exists(path)).await
}

/// The path from the root, without symbolic links and dots.
///
/// # Errors
/// The system's; there must be something.
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    at("resolve", path.as_ref(), |path| std_fs::canonicalize(path)).await
}

/// Changes the permissions of a file or directory.
///
/// # Errors
/// The system's.
pub async fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    at("set permissions of", path.as_ref(), |path| std_fs::set_permissions(path, permissions)).await
}

/// Makes a directory.
///
/// # Errors
/// The system's; what it is in does not exist, or it exists.
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    at("create the directory", path.as_ref(), |path| std_fs::create_dir(path)).await
}

/// Makes a directory and what it is in; all right if it exists.
///
/// # Errors
/// The system's. What was made before the error stays.
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    at("create the directory", path.as_ref(), |path| std_fs::create_dir_all(path)).await
}

/// Removes an empty directory.
///
/// # Errors
/// The system's; it is not empty.
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    at("remove the directory", path.as_ref(), |path| std_fs::remove_dir(path)).await
}

/// Removes a directory and all that is in it. Symbolic links are removed, not followed.
///
/// # Errors
/// The system's. What was removed before the error is gone.
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    at("remove the directory", path.as_ref(), |path| std_fs::remove_dir_all(path)).await
}
