//! `bench run`: every pair of problem and peer in a process of its own, round by round, so that a slow minute of the
//! machine falls on all peers alike; servers side by side, in turns; then the report.

mod figures;
mod machine;
mod process;
mod report;
mod verdict;

use crate::cli::Run;
use crate::meter::{Sample, Speed};
use crate::peers::Peer;
use crate::problems::{Problem, io};
use crate::quiet::{Quiet, Spell, Watch};
use crate::{go, java};
use machine::Machine;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// All samples of a run, by problem and peer, and what could not be measured.
#[derive(Debug, Default)]
pub struct Samples {
    pub good: BTreeMap<(&'static str, Peer), Vec<Sample>>,
    pub failed: Vec<String>,
    pub skipped: Vec<String>,
    /// How quiet it was while they were taken.
    pub quiet: Quiet,
}

/// What is measured at once.
enum Unit {
    /// A peer in a process of its own.
    Alone(&'static Problem, Peer),
    /// Servers, side by side.
    Side(&'static Problem, Vec<Peer>),
}

pub fn run(run: &Run) -> ExitCode {
    let mut samples = Samples::default();
    let units = plan(run, &mut samples.skipped);
    for reason in &samples.skipped {
        eprintln!("skipped: {reason}");
    }
    if units.is_empty() {
        eprintln!("bench: no problem left to measure");
        return ExitCode::FAILURE;
    }
    for round in 0..run.rounds {
        measure_round(run, round, &units, &mut samples);
    }
    let machine = Machine::describe(samples.quiet);
    finish(run, &machine, &samples)
}

/// What to measure; what cannot run here is left out, with the reason.
fn plan(run: &Run, skipped: &mut Vec<String>) -> Vec<Unit> {
    let mut peers = run.peers.clone();
    peers.retain(|&peer| {
        let prepared = prepare(peer, &run.problems);
        skipped.extend(prepared.as_ref().err().map(|reason| format!("{peer}: {reason}")));
        prepared.is_ok()
    });
    let mut units = Vec::new();
    for &problem in &run.problems {
        let mut fitting: Vec<Peer> =
            peers.iter().copied().filter(|peer| problem.peers.contains(peer)).collect();
        fitting.retain(|&peer| {
            let missing = io::missing(problem, peer);
            let is_there = missing.is_none();
            skipped.extend(missing.filter(|reason| !skipped.contains(reason)));
            is_there
        });
        if !io::is_served(problem) {
            units.extend(fitting.into_iter().map(|peer| Unit::Alone(problem, peer)));
        } else if !fitting.is_empty() {
            units.push(Unit::Side(problem, fitting));
        }
    }
    units
}

/// Compiles a peer's programs, if it has some, before anything is timed.
fn prepare(peer: Peer, problems: &[&'static Problem]) -> Result<(), String> {
    let build: fn(&Problem) -> Result<PathBuf, String> = match peer {
        Peer::Go => go::build,
        Peer::Java => java::build,
        _ => return Ok(()),
    };
    let mut fitting = problems.iter().filter(|problem| problem.peers.contains(&peer)).peekable();
    if fitting.peek().is_some() {
        eprintln!("building the programs for {peer}");
    }
    fitting.try_for_each(|problem| build(problem).map(drop))
}

/// One pass over all units. Odd rounds go backwards, so that nobody always follows the same other.
fn measure_round(run: &Run, round: usize, units: &[Unit], samples: &mut Samples) {
    let start = Instant::now();
    let order: Vec<&Unit> =
        if round.is_multiple_of(2) { units.iter().collect() } else { units.iter().rev().collect() };
    for (index, unit) in order.into_iter().enumerate() {
        let place = format!("round {}/{} [{}/{}]", round + 1, run.rounds, index + 1, units.len());
        match unit {
            Unit::Alone(problem, peer) => {
                let result = measure_in_quiet(problem, *peer, run.speed, &mut samples.quiet);
                samples.add(&place, problem, *peer, result);
            }
            Unit::Side(problem, peers) => match process::measure_side(problem, peers, run.speed) {
                Ok(outcome) => {
                    samples.quiet.add_all(outcome.quiet);
                    for (measured, &peer) in outcome.peers.into_iter().zip(peers) {
                        match measured.result {
                            Ok(turns) => turns
                                .into_iter()
                                .for_each(|turn| samples.add(&place, problem, peer, Ok(turn))),
                            Err(reason) => samples.add(&place, problem, peer, Err(reason)),
                        }
                    }
                }
                Err(reason) => samples.failed.push(format!("{}: {reason}", problem.name)),
            },
        }
    }
    eprintln!("round {}/{} took {:.0} s", round + 1, run.rounds, start.elapsed().as_secs_f64());
}

impl Samples {
    /// Notes what a measurement gave, and says so.
    fn add(&mut self, place: &str, problem: &'static Problem, peer: Peer, result: Result<Sample, String>) {
        match result {
            Ok(sample) => {
                eprintln!("{place} {:<20} {peer:<14} {:>9.2} {}", problem.name, sample.value, sample.unit);
                self.good.entry((problem.name, peer)).or_default().push(sample);
            }
            Err(reason) => {
                eprintln!("{place} {:<20} {peer:<14} FAILED: {reason}", problem.name);
                self.failed.push(format!("{} on {peer}: {reason}", problem.name));
            }
        }
    }
}

/// How often a measurement is taken at most, so that one of them falls into a quiet time.
const TRIES: usize = 4;

/// One measurement. If others took the cores meanwhile it is taken again; the quietest counts, whatever it says.
fn measure_in_quiet(
    problem: &Problem,
    peer: Peer,
    speed: Speed,
    quiet: &mut Quiet,
) -> Result<Sample, String> {
    let mut quietest: Option<(Spell, Sample)> = None;
    for attempt in 0..speed.pick(TRIES, 1) {
        quiet.repeated += usize::from(attempt > 0);
        let watch = Watch::start(Duration::ZERO);
        let sample = process::measure(problem, peer, speed)?;
        let spell = watch.end(Duration::ZERO);
        if quietest.as_ref().is_none_or(|(before, _)| spell.foreign < before.foreign) {
            quietest = Some((spell, sample));
        }
        if spell.is_quiet() {
            break;
        }
    }
    let (spell, sample) = quietest.expect("it was tried");
    quiet.add(spell);
    Ok(sample)
}

fn finish(run: &Run, machine: &Machine, samples: &Samples) -> ExitCode {
    let figures = figures::Figures::of(samples);
    let verdicts = verdict::judge(&figures);
    let markdown = report::markdown(run, machine, samples, &figures, &verdicts);
    println!("{markdown}");
    let json = || report::json(run, machine, samples, &figures, &verdicts);
    let files = [
        (&run.markdown, markdown.clone()),
        (&run.json, run.json.as_ref().map_or_else(String::new, |_| json())),
    ];
    for (path, text) in files {
        let Some(path) = path else { continue };
        if let Err(error) = std::fs::write(path, text) {
            eprintln!("bench: cannot write {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    if samples.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
