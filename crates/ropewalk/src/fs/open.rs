//! How a file is opened.

use super::{File, PathError, engine};
use std::fs as std_fs;
use std::io;
use std::path::Path;

/// How a file is opened: [`std::fs::OpenOptions`] whose `open` does not block.
///
/// ```
/// use ropewalk::{Wait, fs::OpenOptions, io::AsyncWriteExt};
/// # let path = std::env::temp_dir().join(format!("ropewalk-log-{}", std::process::id()));
/// ropewalk::block_on(async {
///     let mut log = OpenOptions::new().append(true).create(true).open(&path).await?;
///     log.write_all(b"started\n").await?;
///     log.flush().await
/// })?;
/// # std::fs::remove_file(&path)?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    std: std_fs::OpenOptions,
    /// The same again, if it is known: the standard library does not tell.
    asked: Option<Asked>,
}

/// What was asked for.
#[derive(Clone, Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub(super) struct Asked {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
    custom: i32,
    pub(super) mode: u32,
}

#[cfg(target_os = "linux")]
impl Asked {
    /// For the kernel, if it makes sense together: if not, the standard library says why.
    pub(super) fn flags(&self) -> Option<i32> {
        let access = match (self.read, self.write, self.append) {
            (true, false, false) => libc::O_RDONLY,
            (false, true, false) => libc::O_WRONLY,
            (true, true, false) => libc::O_RDWR,
            (false, _, true) => libc::O_WRONLY | libc::O_APPEND,
            (true, _, true) => libc::O_RDWR | libc::O_APPEND,
            (false, false, false) => return None,
        };
        let makes = self.create || self.create_new;
        let writes = self.write || self.append;
        if (makes || self.truncate) && !writes || self.append && self.truncate && !self.create_new {
            return None;
        }
        let creation = match (self.create_new, self.create, self.truncate) {
            (true, _, _) => libc::O_CREAT | libc::O_EXCL,
            (false, create, truncate) => {
                (if create { libc::O_CREAT } else { 0 }) | (if truncate { libc::O_TRUNC } else { 0 })
            }
        };
        Some(libc::O_CLOEXEC | access | creation | self.custom & !libc::O_ACCMODE)
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl From<std_fs::OpenOptions> for OpenOptions {
    fn from(options: std_fs::OpenOptions) -> Self {
        Self { std: options, asked: None }
    }
}

impl OpenOptions {
    /// None of them.
    pub fn new() -> Self {
        let asked = Asked {
            read: false,
            write: false,
            append: false,
            truncate: false,
            create: false,
            create_new: false,
            custom: 0,
            mode: 0o666,
        };
        Self { std: std_fs::OpenOptions::new(), asked: Some(asked) }
    }

    /// For reading.
    pub fn read(&mut self, read: bool) -> &mut Self {
        self.std.read(read);
        self.ask(|asked| asked.read = read)
    }

    /// For writing.
    pub fn write(&mut self, write: bool) -> &mut Self {
        self.std.write(write);
        self.ask(|asked| asked.write = write)
    }

    /// For writing at the end, wherever that is at the time.
    pub fn append(&mut self, append: bool) -> &mut Self {
        self.std.append(append);
        self.ask(|asked| asked.append = append)
    }

    /// What is in it is removed.
    pub fn truncate(&mut self, truncate: bool) -> &mut Self {
        self.std.truncate(truncate);
        self.ask(|asked| asked.truncate = truncate)
    }

    /// It is made if it does not exist.
    pub fn create(&mut self, create: bool) -> &mut Self {
        self.std.create(create);
        self.ask(|asked| asked.create = create)
    }

    /// It is made, and must not exist.
    pub fn create_new(&mut self, create_new: bool) -> &mut Self {
        self.std.create_new(create_new);
        self.ask(|asked| asked.create_new = create_new)
    }

    /// The permissions of a file that is made.
    #[cfg(unix)]
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::mode(&mut self.std, mode);
        self.ask(|asked| asked.mode = mode)
    }

    /// Further flags of the system's.
    #[cfg(unix)]
    pub fn custom_flags(&mut self, flags: i32) -> &mut Self {
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut self.std, flags);
        self.ask(|asked| asked.custom = flags)
    }

    /// Opens the file at `path` so.
    ///
    /// **Cancel safety**: if it is dropped unfinished, the file may have been made or emptied; it is closed.
    ///
    /// # Errors
    /// The system's; options that make no sense together.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref().to_owned();
        match engine::open(self.std.clone(), self.asked.as_ref(), path.clone()).await {
            Ok(file) => Ok(File::at(file, path)),
            Err(error) => Err(PathError::wrap("open", Some(&path), error)),
        }
    }

    fn ask(&mut self, change: impl FnOnce(&mut Asked)) -> &mut Self {
        self.asked.as_mut().map(change);
        self
    }
}
