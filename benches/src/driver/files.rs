//! The files that were asked for. They are tried before anything is measured: who waits for twenty minutes wants the results.

use crate::cli::Run;
use crate::report::{Report, html, markdown};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
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

pub fn write(run: &Run, report: &Report) -> Result<(), String> {
    for (path, text) in asked(run) {
        let Some(path) = path else { continue };
        fs::write(path, text(report)).map_err(|error| cannot_write(path, &error))?;
    }
    Ok(())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
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
}
