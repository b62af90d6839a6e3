//! What was measured on, and how quiet it was.

use crate::http_hello::wrk_version;
use crate::quiet::{Quiet, cores};
use crate::{alloc, go, java};
use serde::{Deserialize, Serialize};
use std::fs::read_to_string;

/// The machine and the build, for the head of the report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub memory_gib: u64,
    pub kernel: String,
    pub allocator: String,
    pub versions: Vec<String>,
    pub quiet: Quiet,
}

impl Machine {
    pub fn describe(quiet: Quiet) -> Self {
        Self {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.into()),
            cores: cores(),
            memory_gib: memory_gib(),
            kernel: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().into(),
            allocator: alloc::NAME.into(),
            versions: versions(),
            quiet,
        }
    }

    /// Whether the figures can be trusted: the cores were ours.
    pub fn was_quiet(&self) -> bool {
        self.quiet.is_quiet()
    }
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

const PEERS: [&str; 17] = [
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
    "stm",
    "corosensei",
];
const LOCK: &str = include_str!("../../../Cargo.lock");

/// The peers' versions as built in, and Go's and Java's if there is one.
fn versions() -> Vec<String> {
    let built_in = |name: &str| name != "monoio" || cfg!(feature = "monoio");
    let locked = PEERS.iter().filter(|name| built_in(name)).filter_map(|name| locked_version(name));
    locked.chain(go::version()).chain(java::version()).chain(wrk_version()).collect()
}

/// `name version` as the lock file says. Where it has several of that name, it says in our own entry which one is meant.
fn locked_version(name: &str) -> Option<String> {
    let entry = |name: &str| {
        LOCK.split("[[package]]").find(|entry| entry.contains(&format!("\nname = \"{name}\"\n")))
    };
    let meant = entry(env!("CARGO_PKG_NAME"))?.lines().find_map(|line| {
        let dependency = line.trim().trim_end_matches(',').trim_matches('"');
        dependency.strip_prefix(name)?.strip_prefix(' ')
    });
    let only = || entry(name)?.lines().find_map(|line| line.strip_prefix("version = "));
    Some(format!("{name} {}", meant.or_else(only)?.trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_names_the_peers() {
        assert!(locked_version("tokio").unwrap().starts_with("tokio 1."));
        assert!(locked_version("no-such-crate").is_none());
        assert!(locked_version("parking_lot").unwrap().starts_with("parking_lot 0.12."), "another has 0.5");
        assert!(PEERS.iter().all(|name| locked_version(name).is_some()));
    }
}
