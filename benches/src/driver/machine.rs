//! What was measured on, and how quiet it was.

use crate::http_hello::wrk_version;
use crate::meter::Usage;
use crate::{alloc, go};
use serde::Serialize;
use std::fs::read_to_string;
use std::time::Instant;

/// The machine and the build, for the head of the report.
#[derive(Debug, Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub memory_gib: u64,
    pub kernel: String,
    pub allocator: &'static str,
    pub versions: Vec<String>,
    /// CPU time that other processes took during the run, as a share of all cores.
    pub foreign_share: f64,
}

impl Machine {
    pub fn describe(foreign_share: f64) -> Self {
        Self {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: cores(),
            memory_gib: memory_gib(),
            kernel: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().into(),
            allocator: alloc::NAME,
            versions: versions(),
            foreign_share,
        }
    }

    /// Whether the figures can be trusted: the cores were ours.
    pub fn was_quiet(&self) -> bool {
        self.foreign_share < 0.03
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn memory_gib() -> u64 {
    let kib = field("/proc/meminfo", "MemTotal").and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0) >> 20
}

/// The value of the first line `name : value` in a file of such lines.
fn field(path: &str, name: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_string())
}

const PEERS: [&str; 15] = [
    "ropewalk",
    "tokio",
    "smol",
    "async-executor",
    "async-channel",
    "async-lock",
    "event-listener",
    "may",
    "monoio",
    "hyper",
    "rayon",
    "flume",
    "kanal",
    "crossbeam-channel",
    "parking_lot",
];
const LOCK: &str = include_str!("../../../Cargo.lock");

/// The peers' versions as built in, and Go's if there is one.
fn versions() -> Vec<String> {
    let locked = PEERS.iter().filter_map(|name| locked_version(name));
    locked.chain(go::version()).chain(wrk_version()).collect()
}

/// `name version` as the lock file says.
fn locked_version(name: &str) -> Option<String> {
    let entry = LOCK.split("[[package]]").find(|entry| entry.contains(&format!("\nname = \"{name}\"\n")))?;
    let version = entry.lines().find_map(|line| line.strip_prefix("version = "))?;
    Some(format!("{name} {}", version.trim_matches('"')))
}

/// Watches how much CPU time others take while we measure.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    busy: f64,
    ours: f64,
}

impl Watch {
    pub fn start() -> Self {
        Self { start: Instant::now(), busy: busy_seconds(), ours: our_seconds() }
    }

    /// What others took since, as a share of all cores.
    pub fn foreign_share(&self) -> f64 {
        let foreign = (busy_seconds() - self.busy) - (our_seconds() - self.ours);
        (foreign / (self.start.elapsed().as_secs_f64() * cores() as f64)).max(0.0)
    }
}

/// CPU time of this process and of the measurements that have ended.
fn our_seconds() -> f64 {
    (Usage::now().cpu + Usage::of_children().cpu).as_secs_f64()
}

/// CPU time that anybody took on this machine since it started: all columns of `/proc/stat` but idle and iowait, and
/// but the guest columns, which the first two contain.
fn busy_seconds() -> f64 {
    let text = read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text.split_whitespace().skip(1).take(8).map(|ticks| ticks.parse().unwrap_or(0.0));
    ticks
        .enumerate()
        .filter(|(column, _)| !matches!(column, 3 | 4))
        .map(|(_, ticks): (_, f64)| ticks / 100.0)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_names_the_peers() {
        assert!(locked_version("tokio").unwrap().starts_with("tokio 1."));
        assert!(locked_version("no-such-crate").is_none());
    }

    #[test]
    fn the_watch_gives_a_share() {
        let watch = Watch::start();
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(watch.foreign_share() >= 0.0);
        assert!(Machine::describe(0.0).was_quiet());
    }
}
