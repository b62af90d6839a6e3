//! Stop: a walk through directories, each of them listed by a strand of its own.

use super::attendance::Attendance;
use super::{Guide, Stop};
use crate::figure::{Column, Findings, Table, Value};
use crate::show::grouped;
use ropewalk::strand;
use ropewalk::sync::Semaphore;
use ropewalk::{Wait, fs};
use ropewalk_core::prim::real::{AtomicU64, Ordering::*};
use std::error::Error;
use std::ops::Add;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{env, io, process};

/// How many directories may be open at a time.
const OPEN: usize = 8;
/// Directories in each directory, down to a certain depth.
const FAN: u64 = 3;
/// How large the files are that each directory has, in bytes.
const FILES: [usize; 2] = [20, 3_000];

pub(crate) struct Walked;

impl Stop for Walked {
    fn name(&self) -> &'static str {
        "walk"
    }

    fn title(&self) -> &'static str {
        "A walk through directories"
    }

    fn about(&self) -> &'static str {
        "A function that calls itself for what is below; and the same, but each call is\n\
         a strand. They may be thousands: a semaphore says how many have one open."
    }

    fn run(&self, guide: &Guide) -> Result<Findings, Box<dyn Error + Send + Sync>> {
        let runtime = super::builder().build()?;
        let depth = guide.amount(6, 3);
        let all = Found::in_tree(depth);
        let made = guide.phase_counting("a tree is laid out", all.directories);
        let tree = runtime.run(|| Tree::lay_out(depth, &made))?;
        let columns = [
            Column::new("by", "by"),
            Column::new("directories", "directories"),
            Column::new("files", "files"),
            Column::new("bytes", "in them"),
            Column::new("took_ns", "took"),
            Column::new("most_open", "most open"),
        ];
        let mut table =
            Table::new("The same tree twice (out of the system's cache: nobody waits for a disk)", columns);
        let (mut complete, mut bounded) = (true, true);
        let ways: [(_, Way); 2] = [("one strand", Walk::alone), ("a strand for each", Walk::together)];
        for (by, way) in ways {
            let label = format!("{} directories, by {by}", grouped(all.directories));
            let walk = Walk::new(guide.phase_counting(label, all.directories));
            let from = Instant::now();
            let found = runtime.run(|| way(&walk, &tree.0))?;
            let (took, most) = (from.elapsed(), walk.open.most());
            table.row([
                Value::text(by),
                Value::Count(found.directories),
                Value::Count(found.files),
                Value::Bytes(found.bytes as f64),
                Value::time(took),
                Value::Count(most),
            ]);
            complete &= found == all;
            bounded &= most <= OPEN as u64;
        }
        let mut findings = Findings::default();
        findings.table(table);
        findings.check(complete, "both found exactly what was laid out");
        findings.check(bounded, format!("no more than {OPEN} directories were open at a time"));
        Ok(findings)
    }
}

/// What there is in and below a directory, itself included.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Found {
    directories: u64,
    files: u64,
    bytes: u64,
}

impl Found {
    fn in_tree(depth: u32) -> Self {
        let directories = (0..=depth).map(|level| FAN.pow(level)).sum();
        let [files, bytes] = [FILES.len(), FILES.iter().sum()].map(|each| each as u64 * directories);
        Self { directories, files, bytes }
    }
}

impl Add for Found {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            directories: self.directories + other.directories,
            files: self.files + other.files,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Directories on the disk, removed in the end.
struct Tree(PathBuf);

impl Tree {
    fn lay_out(depth: u32, made: &AtomicU64) -> io::Result<Self> {
        let root = env::temp_dir().join(format!("ropewalk-tour-{}", process::id()));
        fs::create_dir(&root).wait()?; // if that fails it is not ours to remove
        let tree = Self(root);
        fill(&tree.0, depth, made)?;
        Ok(tree)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

fn fill(directory: &Path, depth: u32, made: &AtomicU64) -> io::Result<()> {
    for size in FILES {
        fs::write(directory.join(format!("{size} bytes")), vec![b'.'; size]).wait()?;
    }
    made.fetch_add(1, Relaxed);
    for number in 0..if depth > 0 { FAN } else { 0 } {
        let below = directory.join(number.to_string());
        fs::create_dir(&below).wait()?;
        fill(&below, depth - 1, made)?;
    }
    Ok(())
}

/// How to walk.
type Way = fn(&Walk, &Path) -> io::Result<Found>;

/// A walk under way, lent to all who take part.
struct Walk {
    permits: Semaphore,
    open: Attendance,
    /// Directories so far.
    listed: Arc<AtomicU64>,
}

impl Walk {
    fn new(listed: Arc<AtomicU64>) -> Self {
        Self { permits: Semaphore::new(OPEN), open: Attendance::default(), listed }
    }

    fn alone(&self, directory: &Path) -> io::Result<Found> {
        let (here, below) = self.list(directory)?;
        below.iter().try_fold(here, |all, path| Ok(all + self.alone(path)?))
    }

    /// All that are below at once; an error keeps none of the others from its end.
    fn together(&self, directory: &Path) -> io::Result<Found> {
        let (here, below) = self.list(directory)?;
        strand::scope(|s| {
            let strands: Vec<_> = below.iter().map(|path| s.spawn(|| self.together(path))).collect();
            s.join_all();
            strands.into_iter().try_fold(here, |all, strand| Ok(all + strand.join()?))
        })
    }

    /// What is in `directory` itself, and the directories in it. Who goes on with those has no permit any more: a chain of
    /// directories that is longer than there are permits would wait for itself.
    fn list(&self, directory: &Path) -> io::Result<(Found, Vec<PathBuf>)> {
        let _permit = self.permits.acquire().wait().expect("nobody closes it");
        let _open = self.open.enter();
        let mut entries = fs::read_dir(directory).wait()?;
        let (mut here, mut below) = (Found { directories: 1, files: 0, bytes: 0 }, Vec::new());
        while let Some(entry) = entries.next_entry().wait()? {
            if entry.file_type().wait()?.is_dir() {
                below.push(entry.path());
            } else {
                here.files += 1;
                here.bytes += entry.metadata().wait()?.len();
            }
        }
        self.listed.fetch_add(1, Relaxed);
        Ok((here, below))
    }
}
