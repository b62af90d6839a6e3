//! Errors that name the path.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What every error of this module carries: what was being done, to which path, and what the system said. It is found in an
/// [`io::Error`] by [`PathError::of`]; the kind of that is the system's.
///
/// ```
/// use ropewalk::{Wait, fs::{self, PathError}};
/// let error = fs::read("/no/such/file").wait().unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// assert!(error.to_string().starts_with("cannot read /no/such/file: ")); // and what the system says
/// assert!(PathError::of(&error).unwrap().raw_os_error().is_some());
/// ```
#[derive(Debug)]
pub struct PathError {
    doing: &'static str,
    path: Option<PathBuf>,
    /// Of `rename` and its like.
    to: Option<PathBuf>,
    source: io::Error,
    /// Accepted, but not written.
    lost: usize,
}

impl PathError {
    pub(super) fn wrap(doing: &'static str, path: Option<&Path>, source: io::Error) -> io::Error {
        Self::wrap_lost(doing, path, source, 0)
    }

    pub(super) fn wrap_lost(
        doing: &'static str,
        path: Option<&Path>,
        source: io::Error,
        lost: usize,
    ) -> io::Error {
        let path = path.map(Path::to_owned);
        io::Error::new(source.kind(), Self { doing, path, to: None, source, lost })
    }

    pub(super) fn wrap_two(doing: &'static str, from: PathBuf, to: PathBuf, source: io::Error) -> io::Error {
        io::Error::new(source.kind(), Self { doing, path: Some(from), to: Some(to), source, lost: 0 })
    }

    /// The one in `error`, if it came from here.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Which path; `None` for a [`File`](super::File) made of one that the standard library opened.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The system's number of the error.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.source.raw_os_error()
    }

    /// How many bytes that [`File`](super::File) had accepted were not written.
    pub fn lost(&self) -> usize {
        self.lost
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.doing)?;
        match &self.path {
            Some(path) => write!(f, " {}", path.display())?,
            None => f.write_str(" an unnamed file")?,
        }
        if let Some(to) = &self.to {
            write!(f, " to {}", to.display())?;
        }
        write!(f, ": {}", self.source)?;
        match self.lost {
            0 => Ok(()),
            lost => write!(f, "; {lost} bytes that were accepted before are not written"),
        }
    }
}

impl std::error::Error for PathError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
