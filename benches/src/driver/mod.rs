//! `bench run`: every pair of problem and peer in a process of its own, round by round, so that a slow minute of the
//! machine falls on all peers alike; then the report.

mod figures;
mod machine;
mod process;
mod report;
mod verdict;

use crate::cli::Run;
use crate::go;
use crate::meter::Sample;
use crate::peers::Peer;
use crate::problems::{Problem, io};
use machine::Machine;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

/// All samples of a run, by problem and peer, and what could not be measured.
#[derive(Debug, Default)]
pub struct Samples {
    pub good: BTreeMap<(&'static str, Peer), Vec<Sample>>,
    pub failed: Vec<String>,
    pub skipped: Vec<String>,
}

type Pair = (&'static Problem, Peer);

pub fn run(run: &Run) -> ExitCode {
    let mut samples = Samples::default();
    let pairs = plan(run, &mut samples.skipped);
    for reason in &samples.skipped {
        eprintln!("skipped: {reason}");
    }
    if pairs.is_empty() {
        eprintln!("bench: no problem left to measure");
        return ExitCode::FAILURE;
    }
    let watch = machine::Watch::start();
    for round in 0..run.rounds {
        measure_round(run, round, &pairs, &mut samples);
    }
    let machine = Machine::describe(watch.foreign_share());
    finish(run, &machine, &samples)
}

/// The pairs to measure; what cannot run here is left out, with the reason.
fn plan(run: &Run, skipped: &mut Vec<String>) -> Vec<Pair> {
    let mut peers = run.peers.clone();
    if peers.contains(&Peer::Go)
        && let Err(reason) = prepare_go(&run.problems)
    {
        skipped.push(format!("go: {reason}"));
        peers.retain(|&peer| peer != Peer::Go);
    }
    let mut pairs = Vec::new();
    for &problem in &run.problems {
        for &peer in peers.iter().filter(|peer| problem.peers.contains(peer)) {
            match io::missing(problem, peer) {
                None => pairs.push((problem, peer)),
                Some(reason) if skipped.contains(&reason) => {}
                Some(reason) => skipped.push(reason),
            }
        }
    }
    pairs
}

/// Compiles Go's programs before anything is timed.
fn prepare_go(problems: &[&'static Problem]) -> Result<(), String> {
    let mut fitting = problems.iter().filter(|problem| problem.peers.contains(&Peer::Go));
    go::version()?;
    eprintln!("building the Go programs");
    fitting.try_for_each(|problem| go::build(problem).map(drop))
}

/// One pass over all pairs. Odd rounds go backwards, so that no peer always follows the same other.
fn measure_round(run: &Run, round: usize, pairs: &[Pair], samples: &mut Samples) {
    let start = Instant::now();
    let order: Vec<&Pair> =
        if round.is_multiple_of(2) { pairs.iter().collect() } else { pairs.iter().rev().collect() };
    for (index, &&(problem, peer)) in order.iter().enumerate() {
        let place = format!("round {}/{} [{}/{}]", round + 1, run.rounds, index + 1, pairs.len());
        match process::measure(problem, peer, run.speed) {
            Ok(sample) => {
                eprintln!("{place} {:<20} {peer:<12} {:>9.2} {}", problem.name, sample.value, sample.unit);
                samples.good.entry((problem.name, peer)).or_default().push(sample);
            }
            Err(reason) => {
                eprintln!("{place} {:<20} {peer:<12} FAILED: {reason}", problem.name);
                samples.failed.push(format!("{} on {peer}: {reason}", problem.name));
            }
        }
    }
    eprintln!("round {}/{} took {:.0} s", round + 1, run.rounds, start.elapsed().as_secs_f64());
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
