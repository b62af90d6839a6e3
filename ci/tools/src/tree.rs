//! Walks and copies the sources of a workspace.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Every file below `root`, relative to it and sorted; build directories (`target*` at the top) and hidden directories
/// other than `.cargo` are left out.
pub fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(root.join(&dir))? {
            let entry = entry?;
            let path = dir.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() && is_source_dir(&dir, &entry.file_name().to_string_lossy()) {
                open.push(path);
            } else if kind.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_source_dir(parent: &Path, name: &str) -> bool {
    let built = parent.as_os_str().is_empty() && name.starts_with("target");
    !built && (name == ".cargo" || !name.starts_with('.'))
}

/// Makes `to` hold the same files as `from` and nothing else. A file that is already right keeps its time stamp, so
/// that nothing is rebuilt without a reason; one that an interrupted run left changed is put right.
pub fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let wanted: BTreeSet<PathBuf> = files(from)?.into_iter().collect();
    for old in files(to)? {
        if !wanted.contains(&old) {
            fs::remove_file(to.join(old))?;
        }
    }
    for path in wanted {
        let (source, copy) = (fs::read(from.join(&path))?, to.join(&path));
        if fs::read(&copy).ok().as_ref() != Some(&source) {
            fs::create_dir_all(copy.parent().expect("a file stands in a directory"))?;
            fs::write(&copy, source)?;
        }
    }
    Ok(())
}

/// The package that a file belongs to, by the nearest `Cargo.toml` above it: its name and its directory, relative to
/// `root`.
pub fn package_of(root: &Path, file: &Path) -> Result<(String, PathBuf), String> {
    for dir in file.ancestors().skip(1) {
        if let Ok(manifest) = fs::read_to_string(root.join(dir).join("Cargo.toml")) {
            let name = package_name(&manifest).ok_or_else(|| format!("{}: no package", dir.display()))?;
            return Ok((name, dir.to_path_buf()));
        }
    }
    Err(format!("{}: no Cargo.toml above it", file.display()))
}

fn package_name(manifest: &str) -> Option<String> {
    let package = manifest.split("[package]").nth(1)?;
    let line = package.lines().skip(1).take_while(|l| !l.starts_with('[')).find(|l| l.starts_with("name"))?;
    let (_, value) = line.split_once('=')?;
    Some(value.trim().trim_matches('"').to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own for each test, removed at the end.
    struct Scratch(PathBuf);
    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ropewalk-ci-tools-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
        fn write(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn builds_and_hidden_directories_are_left_out() {
        let dir = Scratch::new("files");
        for path in
            ["a.rs", "src/b.rs", "src/target/c.rs", "target/x", "target-loom/x", ".git/x", ".cargo/config"]
        {
            dir.write(path, "");
        }
        let found = files(&dir.0).unwrap();
        assert_eq!(found, [".cargo/config", "a.rs", "src/b.rs", "src/target/c.rs"].map(PathBuf::from));
    }

    #[test]
    fn a_mirror_follows_changes_and_removals_and_leaves_the_rest_alone() {
        let (from, to) = (Scratch::new("mirror-from"), Scratch::new("mirror-to"));
        from.write("a.rs", "a");
        from.write("src/b.rs", "b");
        mirror(&from.0, &to.0).unwrap();
        let stamp = fs::metadata(to.0.join("a.rs")).unwrap().modified().unwrap();

        to.write("src/b.rs", "left changed by an interrupted run");
        to.write("gone.rs", "x");
        mirror(&from.0, &to.0).unwrap();
        assert_eq!(fs::read_to_string(to.0.join("src/b.rs")).unwrap(), "b");
        assert!(!to.0.join("gone.rs").exists());
        assert_eq!(fs::metadata(to.0.join("a.rs")).unwrap().modified().unwrap(), stamp);
    }

    #[test]
    fn the_nearest_manifest_names_the_package() {
        let dir = Scratch::new("package");
        dir.write("Cargo.toml", "[workspace]\nmembers = []\n");
        dir.write(
            "crates/core/Cargo.toml",
            "[package]\nname = \"ropewalk-core\"\n[features]\nname = \"no\"\n",
        );
        dir.write("crates/core/src/task/state.rs", "");
        let found = package_of(&dir.0, Path::new("crates/core/src/task/state.rs")).unwrap();
        assert_eq!(found, ("ropewalk-core".to_string(), PathBuf::from("crates/core")));
        assert!(package_of(&dir.0, Path::new("other/x.rs")).is_err());
    }
}
