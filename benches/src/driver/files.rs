//! The files that were asked for. They are tried before anything is measured: who waits for twenty minutes wants the results.

use crate::cli::Run;
use crate::report::{Report, html, markdown};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file, and what goes into it.
type Asked<'a> = (&'a Option<PathBuf>, fn(&Report) -> String);

fn asked(run: &Run) -> [Asked<'_>; 3] {
    [(&run.json, Report::json), (&run.markdown, markdown), (&run.html, html::page)]
}

/// Whether all of them can be written. What is in them stays for now.
pub fn check(run: &Run) -> Result<(), String> {
    asked(run).into_iter().filter_map(|(path, _)| path.as_deref()).try_for_each(check_one)
}

fn check_one(path: &Path) -> Result<(), String> {
    let open = |new| OpenOptions::new().append(true).create_new(new).open(path);
    let opened = match open(true) {
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open(false).map(drop),
        Err(error) => Err(error),
    };
    opened.map_err(|error| cannot_write(path, &error))
}

/// Writes all that can be written, and says which could not.
pub fn write(run: &Run, report: &Report) -> Result<(), String> {
    let asked = asked(run).into_iter().filter_map(|(path, text)| Some((path.as_deref()?, text)));
    let failed: Vec<String> = asked
        .filter_map(|(path, text)| replace(path, &text(report)).err().map(|error| cannot_write(path, &error)))
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

/// Puts `text` in the place of what is in a file. That stays if this fails, on a full disk for example: the text goes into a file beside it
/// first. What is no file, or in a folder that takes no other, is written as it is.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&path).ok();
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let in_place = before.as_ref().is_some_and(|before| !before.is_file());
    let Some(mut file) = (!in_place).then(|| File::create_new(&part).ok()).flatten() else {
        return fs::write(&path, text);
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| {
        before.map_or(Ok(()), |before| file.set_permissions(before.permissions()))?;
        fs::rename(&part, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

fn cannot_write(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_found_before_and_what_can_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("ropewalk-bench-files-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (new, old) = (folder.join("new.json"), folder.join("old.json"));
        fs::write(&old, "old").unwrap();
        assert_eq!(check_one(&new), Ok(()));
        assert!(!new.exists());
        assert_eq!(check_one(&old), Ok(()));
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
        for path in [folder.join("no/such/folder.json"), folder.clone()] {
            let refused = check_one(&path).unwrap_err();
            assert!(refused.starts_with(&format!("cannot write {}", path.display())), "{refused}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_replaced_keeps_its_place_and_its_rights_and_nothing_is_left_beside_it() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = std::env::temp_dir().join(format!("ropewalk-bench-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, link, new) = (folder.join("file"), folder.join("link"), folder.join("new"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("file", &link).unwrap();
        let old = File::open(&file).unwrap();
        for path in [&link, &new] {
            replace(path, "text").unwrap();
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!([&file, &new].map(|path| fs::read_to_string(path).unwrap()), ["text", "text"]);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(io::read_to_string(old).unwrap(), "old", "until all of it is written");
        replace(Path::new("/dev/null"), "text").unwrap();
        replace(&folder, "text").unwrap_err();
        let mut left: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["file", "link", "new"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
