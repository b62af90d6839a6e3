//! Whether a measurement had the machine to itself.

use crate::meter::Usage;
use serde::{Deserialize, Serialize};
use std::fs::read_to_string;
use std::time::{Duration, Instant};

/// Above this share of the machine others disturb a measurement.
const LOUD: f64 = 0.03;

/// The time of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct Spell {
    seconds: f64,
    /// What others took of the machine meanwhile.
    pub foreign: f64,
}

impl Spell {
    pub fn is_quiet(self) -> bool {
        self.foreign < LOUD
    }
}

/// How quiet it was during the measurements that count.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Quiet {
    seconds: f64,
    foreign_seconds: f64,
    /// Measurements.
    pub all: usize,
    /// Those that others disturbed, each time they were tried.
    pub disturbed: usize,
    /// How often one was taken again.
    pub repeated: usize,
}

impl Quiet {
    pub fn add(&mut self, spell: Spell) {
        self.seconds += spell.seconds;
        self.foreign_seconds += spell.seconds * spell.foreign;
        self.all += 1;
        self.disturbed += usize::from(!spell.is_quiet());
    }

    /// The measurements of another process.
    pub fn add_all(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.foreign_seconds += other.foreign_seconds;
        self.all += other.all;
        self.disturbed += other.disturbed;
        self.repeated += other.repeated;
    }

    /// Whether the figures can be trusted: the cores were ours.
    pub fn is_quiet(&self) -> bool {
        self.foreign_share() < LOUD
    }

    /// CPU time that others took, as a share of all cores: other processes, and other machines on the same cores.
    pub fn foreign_share(&self) -> f64 {
        if self.seconds > 0.0 { self.foreign_seconds / self.seconds } else { 0.0 }
    }
}

/// The cores of the machine. Those that this process is kept to may be fewer.
pub fn cores() -> usize {
    let text = read_to_string("/proc/stat").unwrap_or_default();
    text.lines().filter(|line| is_core(line)).count().max(1)
}

/// Whether it is about one core, and not all of them.
fn is_core(line: &str) -> bool {
    line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Watches how much CPU time others take while we measure.
#[derive(Debug)]
pub struct Watch {
    start: Instant,
    busy: f64,
    ours: f64,
}

impl Watch {
    /// From now on. `ours`: the CPU time of processes of ours that still run, but this one.
    pub fn start(ours: Duration) -> Self {
        Self { start: Instant::now(), busy: busy_seconds(), ours: our_seconds(ours) }
    }

    /// What others took since. `ours`: as at the start.
    pub fn end(&self, ours: Duration) -> Spell {
        let foreign = (busy_seconds() - self.busy) - (our_seconds(ours) - self.ours);
        let seconds = self.start.elapsed().as_secs_f64();
        Spell { seconds, foreign: (foreign / (seconds * cores() as f64)).max(0.0) }
    }
}

/// CPU time of this process, of its children that have ended, and of `others`.
fn our_seconds(others: Duration) -> f64 {
    (Usage::now().cpu + Usage::of_children().cpu + others).as_secs_f64()
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
    fn the_watch_gives_a_share() {
        let watch = Watch::start(Duration::ZERO);
        std::thread::sleep(Duration::from_millis(30));
        let spell = watch.end(Duration::ZERO);
        assert!(spell.foreign >= 0.0 && spell.seconds >= 0.03);
    }

    #[test]
    fn there_are_at_least_as_many_cores_as_this_process_may_use() {
        let [all, one, other] = ["cpu  1 2 3", "cpu0 1 2 3", "ctxt 12"].map(is_core);
        assert_eq!([all, one, other], [false, true, false]);
        assert!(cores() >= std::thread::available_parallelism().unwrap().get());
    }

    #[test]
    fn long_measurements_weigh_more() {
        let mut quiet = Quiet::default();
        assert!(quiet.is_quiet());
        quiet.add(Spell { seconds: 3.0, foreign: 0.0 });
        quiet.add_all(Quiet::default());
        quiet.add(Spell { seconds: 1.0, foreign: 0.2 });
        assert_eq!((quiet.all, quiet.disturbed), (2, 1));
        assert!((quiet.foreign_share() - 0.05).abs() < 1e-9);
        assert!(!quiet.is_quiet());
    }
}
