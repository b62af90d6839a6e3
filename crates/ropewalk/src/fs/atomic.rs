//! A file that is whole, or as it was.

use super::at;
use crate::task::is_cancelled;
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Makes the file at `path` consist of `contents`, at one moment: whoever opens it, also after a crash, finds all of the old or
/// all of the new. It is written to a temporary file beside it, brought to the disk, renamed, and the directory brought to the
/// disk too. It keeps the permissions of the file that it replaces; if `path` is a symbolic link, it is what that leads to.
///
/// ```
/// use ropewalk::{Wait, fs};
/// let path = std::env::temp_dir().join(format!("ropewalk-settings-{}", std::process::id()));
/// fs::write_atomic(&path, b"first").wait()?;
/// fs::write_atomic(&path, b"second").wait()?;
/// assert_eq!(fs::read(&path).wait()?, b"second");
/// # std::fs::remove_file(&path)?;
/// # std::io::Result::Ok(())
/// ```
///
/// **Cancel safety**: if it is dropped unfinished, the file is as it was or new, and nothing is left beside it. The temporary file
/// (`.NAME.PID-NUMBER.tmp`) stays only if the process dies meanwhile.
///
/// # Errors
/// The system's, and then the file is as it was and nothing is left beside it; except if only the last step fails: then it is new, but
/// that may not have reached the disk.
pub async fn write_atomic(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let contents = contents.as_ref().to_owned();
    at("write", path.as_ref(), move |path| replace(path, &contents)).await
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (mut file, temporary) = Temporary::beside(&path)?;
    file.write_all(contents)?;
    if let Ok(old) = fs::metadata(&path) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    drop(file);
    if is_cancelled() {
        return Err(io::ErrorKind::Interrupted.into()); // nobody hears this
    }
    temporary.rename(&path)?;
    sync_directory(&path)
}

/// A file that is removed unless it is renamed.
struct Temporary(Option<PathBuf>);

impl Temporary {
    fn beside(path: &Path) -> io::Result<(File, Self)> {
        loop {
            let name = temporary_name(path)?;
            match OpenOptions::new().write(true).create_new(true).open(&name) {
                Ok(file) => return Ok((file, Self(Some(name)))),
                // Left by another process of this number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        let from = self.0.as_ref().expect("it is there until it is renamed");
        fs::rename(from, to)?;
        self.0 = None;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _gone_already = fs::remove_file(path);
        }
    }
}

fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name: it ends in `..` or is a root")
    })?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Relaxed)));
    Ok(path.with_file_name(temporary))
}

/// Brings the name of a file to the disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)?.sync_all()
}
