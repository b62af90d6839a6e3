//! A file that is whole, or as it was.

use super::at;
use crate::task::is_cancelled;
use ropewalk_core::prim::real::{AtomicU64, Ordering::Relaxed};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Makes the file at `path` consist of `contents`, at one moment: whoever opens it, also after a crash, finds all of the old or
/// all of the new. It is written to a temporary file beside it, brought to the disk, renamed, and the directory brought to the
/// disk too. It keeps the permissions of the file that it replaces, and the temporary file never grants more; if `path` is a
/// symbolic link, it is what that leads to, there yet or not.
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
/// (`.NAME.PID-NUMBER.tmp`, with the beginning of a long name) stays only if the process dies meanwhile.
///
/// # Errors
/// The system's, and then the file is as it was and nothing is left beside it; except if only the last step fails: then it is new, but
/// that may not have reached the disk.
pub async fn write_atomic(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let contents = contents.as_ref().to_owned();
    at("write", path.as_ref(), move |path| replace(path, &contents)).await
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let path = destination(path)?;
    let old = fs::metadata(&path).map(|old| old.permissions()).ok();
    let (mut file, temporary) = Temporary::beside(&path, old.as_ref())?;
    file.write_all(contents)?;
    if let Some(old) = old {
        file.set_permissions(old)?; // after writing, which takes some away
    }
    file.sync_all()?;
    drop(file);
    if is_cancelled() {
        return Err(io::ErrorKind::Interrupted.into()); // nobody hears this
    }
    temporary.rename(&path)?;
    sync_directory(&path)
}

/// How many links that lead to nothing are followed, as systems do.
const LINKS: usize = 40;

/// Where `path` leads, if need be to a file that is not there yet.
fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(there) = fs::canonicalize(&path) {
            return Ok(there);
        }
        let Ok(next) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    fs::canonicalize(&path) // says what is wrong with it
}

/// A file that is removed unless it is renamed.
struct Temporary(Option<PathBuf>);

impl Temporary {
    /// A new file, for as many as the one that it will replace, or fewer.
    fn beside(path: &Path, old: Option<&Permissions>) -> io::Result<(File, Self)> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if let Some(old) = old {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            options.mode(old.mode() & 0o777);
        }
        #[cfg(not(unix))]
        let _who_may_do_what_comes_from_the_directory = old;
        loop {
            let name = temporary_name(path)?;
            match options.open(&name) {
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

/// How much of a file's name its temporary has: systems allow some 255 bytes, and a little is added.
const NAME: usize = 128;

fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name: it ends in `..` or is a root")
    })?;
    let mut temporary = OsString::from(".");
    if name.len() <= NAME {
        temporary.push(name);
    } else {
        let text = name.to_string_lossy();
        temporary.push(&text[..text.floor_char_boundary(NAME)]);
    }
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
