//! What was proven before: mutations that were detected, each with a fingerprint of what it was tried with.
//!
//! Trying them all takes a quarter of an hour, and nearly all give the answer they gave the last time. One whose mutated file
//! and whose test file are what they were when it was detected is *known*, and only a few of those are tried again in each
//! run, others each time. `ci/mutate --all` tries everything; that is for changes to what the models stand on.

use crate::mutation::Mutation;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Fingerprints by the id of the mutation.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Known(BTreeMap<String, u64>);

impl Known {
    /// Reads the file; a missing one knows nothing.
    pub fn read(path: &Path) -> Result<Self, String> {
        match fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|why| format!("{}: {why}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let entry = |line: &str| {
            let (print, id) = line.split_once(' ')?;
            Some((id.to_owned(), u64::from_str_radix(print, 16).ok()?))
        };
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let entries = lines.map(|line| entry(line).ok_or_else(|| format!("not `fingerprint id`: {line}")));
        entries.collect::<Result<_, _>>().map(Self)
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let mut text =
            "# Detected mutations, with what they were tried with. Written by `ci/mutate`.\n".to_owned();
        self.0.iter().for_each(|(id, print)| text += &format!("{print:016x} {id}\n"));
        fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// It was detected with this fingerprint.
    pub fn add(&mut self, mutation: &Mutation, print: u64) {
        self.0.insert(mutation.id(), print);
    }

    /// Whether it was detected with this fingerprint before.
    pub fn has(&self, mutation: &Mutation, print: u64) -> bool {
        self.0.get(&mutation.id()) == Some(&print)
    }
}

/// What a mutation is tried with: itself, the file it changes, the file of its test, and how hard loom tries.
pub fn fingerprint(root: &Path, mutation: &Mutation, preemptions: u32) -> Result<u64, String> {
    let read =
        |path: &Path| fs::read(root.join(path)).map_err(|error| format!("{}: {error}", path.display()));
    let (changed, test) = (read(&mutation.file)?, read(&mutation.test_file)?);
    let texts = [mutation.from.as_bytes(), mutation.to.as_bytes(), &changed, &test];
    Ok(texts.into_iter().fold(u64::from(preemptions), hash))
}

/// FNV-1a with the length, on top of what came before.
fn hash(before: u64, bytes: &[u8]) -> u64 {
    let all = (bytes.len() as u64).to_le_bytes().into_iter().chain(bytes.iter().copied());
    all.fold(before ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Where a known mutation comes in the order in which they are tried again: another order for each `seed`.
pub fn turn(seed: &str, print: u64) -> u64 {
    hash(print, seed.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation;

    fn one(text: &str) -> Mutation {
        mutation::parse(Path::new("t.rs"), text).mutations.remove(0)
    }

    const TEXT: &str = "// mutation: pop-relaxed\n// - in x.rs: `a`\n// + `b`\nfn model_steal() {}\n";

    #[test]
    fn what_is_written_is_read_again() {
        let dir = std::env::temp_dir().join(format!("known-{}", std::process::id()));
        let mut known = Known::default();
        known.add(&one(TEXT), 0xfeed);
        known.write(&dir).unwrap();
        assert_eq!(Known::read(&dir).unwrap(), known);
        fs::remove_file(&dir).unwrap();
        assert_eq!(Known::read(&dir).unwrap(), Known::default());
        assert!(Known::parse("no fingerprint").unwrap_err().contains("no fingerprint"));
    }

    #[test]
    fn a_change_of_the_code_or_of_the_test_is_another_fingerprint() {
        let root = std::env::temp_dir().join(format!("print-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let print = |code: &str, test: &str| {
            fs::write(root.join("x.rs"), code).unwrap();
            fs::write(root.join("t.rs"), test).unwrap();
            fingerprint(&root, &one(TEXT), 2).unwrap()
        };
        let first = print("a", TEXT);
        assert_eq!(print("a", TEXT), first);
        assert_ne!(print("a ", TEXT), first);
        assert_ne!(print("a", &format!("{TEXT}\n")), first);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn only_the_same_fingerprint_is_known() {
        let mut known = Known::default();
        known.add(&one(TEXT), 1);
        assert!(known.has(&one(TEXT), 1) && !known.has(&one(TEXT), 2));
        assert_ne!(turn("a", 1), turn("b", 1));
    }
}
