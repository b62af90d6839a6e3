//! What came of a run: one value that is written as JSON and read again, and from which the Markdown and the page with the plots are
//! made. So a report can be made anew from recorded results (`bench run --from FILE`).

mod date;
mod figures;
pub mod html;
mod machine;
mod markdown;
mod number;
mod verdict;

use crate::cli::Run;
use crate::driver::Samples;
use crate::meter::{Sample, Speed, median};
use crate::peers::Peer;
use crate::targets::{Better, Row};
use figures::{Figure, Figures};
use machine::Machine;
pub use markdown::markdown;
pub use number::duration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use verdict::{Finding, Verdict};

/// The form of the JSON file; another number means other fields.
const FORMAT: u32 = 2;

/// All that is known about a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    pub format: u32,
    /// When it ended, in seconds since 1970.
    pub ended: u64,
    /// How long it took.
    pub seconds: f64,
    pub quick: bool,
    pub rounds: usize,
    /// How many measurements were planned, and how many of them were made before it ended or was stopped.
    pub planned: usize,
    pub made: usize,
    pub machine: Machine,
    pub skipped: Vec<String>,
    pub failed: Vec<String>,
    pub rows: Vec<Line>,
    /// What was measured, as it came, by problem and peer. The rows are made of it.
    pub samples: BTreeMap<String, BTreeMap<Peer, Vec<Sample>>>,
}

/// A row: what it is, what everybody reached, and what that means.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    pub row: String,
    pub problem: String,
    pub about: String,
    /// The chapter.
    pub group: String,
    pub unit: String,
    pub better: Better,
    /// Which of our forms is judged.
    pub ours: Peer,
    pub target: Option<f64>,
    pub stretch: Option<f64>,
    pub verdict: Verdict,
    pub peers: BTreeMap<Peer, Figure>,
}

impl Report {
    /// The report of what was measured so far.
    pub fn of(run: &Run, samples: &Samples, seconds: f64) -> Self {
        let figures = Figures::of(samples);
        let mut raw: BTreeMap<String, BTreeMap<Peer, Vec<Sample>>> = BTreeMap::new();
        for (&(problem, peer), good) in &samples.good {
            raw.entry(problem.into()).or_default().insert(peer, good.clone());
        }
        Self {
            samples: raw,
            planned: samples.planned,
            made: samples.made,
            skipped: samples.skipped.clone(),
            failed: samples.failed.clone(),
            ..Self::with_figures(run, Machine::describe(samples.quiet), &figures, seconds)
        }
    }

    fn with_figures(run: &Run, machine: Machine, figures: &Figures, seconds: f64) -> Self {
        Self {
            format: FORMAT,
            ended: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            seconds,
            quick: run.speed == Speed::Quick,
            rounds: run.rounds,
            planned: 0,
            made: 0,
            machine,
            skipped: Vec::new(),
            failed: Vec::new(),
            rows: figures.rows().map(|row| Line::of(row, figures)).collect(),
            samples: BTreeMap::new(),
        }
    }

    pub fn read(path: &Path) -> Result<Self, String> {
        let named = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
        Self::parse(&text).map_err(|error| named(&error))
    }

    /// From what [`Report::json`] wrote.
    fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            format: Option<u32>,
        }
        let accepted = format!("accepted: what `--json` wrote, in format {FORMAT}");
        let not_ours = |error: serde_json::Error| format!("these are no results: {error}; {accepted}");
        let head: Head = serde_json::from_str(text).map_err(not_ours)?;
        match head.format {
            Some(FORMAT) => serde_json::from_str(text).map_err(not_ours),
            Some(other) => Err(format!("the results are in format {other}; {accepted}")),
            None => Err(format!("these are no results: there is no field `format`; {accepted}")),
        }
    }

    pub fn json(&self) -> String {
        format!("{}\n", serde_json::to_string_pretty(self).expect("a report is plain data"))
    }

    /// Whether not everything that was planned was tried.
    pub fn was_stopped(&self) -> bool {
        self.made < self.planned
    }

    /// How many targets were met, missed by what may be chance, and missed.
    fn targets(&self) -> Tally {
        Tally::of(self.rows.iter().filter_map(|line| line.verdict.goal?.met))
    }

    /// The same for the rule that no row is behind the better of tokio and smol.
    fn floors(&self) -> Tally {
        Tally::of(self.rows.iter().filter_map(|line| line.verdict.floor_held))
    }

    /// Half of all figures differ by less than this between rounds, as a share of their median.
    fn noise(&self) -> Option<f64> {
        let figures = self.rows.iter().flat_map(|line| line.peers.values());
        let mut spreads: Vec<f64> = figures.filter_map(|figure| figure.spread).collect();
        (!spreads.is_empty()).then(|| median(&mut spreads))
    }
}

impl Line {
    fn of(row: &'static Row, figures: &Figures) -> Self {
        let problem = row.problems().next().expect("every row has its problem");
        Self {
            row: row.name.into(),
            problem: problem.name.into(),
            about: problem.about.into(),
            group: problem.group().name.into(),
            unit: row.unit.into(),
            better: row.better,
            ours: row.ours,
            target: row.target,
            stretch: row.stretch,
            verdict: verdict::judge(row, figures),
            peers: figures.of_row(row.name),
        }
    }

    /// The best first.
    fn ranked(&self) -> Vec<(Peer, &Figure)> {
        let mut peers: Vec<_> = self.peers.iter().map(|(&peer, figure)| (peer, figure)).collect();
        peers.sort_by(|a, b| match self.better {
            Better::Lower => a.1.median.total_cmp(&b.1.median),
            Better::Higher => b.1.median.total_cmp(&a.1.median),
        });
        peers
    }
}

/// How often each of the findings occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    yes: usize,
    close: usize,
    no: usize,
}

impl Tally {
    fn of(findings: impl Iterator<Item = Finding>) -> Self {
        findings.fold(Self::default(), |mut tally, finding| {
            match finding {
                Finding::Yes => tally.yes += 1,
                Finding::Close => tally.close += 1,
                Finding::No => tally.no += 1,
            }
            tally
        })
    }

    fn all(self) -> usize {
        self.yes + self.close + self.no
    }
}

#[cfg(test)]
mod tests;
