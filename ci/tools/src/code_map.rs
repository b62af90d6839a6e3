//! Checks the code map of ARCHITECTURE.md against the tree.
//!
//! A name in the section "Code map" that ends in `.rs` (or `.md`), or that stands in backquotes and ends in `/`, must be
//! the end of a path that exists: `task/state.rs` stands for `crates/core/src/task/state.rs`. `{a,b}.rs` is two names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::tree;

/// The subcommand: `code-map FILE`.
pub fn run(mut args: impl Iterator<Item = String>) -> Result<(), String> {
    let file = args.next().ok_or("code-map: which file?")?;
    let text = fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let map = section(&text).ok_or_else(|| format!("{file} has no section \"Code map\""))?;
    let names = names(map);
    let paths = with_directories(&tree::files(Path::new(".")).map_err(|e| e.to_string())?);
    let missing: Vec<&String> = names.iter().filter(|name| !exists(name, &paths)).collect();
    if names.is_empty() {
        return Err(format!("{file}: the code map names no file"));
    }
    if !missing.is_empty() {
        return Err(format!("{file}: the code map names what does not exist: {missing:?}"));
    }
    println!("code map: {} names, all exist", names.len());
    Ok(())
}

/// The text between the heading that contains "Code map" and the next heading of the same or a higher level.
fn section(text: &str) -> Option<&str> {
    let mut fenced = false;
    let (mut at, mut start, mut level) = (0, None, 0);
    for line in text.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        let hashes = line.bytes().take_while(|&b| b == b'#').count();
        if hashes > 0 && !fenced {
            match start {
                None if line.to_lowercase().contains("code map") => {
                    (start, level) = (Some(at + line.len()), hashes)
                }
                Some(start) if hashes <= level => return Some(&text[start..at]),
                _ => {}
            }
        }
        at += line.len();
    }
    start.map(|start| &text[start..])
}

/// The names of files and directories in the section.
fn names(map: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let separator = |c: char| !(c.is_ascii_alphanumeric() || "_-./{},`".contains(c));
    for word in map.split(separator) {
        let quoted = word.starts_with('`');
        let word = word.trim_matches(['`', ',', '.']);
        for name in alternatives(word) {
            let is_file = name.ends_with(".rs") || name.ends_with(".md");
            if (is_file && name.len() > 3) || (quoted && name.len() > 1 && name.ends_with('/')) {
                found.insert(name);
            }
        }
    }
    found
}

/// `io/{readiness,uring}.rs` is `io/readiness.rs` and `io/uring.rs`.
fn alternatives(word: &str) -> Vec<String> {
    let braces = word.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    match braces {
        Some((head, (list, tail))) => list.split(',').map(|name| format!("{head}{name}{tail}")).collect(),
        None => word.split(',').map(|name| name.trim_matches('`').to_string()).collect(),
    }
}

fn with_directories(files: &[PathBuf]) -> BTreeSet<String> {
    let all = files.iter().flat_map(|file| file.ancestors());
    all.map(|path| path.to_string_lossy().replace('\\', "/")).collect()
}

fn exists(name: &str, paths: &BTreeSet<String>) -> bool {
    let name = name.trim_start_matches("./").trim_end_matches('/');
    paths
        .iter()
        .any(|path| path.strip_suffix(name).is_some_and(|head| head.is_empty() || head.ends_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Architecture\nSee gone.rs.\n## Code map\n```\ncrates/core/ no_std\n  task/{state,raw}.rs the cell\n\
        # not a heading\n```\nAlso `sched/` (`sched/README.md`, `ring.rs`) and prose e.g. this.\n### Part\nlist.rs\n## Next\nold.rs\n";

    #[test]
    fn the_section_ends_at_the_next_heading_of_its_level() {
        let map = section(TEXT).unwrap();
        assert!(map.contains("list.rs") && !map.contains("old.rs") && !map.contains("gone.rs"));
        assert!(section("# No map\n").is_none());
    }

    #[test]
    fn files_and_quoted_directories_are_names() {
        let found: Vec<String> = names(section(TEXT).unwrap()).into_iter().collect();
        assert_eq!(
            found,
            ["list.rs", "ring.rs", "sched/", "sched/README.md", "task/raw.rs", "task/state.rs"]
        );
    }

    #[test]
    fn a_name_is_the_end_of_a_path_by_whole_components() {
        let paths = with_directories(&[PathBuf::from("crates/core/src/task/state.rs")]);
        assert!(exists("task/state.rs", &paths) && exists("task/", &paths));
        assert!(exists("crates/core/src/task/state.rs", &paths));
        assert!(!exists("ate.rs", &paths) && !exists("sk/", &paths));
    }
}
