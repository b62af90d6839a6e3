//! `bench run`: every pair of problem and peer in a process of its own, round by round, so that a slow minute of the
//! machine falls on all peers alike; servers side by side, in turns; then the report.

mod files;
mod process;
mod progress;
mod stop;
mod unit;

use crate::cli::Run;
use crate::meter::{Sample, Speed};
use crate::peers::Peer;
use crate::problems::{Problem, io};
use crate::quiet::{Quiet, Spell, Watch};
use crate::report::{Report, markdown};
use crate::{go, java};
use process::Waiter;
use progress::{Progress, tell};
use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use stop::Stop;
use unit::Unit;

/// All samples of a run, by problem and peer, and what could not be measured.
#[derive(Debug, Default)]
pub struct Samples {
    pub good: BTreeMap<(&'static str, Peer), Vec<Sample>>,
    pub failed: Vec<String>,
    pub skipped: Vec<String>,
    /// How many units there are in all rounds, and how many of them were tried.
    pub planned: usize,
    pub made: usize,
    /// How quiet it was while they were taken.
    pub quiet: Quiet,
}

/// Measures and reports; the exit code says whether all of it could be done.
pub fn run(run: &Run) -> ExitCode {
    match try_run(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            tell(&format!("bench: {reason}"));
            ExitCode::FAILURE
        }
    }
}

fn try_run(run: &Run) -> Result<bool, String> {
    files::check(run)?;
    let report = match &run.from {
        Some(recorded) => Report::read(recorded)?,
        None => measure(run)?,
    };
    // Whatever keeps one of them from being written: the others, and what is printed, are there.
    let written = files::write(run, &report);
    let printed = print(&markdown(&report));
    written.and(printed)?;
    Ok(run.from.is_some() || report.failed.is_empty() && !report.was_stopped())
}

/// Unlike `println!` it does not panic when the reader is gone.
fn print(text: &str) -> Result<(), String> {
    writeln!(stdout(), "{text}").map_err(|error| format!("the output could not be written: {error}"))
}

/// All rounds. The files are written after each, so that nothing takes more than one of them away; if that fails, what is to be measured
/// is measured all the same.
fn measure(run: &Run) -> Result<Report, String> {
    let stop = Stop::listen().map_err(|error| format!("no signals: {error}"))?;
    let mut samples = Samples::default();
    let units = plan(run, &mut samples.skipped);
    for reason in &samples.skipped {
        tell(&format!("skipped: {reason}"));
    }
    if units.is_empty() {
        return Err("nothing is left to measure: none of these rows has one of these peers here".into());
    }
    samples.planned = units.len() * run.rounds;
    let (start, weights) = (Instant::now(), units.iter().map(|unit| unit.weight(run.speed)).collect());
    let mut progress = Progress::new(run.rounds, weights);
    for round in 0..run.rounds {
        measure_round(run, round, &units, &mut samples, &mut Waiter { stop: &stop, progress: &mut progress });
        if stop.asked() {
            break;
        }
        if round + 1 < run.rounds {
            let so_far = Report::of(run, &samples, start.elapsed().as_secs_f64());
            if let Err(reason) = files::write(run, &so_far) {
                progress.say(&format!("{reason}; it is tried again after the next round"));
            }
        }
    }
    progress.finish();
    if stop.asked() {
        progress.say(&format!("stopped: {} of {} measurements were made", samples.made, samples.planned));
    }
    if samples.good.is_empty() && samples.failed.is_empty() {
        return Err("nothing was measured, so nothing was written".into());
    }
    Ok(Report::of(run, &samples, start.elapsed().as_secs_f64()))
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
        tell(&format!("building the programs for {peer}"));
    }
    fitting.try_for_each(|problem| build(problem).map(drop))
}

/// One pass over all units, unless it is stopped. Odd rounds go backwards, so that nobody always follows the same other.
fn measure_round(run: &Run, round: usize, units: &[Unit], samples: &mut Samples, waiter: &mut Waiter<'_>) {
    let start = Instant::now();
    let mut order: Vec<usize> = (0..units.len()).collect();
    if !round.is_multiple_of(2) {
        order.reverse();
    }
    for at in order {
        waiter.progress.begin(at, units[at].label());
        if measure_unit(run, &units[at], samples, waiter) {
            samples.made += 1;
            waiter.progress.end();
        }
        if waiter.stop.asked() {
            return;
        }
    }
    let took = start.elapsed().as_secs_f64();
    waiter.progress.detail(&format!("round {}/{} took {took:.0} s", round + 1, run.rounds));
}

/// Whether it came to an end. What comes back from a measurement that was stopped says nothing.
fn measure_unit(run: &Run, unit: &Unit, samples: &mut Samples, waiter: &mut Waiter<'_>) -> bool {
    match unit {
        Unit::Alone(problem, peer) => {
            let result = measure_in_quiet(problem, *peer, run.speed, &mut samples.quiet, waiter);
            if result.is_err() && waiter.stop.asked() {
                return false;
            }
            samples.add(problem, *peer, result, waiter.progress);
        }
        Unit::Side(problem, peers) => match waiter.measure_side(problem, peers, run.speed) {
            Ok(outcome) => {
                samples.quiet.add_all(outcome.quiet);
                for (measured, &peer) in outcome.peers.into_iter().zip(peers) {
                    match measured.result {
                        Ok(turns) => turns
                            .into_iter()
                            .for_each(|turn| samples.add(problem, peer, Ok(turn), waiter.progress)),
                        Err(reason) => samples.add(problem, peer, Err(reason), waiter.progress),
                    }
                }
            }
            Err(_) if waiter.stop.asked() => return false,
            Err(reason) => {
                let reason = format!("{}: {reason}", problem.name);
                waiter.progress.say(&format!("{} FAILED: {reason}", waiter.progress.place()));
                samples.failed.push(reason);
            }
        },
    }
    true
}

impl Samples {
    /// Notes what a measurement gave, and says so.
    fn add(
        &mut self,
        problem: &'static Problem,
        peer: Peer,
        result: Result<Sample, String>,
        progress: &mut Progress,
    ) {
        let who = format!("{} {:<20} {peer:<14}", progress.place(), problem.name);
        match result {
            Ok(sample) => {
                progress.detail(&format!("{who} {:>9.2} {}", sample.value, sample.unit));
                self.good.entry((problem.name, peer)).or_default().push(sample);
            }
            Err(reason) => {
                progress.say(&format!("{who} FAILED: {reason}"));
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
    waiter: &mut Waiter<'_>,
) -> Result<Sample, String> {
    let mut quietest: Option<(Spell, Sample)> = None;
    for attempt in 0..speed.pick(TRIES, 1) {
        let watch = Watch::start(Duration::ZERO);
        let sample = match waiter.measure(problem, peer, speed) {
            Ok(sample) => sample,
            Err(_) if attempt > 0 && waiter.stop.asked() => break,
            Err(reason) => return Err(reason),
        };
        quiet.repeated += usize::from(attempt > 0);
        let spell = watch.end(Duration::ZERO);
        if quietest.as_ref().is_none_or(|(before, _)| spell.foreign < before.foreign) {
            quietest = Some((spell, sample));
        }
        if spell.is_quiet() || waiter.stop.asked() {
            break;
        }
    }
    let (spell, sample) = quietest.expect("it was tried");
    quiet.add(spell);
    Ok(sample)
}
