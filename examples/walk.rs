//! A walk through directories, as one would write it without concurrency: a function that lists one and calls itself for those
//! below. Only that each call is a strand, so all of them go on at once; a semaphore keeps most from being open at a time.
//! With a path it walks there:
//!
//!     cargo run -p ropewalk-examples --bin walk -- /usr/share

use ropewalk::sync::Semaphore;
use ropewalk::{Wait, fs, strand};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// How many directories are open at a time, at most.
const OPEN: usize = 8;

/// What is found, and what it takes to find it: lent to all strands.
struct Walk {
    open: Semaphore,
    most_open: AtomicUsize,
    directories: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    unreadable: AtomicU64,
}

impl Walk {
    fn new() -> Self {
        let (open, most_open) = (Semaphore::new(OPEN), AtomicUsize::new(0));
        let [directories, files, bytes, unreadable] = [const { AtomicU64::new(0) }; 4];
        Self { open, most_open, directories, files, bytes, unreadable }
    }

    /// Everything below `directory`, itself included. When this returns, all of it was seen.
    fn visit(&self, directory: &Path) {
        let below = self.list(directory).unwrap_or_else(|error| {
            eprintln!("{}: {error}", directory.display());
            self.unreadable.fetch_add(1, Relaxed);
            Vec::new()
        });
        strand::scope(|s| {
            for path in &below {
                drop(s.spawn(|| self.visit(path)));
            }
            s.join_all();
        });
    }

    /// Counts what is in `directory`; the directories in it. The permit is given back before anybody waits for those: otherwise a
    /// deep tree would wait for itself.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let _open = self.open.acquire().wait().expect("nobody closes it");
        self.most_open.fetch_max(OPEN - self.open.available_permits(), Relaxed);
        let mut entries = fs::read_dir(directory).wait()?;
        let mut below = Vec::new();
        while let Some(entry) = entries.next_entry().wait()? {
            let kind = entry.file_type().wait()?; // a link is a link: it is not followed
            if kind.is_dir() {
                below.push(entry.path());
            } else if kind.is_file() {
                self.files.fetch_add(1, Relaxed);
                self.bytes.fetch_add(entry.metadata().wait()?.len(), Relaxed);
            }
        }
        self.directories.fetch_add(1, Relaxed);
        Ok(below)
    }

    fn report(&self) {
        let [directories, files, bytes, unreadable] =
            [&self.directories, &self.files, &self.bytes, &self.unreadable].map(|count| count.load(Relaxed));
        println!("{directories} directories, {files} files, {bytes} bytes, {unreadable} unreadable");
        let most = self.most_open.load(Relaxed);
        println!("at most {most} of {OPEN} open at a time");
        assert!(most <= OPEN);
    }
}

fn main() -> io::Result<()> {
    let walk = Walk::new();
    let Some(path) = std::env::args_os().nth(1) else { return show(&walk) };
    ropewalk::run(|| walk.visit(path.as_ref()));
    walk.report();
    Ok(())
}

/// A tree of a known shape, which is gone afterwards.
struct Yard(PathBuf);

impl Yard {
    /// Directories with three in each, four levels deep, and two files in each of them; and a link that leads back up.
    fn lay_out() -> io::Result<Self> {
        fn fill(directory: &Path, depth: usize) -> io::Result<()> {
            std::fs::create_dir(directory)?;
            for (name, bytes) in [("hemp", 300), ("sisal", 20)] {
                std::fs::write(directory.join(name), vec![b'|'; bytes])?;
            }
            (0..if depth > 0 { 3 } else { 0 })
                .try_for_each(|number| fill(&directory.join(format!("shed {number}")), depth - 1))
        }
        let yard = Self(std::env::temp_dir().join(format!("ropewalk-walk-{}", std::process::id())));
        fill(&yard.0, 4)?;
        #[cfg(unix)]
        std::os::unix::fs::symlink("..", yard.0.join("shed 1/back"))?;
        Ok(yard)
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_dir_all(&self.0);
    }
}

fn show(walk: &Walk) -> io::Result<()> {
    let yard = Yard::lay_out()?;
    ropewalk::run(|| walk.visit(&yard.0));
    walk.report();
    let directories = 1 + 3 + 9 + 27 + 81;
    let found =
        [&walk.directories, &walk.files, &walk.bytes, &walk.unreadable].map(|count| count.load(Relaxed));
    assert_eq!(found, [directories, directories * 2, directories * 320, 0]);
    assert_eq!(walk.open.available_permits(), OPEN, "all are closed again");
    println!("all of it was found");
    Ok(())
}
